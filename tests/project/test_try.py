"""`make try`, often the first command of a new user."""

from __future__ import annotations

import os
import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.editor import ROOT
from tests.support.processes import MARK, marked
from tests.support.terminal import Terminal
from tests.support.waiting import until


def environment(tmp_path: Path, mark: str) -> dict[str, str]:
    """Return the environment of a new user, with an empty directory for temporary files."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "LANG": "C.UTF-8",
        MARK: mark,
    }


@pytest.fixture
def mark() -> Iterator[str]:
    mark = uuid.uuid4().hex
    yield mark
    try:
        until(lambda: not marked(mark))
    except AssertionError:
        left = marked(mark)
        for process in left:
            process.kill()
        raise AssertionError(f"survived: {left}") from None


def test_without_a_screen(tmp_path: Path, mark: str) -> None:
    args = "--headless -c 'lua io.stdout:write(vim.fn.expand([[%:t]]))' -c 'qa!'"
    ran = subprocess.run(
        ["make", "--no-print-directory", "try", f"NVIM_ARGS={args}"],
        cwd=ROOT,
        env=environment(tmp_path, mark),
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    assert ran.stdout.endswith("till.py")
    assert not list(tmp_path.glob("acp-try.*")), "the sample's copy is removed"


@pytest.fixture
def terminal(tmp_path: Path, mark: str) -> Iterator[Terminal]:
    socket = tmp_path / "nvim.sock"
    argv = [str(ROOT / ".ci/try"), "--listen", str(socket)]
    terminal = Terminal(argv, cwd=ROOT, env=environment(tmp_path, mark), socket=socket)
    yield terminal
    terminal.close()


SESSION = "require('acp').state().sessions[1]"
BUG = "vim.fn.search([[basket\\[:-1\\] *:]], 'nw', 0, 0) > 0"
FIRST = "vim.api.nvim_buf_get_lines(vim.fn.bufnr('till.py'), 0, 1, true)[1]"


def test_a_first_session_in_a_terminal(terminal: Terminal) -> None:
    terminal.wait(":AcpPrompt hello")
    terminal.keys("ggOa line that is not saved\x1b")
    terminal.keys(":AcpPrompt hello\r")
    terminal.wait("1 of 10 · Talk")
    terminal.keys(":AcpPrompt /read\r")
    terminal.wait("that line is not saved")
    terminal.keys(":AcpPrompt /edit\r")
    terminal.wait_lua(f"#{SESSION}.permissions", "1")
    assert terminal.lua(BUG) == "true", "nothing is changed before the answer"
    terminal.keys(":Acp allow\r")
    terminal.wait_lua(BUG, "false")
    terminal.wait_lua(f"{SESSION}.status", "idle")
    terminal.keys("u")
    terminal.wait_lua(BUG, "true")
    assert terminal.lua(FIRST) == "a line that is not saved", "the user's own change is kept"
    terminal.keys(":AcpPrompt /slow 60\r")
    terminal.wait("Patience is a plugin for people.")
    terminal.keys(":AcpCancel\r")
    terminal.wait_lua(f"{SESSION}.stop_reason", "cancelled")
    terminal.keys(":qa!\r")
    assert terminal.wait_end() == 0


def test_the_hint_fits_one_line(terminal: Terminal) -> None:
    terminal.wait("Type  :AcpPrompt hello")
    assert not any(re.search("Press ENTER", row) for row in terminal.lines())
    assert "A till: adds up a basket" in terminal.lines()[0]


def test_make_try_offers_a_restart_while_edits_are_pending(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.wait(":AcpPrompt hello")
    terminal.keys(":AcpPrompt /edit\r")
    terminal.wait_lua(f"#{SESSION}.permissions", "1")
    terminal.keys(":Acp allow\r")
    terminal.wait_lua(f"{SESSION}.status", "idle")
    terminal.wait_lua(f"#{SESSION}.edits", "1")
    terminal.keys(":qa!\r")
    terminal.wait("Enter starts Neovim again")
    terminal.keys("\r")
    terminal.wait(":AcpPrompt hello")
    terminal.wait("for _, count, price in basket[:-1]:")  # the old line, above the hunk
    terminal.keys(":Acp accept all\r")
    terminal.wait_lua(f"#{SESSION}.edits", "0")
    terminal.keys(":qa!\r")
    assert terminal.wait_end() == 0
    assert not list(tmp_path.glob("acp-try.*")), "the sample's copy is removed"
