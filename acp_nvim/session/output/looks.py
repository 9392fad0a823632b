"""How a character of a terminal looks: its colours, and its style as bits (ECMA-48, SGR)."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

Look = tuple[int, int, int]
"""Foreground, background, style. A colour is `DEFAULT`, 0 to 255 of the palette, or `RGB` and 24
bits.
"""

DEFAULT: Final = -1
RGB: Final = 1 << 24
PLAIN: Final[Look] = (DEFAULT, DEFAULT, 0)

BOLD: Final = 1
DIM: Final = 2
ITALIC: Final = 4
UNDERLINE: Final = 8
BLINK: Final = 16
REVERSE: Final = 32
CONCEAL: Final = 64
STRIKE: Final = 128

NOTE: Final[Look] = (DEFAULT, DEFAULT, DIM)
"""Words of ours among a program's."""

_ON: Final = {
    1: BOLD,
    2: DIM,
    3: ITALIC,
    4: UNDERLINE,
    5: BLINK,
    6: BLINK,
    7: REVERSE,
    8: CONCEAL,
    9: STRIKE,
    21: UNDERLINE,
}
_OFF: Final = {
    22: BOLD | DIM,
    23: ITALIC,
    24: UNDERLINE,
    25: BLINK,
    27: REVERSE,
    28: CONCEAL,
    29: STRIKE,
}
_BASES: Final = {3: (0, 0), 4: (1, 0), 9: (0, 8), 10: (1, 8)}
"""Tens of a code that sets a colour: foreground or background, and its first colour."""


@lru_cache(4096)
def rendition(look: Look, args: str) -> Look:
    """Return a look after SGR with these arguments; unknown ones change nothing."""
    parts = list(look)
    words = args.split(";")
    at = 0
    while at < len(words):
        at += _apply(parts, words, at)
    return parts[0], parts[1], parts[2]


def background(look: Look) -> Look:
    """Return the look of what is erased: the background alone."""
    return PLAIN if look[1] == DEFAULT else (DEFAULT, look[1], 0)


def _apply(parts: list[int], words: list[str], at: int) -> int:
    """Apply the code at a place; return how many arguments it has."""
    first, *more = words[at].split(":")
    code = number(first)
    if code == 0:
        parts[:] = PLAIN
    elif code in (38, 48):
        color, taken = _color(more) if more else _color_of(words[at + 1 : at + 5])
        if color is not None:
            parts[code == 48] = color
        return 1 + (0 if more else taken)
    elif code in (39, 49):
        parts[code == 49] = DEFAULT
    elif code == 4 and more and number(more[0]) == 0:
        parts[2] &= ~UNDERLINE
    elif code in _ON:
        parts[2] |= _ON[code]
    elif code in _OFF:
        parts[2] &= ~_OFF[code]
    elif code // 10 in _BASES and code % 10 < 8:
        ground, first_color = _BASES[code // 10]
        parts[ground] = first_color + code % 10
    return 1


def _color_of(words: list[str]) -> tuple[int | None, int]:
    """A colour in the arguments after 38 or 48, and how many of them are its."""
    kind = number(words[0]) if words else 0
    size = {5: 2, 2: 4}.get(kind, 0)
    if len(words) < size:
        return None, len(words)
    return _color(words[:size])[0], size


def _color(words: list[str]) -> tuple[int | None, int]:
    """A colour: `5, number` of the palette, or `2, red, green, blue`, where colons also allow a
    colour space before red.
    """
    values = [number(word) for word in words]
    if len(values) > 1 and values[0] == 5 and values[1] < 256:
        return values[1], 2
    if len(values) < 4 or values[0] != 2:
        return None, 0
    red, green, blue = values[2:5] if len(values) > 4 else values[1:4]
    if max(red, green, blue) > 255:
        return None, 0
    return RGB | red << 16 | green << 8 | blue, 4


def number(word: str) -> int:
    """Return an argument of a sequence; what is absent or no small number counts as 0."""
    return int(word) if word.isdecimal() and len(word) < 6 else 0
