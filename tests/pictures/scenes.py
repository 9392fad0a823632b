"""Scenes of the pictures: a user's way through the product, with the tutor as the agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.pictures.svg import Picture, picture
from tests.support.editor import ROOT
from tests.support.terminal import Terminal


class Theme(msgspec.Struct, frozen=True):
    """Colours of a terminal, and the settings for Neovim."""

    name: str
    ink: str
    paper: str


THEMES = (Theme("dark", "#e0e2ea", "#14161b"), Theme("light", "#14161b", "#e0e2ea"))
SIZES = ((80, 24), (120, 40), (200, 50))
SCENES = ("chat", "composer", "question", "inline", "review", "overview")
STORY_SIZE = (120, 34)


class Run:
    """`make try` in a terminal of one size and one theme."""

    def __init__(self, terminal: Terminal, theme: Theme) -> None:
        self.terminal = terminal
        self._theme = theme

    def type(self, keys: str, *awaited: str) -> None:
        """Type keys, and wait until the screen shows all awaited texts."""
        self.terminal.keys(keys)
        for text in awaited:
            self.terminal.wait(text)

    def command(self, line: str, *awaited: str) -> None:
        self.type(f":{line}\r", *awaited)

    def leave(self) -> None:
        """Go to Normal mode from any list or mode."""
        for keys in ("\x03", "\x1c\x0e"):
            self.terminal.keys(keys)
            self.terminal.settle()

    def pending(self, count: int) -> None:
        """Wait until this number of hunks is pending."""
        edits = "((require('acp').state().sessions[1].edits or {})[1] or { hunks = 0 })"
        self.terminal.wait_lua(f"{edits}.hunks", str(count))

    def picture(self) -> Picture:
        """Return the screen when drawing has ended."""
        self.terminal.settle()
        return picture(self.terminal.screen, self._theme.ink, self._theme.paper)


@contextmanager
def run(home: str, path: str, size: tuple[int, int], theme: Theme) -> Iterator[Run]:
    """Start `make try`, and end it like a user."""
    env = {"PATH": path, "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "TZ": "UTC"}
    socket = Path(home) / "nvim"
    argv = [str(ROOT / ".ci/try"), "--listen", str(socket)]
    terminal = Terminal(argv, cwd=ROOT, env=env, size=size, socket=socket)
    try:
        terminal.wait("AcpPrompt hello")
        look = f"set termguicolors background={theme.name}"
        terminal.keys(f":{look} | redraw!\r")
        it = Run(terminal, theme)
        yield it
        it.leave()
        terminal.keys(":qa!\r")
        terminal.wait_end()
    finally:
        terminal.close()


def scenes(run: Run) -> Iterator[tuple[str, Picture]]:
    """Yield the pictures of the gallery in the order of one run."""
    run.command("AcpPrompt /read till.py", "done")
    run.command("AcpPrompt /plan", "done")
    yield "chat", run.picture()
    run.command("AcpPrompt", "Tutor · Ask first")  # without "Message" in 80 columns
    run.type("look at @", "@README.md")
    yield "composer", run.picture()
    run.type("\x1c\x0e")
    run.terminal.settle()
    run.command("quit!")
    run.command("AcpPrompt /edit till.py", "waiting")
    yield "question", run.picture()
    run.command("Acp allow")
    run.pending(2)
    run.type("\x17tgg]h")
    yield "inline", run.picture()
    run.command("Acp review", "base")
    yield "review", run.picture()
    run.command("tabclose")
    run.command("AcpPrompt! /edit README.md", "waiting")
    run.command("Acp overview", "1 question")
    yield "overview", run.picture()
    run.command("Acp deny")
    run.type("q\x17t")
    run.command("Acp accept file")  # otherwise `make try` starts again because of pending edits
    run.pending(0)


def story(run: Run) -> Iterator[tuple[Picture, float]]:
    """Yield the moving picture of the README, with seconds: a prompt, a permission, a review."""
    run.type(":AcpPrompt /edit till.py")
    yield run.picture(), 2.0
    run.type("\r", "waiting")
    yield run.picture(), 4.0
    run.type(":Acp allow")
    yield run.picture(), 1.2
    run.type("\r", "done")
    run.pending(2)
    yield run.picture(), 2.5
    run.type("gg]h")
    yield run.picture(), 2.0
    run.type(",a")
    run.pending(1)
    yield run.picture(), 2.0
    run.command("Acp review", "base")
    yield run.picture(), 3.0
    run.type("gg]cdo")
    run.pending(0)
    yield run.picture(), 3.0
