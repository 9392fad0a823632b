"""Options that a later `setup()` changes apply to existing chats and windows."""

from __future__ import annotations

from typing import Any

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.waiting import until

KEYS = "return #vim.api.nvim_buf_get_keymap(vim.fn.bufnr('acp://chat/1'), 'n')"
MARKS = lua_chunk(__file__, "hunk_marks")


def chat_rows(editor: Editor) -> int:
    return sum(line.strip().startswith("output") for line in editor.chat())


def test_options_about_thoughts_and_tool_lines_apply_to_open_chats(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("think something deep\ntool_cumulative 1 20")
    assert chat_rows(editor) == 8
    editor.setup({"chat": {"thoughts": "hide", "tool_lines": 3}})
    until(lambda: chat_rows(editor) == 3)
    assert "something deep " not in editor.chat()
    editor.setup({"chat": {"thoughts": "show"}})
    until(lambda: "something deep " in editor.chat())


def test_options_about_keys_apply_to_open_windows(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say hi")
    before = editor.lua(KEYS)
    assert before
    editor.setup({"keymaps": False})
    assert editor.lua(KEYS) == 0
    editor.setup({"keymaps": {"chat": {"X": "next_turn"}}})
    assert editor.lua(KEYS) == before + 1


def marks(editor: Editor) -> list[dict[str, Any]]:
    return [mark[3] for mark in editor.lua(MARKS)]


def test_options_about_marks_apply_to_pending_edits(editor: Editor) -> None:
    editor.agent("script")
    path = editor.write("a.txt", "one\ntwo\n")
    editor.open(path)
    editor.turn(f"write {path} one\\nTWO\\n")
    editor.wait(
        "#vim.api.nvim_buf_get_extmarks(0,"
        " vim.api.nvim_create_namespace('acp.hunks'), 0, -1, {}) > 0"
    )
    assert any("sign_text" in mark for mark in marks(editor))
    editor.setup({"review": {"signs": False}})
    assert not any("sign_text" in mark for mark in marks(editor))
    assert any("hl_group" in mark or "line_hl_group" in mark for mark in marks(editor))
    editor.setup({"review": {"inline": False, "signs": False}})
    assert not any("hl_group" in mark or "line_hl_group" in mark for mark in marks(editor))
    editor.setup({"review": {"inline": True, "signs": True}})
    assert any("sign_text" in mark for mark in marks(editor))


def test_a_new_limit_of_messages_applies(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say hi")
    editor.setup({"limits": {"message_bytes": 2000}})
    editor.prompt("say " + "x" * 3000)
    assert "message_bytes" in editor.wait_event("AcpNotice")["title"]


def test_additional_directories_are_absolute_and_a_missing_one_is_reported_once(
    editor: Editor,
) -> None:
    takes_them: dict[str, object] = {"sessionCapabilities": {"additionalDirectories": {}}}
    agent = editor.agent("script", capabilities=takes_them)
    editor.setup({"files": {"directories": ["/tmp", "lib", "/tmp/", str(editor.work / "lib")]}})
    editor.turn("say hi")
    directories = agent.received("session/new")[0]["params"]["additionalDirectories"]
    assert directories == ["/tmp", str(editor.work / "lib")]
