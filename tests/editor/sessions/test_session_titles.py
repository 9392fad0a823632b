"""The title of a session that is open: what its agent calls it in its list."""

from __future__ import annotations

from typing import Any

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick

LISTS: dict[str, Any] = {"sessionCapabilities": {"list": {}}}


def test_an_open_session_takes_the_title_under_which_its_agent_lists_it(editor: Editor) -> None:
    install_picker(editor)
    editor.agent("stores", str(editor.home / "stored.json"), capabilities=LISTS)
    editor.turn("say one")
    assert "title" not in editor.session(1)
    editor.cmd("AcpPrompt! say two")
    editor.wait_event("AcpTurnEnd", 2)
    pick(editor, "Acp sessions")
    editor.wait("require('acp').state().sessions[2].title == 'say two'")
    assert editor.session(1)["title"] == "say one"


def test_the_index_of_this_machine_gives_no_title_to_an_open_session(editor: Editor) -> None:
    install_picker(editor)
    capabilities = {"loadSession": True}
    editor.agent("stores", str(editor.home / "stored.json"), capabilities=capabilities)
    editor.turn("say one")
    assert pick(editor, "Acp sessions")[0]["items"][0].startswith("say one  (")
    assert "title" not in editor.session(1)
