"""The commands in a line for a shell, so that rules can be held against each of them.

Not a parser: it errs towards more commands. What a quoted word holds is no command; what is inside
`$(…)`, backticks and parentheses is, and so is a file that a redirection writes (`> file`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_OUTSIDE: Final = re.compile(
    r"(?P<escape>\\.)|(?P<text>'[^']*'?)|(?P<open>[$<>]?\()|(?P<close>\))|(?P<tick>`)"
    r"|(?P<double>\")"
    r"|(?P<redirect>(?:\d+|&)?>{1,2}[|&]?[ \t]*"
    r"(?P<target>(?:[^\s;&|<>()`'\"]|'[^']*'|\"[^\"]*\")*))"
    r"|(?P<between>&&|\|[|&]?|[;&\n])|(?P<plain>[^\\'()$<>`\"&|;\n\d]+|.)",
    re.DOTALL,
)
_QUOTED: Final = re.compile(
    r'(?P<escape>\\.)|(?P<open>\$\()|(?P<tick>`)|(?P<double>")|(?P<plain>[^\\$`"]+|.)', re.DOTALL
)
_HARMLESS: Final = re.compile(r"/dev/(null|stdout|stderr|tty)|\d+|-")
_WORDS_OF_THE_SHELL: Final = re.compile(
    r"(?:(?:if|then|elif|else|fi|while|until|do|done|case|esac|time|!|\{|\})(?:\s+|$)|[A-Za-z_]\w*=\S*\s+)+"
)
_FOLDER: Final = re.compile(r"[^\s'\"]*/(?=[^\s/])")
_SHELL: Final = re.compile(r"(?:ba|da|k|z)?sh")
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*=")
OPERATORS: Final = re.compile(r"[;&|\n`<>(]")
"""What a glob that is written for a line of several commands holds."""


@dataclass(slots=True)
class _Level:
    """A line, or what is inside one of its substitutions."""

    closes: str
    quoted: bool = False
    text: str = ""


def commands(line: str) -> list[str]:
    """Return the commands of a line, without blanks around them; one that is simple is the line."""
    reader, at = _Reader(), 0
    while at < len(line):
        at = reader.take(line, at)
    while reader.levels:
        reader.flush(reader.levels.pop())
    return reader.found


class _Reader:
    """Goes through a line; `levels` are the substitutions that are open."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.levels = [_Level("")]

    def take(self, line: str, at: int) -> int:
        """Take the token at this position and return the position after it."""
        level = self.levels[-1]
        token = (_QUOTED if level.quoted else _OUTSIDE).match(line, at)
        assert token is not None, "every character is some token"
        text, kind = token.group(), token.lastgroup
        if kind == "between" or (kind == "close" and level.closes != text):
            self.flush(level)
        elif kind in ("close", "tick") and level.closes == text:
            self.flush(self.levels.pop())
            self.levels[-1].text += text
        else:
            level.text += text
            self._enter(level, token)
        return token.end()

    def _enter(self, level: _Level, token: re.Match[str]) -> None:
        match token.lastgroup:
            case "open":
                self.levels.append(_Level(")"))
            case "tick":
                self.levels.append(_Level("`"))
            case "double":
                level.quoted = not level.quoted
            case "redirect" if not _HARMLESS.fullmatch(token["target"]):
                self.found.append(f"> {token['target']}")

    def flush(self, level: _Level) -> None:
        """A command is complete; the shell's own words alone are none."""
        command, level.text = level.text.strip(), ""
        if command and (_ASSIGNED.match(command) or bare(command)):
            self.found.append(command)


def bare(command: str) -> str:
    """Return a command without the variables and the shell's own words before it."""
    found = _WORDS_OF_THE_SHELL.match(command)
    return command[found.end() :] if found else command


def named(command: str) -> str:
    """Return a command without the folder of its program."""
    return _FOLDER.sub("", command, count=1) if _FOLDER.match(command) else command


def unquoted(command: str) -> str:
    """Return the words of a command without their quotes; as it is where a quote is not closed."""
    return " ".join(_words(command)) or command


def script(command: str) -> str | None:
    """Return the line that a command hands to a shell (`sh -c '…'`), None when it runs none."""
    match _words(named(bare(command))):
        case [name, "-c" | "-lc" | "-ic", line, *_] if _SHELL.fullmatch(name):
            return line
    return None


@lru_cache(maxsize=32)
def _words(command: str) -> Sequence[str]:
    """The words of a simple command; none where a quote is not closed. Each rule asks for them."""
    try:
        return shlex.split(command)
    except ValueError:
        return []
