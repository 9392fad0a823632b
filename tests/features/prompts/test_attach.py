"""Attachments of a prompt: each kind only for agents that accept it."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_nvim.agent.prompts.media import IMAGE_BYTES, TEXT_BYTES
from tests.agents.turns import IMAGE
from tests.support.editor import Editor
from tests.support.outer_terminal import Terminal
from tests.support.traffic import Traffic

PNG = base64.b64decode(IMAGE)
NOTHING = {"promptCapabilities": {"embeddedContext": False, "image": False, "audio": False}}
ALL = {"promptCapabilities": {"embeddedContext": True, "image": True, "audio": True}}


def blocks(agent: Traffic, count: int = 1) -> list[dict[str, Any]]:
    """Return the content blocks of the prompt with this number."""
    found: list[dict[str, Any]] = agent.wait("session/prompt", count)["params"]["prompt"]
    return found


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def wait_attached(editor: Editor, count: int, n: int = 1) -> list[str]:
    editor.wait(f"#require('acp.features.prompts.attachments').list({n}) == {count}")
    paths: list[str] = editor.lua("return require('acp.features.prompts.attachments').list(...)", n)
    return paths


@pytest.mark.parametrize("capabilities", [ALL, NOTHING])
def test_each_kind_of_file_is_sent_as_the_agent_accepts_it(
    editor: Editor, capabilities: dict[str, Any]
) -> None:
    agent = editor.agent("hello", capabilities=capabilities)
    text = editor.write("a.py", "print(1)\n")
    image = editor.write("dot.png", PNG)
    sound = editor.write("beep.wav", b"RIFF\x04\0\0\0WAVE")
    binary = editor.write("data.bin", b"\0\1\2")
    editor.cmd("Acp attach a.py dot.png beep.wav data.bin")
    editor.turn("look")
    first, *rest = blocks(agent)
    assert first == {"type": "text", "text": "look\n"}, (
        "each attachment begins on a line of its own"
    )
    paths = [text, image, sound, binary]
    link = [
        {"type": "resource_link", "uri": p.as_uri(), "name": p.name, "size": p.stat().st_size}
        for p in paths
    ]
    mimes = ["text/x-python", "image/png", "audio/wav", "application/octet-stream"]
    if capabilities is NOTHING:
        del link[0]["size"]
        assert rest == [{**one, "mimeType": mime} for one, mime in zip(link, mimes, strict=True)]
        return
    resource = {"uri": text.as_uri(), "text": "print(1)\n", "mimeType": "text/x-python"}
    assert rest == [
        {"type": "resource", "resource": resource},
        {"type": "image", "data": IMAGE, "mimeType": "image/png", "uri": image.as_uri()},
        {
            "type": "audio",
            "data": base64.b64encode(sound.read_bytes()).decode(),
            "mimeType": "audio/wav",
        },
        {**link[3], "mimeType": mimes[3]},
    ]


def test_attachments_are_sent_once_and_shown_in_the_composer(editor: Editor) -> None:
    agent = editor.agent("hello")
    editor.write("a.py", "1\n")
    editor.cmd("AcpPrompt")
    editor.cmd("Acp attach a.py")
    editor.wait_screen("+ a.py")
    editor.turn("one")
    editor.turn("two")
    assert len(blocks(agent, 1)) == 2
    assert blocks(agent, 2) == [{"type": "text", "text": "two"}]
    assert not any("+ a.py" in row for row in editor.screen())


def test_an_attachment_can_be_removed(editor: Editor) -> None:
    agent = editor.agent("hello")
    for name in ("a.py", "b.py"):
        editor.write(name, name)
    editor.cmd("Acp attach a.py b.py")
    editor.lua("vim.ui.select = function(items, opts, done) _G.asked = items done(items[2], 2) end")
    editor.cmd("Acp attach")
    editor.wait("_G.asked ~= nil")
    assert editor.lua("return _G.asked") == ["All of them", "a.py", "b.py"]
    wait_attached(editor, 1)
    editor.turn("look")
    assert [b["resource"]["text"] for b in blocks(agent)[1:]] == ["b.py"]


def test_the_unsaved_text_of_a_buffer_is_attached(editor: Editor) -> None:
    agent = editor.agent("hello")
    path = editor.write("a.py", "old\n")
    editor.open(path)
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, {'new'})")
    editor.turn("see @a.py")
    assert blocks(agent)[1]["resource"]["text"] == "new\n"
    assert path.read_text() == "old\n"


@pytest.mark.parametrize(
    ("name", "size", "limit"),
    [("big.txt", TEXT_BYTES + 1, "256 KiB"), ("big.png", IMAGE_BYTES + 1, "5.0 MiB")],
)
def test_an_attachment_that_is_too_large_is_sent_as_a_link_with_a_notice(
    editor: Editor, name: str, size: int, limit: str
) -> None:
    agent = editor.agent("hello")
    head = PNG if name.endswith("png") else b""
    path = editor.write(name, head.ljust(size, b"x"))
    editor.cmd(f"Acp attach {name}")
    editor.turn("look")
    assert blocks(agent)[1]["type"] == "resource_link"
    assert blocks(agent)[1]["size"] == path.stat().st_size
    assert f"{name} is attached as a link" in editor.messages()
    assert limit in editor.messages()


def test_several_ranges_are_sent_from_the_composer(editor: Editor) -> None:
    agent = editor.agent("hello")
    path = editor.write("a.py", "1\n2\n3\n4\n")
    editor.open(path)
    editor.cmd("1,2AcpPrompt")
    editor.cmd("wincmd p")
    editor.cmd("4AcpPrompt")
    editor.keys("look<C-s><Esc>")
    texts = [(b["resource"]["uri"], b["resource"]["text"]) for b in blocks(agent)[1:]]
    uri = path.as_uri()
    assert texts == [(f"{uri}#L1-L2", "1\n2"), (f"{uri}#L4-L4", "4")]


def test_a_mentioned_directory_is_a_link(editor: Editor) -> None:
    agent = editor.agent("hello")
    editor.write("src/a.py", "1\n")
    editor.turn("look into @src please")
    uri = (editor.work / "src").as_uri()
    link = {"type": "resource_link", "uri": uri, "name": "src", "mimeType": "inode/directory"}
    assert blocks(agent)[1] == link


@pytest.mark.parametrize("capabilities", [ALL, NOTHING])
def test_variables_are_resolved_when_the_prompt_is_sent(
    editor: Editor, capabilities: dict[str, Any]
) -> None:
    agent = editor.agent("hello", capabilities=capabilities)
    editor.open(editor.write("a.py", "one\ntwo\n"))
    editor.cmd("2")
    editor.lua(
        "vim.diagnostic.set(vim.api.nvim_create_namespace('t'), 0,"
        " {{ lnum = 1, col = 0, message = 'bad two', severity = 1 }})"
    )
    editor.keys("ggv$<Esc>2G0")
    text = "explain {this} {selection} {buffer} {diagnostics} {quickfix} {nonsense}"
    editor.turn(text)
    first, *rest = blocks(agent)
    assert first["text"].rstrip("\n") == text
    assert len(rest) == 4  # the quickfix list is empty
    if capabilities is ALL:
        found = {b["resource"]["uri"].rpartition("/")[2]: b["resource"]["text"] for b in rest}
        assert found["this"] == "a.py:2:1: two"
        assert found["selection"].startswith("a.py:1\none")
        assert found["buffer"] == "a.py\none\ntwo"
        assert found["diagnostics"] == "a.py:2:1: ERROR: bad two"
    else:
        assert {b["type"] for b in rest} == {"text"}
        assert "diagnostics:\n```\n" in rest[3]["text"]


def test_the_diff_includes_gits_changes_and_unsaved_text(editor: Editor) -> None:
    agent = editor.agent("hello")
    path = editor.write("a.py", "one\n")
    git = "git -c user.name=a -c user.email=a@b -c commit.gpgsign=false"
    editor.lua(
        "vim.system({'sh', '-c', ...}):wait()",
        f"git init -q . && git add . && {git} commit -qm x",
    )
    path.write_text("two\n")
    editor.open(editor.write("b.py", "first\n"))
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, {'second'})")
    editor.turn("review {diff}")
    diff = blocks(agent)[1]["resource"]["text"]
    assert "-one\n+two" in diff
    assert "unsaved: b.py\n" in diff
    assert "-first\n+second" in diff


def test_a_slash_command_is_last(editor: Editor) -> None:
    agent = editor.agent("hello")
    editor.write("a.py", "1\n")
    editor.cmd("Acp attach a.py")
    editor.turn("/review it")
    assert [b["type"] for b in blocks(agent)] == ["resource", "text"]


def test_the_image_of_the_clipboard_is_sent(edit: Any, tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "xclip"
    tool.parent.mkdir()
    image = tmp_path / "clip.png"
    image.write_bytes(PNG)
    tool.write_text(
        "#!/bin/sh\n"
        'case "$*" in *TARGETS*) echo TARGETS; echo image/png;; *) cat ' + f"{image};; esac\n"
    )
    tool.chmod(0o755)
    env = {"PATH": f"{tool.parent}:{os.environ['PATH']}", "DISPLAY": ":9", "WAYLAND_DISPLAY": ""}
    editor = edit(env=env)
    agent = editor.agent("hello")
    editor.cmd("Acp attach -")
    [path] = wait_attached(editor, 1)
    assert Path(path).stat().st_mode & 0o077 == 0 or Path(path).parent.stat().st_mode & 0o077 == 0
    editor.turn("what is this")
    block = blocks(agent)[1]
    assert (block["type"], block["data"]) == ("image", IMAGE)
    editor.cmd(f"Acp attach - {image}")
    wait_attached(editor, 2)
    image.write_bytes(b"")
    editor.cmd("Acp attach -")
    editor.wait_message("No image in the clipboard")


def test_the_image_of_the_clipboard_is_read_by_the_terminal(edit: Any, tmp_path: Path) -> None:
    """Neovim runs on a machine without a display, and kitty on another one."""
    editor = edit(
        env={"PATH": os.environ["PATH"], "DISPLAY": "", "WAYLAND_DISPLAY": "", "TMUX": ""}
    )
    terminal = Terminal(editor, "kitty(0.40.1)")
    agent = editor.agent("hello")

    def read(wanted: str, *answers: str) -> None:
        """Answer the request for a type."""
        terminal.wait(f"\x1b]5522;type=read;{encoded(wanted.encode())}\x1b\\")
        terminal.forget()
        for answer in answers:
            terminal.respond(f"\x1b]5522;type=read:status={answer}")

    editor.cmd("Acp attach -")
    read(".", "OK", f"DATA:mime=Lg==;{encoded(b'text/plain image/jpeg image/png')}", "DONE")
    pieces = [f"DATA:mime=aW1hZ2UvcG5n;{encoded(piece)}" for piece in (PNG[:40], PNG[40:])]
    read("image/png", "OK", *pieces, "DONE")
    [path] = wait_attached(editor, 1)
    assert Path(path).read_bytes() == PNG
    editor.turn("what is this")
    assert blocks(agent)[1]["data"] == IMAGE

    editor.cmd("Acp attach -")
    read(".", "OK", f"DATA:mime=Lg==;{encoded(b'text/plain')}", "DONE")
    editor.wait_message("No image in the clipboard")
    editor.cmd("Acp attach -")
    read(".", "EPERM")
    editor.wait_message(
        "The terminal denied access to the clipboard: see clipboard_control in kitty"
    )
    terminal.name = "foot(1.18.1)"
    editor.cmd("Acp attach -")
    terminal.answer()
    editor.wait_message("Cannot read images from the clipboard: there is no display")
    assert "5522" not in terminal.written_since()


def test_blocks_from_lua_are_checked_and_converted(editor: Editor) -> None:
    agent = editor.agent("hello", capabilities=NOTHING)
    editor.lua(
        "require('acp').prompt(...)",
        [
            {"type": "text", "text": "look"},
            {"type": "image", "data": IMAGE, "mimeType": "image/png", "uri": "file:///dot.png"},
            {"type": "image", "data": IMAGE, "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "x:y", "text": "embedded"}},
        ],
    )
    editor.wait_event("AcpTurnEnd")
    assert [b["type"] for b in blocks(agent)] == ["text", "resource_link", "text"]
    assert any("image (image/png) was left out" in line for line in editor.chat())
    editor.lua("require('acp').prompt({{ type = 'movie', data = 'x' }})")
    editor.wait_message("block 1 is not a content block")
    editor.lua("require('acp').prompt({{ type = 'image' }})")
    editor.wait_message("data")
    assert len(agent.prompts()) == 1


def test_meta_is_sent(editor: Editor) -> None:
    editor.setup({"meta": {"traceparent": "00-1-2-01", "mine": {"a": 1}}})
    agent = editor.agent("hello", meta={"theirs": True})
    editor.lua("require('acp').prompt('hi', { meta = { baggage = 'x=1' } })")
    editor.wait_event("AcpTurnEnd")
    new = agent.received("session/new")[0]["params"]["_meta"]
    assert new == {"traceparent": "00-1-2-01", "mine": {"a": 1}, "theirs": True}
    prompt = agent.received("session/prompt")[0]["params"]["_meta"]
    assert prompt == {"traceparent": "00-1-2-01", "baggage": "x=1"}


def test_a_returned_prompt_has_its_attachments(editor: Editor) -> None:
    agent = editor.agent("script")
    path = editor.write("a.py", "1\n2\n3\n")
    editor.write("b.py", "b\n")
    editor.open(path)
    editor.cmd("Acp attach b.py")
    editor.cmd("2,3AcpPrompt stop error")
    editor.wait_event("AcpTurnEnd")
    editor.wait("vim.fn.getbufline('acp://composer/1', 1)[1] == 'stop error'")
    assert wait_attached(editor, 1) == [str(editor.work / "b.py")]
    editor.cmd("AcpPrompt")
    editor.wait_screen("+ a.py:2-3")
    editor.keys("<C-u>say again<Esc><CR>")
    first, second = blocks(agent, 1), blocks(agent, 2)
    assert [b["resource"]["uri"] for b in second[1:]] == [b["resource"]["uri"] for b in first[1:]]


def test_variables_complete_with_and_without_at_sign(editor: Editor) -> None:
    editor.cmd("AcpPrompt")
    for text, word in (("see {quick", "{quickfix}"), ("see @{quick", "@{quickfix}")):
        editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, {...})", text)
        editor.keys("<Esc>A<C-x><C-o><C-y><Esc>")
        editor.wait("vim.api.nvim_get_current_line() == ...", f"see {word}")


def test_the_lines_of_a_prompt_come_back_if_the_host_cannot_start(editor: Editor) -> None:
    editor.errors_expected = True
    agent = editor.agent("hello")
    editor.setup({"python": "/nonexistent/python"})
    other = editor.write("other.txt", "x\n")
    editor.open(editor.write("a.py", "one\ntwo\nthree\nfour\n"))
    editor.cmd(f"Acp attach {other}")
    editor.keys("2GVj:AcpPrompt look at @a.py<CR>")
    editor.wait_message("Python not found")
    editor.setup({"python": sys.executable})
    editor.keys(":AcpPrompt<CR>")
    editor.wait("vim.api.nvim_get_current_line() == 'look at @a.py'")
    editor.keys("<C-s>")
    found = agent.wait("session/prompt")["params"]["prompt"]
    uris = [b["resource"]["uri"] for b in found if b["type"] == "resource"]
    a = (editor.work / "a.py").as_uri()
    assert sorted(uris) == sorted([a, f"{a}#L2-L3", other.as_uri()])


def test_lines_of_a_file_are_read_without_the_rest(editor: Editor) -> None:
    """A part of a sparse file of 4 GiB, and a FIFO, which would block Neovim."""
    large, fifo = editor.work / "large.log", editor.work / "fifo"
    large.write_bytes(b"one\r\nt\0wo\n" + b"x" * 70_000 + b"\nfour")
    os.truncate(large, 4 << 30)
    os.mkfifo(fifo)
    small = editor.write("small.txt", "one\ntwo\nlast")
    lines = "return (require('acp.features.prompts.chips').range(...) or {}).text"
    assert editor.lua(lines, str(large), 1, 2) == "one\nt\0wo"
    assert editor.lua(lines, str(large), 3, 3) == "x" * 70_000
    assert editor.lua(lines, str(large), 9, 9) is None
    assert editor.lua(lines, str(small), 2, 9) == "two\nlast"
    assert editor.lua(lines, str(small), 4, 9) is None
    assert editor.lua(lines, str(fifo), 1, 1) is None
    assert editor.lua("return require('acp.base.read_file')(...)", str(fifo)) is None
