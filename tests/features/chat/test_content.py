"""Content blocks of every kind in messages and tool calls: their rows, and the windows that `<CR>`
opens.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.turns import IMAGE
from tests.support.editor import Editor

OPEN = "vim.ui.open = function(what) _G.opened = what end\n"


@pytest.fixture
def chat(edit: Any) -> Editor:
    """Return an editor with a scripted agent, where `vim.ui.open` is recorded."""
    editor: Editor = edit(init=OPEN)
    editor.agent("script")
    return editor


def message(editor: Editor, *blocks: dict[str, Any]) -> list[str]:
    """Return the chat after a message with these blocks."""
    lines = [
        "update " + json.dumps({"sessionUpdate": "agent_message_chunk", "content": block})
        for block in blocks
    ]
    editor.turn("\n".join(lines))
    return editor.chat()[len(lines) + 1 :]


def enter(editor: Editor, text: str) -> None:
    """Press `<CR>` on the last chat line with this text, after opening its fold."""
    n = editor.lua("return require('acp').state().current")
    editor.lua(
        "vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr(...))[1])", f"acp://chat/{n}"
    )
    rows = [at for at, line in enumerate(editor.chat(), 1) if text in line]
    assert rows, editor.chat()
    editor.cmd(f"{rows[-1]}")
    if editor.lua("return vim.fn.foldclosed('.') > 0"):
        editor.cmd("normal! zO")
    editor.keys("<CR>")


def lines_in_full(editor: Editor, name: str = "acp://content/1") -> list[str]:
    """Return the lines of the window that shows a block in full."""
    editor.wait(f"#vim.fn.win_findbuf(vim.fn.bufnr('{name}')) > 0")
    return editor.lines(name)


def opened_path(editor: Editor) -> str:
    editor.wait("_G.opened ~= nil")
    path: str = editor.lua("local o = _G.opened _G.opened = nil return o")
    return path


# -- rows -----------------------------------------------------------------------------------------


def test_an_image_opens_from_a_file_in_the_cache(chat: Editor) -> None:
    lines = message(chat, {"type": "image", "data": IMAGE, "mimeType": "image/png"})
    assert "[image image/png, 70 B]" in lines
    enter(chat, "[image")
    path = Path(opened_path(chat))
    assert path.suffix == ".png"
    assert path.read_bytes() == base64.b64decode(IMAGE)
    assert chat.home in path.parents
    enter(chat, "[image")
    assert opened_path(chat) == str(path)


def test_an_image_with_a_file_has_its_name(chat: Editor) -> None:
    image = {"type": "image", "data": IMAGE, "mimeType": "image/png", "uri": "file:///a/b%20c.png"}
    assert "[image b c.png, image/png, 70 B]" in message(chat, image)


def test_audio_and_documents_open_and_other_types_are_only_written(chat: Editor) -> None:
    data = base64.b64encode(b"#!/bin/sh\nrm -rf /\n").decode()
    message(
        chat,
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {
            "type": "resource",
            "resource": {"uri": "x:doc", "blob": data, "mimeType": "application/pdf"},
        },
        {"type": "resource", "resource": {"uri": "x:run.sh", "blob": data}},
        {"type": "resource", "resource": {"uri": "x:app.desktop", "blob": data, "mimeType": "a/b"}},
        {"type": "image", "data": data, "mimeType": "image/svg+xml"},
    )
    enter(chat, "[audio")
    assert opened_path(chat).endswith((".wav", ".oga"))
    enter(chat, "[resource x:doc")
    assert opened_path(chat).endswith(".pdf")
    for name in ("[resource x:run.sh", "[resource x:app.desktop", "[image image/svg"):
        chat.cmd("messages clear")
        enter(chat, name)
        chat.wait_message("Written to ")
    assert chat.lua("return _G.opened") is None


def test_broken_data_is_one_line(chat: Editor) -> None:
    chat.errors_expected = True
    message(chat, {"type": "image", "data": "%%%=", "mimeType": "image/png"})
    enter(chat, "[image")
    chat.wait_message("is not base64")


def test_links_lead_to_the_line_and_to_the_web(chat: Editor) -> None:
    path = chat.write("a.py", "one\ntwo\nthree\n")
    message(
        chat,
        {"type": "resource_link", "uri": f"{path.as_uri()}#L2", "name": "the code"},
        {"type": "resource_link", "uri": "https://x.org/doc", "name": "the doc"},
        {"type": "resource_link", "uri": "vscode://run", "name": "a trap"},
    )
    enter(chat, "the code")
    chat.wait("vim.api.nvim_buf_get_name(0) == ... ", str(path))
    chat.wait("vim.api.nvim_win_get_cursor(0)[1] == 2")
    enter(chat, "the doc")
    assert opened_path(chat) == "https://x.org/doc"
    enter(chat, "a trap")
    assert '"uri": "vscode://run"' in "\n".join(lines_in_full(chat))
    assert chat.lua("return _G.opened") is None


def test_an_embedded_resource_is_folded_and_cut_and_opens_whole(chat: Editor) -> None:
    text = "".join(f"line {n}\n" for n in range(100))
    message(
        chat,
        {"type": "text", "text": "before"},
        {"type": "resource", "resource": {"uri": "x:big.py", "text": text}},
        {"type": "text", "text": "after\n"},
    )
    lines = chat.chat()
    head = lines.index("→ x:big.py, 100 lines")
    assert lines[head - 1] == "before"
    assert lines[head + 1 : head + 10] == [*(f"  line {n}" for n in range(8)), "  … +92 lines"]
    assert lines[head + 10] == "after"
    chat.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/1'))[1])")
    folds = "return { vim.fn.foldclosed(...), vim.fn.foldclosedend(...) }"
    assert chat.lua(folds, head + 2) == [head + 1, head + 10]
    assert chat.lua(folds, head) == [-1, -1]
    assert chat.lua(folds, head + 11) == [-1, -1]
    enter(chat, "… +92 lines")
    assert lines_in_full(chat) == text.splitlines()
    assert chat.lua("return vim.bo[vim.fn.bufnr('acp://content/1')].filetype") == "python"


def test_text_for_the_model_alone_is_set_apart(chat: Editor) -> None:
    aside = {"type": "text", "text": "psst\n", "annotations": {"audience": ["assistant"]}}
    lines = message(
        chat, {"type": "text", "text": "Hello"}, aside, {"type": "text", "text": "world"}
    )
    at = lines.index("Hello")
    assert lines[at : at + 4] == ["Hello", "text · for the agent", "  psst", "world"]


def test_every_block_type_is_shown_in_messages_and_tool_calls(chat: Editor) -> None:
    chat.turn("blocks\ntool_contents")
    lines = [line.strip() for line in chat.chat()]
    for line in (
        "plain text",
        "[image dot.png, image/png, 70 B]",
        "[audio audio/wav, 4 B]",
        "→ hosts (file:///etc/hosts), 12 B",
        "→ file:///a.txt, 2 lines",
        "[resource file:///b.bin, 3 B]",
    ):
        assert lines.count(line) == 2, line
    assert "embedded" in lines
    assert "/tmp/new.txt +2 -0" in lines
    assert "/tmp/old.txt +1 -1" in lines


# -- tool calls -----------------------------------------------------------------------------------


def call(**fields: Any) -> str:
    update = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Work", **fields}
    return f"update {json.dumps(update)}"


def test_a_tool_call_opens_in_full(chat: Editor) -> None:
    long = "x" * 5000
    content = [{"type": "content", "content": {"type": "text", "text": f"{long}\n" * 20}}]
    chat.turn(
        call(
            name="run_it",
            status="completed",
            content=content,
            rawInput={"deep": {"list": [1, None]}},
            rawOutput="line one\nline two",
            _meta={"vendor": {"a": 1}},
        )
    )
    assert any("Work (run_it)" in line for line in chat.chat())
    assert "  … +12 lines" in chat.chat()
    enter(chat, "Work (run_it)")
    lines = lines_in_full(chat)
    assert "  id t, tool run_it" in lines
    assert "### raw input" in lines
    assert '    "list": [' in lines
    assert lines[lines.index("### raw output") + 1 :][:2] == ["line one", "line two"]
    assert "### _meta" in lines
    assert sum(line.strip() == long for line in lines) == 20


def test_the_line_of_a_call_leads_to_its_file(chat: Editor) -> None:
    path = str(chat.write("one.py", "a\nb\nc\n"))
    text = {"type": "text", "text": "b\n" * 20}
    content = [{"type": "content", "content": text}]
    locations = [{"path": path, "line": 2}, {"path": "/other"}]
    chat.turn(call(kind="read", title="Look", content=content, locations=locations))
    enter(chat, "Look")
    chat.wait("vim.api.nvim_buf_get_name(0) == ...", path)
    chat.wait("vim.api.nvim_win_get_cursor(0)[1] == 2")
    enter(chat, "… +12 lines")
    assert lines_in_full(chat).count("b") + lines_in_full(chat).count("  b") == 20


def test_a_wide_line_is_marked_and_opens(chat: Editor) -> None:
    text = "x" * 5000
    chat.turn(call(content=[{"type": "content", "content": {"type": "text", "text": text}}]))
    enter(chat, "x … 1000 characters … x")
    assert text in [line.strip() for line in lines_in_full(chat)]


def test_a_block_of_a_tool_call_opens(chat: Editor) -> None:
    blocks = [
        {"type": "text", "text": "first"},
        {"type": "image", "data": IMAGE, "mimeType": "image/png"},
    ]
    chat.turn(call(content=[{"type": "content", "content": block} for block in blocks]))
    enter(chat, "[image")
    assert opened_path(chat).endswith(".png")


def test_diffs_of_several_files_lead_to_their_lines(chat: Editor) -> None:
    one = chat.write("one.py", "".join(f"{n}\n" for n in range(1, 30)))
    two = chat.write("two.py", "a\nb\n")
    diffs = [
        {"type": "diff", "path": str(one), "oldText": "20\n21\n", "newText": "20\nchanged\n"},
        {"type": "diff", "path": str(two), "newText": "a\nb\n"},
    ]
    chat.turn(call(kind="edit", content=diffs, locations=[{"path": str(one), "line": 20}]))
    enter(chat, "one.py +1 -1")
    chat.wait("vim.api.nvim_buf_get_name(0) == ...", str(one))
    chat.wait("vim.api.nvim_win_get_cursor(0)[1] == 21")
    enter(chat, "two.py +2 -0")
    chat.wait("vim.api.nvim_buf_get_name(0) == ...", str(two))


def test_new_content_replaces_the_old(chat: Editor) -> None:
    chat.turn("tool_patch")
    lines = "\n".join(chat.chat())
    assert "new output" in lines
    assert "old output" not in lines
    assert "Renamed" in lines
