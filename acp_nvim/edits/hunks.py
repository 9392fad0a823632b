"""Line hunks between two texts, fast enough to be recomputed after each change.

Patience diff comes first: lines that occur once in both texts are anchors. That places hunks as a
reader would, and makes the cost linear for nearly all files. Gaps between anchors are searched
again. Gaps without anchors are passed to Myers' greedy algorithm, with a bound on its work. A gap
beyond a bound is one replaced block, and so is the rest after `MAX_HUNKS` hunks: still a correct
result, in bounded time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_WORK = 200_000
"""Maximum number of steps of Myers' algorithm in one diff, which take about 50 ms.

All gaps of the diff share it.
"""
MAX_HUNKS = 10_000
"""Maximum number of hunks in one diff. The last one ends where both texts end in the same lines."""
MAX_ROWS = 2_000_000
"""Maximum number of rows searched for anchors in one diff, which takes about 1 s.

All gaps of the diff share it.
"""
WINDOWS = (4_000, 40_000)
"""Sizes of the windows, in rows of each text, that are searched for anchors before the rest."""
MAX_DEPTH = 12
"""Maximum number of nested searches of a gap for anchors."""
NEAR = 12
"""Maximum size of a change that is skipped without a search, in rows of both texts together."""
RESYNC = 8
"""Number of equal lines after which two texts count as aligned again."""
STRIDE = 64
"""Number of lines compared at once."""

Pair = tuple[int, int]
"""Row of the old text and row of the new one."""

Block = tuple[int, int, int]
"""Common lines of both texts: first old row, first new row, number of lines."""


class Hunk(msgspec.Struct, frozen=True):
    """Replacement of old rows [start, end) with `lines`, at row `new_start`. Rows are 0-based."""

    start: int
    end: int
    lines: tuple[str, ...]
    new_start: int

    @property
    def new_end(self) -> int:
        """Return the row after the hunk's last one in the new text."""
        return self.new_start + len(self.lines)

    @property
    def growth(self) -> int:
        """Return the number of rows that the text gains. It is negative if the text loses some."""
        return len(self.lines) - (self.end - self.start)


def diff(old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """Return hunks that turn `old` into `new`, ascending, with common lines in between."""
    matcher = _Matcher(old, new)
    hunks: list[Hunk] = []
    start = new_start = 0  # rows after the last block
    for row, new_row, count in matcher.blocks():
        if row > start or new_row > new_start:
            if len(hunks) == MAX_HUNKS - 1:
                break
            hunks.append(Hunk(start, row, tuple(new[new_start:new_row]), new_start))
        start, new_start = row + count, new_row + count
    tail = matcher.count_equal_at_end(start, new_start)
    end, new_end = len(old) - tail, len(new) - tail
    if start < end or new_start < new_end:
        hunks.append(Hunk(start, end, tuple(new[new_start:new_end]), new_start))
    return hunks


def apply(lines: Sequence[str], hunks: Sequence[Hunk]) -> list[str]:
    """Apply hunks to the lines: all hunks of a diff or a selection, in ascending order."""
    result: list[str] = []
    row = 0
    for hunk in hunks:
        if hunk.start < row or hunk.end > len(lines):
            raise ValueError(
                f"hunk {hunk.start}-{hunk.end} does not fit after row {row} of {len(lines)}"
            )
        result += lines[row : hunk.start]
        result += hunk.lines
        row = hunk.end
    result += lines[row:]
    return result


def invert(old: Sequence[str], hunks: Sequence[Hunk]) -> list[Hunk]:
    """Return the hunks that revert the new text. `hunks` is the whole of `diff(old, new)`."""
    return [Hunk(h.new_start, h.new_end, tuple(old[h.start : h.end]), h.start) for h in hunks]


class _Matcher:
    """Finder of the common blocks of two texts, for one diff.

    A gap is a part of both texts between two blocks: old rows [start, end) and new rows [new_start,
    new_end). Methods yield blocks in ascending order. All methods share one limit on their work.
    """

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self.old = list(old)
        self.new = list(new)
        self.work_left = MAX_WORK
        self.rows_left = MAX_ROWS

    def blocks(self) -> Iterator[Block]:
        """Yield all blocks.

        Small changes far apart, the usual case, are skipped one by one at the speed of list
        comparison. After a larger change, windows are searched for anchors, and then the whole
        rest.
        """
        end, new_end = len(self.old), len(self.new)
        row = new_row = 0
        while True:
            count = self._count_equal_after(row, end, new_row, new_end)
            if count:
                yield row, new_row, count
            row, new_row = row + count, new_row + count
            if row == end or new_row == new_end:
                return
            resumed = self._end_of_small_change(row, new_row)
            if resumed is not None:  # the nearest rows, so no line before them is equal
                yield from self._blocks_inside(row, resumed[0], new_row, resumed[1], 0)
            elif anchors := self._anchors_in_window(row, new_row):
                resumed = anchors.pop()
                yield from self._blocks_at(anchors, row, resumed[0], new_row, resumed[1], 0)
            else:
                yield from self._blocks_in_gap(row, end, new_row, new_end, 0)
                return
            row, new_row = resumed

    # -- equal lines -------------------------------------------------------------------------------

    def _count_equal_after(self, start: int, end: int, new_start: int, new_end: int) -> int:
        """Return the number of equal lines at the beginning of a gap."""
        old, new = self.old, self.new
        row, last = start, min(end, start + new_end - new_start)
        shift = new_start - start
        while (
            row + STRIDE < last
            and old[row : row + STRIDE] == new[row + shift : row + shift + STRIDE]
        ):
            row += STRIDE
        while row < last and old[row] == new[row + shift]:
            row += 1
        return row - start

    def _count_equal_before(self, start: int, end: int, new_start: int, new_end: int) -> int:
        """Return the number of equal lines at the end of a gap."""
        old, new = self.old, self.new
        row, first = end, max(start, end - (new_end - new_start))
        shift = new_end - end
        while (
            row - STRIDE > first
            and old[row - STRIDE : row] == new[row - STRIDE + shift : row + shift]
        ):
            row -= STRIDE
        while row > first and old[row - 1] == new[row - 1 + shift]:
            row -= 1
        return end - row

    def count_equal_at_end(self, start: int, new_start: int) -> int:
        """Return the number of equal lines at the end of both texts, from these rows on."""
        return self._count_equal_before(start, len(self.old), new_start, len(self.new))

    # -- places where both texts are aligned again -------------------------------------------------

    def _end_of_small_change(self, start: int, new_start: int) -> Pair | None:
        """Return the nearest rows after these from which both texts are equal again."""
        old, new = self.old, self.new
        for size in range(1, NEAR + 1):
            for row in range(start, min(start + size, len(old) - 1) + 1):
                new_row = new_start + size - (row - start)
                if (
                    new_row < len(new)
                    and old[row] == new[new_row]
                    and self._is_aligned(row, new_row)
                ):
                    return row, new_row
        return None

    def _is_aligned(self, row: int, new_row: int) -> bool:
        """Return whether `RESYNC` lines are equal from these rows on.

        Fewer lines are enough if both texts end with them.
        """
        lines = self.old[row : row + RESYNC]
        if lines != self.new[new_row : new_row + RESYNC]:
            return False
        count = len(lines)
        is_end = row + count == len(self.old) and new_row + count == len(self.new)
        return count == RESYNC or is_end

    def _anchors_in_window(self, start: int, new_start: int) -> list[Pair]:
        """Return the anchors of the first window of both texts with an anchor in its last half.

        Return an empty list if a text ends before such a window.
        """
        for size in WINDOWS:
            end, new_end = start + size, new_start + size
            if end >= len(self.old) or new_end >= len(self.new):
                break
            anchors = self._anchors(start, end, new_start, new_end)
            if anchors and min(anchors[-1][0] - start, anchors[-1][1] - new_start) >= size // 2:
                return anchors
        return []

    def _anchors(self, start: int, end: int, new_start: int, new_end: int) -> list[Pair]:
        """Return the rows of lines that occur once on each side of a gap, in a common order.

        Return an empty list once `MAX_ROWS` rows have been searched.
        """
        self.rows_left -= end - start + new_end - new_start
        if self.rows_left < 0:
            return []
        old, new = self.old[start:end], self.new[new_start:new_end]
        new_counts = Counter(new)
        new_rows = dict(zip(new, range(new_start, new_end), strict=True))
        once = {
            line for line, count in Counter(old).items() if count == 1 and new_counts.get(line) == 1
        }
        if not once:
            return []
        return _increasing(
            [(row, new_rows[line]) for row, line in enumerate(old, start) if line in once]
        )

    # -- blocks of a gap ---------------------------------------------------------------------------

    def _blocks_in_gap(
        self, start: int, end: int, new_start: int, new_end: int, depth: int
    ) -> Iterator[Block]:
        """Yield the blocks of a gap at this depth of nested searches."""
        head = self._count_equal_after(start, end, new_start, new_end)
        if head:
            yield start, new_start, head
        start, new_start = start + head, new_start + head
        tail = self._count_equal_before(start, end, new_start, new_end)
        end, new_end = end - tail, new_end - tail
        yield from self._blocks_inside(start, end, new_start, new_end, depth)
        if tail:
            yield end, new_end, tail

    def _blocks_inside(
        self, start: int, end: int, new_start: int, new_end: int, depth: int
    ) -> Iterator[Block]:
        """Yield the blocks of a gap without equal lines at its ends."""
        if start == end or new_start == new_end or (end - start == 1 and new_end - new_start == 1):
            return
        anchors = self._anchors(start, end, new_start, new_end) if depth < MAX_DEPTH else []
        if not anchors:
            yield from self._blocks_by_myers(start, end, new_start, new_end)
        else:
            yield from self._blocks_at(anchors, start, end, new_start, new_end, depth)

    def _blocks_at(
        self, anchors: list[Pair], start: int, end: int, new_start: int, new_end: int, depth: int
    ) -> Iterator[Block]:
        """Yield the blocks at these anchors of a gap and in the gaps between them."""
        for row, new_row in anchors:
            if row < start:  # covered by the previous block
                continue
            if row > start or new_row > new_start:
                yield from self._blocks_in_gap(start, row, new_start, new_row, depth + 1)
            count = self._count_equal_after(row, end, new_row, new_end)
            yield row, new_row, count
            start, new_start = row + count, new_row + count
        if start < end or new_start < new_end:
            yield from self._blocks_in_gap(start, end, new_start, new_end, depth + 1)

    def _blocks_by_myers(
        self, start: int, end: int, new_start: int, new_end: int
    ) -> Iterator[Block]:
        """Yield blocks of one line by Myers' algorithm, over the lines that occur on both sides."""
        if self.rows_left < 0 or self.work_left <= 0:
            return
        common = set(self.old[start:end]).intersection(self.new[new_start:new_end])
        if not common:
            return
        rows = [row for row in range(start, end) if self.old[row] in common]
        new_rows = [row for row in range(new_start, new_end) if self.new[row] in common]
        pairs, work = _myers(
            [self.old[row] for row in rows], [self.new[row] for row in new_rows], self.work_left
        )
        self.work_left -= work
        for at, new_at in pairs:
            yield rows[at], new_rows[new_at], 1


def _increasing(pairs: list[Pair]) -> list[Pair]:
    """Return a longest subsequence of pairs, sorted by old row, with increasing new rows."""
    new_rows = [new_row for _, new_row in pairs]
    if new_rows == sorted(new_rows):
        return pairs
    smallest: list[int] = []  # smallest new row that ends a selection of each length
    last: list[int] = []  # index of that pair
    before: list[int] = []  # index of the pair before each pair in its selection, or -1
    for at, new_row in enumerate(new_rows):
        length = bisect_left(smallest, new_row)
        before.append(last[length - 1] if length else -1)
        smallest[length : length + 1] = [new_row]
        last[length : length + 1] = [at]
    chosen = []
    at = last[-1]
    while at >= 0:
        chosen.append(pairs[at])
        at = before[at]
    return chosen[::-1]


def _myers(old: list[str], new: list[str], limit: int) -> tuple[list[Pair], int]:
    """Return rows of a longest common subsequence (none beyond `limit` steps), and the steps.

    A diagonal is the set of all pairs with the same difference of old row and new row. Round
    `edits` extends, on each diagonal, the longest path with that number of edits.
    """
    old_count, new_count = len(old), len(new)
    reached = {1: 0}  # furthest old row by diagonal
    rounds: list[dict[int, int]] = []
    work = 0
    for edits in range(old_count + new_count + 1):
        rounds.append(reached.copy())
        for diagonal in range(-edits, edits + 1, 2):
            if diagonal == -edits or (
                diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1]
            ):
                row = reached[diagonal + 1]  # insert a new row
            else:
                row = reached[diagonal - 1] + 1  # remove an old row
            new_row = row - diagonal
            work += 2
            while row < old_count and new_row < new_count and old[row] == new[new_row]:
                row, new_row, work = row + 1, new_row + 1, work + 1
            reached[diagonal] = row
            if row >= old_count and new_row >= new_count:
                return _matched_rows(rounds, old_count, new_count), work
            if work > limit:
                return [], work
    raise AssertionError("as many edits as rows always suffice")


def _matched_rows(rounds: list[dict[int, int]], row: int, new_row: int) -> list[Pair]:
    """Return the matched rows of the path to a pair of rows, given the state before each round."""
    pairs: list[Pair] = []
    for edits in range(len(rounds) - 1, -1, -1):
        reached, diagonal = rounds[edits], row - new_row
        is_insertion = diagonal == -edits or (
            diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1]
        )
        diagonal += 1 if is_insertion else -1
        start = reached[diagonal] if edits else 0
        new_start = start - diagonal if edits else 0
        while row > start and new_row > new_start:
            row, new_row = row - 1, new_row - 1
            pairs.append((row, new_row))
        row, new_row = start, new_start
    return pairs[::-1]
