"""Option `files.unsaved`: unsaved text in prompts to agents that read files on disk."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.git import repository

LINES = "one\ntwo\nthree\n"


def change(editor: Editor, row: int, text: str) -> None:
    """Change a line as the user, without a save."""
    editor.lua("vim.api.nvim_buf_set_lines(0, ...)", row, row + 1, True, [text])


def sent_texts(editor: Editor, agent: Any, text: str) -> list[str]:
    """Return the texts of a prompt besides the user's own."""
    before = len(agent.received("session/prompt"))
    editor.turn(text)
    blocks = agent.wait("session/prompt", before + 1)["params"]["prompt"]
    found = [block.get("text") or block.get("resource", {}).get("text", "") for block in blocks]
    assert text in [it.rstrip("\n") for it in found]
    return [it for it in found if it.rstrip("\n") != text]


@pytest.fixture
def agent(editor: Editor) -> Any:
    """Return an agent that reads nothing through the editor; the open file has an unsaved second
    line.
    """
    started = editor.agent("script")
    editor.open(editor.write("a.txt", LINES))
    change(editor, 1, "TWO")
    return started


def test_each_unsaved_change_is_sent_once_as_a_diff(editor: Editor, agent: Any) -> None:
    [first] = sent_texts(editor, agent, "say one")
    assert "--- a/a.txt\n+++ b/a.txt" in first
    assert "-two\n+TWO" in first
    assert sent_texts(editor, agent, "say two") == []
    change(editor, 2, "THREE")
    [third] = sent_texts(editor, agent, "say three")
    assert "-three\n+THREE" in third
    assert "+TWO" not in third


def test_saved_changes_are_not_sent_and_discarded_ones_are(editor: Editor, agent: Any) -> None:
    sent_texts(editor, agent, "say one")
    editor.cmd("silent write")
    assert sent_texts(editor, agent, "say two") == []
    change(editor, 0, "ONE")
    assert "+ONE" in "".join(sent_texts(editor, agent, "say three"))
    editor.cmd("edit!")
    assert "-ONE\n+one" in "".join(sent_texts(editor, agent, "say four"))
    assert sent_texts(editor, agent, "say five") == []


def test_nothing_is_sent_to_an_agent_that_reads_through_the_editor(
    editor: Editor, agent: Any
) -> None:
    editor.turn(f"read {editor.work}/a.txt")
    change(editor, 2, "THREE")
    assert sent_texts(editor, agent, "say more") == []


def test_an_agent_without_resources_gets_changes_once_it_is_known_not_to_read(
    editor: Editor,
) -> None:
    """For such an agent, they would be part of the user's text."""
    agent = editor.agent("hello", capabilities={"promptCapabilities": {}})
    editor.open(editor.write("a.txt", LINES))
    change(editor, 1, "TWO")
    assert sent_texts(editor, agent, "one") == []
    assert "+TWO" in "".join(sent_texts(editor, agent, "two"))


def test_nothing_is_sent_to_an_agent_that_reads_by_the_editors_tool(
    editor: Editor, agent: Any
) -> None:
    editor.turn('mcp nvim_read {"path": "a.txt"}')
    change(editor, 2, "THREE")
    assert sent_texts(editor, agent, "say more") == []


def test_an_agent_that_reads_both_ways_gets_the_changes(editor: Editor, agent: Any) -> None:
    """It reads on disk, and its edits read through the editor."""
    path = editor.work / "a.txt"
    other = editor.write("b.txt", LINES)
    editor.turn(f"read {other}\nreads_call {path} disk")
    change(editor, 2, "THREE")
    assert "+THREE" in "".join(sent_texts(editor, agent, f"read {other}"))
    change(editor, 0, "ONE")
    assert "+ONE" in "".join(sent_texts(editor, agent, "say more"))


def test_an_agent_that_reads_through_the_editor_only_to_edit_gets_the_changes(
    editor: Editor, agent: Any
) -> None:
    other = editor.write("b.txt", LINES)
    editor.turn(f"reads_call {other} disk\nedits_call {other}")
    change(editor, 2, "THREE")
    assert "+THREE" in "".join(sent_texts(editor, agent, "say one"))
    editor.turn(f"reads_call {editor.work / 'a.txt'} editor\nedits_call {other}")
    change(editor, 0, "ONE")
    assert sent_texts(editor, agent, "say two") == []


def test_calls_that_read_through_the_editor_are_not_reads_on_disk(
    editor: Editor, agent: Any
) -> None:
    path = editor.work / "a.txt"
    editor.turn(f"reads_call {path} editor\nreads_call {editor.work / 'gone.txt'} editor")
    change(editor, 2, "THREE")
    assert sent_texts(editor, agent, "say more") == []


def test_secrets_and_files_elsewhere_are_not_sent(editor: Editor, agent: Any) -> None:
    editor.cmd("silent write")
    editor.open(editor.write(".env", "KEY=1\n"))
    change(editor, 0, "KEY=2")
    outside = editor.home / "elsewhere.txt"
    outside.write_text("x\n")
    editor.open(outside)
    change(editor, 0, "y")
    assert sent_texts(editor, agent, "say one") == []


def test_the_variable_diff_sends_the_changes_once(editor: Editor, agent: Any) -> None:
    repository(editor.work)
    editor.turn("say {diff}")
    blocks = agent.wait("session/prompt")["params"]["prompt"]
    assert sum("+TWO" in str(block) for block in blocks) == 1
    assert sent_texts(editor, agent, "say one") == []


def test_the_option_save_saves_the_files(editor: Editor, agent: Any) -> None:
    editor.setup({"files": {"unsaved": "save"}})
    assert sent_texts(editor, agent, "say one") == []
    assert (editor.work / "a.txt").read_text() == "one\nTWO\nthree\n"
    assert editor.lua("return vim.bo.modified") is False


def test_an_agent_may_change_lines_that_were_saved_for_its_prompt(
    editor: Editor, agent: Any
) -> None:
    editor.setup({"files": {"unsaved": "save"}})
    path = editor.work / "a.txt"
    editor.turn(f'write {path} "one\\nTWO!\\nthree\\n"')
    assert path.read_text() == "one\nTWO!\nthree\n"


def test_a_file_that_cannot_be_saved_is_reported_and_its_changes_sent(
    editor: Editor, agent: Any
) -> None:
    editor.setup({"files": {"unsaved": "save"}})
    editor.cmd("set readonly")
    assert "+TWO" in "".join(sent_texts(editor, agent, "say one"))
    assert any("a.txt is not saved: the buffer is 'readonly'" in row for row in editor.chat())
    assert (editor.work / "a.txt").read_text() == LINES


@pytest.mark.parametrize(
    ("choice", "goes", "saved"), [(1, True, False), (2, False, True), (3, False, False)]
)
def test_the_option_ask_asks_the_user(
    editor: Editor, agent: Any, choice: int, goes: bool, saved: bool
) -> None:
    editor.setup({"files": {"unsaved": "ask"}})
    editor.lua(
        "local n = ... vim.ui.select = function(items, opts, done) "
        "_G.asked = opts.prompt done(items[n], n) end",
        choice,
    )
    assert bool(sent_texts(editor, agent, "say one")) is goes
    assert "a.txt" in editor.lua("return _G.asked")
    assert ((editor.work / "a.txt").read_text() != LINES) is saved


def test_the_option_ignore_sends_nothing(editor: Editor, agent: Any) -> None:
    editor.setup({"files": {"unsaved": "ignore"}})
    assert sent_texts(editor, agent, "say one") == []
