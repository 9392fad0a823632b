"""Filter for the escape sequences in a command's output.

Only sequences known to be harmless pass: text, colours, cursor movements. All others are removed:
strings to the terminal (OSC, DCS, APC, PM, SOS: titles, clipboard, files, palette), queries that a
terminal would answer into the program's input, window and printer controls.
"""

from __future__ import annotations

import re
from typing import Final

from acp_nvim.patterns import late

_C1: Final = {code: "\x1b" + chr(code - 0x40) for code in range(0x80, 0xA0)}
_HAS_C1: Final = late("[\x80-\x9f]")
_SPECIAL: Final = late("[\x00-\x07\x0e-\x1f\x7f\x80-\x9f]")

_TOKEN: Final = late(
    "(?P<run>(?:[^\x00-\x07\x10-\x1f\x7f]++"
    r"|\x1b\[[0-9;:]{0,64}[@-HJKLMPSTXZ`abdefghlmrsu]|\x1b\[\?[0-9;]{0,63}[hlJK])++)"
    r"|(?P<csi>\x1b\[[0-?]{0,64}(?P<between>[ -/]{0,4})(?P<final>[@-~]))"
    r"|(?P<string>\x1b[\]PX^_])"
    r"|(?P<drawing>\x1b(?:[()*+][0-~]|[78DEMHc=>]))"
    r"|(?P<noise>[^\x1b])"
    r"|(?P<other>\x1b[ -/]{1,4}[0-~])"
    r"|(?P<bad>\x1b(?:\[[0-?]{0,64}[ -/]{0,4}|[0-~]|[ -/]{0,4}))"
)
"""Tokens of an output. A `run` is text with sequences that only draw."""
_UNFINISHED: Final = late(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,4}|[ -/]{0,4})\Z")
_STRING_END: Final = late("[\x07\x18\x1a\x1b]")
_LINE_END: Final = late("[\n\x07\x18\x1a\x1b]")
_DRAWING: Final = {" ": "q", "!": "p"}
"""Intermediate and final bytes of two more drawing sequences: cursor shape, soft reset."""
_SAFE: Final = late(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[()*+].|.)|[\x0e\x0f]")


class Ansi:
    """Filter for text that arrives in pieces. The result does not depend on the split."""

    def __init__(self) -> None:
        self._carry = ""
        self._string_end: re.Pattern[str] | None = None

    def feed(self, text: str) -> str:
        """Return the safe part of `text`, without an unfinished sequence, which is held back."""
        if not self._carry and not self._string_end and _SPECIAL.search(text) is None:
            return text
        if _HAS_C1.search(text):
            text = text.translate(_C1)
        text = self._carry + text
        self._carry = ""
        return "".join(self._pieces(text))

    def _pieces(self, text: str) -> list[str]:
        at, pieces = 0, list[str]()
        while at < len(text):
            if self._string_end:
                at = self._skip_string(text, at, self._string_end)
                continue
            if text[at] == "\x1b" and _UNFINISHED.match(text, at):
                self._carry = text[at:]
                break
            match = _TOKEN.match(text, at)
            assert match is not None, "every beginning is some token"
            at = match.end()
            pieces.append(self._safe_part(match))
        return pieces

    def _skip_string(self, text: str, at: int, ends: re.Pattern[str]) -> int:
        """Skip to the end of a string. An escape ends it and begins the next sequence, often ST."""
        end = ends.search(text, at)
        if end is None:
            return len(text)
        self._string_end = None
        return end.start() if end.group() in "\x1b\n" else end.end()

    def _safe_part(self, match: re.Match[str]) -> str:
        match match.lastgroup:
            case "run" | "drawing":
                return match.group()
            case "string":
                # Pictures (DCS, APC) may have several lines. Any other string that has no end
                # would hide the rest of the output.
                self._string_end = _STRING_END if match.group()[1] in "P_" else _LINE_END
                return ""
            case "csi":
                between, final = match.group("between", "final")
                return match.group() if _DRAWING.get(between) == final else ""
            case _:
                return ""


def plain(safe: str) -> str:
    """Return filtered text without its sequences."""
    return safe if _SPECIAL.search(safe) is None else _SAFE.sub("", safe)


class Newlines:
    """Converter of a terminal device's `\\r\\n` back to `\\n`, in text that arrives in pieces."""

    def __init__(self) -> None:
        self._carry = ""

    def feed(self, text: str) -> str:
        """Return `text` with plain newlines. Carriage returns at its end are held back."""
        if "\r" not in text and not self._carry:
            return text
        text = self._carry + text
        while "\r\n" in text:
            text = text.replace("\r\n", "\n")
        rest = text.rstrip("\r")
        self._carry = text[len(rest) :]
        return rest

    def end(self) -> str:
        """Return the held text."""
        carry, self._carry = self._carry, ""
        return carry
