"""Output of commands, with colours and overwritten lines as in a terminal."""

from __future__ import annotations

import re
from typing import Final

from acp_nvim.patterns import late
from acp_nvim.session.output.ansi import Ansi, plain
from acp_nvim.session.output.tail import overwrites, resolve_overwrites

Piece = tuple[str, str | None]
"""A text and its highlight group."""

_COLOURS: Final = (
    *("AcpMuted", "AcpRed", "AcpGreen", "AcpYellow", "AcpBlue", "AcpMagenta", "AcpCyan", None),
)
"""Groups of the colours 0 to 7 and of the bright colours.

Black and white have none, since they may be the background.
"""
_BOLD: Final = "AcpStrong"
_FAINT: Final = "AcpMuted"
_SGR: Final = late(r"\x1b\[([0-9;:]*)m")


def is_coloured(text: str) -> bool:
    """Return whether a text may contain colours."""
    return "\x1b[" in text or "\x9b" in text


def coloured_pieces(text: str) -> list[list[Piece]]:
    """Return the lines of an output as pieces. A line that overwrites itself has no colours."""
    attributes = _Attributes()
    lines = Ansi().feed(text).replace("\r\n", "\n").split("\n")
    return [
        attributes.final_pieces(line) if overwrites(line) else attributes.pieces(line)
        for line in lines
    ]


class _Attributes:
    """Colour and weight of the following text."""

    def __init__(self) -> None:
        self._colour: str | None = None
        self._weight: str | None = None

    def pieces(self, line: str) -> list[Piece]:
        """Return the pieces of a line."""
        pieces: list[Piece] = []
        at = 0
        for sequence in _SGR.finditer(line):
            pieces.append((plain(line[at : sequence.start()]), self._group))
            self._apply(sequence.group(1))
            at = sequence.end()
        pieces.append((plain(line[at:]), self._group))
        return [(text, group) for text, group in pieces if text]

    def final_pieces(self, line: str) -> list[Piece]:
        """Return the final text of a line that overwrites itself."""
        self.pieces(line)
        return [(resolve_overwrites(line), None)]

    @property
    def _group(self) -> str | None:
        return self._colour or self._weight

    def _apply(self, arguments: str) -> None:
        """Apply a sequence that sets colour or weight. Only 16 of 256 colours are used."""
        codes = [int(code) if code.isdigit() else 0 for code in re.split("[;:]", arguments)]
        while codes:
            code = codes.pop(0)
            if code in (38, 48):  # 38;5;{n}, or 38;2;{red};{green};{blue}
                colour = codes[1] if codes[:1] == [5] and len(codes) > 1 else 16
                del codes[: 2 if codes[:1] == [5] else 4]
                if code == 38:
                    self._colour = _COLOURS[colour % 8] if colour < 16 else None
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self._colour = _COLOURS[code % 10]
            elif code == 39:
                self._colour = None
            elif code in (0, 1, 2, 22):
                self._weight = {1: _BOLD, 2: _FAINT}.get(code)
                self._colour = None if code == 0 else self._colour
