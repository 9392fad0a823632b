"""Parser of shell lines whose commands are certain: a small part of the shell's grammar.

A line is *plain* if sh, dash, bash, zsh and similar shells all read it in the same way, and it
names every program that it starts. Only such a line can be allowed by a rule. Only a shell knows
the commands of any other line.

    line      command, then any number of  && || ; |  and a command; a `;` may end it
    command   program, then words and redirections, with blanks between them
    program   a word of  A-Z a-z 0-9 _ . / + -  that begins with neither + nor - and is not in
              the shell's grammar (`if`, `time`, `{`)
    word      unquoted characters, '…' and "…" in any order, without blanks between them
    quoted    in '…' anything but '; in "…" anything but " $ ` \\ !
    unquoted  A-Z a-z 0-9 _ . / , : @ % + - = and ~; no word begins with `=`, not even after empty
              quotes (zsh replaces it with the path of a command); `~` directly follows a letter, a
              digit or _ (`HEAD~1`)
    redirect  > or >> to one word, also 1> and 2>; 2>&1, 1>&2 and >&2; a blank precedes it

The line is printable and, outside of quotes, ASCII: some shells read a byte of an accented letter
as a blank. It contains no expansion (`$x`, `$(…)`, `~`, globs, braces), escape, comment,
assignment, here-document, background job, `&>` (which dash reads as `&`), group or history. A glob
would start no other program, but it gives the program words that the rule has not seen: `rm ?`
would allow `rm *`.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from typing import Final

import msgspec

from acp_nvim.patterns import late
from acp_nvim.session.questions.programs import RESERVED

_TOKEN: Final = late(
    r"""
      (?P<blank>[ ]+)
    | (?P<join>&&|\|\||[;|])
    | (?P<same>2>&1|1?>&2)(?=[ ;|&]|$)
    | (?P<write>[12]?>>?)
    | (?P<word>(?:[A-Za-z0-9_./,:@%+=-]++|(?<=[A-Za-z0-9_])~|'[^']*+'|"[^"$`\\!]*+")++)
    """,
    re.VERBOSE,
)
_PIECE: Final = late(r"'([^']*)'|\"([^\"]*)\"|([^'\"]+)")
_EQUALS: Final = late(r"(?:''|\"\")*=")
_PROGRAM: Final = late(r"[A-Za-z0-9_./][A-Za-z0-9_./+-]*")
_NOWHERE: Final = "/dev/null"
MAX_LENGTH: Final = 16_384
"""Maximum number of characters in a line that is parsed. No rule allows a longer one."""


class Simple(msgspec.Struct, frozen=True):
    """Command: its words without quotes, its text, and the files it writes."""

    words: tuple[str, ...]
    text: str
    writes: tuple[str, ...] = ()


class Line(msgspec.Struct, frozen=True):
    """Commands of a plain line, and the operators between them."""

    commands: tuple[Simple, ...]
    joins: tuple[str, ...] = ()


def parse(line: str) -> Line | None:
    """Parse a plain line. Return None for any other."""
    return _parse(line) if len(line) <= MAX_LENGTH and line.isprintable() else None


@lru_cache(maxsize=64)
def _parse(line: str) -> Line | None:
    reader, at = _Reader(), 0
    while at < len(line):
        token = _TOKEN.match(line, at)
        if token is None or not reader.add_token(token):
            return None
        at = token.end()
    return reader.end()


def is_program(word: str) -> bool:
    """Return whether every shell takes this word of a plain line as the name of a program."""
    return word not in RESERVED and _PROGRAM.fullmatch(word) is not None


class _Reader:
    """Parser state that handles the tokens of a line one by one."""

    def __init__(self) -> None:
        self._commands: list[Simple] = []
        self._joins: list[str] = []
        self._begin_command()

    def _begin_command(self) -> None:
        self._words: list[str] = []
        self._text: list[str] = []
        self._writes: list[str] = []
        self._follows_blank = True
        self._expects_target = False

    def add_token(self, token: re.Match[str]) -> bool:
        """Handle a token. Return False if it is not allowed in a plain line."""
        match token.lastgroup:
            case "blank":
                self._follows_blank = True
                return True
            case "word":
                return self._add_word(token[0])
            case "join":
                self._joins.append(token[0])
                return self._end_command()
        is_allowed = self._follows_blank and bool(self._words) and not self._expects_target
        self._follows_blank, self._expects_target = False, token.lastgroup == "write"
        return is_allowed

    def _add_word(self, text: str) -> bool:
        value = "".join(quoted or double or bare for quoted, double, bare in _PIECE.findall(text))
        if self._expects_target:
            self._expects_target = self._follows_blank = False
            return self._add_write(value)
        is_allowed = (
            self._follows_blank
            and not _EQUALS.match(text)
            and (bool(self._words) or is_program(value))
        )
        self._words.append(value)
        self._text.append(text)
        self._follows_blank = False
        return is_allowed

    def _add_write(self, path: str) -> bool:
        if path != _NOWHERE:
            self._writes.append(path)
        return bool(path) and (path == _NOWHERE or not posixpath.normpath(path).startswith("/dev"))

    def _end_command(self) -> bool:
        is_allowed = bool(self._words) and not self._expects_target
        self._commands.append(Simple(tuple(self._words), " ".join(self._text), tuple(self._writes)))
        self._begin_command()
        return is_allowed

    def end(self) -> Line | None:
        """Return the line after its last token."""
        if not self._words and self._joins and self._joins[-1] == ";":
            self._joins.pop()
        elif not self._end_command():
            return None
        return Line(tuple(self._commands), tuple(self._joins))
