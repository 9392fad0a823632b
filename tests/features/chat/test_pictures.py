"""Option `chat.images`: images are drawn below their rows in the chat."""

from __future__ import annotations

import base64
import os
import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.killed_host import kill_host
from tests.support.lua import lua_chunk
from tests.support.outer_terminal import NAME_QUERY, Terminal
from tests.support.script_lines import update
from tests.support.waiting import until

CELLS = lua_chunk(__file__, "picture_cells")
STAND_IN = lua_chunk(__file__, "stand_in_backend")
PLACEHOLDER = "\U0010eeee"
SENT = re.compile(r"\x1b_Ga=t,t=d,f=100,i=(\d+),m=(\d),q=2;([^\x1b]*)\x1b\\")


def png(width: int, height: int) -> str:
    """Return a grey image in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    rows = os.urandom(width * height)
    lines = b"".join(b"\0" + rows[n * width : (n + 1) * width] for n in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode()


def image(width: int, height: int) -> str:
    """Return the line of a script that sends an image."""
    content = {"type": "image", "data": png(width, height), "mimeType": "image/png"}
    return update(sessionUpdate="agent_message_chunk", content=content)


def name_itself(terminal: Terminal) -> None:
    """Answer the questions of Neovim as kitty does."""
    terminal.wait(NAME_QUERY)
    terminal.respond("\x1b_Gi=31;OK")
    terminal.respond("\x1b[?62;c")


def test_a_picture_is_drawn_moved_and_removed(editor: Editor) -> None:
    terminal = Terminal(editor, "kitty(0.46.0)")
    # image.nvim is installed, but never set up.
    editor.lua("package.preload['image'] = function() return { from_file = error } end")
    editor.agent("script")
    editor.turn(image(200, 100) + "\n" + "say below")
    name_itself(terminal)
    terminal.wait("a=p,U=1")
    found = SENT.search(terminal.written())
    assert found is not None
    id_ = int(found[1])
    assert f"\x1b_Ga=p,U=1,i={id_},c=20,r=5,q=2;\x1b\\" in terminal.written()
    payload = re.findall(
        r"\x1b_G(?:a=t,t=d,f=100,i=\d+,)?m=(\d),q=2;([^\x1b]*)", terminal.written()
    )
    assert [more for more, _ in payload] == ["1"] * (len(payload) - 1) + ["0"]
    assert all(len(text) <= 4096 for _, text in payload)
    assert base64.b64decode("".join(text for _, text in payload)).startswith(b"\x89PNG")

    def cells() -> list[int | None]:
        drawn = editor.lua(CELLS) or {}
        return [drawn.get(name) for name in ("row", "rows", "columns", "colour")]

    row = editor.chat().index(next(it for it in editor.chat() if it.startswith("[image")))
    until(lambda: cells() == [row, 5, 20, id_])
    assert sum(PLACEHOLDER in line for line in editor.screen()) == 5
    editor.cmd("colorscheme default")
    until(lambda: cells() == [row, 5, 20, id_])
    width = "local win = vim.fn.bufwinid('acp://chat/1') vim.api.nvim_win_set_width(win, 14)"
    room = editor.lua(width + " return require('acp.ui.win').text_columns(win)") - 2
    until(lambda: cells()[1:3] == [int(room / 4 + 0.5), room])
    editor.lua("vim.api.nvim_buf_call(vim.fn.bufnr('acp://chat/1'), function() vim.cmd.edit() end)")
    until(lambda: cells()[0] == row, what="the chat is drawn again")
    editor.cmd("bwipeout! acp://chat/1")
    terminal.wait(f"\x1b_Ga=d,d=I,i={id_},q=2;\x1b\\")


@pytest.mark.parametrize("name", ["WezTerm 20250209-1", "XTerm(390)"])
def test_other_terminals_get_no_picture(editor: Editor, name: str) -> None:
    terminal = Terminal(editor, name)
    editor.agent("script")
    editor.turn(image(20, 20))
    terminal.wait(NAME_QUERY)
    if name.startswith("WezTerm"):  # knows the protocol, but no placeholders
        terminal.respond("\x1b_Gi=31;OK")
    terminal.respond("\x1b[?62;c")
    editor.wait("package.loaded['acp.features.pictures.kitty'] ~= nil")
    editor.turn("say more")
    assert "a=t" not in terminal.written()
    assert not any(PLACEHOLDER in line for line in editor.screen())
    assert any(line.startswith("[image image/png") for line in editor.chat())


@pytest.mark.parametrize(
    ("name", "works"),
    [("kitty(0.28.0)", True), ("kitty(0.26.5)", False), ("WezTerm 20250209-1", False)],
)
def test_only_terminals_with_placeholders_are_used(editor: Editor, name: str, works: bool) -> None:
    """Each of these terminals knows the protocol."""
    terminal = Terminal(editor, name)
    editor.lua("require('acp.features.pictures.kitty').check(function(works) _G.works = works end)")
    name_itself(terminal)
    editor.wait("_G.works ~= nil")
    assert editor.lua("return _G.works") is works


def test_tmux_passes_pictures_on(edit: Callable[..., Editor], tmp_path: Path) -> None:
    tmux = tmp_path / "bin/tmux"
    tmux.parent.mkdir()
    tmux.write_text("#!/bin/sh\necho 'on ghostty 1.2.0'\n")
    tmux.chmod(0o755)
    path = f"{tmux.parent}:{os.environ['PATH']}"
    editor = edit(env={"PATH": path, "TMUX": "socket", "TMUX_PANE": "%1"})
    terminal = Terminal(editor, "tmux 3.4")
    editor.agent("script")
    editor.turn(image(20, 20))
    terminal.wait("\x1bPtmux;\x1b\x1b_Ga=p,U=1")
    assert "a=q" not in terminal.written(), "tmux would type the answer"


def test_without_the_option_or_a_terminal_nothing_is_asked(editor: Editor) -> None:
    editor.agent("script")
    editor.turn(image(20, 20))
    editor.screen()
    editor.setup({"chat": {"images": False}})
    terminal = Terminal(editor, "kitty(0.46.0)")
    editor.turn(image(20, 20))
    editor.screen()
    assert NAME_QUERY not in terminal.written()


@pytest.mark.parametrize("backend", ["neovim", "snacks", "image_nvim"])
def test_a_backend_draws_it_and_removes_it(editor: Editor, backend: str) -> None:
    """Stand-ins have the interface that the backends use."""
    editor.lua(STAND_IN, backend)
    Terminal(editor, "XTerm(390)")
    editor.agent("script")
    editor.turn(image(200, 100))
    drawn = editor.wait("_G.drawn[1]")
    row = editor.chat().index(next(it for it in editor.chat() if it.startswith("[image")))
    assert drawn == {"row": row, "columns": 20, "rows": 5, "is_png": True}
    kill_host(editor)
    editor.wait("_G.removed == 1")
    editor.turn(image(100, 100))
    drawn = editor.wait("_G.drawn[2]")
    assert (drawn["columns"], drawn["rows"]) == (10, 5), "not the picture of the last host"
    if backend == "image_nvim":  # its images belong to windows
        editor.cmd("Acp chat")
        editor.cmd("colorscheme default")
        editor.cmd("Acp chat")
        assert editor.wait("_G.drawn[3]") == drawn
    removed = editor.lua("return _G.removed")
    editor.cmd("bwipeout! acp://chat/1")
    assert editor.lua("return _G.removed") == removed + 1
