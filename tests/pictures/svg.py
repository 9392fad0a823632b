"""Screens of a terminal as SVG documents with one picture or a sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

import msgspec
from pyte.screens import Char, Screen

CELL = (8.4, 18)
MARGIN = 12
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
"""Colours by the terminal's names, with the values of Neovim's default scheme."""


class Style(msgspec.Struct, frozen=True):
    """Colours and attributes of a cell."""

    ink: str
    paper: str
    bold: bool
    italics: bool
    underline: bool
    strike: bool


class Picture(msgspec.Struct, frozen=True):
    """A screen: rows of spans with one style, each with its column."""

    columns: int
    rows: tuple[tuple[tuple[int, str, Style], ...], ...]
    ink: str
    paper: str

    @property
    def text(self) -> list[str]:
        """Return the rows as plain text without trailing blanks."""
        return ["".join(text for _, text, _ in row).rstrip() for row in self.rows]


def picture(screen: Screen, ink: str, paper: str) -> Picture:
    """Return the current picture of a terminal with these colours."""
    rows = tuple(tuple(_stretches(screen, row, ink, paper)) for row in range(screen.lines))
    return Picture(screen.columns, rows, ink, paper)


def still(shown: Picture) -> str:
    """Return a document of one picture."""
    rows = _Rows(shown)
    body = rows.uses(shown)
    return _document(shown, rows, [f"<g>{body}</g>"], "")


def film(shown: Sequence[tuple[Picture, float]]) -> str:
    """Return a document with a loop of pictures, each with its seconds.

    With reduced motion only the last one is visible.
    """
    first, total = shown[0][0], sum(seconds for _, seconds in shown)
    rows, parts, style, begun = _Rows(first), [], ["g.f{visibility:hidden}"], 0.0
    for number, (one, seconds) in enumerate(shown):
        start, end = 100 * begun / total, 100 * (begun + seconds) / total
        begun += seconds
        style.append(
            f"@keyframes k{number}{{0%,100%{{visibility:hidden}}{start:.2f}%,{end - 0.01:.2f}%"
            f"{{visibility:visible}}{end:.2f}%{{visibility:hidden}}}}"
            f"#f{number}{{animation:k{number} {total:.1f}s step-end infinite}}"
        )
        parts.append(f'<g class="f" id="f{number}">{rows.uses(one)}</g>')
    last = len(shown) - 1
    style.append(
        "@media (prefers-reduced-motion:reduce){g.f{animation:none!important}"
        f"#f{last}{{visibility:visible}}}}"
    )
    return _document(first, rows, parts, "".join(style))


class _Rows:
    """Rows of pictures. Each is drawn once, however often it is used."""

    def __init__(self, of: Picture) -> None:
        self._of = of
        self._known: dict[tuple[tuple[int, str, Style], ...], str] = {}
        self.drawn: list[str] = []
        self._looks: dict[Style, str] = {}

    def uses(self, shown: Picture) -> str:
        """Return references to the rows of a picture."""
        parts = [] if shown.paper == self._of.paper else [_ground(shown)]
        for number, row in enumerate(shown.rows):
            name = self._name(row)
            if name:
                parts.append(f'<use href="#{name}" y="{MARGIN + number * CELL[1]}"/>')
        return "".join(parts)

    def style(self) -> str:
        """Return the CSS classes of all styles."""
        return "".join(f".{name}{{{_css(look)}}}" for look, name in self._looks.items())

    def _name(self, row: tuple[tuple[int, str, Style], ...]) -> str:
        found = self._known.get(row)
        if found is None:
            drawn = "".join(self._draw(*stretch) for stretch in row)
            found = self._known[row] = f"r{len(self._known)}" if drawn else ""
            if drawn:
                self.drawn.append(f'<g id="{found}">{drawn}</g>')
        return found

    def _draw(self, column: int, text: str, look: Style) -> str:
        x, size = MARGIN + column * CELL[0], len(text) * CELL[0]
        box = ""
        if look.paper != self._of.paper:
            sizes = f'width="{size:.1f}" height="{CELL[1]}"'
            box = f'<rect x="{x:.1f}" {sizes} fill="{look.paper}"/>'
        words = text.strip() if not look.underline else text
        if not words:
            return box
        name = self._looks.setdefault(look, f"l{len(self._looks)}")
        at, size = x + text.index(words) * CELL[0], len(words) * CELL[0]
        place = f'x="{at:.1f}" y="13" textLength="{size:.1f}"'
        return f'{box}<text class="{name}" {place}>{escape(words, quote=False)}</text>'


def _css(look: Style) -> str:
    lines = ["underline"] * look.underline + ["line-through"] * look.strike
    return (
        f"fill:{look.ink}"
        + ";font-weight:bold" * look.bold
        + ";font-style:italic" * look.italics
        + (f";text-decoration:{' '.join(lines)}" if lines else "")
    )


def _document(shown: Picture, rows: _Rows, body: Sequence[str], style: str) -> str:
    width, height = _size(shown)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"',
            f'width="{width:.0f}" height="{height:.0f}" font-size="14" xml:space="preserve"',
            "font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\">",
            f"<style>text{{white-space:pre}}{rows.style()}{style}</style>",
            f'<rect width="100%" height="100%" rx="8" fill="{shown.paper}"/>',
            f"<defs>{''.join(rows.drawn)}</defs>",
            *body,
            "</svg>",
            "",
        ]
    )


def _ground(shown: Picture) -> str:
    width, height = _size(shown)
    return f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="{shown.paper}"/>'


def _size(shown: Picture) -> tuple[float, float]:
    return shown.columns * CELL[0] + 2 * MARGIN, len(shown.rows) * CELL[1] + 2 * MARGIN


def _stretches(screen: Screen, row: int, ink: str, paper: str) -> Iterator[tuple[int, str, Style]]:
    cells = [screen.buffer[row][column] for column in range(screen.columns)]
    column = 0
    for look, group in groupby(cells, key=lambda cell: _look(cell, ink, paper)):
        text = "".join(cell.data for cell in group)
        yield column, text, look
        column += len(text)


def _look(cell: Char, ink: str, paper: str) -> Style:
    front, ground = _colour(cell.fg, ink), _colour(cell.bg, paper)
    if cell.reverse:
        front, ground = ground, front
    return Style(front, ground, cell.bold, cell.italics, cell.underscore, cell.strikethrough)


def _colour(name: str, default: str) -> str:
    return default if name == "default" else NAMED.get(name, f"#{name}")
