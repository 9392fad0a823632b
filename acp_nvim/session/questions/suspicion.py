"""Detection of commands that may start a program that a rule refuses or asks about.

`deny` and `ask` must not be circumvented. So a program is suspected wherever its name occurs, in
any quoting, without parsing the shell's grammar. The user sees an unnecessary refusal or question.
A missed program would be worse.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal

from acp_nvim.patterns import late
from acp_nvim.session.questions import command_line, programs

Suspicion = Literal["sure", "maybe"]
"""`maybe`: the name is in a text that no command of the line would run."""

MAX_SEARCHED: Final = command_line.MAX_LENGTH
"""Maximum number of characters that are searched. A longer line is suspected of everything."""

_ESCAPE: Final = late(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3}))"
)
_EMPTY: Final = late(r"\$\{[^{}]*\}|\$\(\s*\)|``|\$[\w@*#?!$-]")
_SUBSTITUTION: Final = late(r"\$\([^()]*\)|`[^`]*`")
_QUOTING: Final = late(r"\\\n|[\\'\"]|\$(?=['\"])")
_BETWEEN: Final = late(r"[\s;&|()<>{}$`'\"\\,=:!#]+")
_SEGMENT: Final = late(r"&&|\|[|&]?|[;&\n()]")
_BEFORE: Final = late(
    r"(?:(?:if|then|elif|else|while|until|do|time|coproc|!|\{)\s+|[A-Za-z_]\w*\+?=\S*\s+"
    r"|[0-9]*[<>]{1,3}[|&]?\s*\S+\s+)*"
)
_COMPUTED: Final = late(r"(?!\[\[?$)[$`*?\[{~^]|^=")
_NESTED: Final = 3
_CONTROL: Final = late(r"[\x00-\x08\x0b-\x1f\x7f]")


def judge_line(globs: Sequence[str], line: str) -> Suspicion | None:
    """Return whether a shell line may run a program named in one of the globs."""
    if len(line) > MAX_SEARCHED:
        return "maybe"
    if not any(_occurs_in_order(glob, reading) for glob in globs for reading in _readings(line)):
        return None
    plain = command_line.parse(line)
    if plain is None:
        return "sure"
    possible_words = [word for command in plain.commands for word in command.words]
    return judge_words(globs, possible_words) or (
        "sure" if programs.may_start_other_programs(possible_words) else "maybe"
    )


def judge_words(globs: Sequence[str], argv: Sequence[str]) -> Suspicion | None:
    """Return whether a program, run with these arguments and no shell, may be one of the globs."""
    together = " ".join(argv)
    if len(together) > MAX_SEARCHED:
        return "maybe"
    if not any(
        _occurs_in_order(glob, reading) for glob in globs for reading in _readings(together)
    ):
        return None
    if programs.may_start_other_programs(argv):
        return "sure"
    apart = " ".join(word for word in argv if not re.search(r"\s", word))
    return "sure" if any(_occurs_in_order(glob, apart) for glob in globs) else "maybe"


def words(line: str) -> set[str]:
    """Return every possible word of a line, in lower case."""
    readings = _readings(line) if len(line) <= MAX_SEARCHED else ()
    return {word for reading in readings for word in _words(reading)}


def is_line_unclear(line: str) -> bool:
    """Return whether a line computes its commands, or passes them to a shell in a hidden way."""
    plain = command_line.parse(line)
    if plain is not None:
        return any(is_unclear(command.words) for command in plain.commands)
    if len(line) > MAX_SEARCHED or _CONTROL.search(line):
        return True
    if any(_COMPUTED.search(head) or head == "." for head in _heads(line)):
        return True
    possible_words = words(line)
    if any(programs.program_name(word) in programs.CODE for word in possible_words - {"."}):
        return True
    return (
        programs.may_start_other_programs(list(possible_words))
        and re.search(r"[$`*?\[]", line) is not None
    )


def is_unclear(argv: Sequence[str]) -> bool:
    """Return whether a word is a shell or similar, unless its `-c` code is a clear line."""
    is_wrapped = programs.program_name(argv[0]) in programs.WRAPPERS
    for at, word in enumerate(argv):
        if programs.program_name(word) in programs.CODE and (word != "." or at == 0 or is_wrapped):
            script = argv[at + 2] if len(argv) > at + 2 and argv[at + 1] in ("-c", "-lc") else ""
            if not script or is_line_unclear(script):
                return True
    return False


def _heads(line: str) -> Iterator[str]:
    """Yield the words that may be programs, one for each command, with some false positives."""
    text = line.replace("\\\n", "")
    for segment in [*_SEGMENT.split(text), *_SEGMENT.split(text.replace("`", ";"))]:
        bare = segment.strip()
        before = _BEFORE.match(bare)
        head = bare[before.end() :] if before else bare
        yield head.split(maxsplit=1)[0] if head else ""


@lru_cache(maxsize=8)
def _readings(line: str) -> tuple[str, ...]:
    """Return the readings of a line.

    These are the line itself, the line without quotes, and the line with escapes and expansions
    resolved as far as possible.
    """
    readings = [line, _ESCAPE.sub(_character, line) if "\\" in line else line]
    readings += [_EMPTY.sub("", text) for text in readings]
    for _ in range(_NESTED):
        readings += [_SUBSTITUTION.sub("", text) for text in readings[-2:]]
    readings = list(dict.fromkeys(readings))
    apart = [_QUOTING.sub(" ", text) for text in readings[:1]]
    return tuple(dict.fromkeys([*readings, *(_QUOTING.sub("", text) for text in readings), *apart]))


def _character(escape: re.Match[str]) -> str:
    code = int(escape[4], 8) if escape[4] else int(escape[1] or escape[2] or escape[3], 16)
    return chr(code) if 0 < code < 0x110000 else ""


def _occurs_in_order(glob: str, reading: str) -> bool:
    """Return whether the glob matches the reading, or its words occur there in order.

    Other words may be between them: `git push *` is in `git -C x push`.
    """
    if fnmatch.fnmatchcase(reading.strip().casefold(), glob.strip().casefold()):
        return True
    wanted = _named_words(glob)
    if not wanted:
        return not glob.strip("* ")
    at = 0
    for word in _words(reading):
        if _matches_word(word, wanted[at], program=at == 0):
            at += 1
            if at == len(wanted):
                return True
    return False


@lru_cache(maxsize=256)
def _named_words(glob: str) -> tuple[str, ...]:
    """Return the words of a glob that are not only wildcards."""
    return tuple(word for word in _words(glob) if word.strip("*"))


@lru_cache(maxsize=8)
def _words(text: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in _BETWEEN.split(text) if word)


def _matches_word(word: str, pattern: str, *, program: bool) -> bool:
    if fnmatch.fnmatchcase(word, pattern):
        return True
    if not program:
        return False
    name = programs.program_name(pattern)
    return bool(name.strip("*?")) and fnmatch.fnmatchcase(programs.program_name(word), name)
