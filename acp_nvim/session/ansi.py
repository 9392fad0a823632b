"""Escape sequences in the output of a command: what of them may reach a screen.

The filter lets through what it knows to be harmless (text, colours, cursor movements) and nothing
else: strings to the terminal (OSC, DCS, APC, PM, SOS: titles, clipboard, files, palette), queries
that a terminal would answer into the program's input, window and printer controls are removed.
"""

from __future__ import annotations

import re
from typing import Final

_C1: Final = {code: "\x1b" + chr(code - 0x40) for code in range(0x80, 0xA0)}
_HAS_C1: Final = re.compile("[\x80-\x9f]")
_SPECIAL: Final = re.compile("[\x00-\x07\x0e-\x1f\x7f\x80-\x9f]")

_TOKEN: Final = re.compile(
    "(?P<text>[^\x1b]+)"
    r"|(?P<csi>\x1b\[(?P<args>[0-?]{0,64})(?P<between>[ -/]{0,4})(?P<final>[@-~]))"
    r"|(?P<string>\x1b[\]PX^_])"
    r"|(?P<charset>\x1b[()*+][0-~])"
    r"|(?P<simple>\x1b[78DEMHc=>])"
    r"|(?P<other>\x1b[ -/]{1,4}[0-~])"
    r"|(?P<bad>\x1b(?:\[[0-?]{0,64}[ -/]{0,4}|[0-~]|[ -/]{0,4}))"
)
_UNFINISHED: Final = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,4}|[ -/]{0,4})\Z")
_STRING_END: Final = re.compile("[\x07\x18\x1a\x1b]")
_NOISE: Final = re.compile("[\x00-\x07\x10-\x1a\x1c-\x1f\x7f]")

_FINALS: Final = frozenset("@ABCDEFGHIJKLMPSTXZ`abdefghlmrsu")
_WITH_BETWEEN: Final = {" ": "q", "!": "p"}
"""Intermediate -> final: the shape of the cursor, the soft reset."""


class Ansi:
    """A filter for text that comes in pieces; where the pieces end makes no difference.

    `colours`: keep harmless sequences; without it the text alone is left.
    """

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours
        self._carry = ""
        self._in_string = False

    def feed(self, text: str) -> str:
        """Return what is safe of `text`; the beginning of a sequence is kept back until its end."""
        if not self._carry and not self._in_string and _SPECIAL.search(text) is None:
            return text
        if _HAS_C1.search(text):
            text = text.translate(_C1)
        text = self._carry + text
        self._carry = ""
        return "".join(self._pieces(text))

    def _pieces(self, text: str) -> list[str]:
        at, kept = 0, list[str]()
        while at < len(text):
            if self._in_string:
                at = self._leave(text, at)
                continue
            if text[at] == "\x1b" and _UNFINISHED.match(text, at):
                self._carry = text[at:]
                break
            found = _TOKEN.match(text, at)
            assert found is not None, "every beginning is some token"
            at = found.end()
            kept.append(self._keep(found))
        return kept

    def _leave(self, text: str, at: int) -> int:
        """Skip to the end of a string; an escape ends it and begins what comes next (its ST)."""
        end = _STRING_END.search(text, at)
        if end is None:
            return len(text)
        self._in_string = False
        return end.start() if end.group() == "\x1b" else end.end()

    def _keep(self, found: re.Match[str]) -> str:
        match found.lastgroup:
            case "text":
                return _NOISE.sub("", found.group())
            case "string":
                self._in_string = True
                return ""
            case "bad" | "other":
                return ""
            case "charset" | "simple":
                return found.group() if self._colours else ""
            case _:
                return found.group() if self._colours and _harmless(found) else ""


def _harmless(found: re.Match[str]) -> bool:
    """Whether a control sequence only draws: no query, window, printer or keyboard control."""
    args, between, final = found.group("args", "between", "final")
    if between:
        return _WITH_BETWEEN.get(between) == final
    if args[:1] == "?":
        return final in "hlJK"
    return args[:1] not in ("<", "=", ">") and final in _FINALS


class Newlines:
    """`\\r\\n` as a terminal device writes it back into `\\n`, in text that comes in pieces."""

    _CRLF: Final = re.compile("\r+\n")

    def __init__(self) -> None:
        self._carry = ""

    def feed(self, text: str) -> str:
        """Return `text` with plain newlines; carriage returns at its end wait for what follows."""
        if "\r" not in text and not self._carry:
            return text
        text = self._CRLF.sub("\n", self._carry + text)
        rest = text.rstrip("\r")
        self._carry = text[len(rest) :]
        return rest

    def end(self) -> str:
        """Return what was still waiting."""
        carry, self._carry = self._carry, ""
        return carry
