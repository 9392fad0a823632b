"""Options `limits.*`: values over a limit are left out, reported once and counted."""

from __future__ import annotations

import json
from typing import Any

from acp_nvim.protocol import schema
from acp_nvim.session.calls.tool_calls import limit_update
from tests.support.editor import Editor


def text(content: str) -> schema.Content:
    return schema.Content(schema.TextContent(content))


def test_texts_are_cut_at_a_character_and_everything_else_stays() -> None:
    diff = schema.Diff("/a", "new" * 100)
    update = schema.ToolCallUpdate("t", content=[text("aaaé"), diff, text("more")])
    fitted, brought = limit_update(update, 4)
    assert fitted.content == [text("aaa"), diff, text("")]
    assert brought == 9
    assert limit_update(update, 9) == (update, 0)


def test_long_raw_output_is_left_out() -> None:
    fitted, brought = limit_update(schema.ToolCallUpdate("t", raw_output={"x": "y" * 20}), 10)
    assert fitted.raw_output == "left out: 28 bytes"
    assert brought == 28


def notices(editor: Editor) -> list[str]:
    return [event["data"]["title"] for event in editor.events("AcpNotice")]


def info(editor: Editor) -> str:
    editor.cmd("Acp info")
    editor.wait("vim.fn.bufexists('acp://info') == 1")
    return "\n".join(editor.lines("acp://info"))


def tool_call(kind: str, output: str) -> str:
    content: list[Any] = [{"type": "content", "content": {"type": "text", "text": output}}]
    update = {"sessionUpdate": kind, "toolCallId": "t", "title": "Dump", "content": content}
    return "update " + json.dumps(update)


def test_long_output_of_a_tool_is_cut_and_reported_once_per_call(editor: Editor) -> None:
    editor.setup({"limits": {"tool_output_bytes": 100}, "chat": {"tool_lines": 1000}})
    editor.agent("script")
    editor.turn(tool_call("tool_call", "a" * 50))
    assert notices(editor) == []
    editor.turn(tool_call("tool_call", "row\n" * 50))
    editor.turn(tool_call("tool_call_update", "row\n" * 60))
    assert editor.chat().count("  row") == 25
    [title] = notices(editor)
    assert title == (
        "The output of Dump was cut: 200 B, more than 100 B (limits.tool_output_bytes)"
    )
    assert f"⚠ {title}" in editor.chat()
    assert "limits hit: 1 × limits.tool_output_bytes" in info(editor)
    editor.cmd("Acp log")
    editor.wait("vim.fn.bufexists('acp://log/script') == 1")
    assert any(title in line for line in editor.lines("acp://log/script"))


def test_an_omitted_message_is_reported_in_its_place(editor: Editor) -> None:
    editor.setup({"limits": {"message_bytes": 5000}})
    editor.agent("script")
    editor.turn("say before\nsay " + "x" * 6000 + "\nsay after")
    [title] = notices(editor)
    assert "limits.message_bytes" in title
    assert f"⚠ {title}" in editor.chat()
    assert "limits hit: 1 × limits.message_bytes" in info(editor)


def test_text_that_waits_for_drawing_is_reported_once_per_turn(editor: Editor) -> None:
    editor.setup({"limits": {"pending_bytes": 2000}})
    editor.agent("script")
    editor.turn("chunks 2000 100")
    [title] = notices(editor)
    assert title == (
        "More than 2 KiB is waiting to be drawn, so reading is paused (limits.pending_bytes)"
    )
    assert "limits hit: 1 × limits.pending_bytes" in info(editor)
