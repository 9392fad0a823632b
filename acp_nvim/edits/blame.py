"""Authors of the lines of a file, tracked from text to text by line hunks.

Authors are numbers. 0 is the user, or any earlier author. Lines are identified by digests, so the
stored data does not contain the text.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import groupby
from typing import TYPE_CHECKING, Final

import msgspec

from acp_nvim.edits.hunks import diff
from acp_nvim.edits.text import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from acp_nvim.edits.text import Text

NO_AGENT: Final = 0
"""Author of lines that no agent is known to have written."""
DIGEST_SIZE: Final = 8
"""Size of a line's digest in bytes."""

Run = tuple[int, int]
"""Number of consecutive lines by one author, and the author."""


class Blame(msgspec.Struct, frozen=True):
    """Last known lines of a file, as digests, and their authors."""

    lines: tuple[str, ...] = ()
    runs: tuple[Run, ...] = ()

    def authors(self) -> list[int]:
        return [author for count, author in self.runs for _ in range(count)]

    def ranges(self) -> Iterator[tuple[int, int, int]]:
        """Yield first row, row after the last (0-based) and author of each run by an agent."""
        row = 0
        for count, author in self.runs:
            if author != NO_AGENT:
                yield row, row + count, author
            row += count


def line_digests(text: Text | None) -> tuple[str, ...]:
    """Return a digest of each line, as `DIGEST_SIZE` characters below 256."""
    lines = () if text is None else rows(text)
    return tuple(_digest(line) for line in lines)


def _digest(line: str) -> str:
    data = line.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=DIGEST_SIZE).digest().decode("latin-1")


def update_blame(blame: Blame, lines: Sequence[str], author: int = NO_AGENT) -> Blame:
    """Return the blame of new lines: unchanged ones keep their authors, others are `author`'s."""
    if tuple(lines) == blame.lines:
        return blame
    before, after = blame.authors(), list[int]()
    row = 0
    for hunk in diff(blame.lines, lines):
        after += before[row : hunk.start]
        after += [author] * len(hunk.lines)
        row = hunk.end
    after += before[row:]
    return Blame(tuple(lines), _runs(after))


def _runs(authors: Iterable[int]) -> tuple[Run, ...]:
    return tuple((len(list(group)), author) for author, group in groupby(authors))
