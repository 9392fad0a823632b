"""A current directory that was deleted under Neovim: no session can work there."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.rpc import EditorError

GONE = "The current directory was deleted"


def leave_home(editor: Editor) -> None:
    """Make the current directory one that no longer exists."""
    below = editor.work / "below"
    below.mkdir()
    editor.cmd(f"cd {below}")
    below.rmdir()


@pytest.mark.parametrize("command", ["AcpPrompt! hello", "Acp new", "Acp sessions"])
def test_a_session_needs_a_directory(editor: Editor, command: str) -> None:
    editor.errors_expected = True
    agent = editor.agent("script")
    editor.turn("say first")
    leave_home(editor)
    with pytest.raises(EditorError, match=GONE):
        editor.cmd(command)
    editor.turn("say second")
    assert agent.prompts() == ["say first", "say second"]
    assert len(agent.received("session/new")) == len(editor.state()["sessions"]) == 1


def test_a_prompt_without_a_directory_is_not_lost(editor: Editor) -> None:
    editor.errors_expected = True
    agent = editor.agent("script")
    leave_home(editor)
    with pytest.raises(EditorError, match=GONE):
        editor.prompt("say hello")
    assert editor.lines("acp://composer/1") == ["say hello"]
    assert editor.state()["sessions"] == []
    editor.cmd(f"cd {editor.work}")
    editor.cmd("AcpPrompt")
    editor.cmd("write")
    editor.wait_event("AcpTurnEnd")
    assert agent.received("session/new")[0]["params"]["cwd"] == str(editor.work)
