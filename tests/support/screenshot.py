"""`python -m tests.support.screenshot`: run the product and draw its screen as docs/screen.svg."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path

from pyte.screens import Char, Screen

from tests.support.editor import ROOT
from tests.support.terminal import Terminal

SIZE = (132, 38)
CELL = (8.4, 18)
INK, PAPER = "#d4d7dd", "#14161b"
NAMED = {
    "black": "#07080d",
    "red": "#ffc0b9",
    "green": "#b3f6c0",
    "brown": "#fce094",
    "blue": "#a6dbff",
    "magenta": "#ffcaff",
    "cyan": "#8cf8f7",
    "white": "#eef1f8",
}

Look = tuple[str, str, bool, bool, bool]


def colour(name: str, default: str) -> str:
    """A colour of pyte's as CSS has it."""
    if name == "default":
        return default
    return NAMED.get(name, f"#{name}")


def look(cell: Char) -> Look:
    """Ink, paper, bold, italics, underline of a cell."""
    ink, paper = colour(cell.fg, INK), colour(cell.bg, PAPER)
    if cell.reverse:
        ink, paper = paper, ink
    return ink, paper, cell.bold, cell.italics, cell.underscore


def runs(screen: Screen, row: int) -> Iterator[tuple[int, str, Look]]:
    """Column, text and look of each stretch of cells that look the same."""
    cells = [screen.buffer[row][column] for column in range(screen.columns)]
    column = 0
    for style, group in groupby(cells, key=look):
        text = "".join(cell.data for cell in group)
        yield column, text, style
        column += len(text)


def svg(screen: Screen) -> str:
    """The screen as an SVG document."""
    width, height = CELL
    total = (screen.columns * width + 24, screen.lines * height + 24)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total[0]:.0f} {total[1]:.0f}"',
        'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">',
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>',
    ]
    for row in range(screen.lines):
        for column, text, (ink, paper, bold, italics, underline) in runs(screen, row):
            x, y = 12 + column * width, 12 + row * height
            size = len(text) * width
            if paper != PAPER:
                box = f'width="{size:.1f}" height="{height}" fill="{paper}"'
                parts.append(f'<rect x="{x:.1f}" y="{y}" {box}/>')
            if not text.strip():
                continue
            extra = ' font-weight="bold"' * bold + ' font-style="italic"' * italics
            extra += ' text-decoration="underline"' * underline
            parts.append(
                f'<text x="{x:.1f}" y="{y + 13}" fill="{ink}" xml:space="preserve" '
                f'textLength="{size:.1f}"{extra}>{escape(text)}</text>'
            )
    return "\n".join([*parts, "</svg>", ""])


def tour(terminal: Terminal) -> None:
    """What the picture shows: of the tutor's two changes one is accepted and one pending, and it
    asks for a third.
    """
    terminal.wait("AcpPrompt hello")
    terminal.keys(":set termguicolors laststatus=2\r")
    terminal.keys(":AcpPrompt hello\r")
    terminal.wait("Permission")
    terminal.keys(":Acp allow\r")
    terminal.wait("are set up")
    terminal.wait("┃  22")
    terminal.keys("gg]h,a")
    terminal.wait_gone("┃  14")
    terminal.wait("done after")
    terminal.keys(":AcpPrompt /edit\r")
    terminal.wait("1 question")
    terminal.wait("[4] No, and")


def main() -> None:
    """Run `make try`, drive it, and write the picture."""
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8"}
        terminal = Terminal([str(ROOT / ".ci/try")], cwd=ROOT, env=env, size=SIZE)
        try:
            tour(terminal)
            terminal.lines()
            Path(ROOT / "docs/screen.svg").write_text(svg(terminal.screen), encoding="utf-8")
            terminal.keys("\x1b:qa!\r")
            terminal.wait_end()
        finally:
            terminal.close()


if __name__ == "__main__":
    main()
