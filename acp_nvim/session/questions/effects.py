"""Effect of a proposed edit on diagnostics: "This edit adds 2 errors".

Language servers check both the current and the proposed text. Only the difference is reported,
because a server may know less about a proposed text than about a file on disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from acp_nvim import wording
from acp_nvim.edits.hunks import diff
from acp_nvim.edits.text import Text, keys
from acp_nvim.patterns import late

NAMES: Final = {1: "error", 2: "warning"}
"""Severities that count. Hints and information are about style."""

_WORD: Final = late(r"[^\W\d]\w*")


class Diagnostic(msgspec.Struct, frozen=True):
    """Diagnostic. `severity` is 1 for an error and 2 for a warning, `row` is 0-based."""

    severity: int
    message: str
    row: int = 0
    source: str | None = None
    code: str | None = None

    @property
    def key(self) -> tuple[int, str]:
        """Return the parts that do not change when lines move."""
        return self.severity, self.message


class ServerDiagnostics(msgspec.Struct, frozen=True):
    """Diagnostics of one server for the current text and for the proposed one."""

    base: list[Diagnostic]
    proposed: list[Diagnostic]


class Effect(msgspec.Struct, frozen=True):
    """Diagnostics that an edit adds to a file (real path), in line order.

    Removed ones are only counted, by severity.
    """

    path: str
    added: Sequence[Diagnostic]
    fixed: Mapping[int, int]


class Mark(msgspec.Struct, frozen=True):
    """Diagnostic at a row of the proposed text, 0-based.

    A diagnostic outside of all hunks is at the end of the nearest hunk. Its text then begins with
    the line number.
    """

    row: int
    severity: int
    text: str


def effect(
    path: str,
    opinions: Iterable[ServerDiagnostics],
    known: Sequence[Diagnostic],
    elsewhere: Collection[str],
) -> Effect | None:
    """Return the effect of an edit of a file, or None if there is none.

    `known` are the current diagnostics of the file, which do not count as added. `elsewhere`
    are words that the same edit adds to other files. Diagnostics about such a word are left out,
    because no server knows the proposed state of those files.
    """
    added: list[Diagnostic] = []
    fixed: Counter[int] = Counter()
    for opinion in opinions:
        base, proposed = _count_problems(opinion.base), _count_problems(opinion.proposed)
        room = base | _count_problems(known)
        for new in opinion.proposed:
            if new.severity in NAMES and room[new.key] <= 0 and not _mentions_any(new, elsewhere):
                added.append(new)
            room[new.key] -= 1
        for (severity, _), count in (base - proposed).items():
            fixed[severity] += count
    if not added and not fixed:
        return None
    return Effect(path, sorted(added, key=lambda new: (new.row, new.severity)), dict(fixed))


def _count_problems(diagnostics: Iterable[Diagnostic]) -> Counter[tuple[int, str]]:
    return Counter(diagnostic.key for diagnostic in diagnostics if diagnostic.severity in NAMES)


def _mentions_any(diagnostic: Diagnostic, words: Collection[str]) -> bool:
    return bool(words) and any(word in words for word in _WORD.findall(diagnostic.message))


def new_words(base: Text | None, text: Text) -> set[str]:
    """Return the words of a proposed text that are missing in the current one."""
    before = set() if base is None else set(_WORD.findall("\n".join(base.lines)))
    return set(_WORD.findall("\n".join(text.lines))) - before


# -- display --------------------------------------------------------------------------------------


def summary(effects: Sequence[Effect]) -> str:
    """Return one line: "This edit adds 2 errors"."""
    added = Counter(new.severity for effect in effects for new in effect.added)
    fixed: Counter[int] = Counter()
    for effect in effects:
        fixed.update(effect.fixed)
    if added and fixed:
        return wording.EDIT_ADDS_AND_FIXES.format(added=_counts(added), fixed=_counts(fixed))
    if added:
        return wording.EDIT_ADDS.format(added=_counts(added))
    return wording.EDIT_FIXES.format(fixed=_counts(fixed))


def _counts(counts: Mapping[int, int]) -> str:
    named = [(counts.get(severity, 0), name) for severity, name in NAMES.items()]
    return ", ".join(f"{count} {name}{'s' * (count != 1)}" for count, name in named if count)


def worst(effects: Sequence[Effect]) -> int:
    """Return the worst severity of the added diagnostics, or 0."""
    return min((new.severity for effect in effects for new in effect.added), default=0)


def marks(effect: Effect, base: Text | None, text: Text) -> list[Mark]:
    """Return the review's marks for the diagnostics that a proposal adds."""
    hunks = diff(keys(base), keys(text))
    spans = [(hunk.new_start, hunk.new_start + max(len(hunk.lines), 1) - 1) for hunk in hunks]
    last = max(len(text.lines) - 1, 0)
    return [_mark(diagnostic, spans, last) for diagnostic in effect.added]


def _mark(diagnostic: Diagnostic, spans: Sequence[tuple[int, int]], last: int) -> Mark:
    words = " ".join(diagnostic.message.split())
    near = min(
        spans,
        key=lambda span: max(span[0] - diagnostic.row, diagnostic.row - span[1], 0),
        default=None,
    )
    if near is None or near[0] <= diagnostic.row <= near[1]:
        return Mark(min(diagnostic.row, last), diagnostic.severity, words)
    return Mark(min(near[1], last), diagnostic.severity, f"{diagnostic.row + 1}: {words}")
