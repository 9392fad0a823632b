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
"""Maximum number of steps of Myers' algorithm in one diff, for all gaps together; about 50 ms."""
MAX_HUNKS = 10_000
"""Maximum number of hunks of one diff. The last one ends where both texts end in the same lines."""
MAX_ROWS = 2_000_000
"""Maximum number of rows searched for anchors in one diff, for all gaps together; about 1 s."""
WINDOWS = (4_000, 40_000)
"""Numbers of rows of each text that are searched for anchors, in turn, before the rest."""
MAX_DEPTH = 12
"""Maximum number of nested searches of a gap for anchors."""
NEAR = 12
"""Maximum number of rows, of both texts together, of a change that is skipped without a search."""
RESYNC = 8
"""Number of equal lines after which two texts count as aligned again."""
STRIDE = 64
"""Number of lines compared at once."""

Pair = tuple[int, int]


class Hunk(msgspec.Struct, frozen=True):
    """Replacement of old rows [start, end) with `lines`, at row `new_start`; 0-based."""

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
        """Return the number of rows that the text gains; negative if it loses some."""
        return len(self.lines) - (self.end - self.start)


def diff(old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """Return hunks that turn `old` into `new`, ascending, with common lines in between."""
    matcher = _Matcher(old, new)
    hunks: list[Hunk] = []
    row = new_row = 0
    for i, j, length in matcher.blocks():
        if i > row or j > new_row:
            if len(hunks) == MAX_HUNKS - 1:
                break
            hunks.append(Hunk(row, i, tuple(new[new_row:j]), new_row))
        row, new_row = i + length, j + length
    tail = matcher.tail(row, new_row)
    end, new_end = len(old) - tail, len(new) - tail
    if row < end or new_row < new_end:
        hunks.append(Hunk(row, end, tuple(new[new_row:new_end]), new_row))
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
    """Return the hunks that revert the new text; `hunks` are all of `diff(old, new)`."""
    return [Hunk(h.new_start, h.new_end, tuple(old[h.start : h.end]), h.start) for h in hunks]


class _Matcher:
    """Finder of blocks of common lines in two texts, for one diff, whose work it counts."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self.old = list(old)
        self.new = list(new)
        self.work = MAX_WORK
        self.rows = MAX_ROWS

    def blocks(self) -> Iterator[tuple[int, int, int]]:
        """Yield common lines as (old row, new row, count), in ascending order.

        Small changes far apart, the usual case, are skipped one by one at the speed of list
        comparison. After a larger change, windows are searched for anchors, and then the whole
        rest.
        """
        a = b = 0
        while True:
            length = self._forward(a, len(self.old), b, len(self.new))
            if length:
                yield a, b, length
            a, b = a + length, b + length
            if a == len(self.old) or b == len(self.new):
                return
            near = self._near(a, b)
            if near is not None:  # the nearest rows, so no line before them is equal
                yield from self._inside(a, near[0], b, near[1], 0)
            elif anchors := self._far_anchors(a, b):
                near = anchors[-1]
                yield from self._blocks_at(anchors[:-1], a, near[0], b, near[1], 0)
            else:
                yield from self._gap(a, len(self.old), b, len(self.new), 0)
                return
            a, b = near

    def _near(self, a: int, b: int) -> Pair | None:
        """Return the nearest rows from which `RESYNC` lines are equal again.

        Fewer lines are enough if both texts end with them.
        """
        old, new = self.old, self.new
        for both in range(1, NEAR + 1):
            for i in range(a, min(a + both, len(old)) + 1):
                j = b + both - (i - a)
                if j < len(new) and i < len(old) and old[i] == new[j]:
                    lines = old[i : i + RESYNC]
                    is_end = i + len(lines) == len(old) and j + len(lines) == len(new)
                    if lines == new[j : j + RESYNC] and (len(lines) == RESYNC or is_end):
                        return i, j
        return None

    def _far_anchors(self, a: int, b: int) -> list[Pair]:
        """Return the anchors of the first window of both texts that has one in its last half.

        Return none if a text ends before that.
        """
        for size in WINDOWS:
            a_end, b_end = a + size, b + size
            if a_end >= len(self.old) or b_end >= len(self.new):
                break
            anchors = self._anchors(a, a_end, b, b_end)
            if anchors and min(anchors[-1][0] - a, anchors[-1][1] - b) >= size // 2:
                return anchors
        return []

    def tail(self, a: int, b: int) -> int:
        """Return the number of equal lines at the end of both texts, after rows `a` and `b`."""
        return self._backward(a, len(self.old), b, len(self.new))

    def _gap(
        self, a: int, a_end: int, b: int, b_end: int, depth: int
    ) -> Iterator[tuple[int, int, int]]:
        """Yield blocks of a gap: old rows [a, a_end) and new rows [b, b_end)."""
        head = self._forward(a, a_end, b, b_end)
        if head:
            yield a, b, head
        a, b = a + head, b + head
        tail = self._backward(a, a_end, b, b_end)
        a_last, b_last = a_end - tail, b_end - tail
        yield from self._inside(a, a_last, b, b_last, depth)
        if tail:
            yield a_last, b_last, tail

    def _forward(self, a: int, a_end: int, b: int, b_end: int) -> int:
        """Return the number of equal lines from (a, b) on."""
        old, new = self.old, self.new
        start = a
        end = min(a_end, a + b_end - b)
        offset = b - a
        while a + STRIDE < end and old[a : a + STRIDE] == new[a + offset : a + offset + STRIDE]:
            a += STRIDE
        while a < end and old[a] == new[a + offset]:
            a += 1
        return a - start

    def _backward(self, a: int, a_end: int, b: int, b_end: int) -> int:
        """Return the number of equal lines before (a_end, b_end)."""
        old, new = self.old, self.new
        row = a_end
        first = max(a, a_end - (b_end - b))
        offset = b_end - a_end
        while (
            row - STRIDE > first
            and old[row - STRIDE : row] == new[row - STRIDE + offset : row + offset]
        ):
            row -= STRIDE
        while row > first and old[row - 1] == new[row - 1 + offset]:
            row -= 1
        return a_end - row

    def _inside(
        self, a: int, a_end: int, b: int, b_end: int, depth: int
    ) -> Iterator[tuple[int, int, int]]:
        """Yield blocks of a gap without equal lines at its ends."""
        if a == a_end or b == b_end or (a_end - a == 1 and b_end - b == 1):
            return
        anchors = self._anchors(a, a_end, b, b_end) if depth < MAX_DEPTH else []
        if not anchors:
            yield from self._search(a, a_end, b, b_end)
        else:
            yield from self._blocks_at(anchors, a, a_end, b, b_end, depth)

    def _blocks_at(
        self, anchors: list[Pair], a: int, a_end: int, b: int, b_end: int, depth: int
    ) -> Iterator[tuple[int, int, int]]:
        """Yield the blocks at these anchors and in the gaps between them."""
        for i, j in anchors:
            if i < a:  # covered by the previous block
                continue
            if i > a or j > b:
                yield from self._gap(a, i, b, j, depth + 1)
            length = self._forward(i, a_end, j, b_end)
            yield i, j, length
            a, b = i + length, j + length
        if a < a_end or b < b_end:
            yield from self._gap(a, a_end, b, b_end, depth + 1)

    def _anchors(self, a: int, a_end: int, b: int, b_end: int) -> list[Pair]:
        """Return lines that occur once on each side as (old row, new row), in a common order.

        Return none once `MAX_ROWS` rows have been searched.
        """
        self.rows -= a_end - a + b_end - b
        if self.rows < 0:
            return []
        old, new = self.old[a:a_end], self.new[b:b_end]
        new_count = Counter(new)
        new_row = dict(zip(new, range(b, b_end), strict=True))
        once = {
            line for line, count in Counter(old).items() if count == 1 and new_count.get(line) == 1
        }
        if not once:
            return []
        return _increasing(
            [(row, new_row[line]) for row, line in enumerate(old, a) if line in once]
        )

    def _search(self, a: int, a_end: int, b: int, b_end: int) -> Iterator[tuple[int, int, int]]:
        """Yield blocks by Myers' algorithm, over the lines that occur on both sides."""
        if self.rows < 0 or self.work <= 0:
            return
        common = set(self.old[a:a_end]).intersection(self.new[b:b_end])
        if not common:
            return
        rows = [row for row in range(a, a_end) if self.old[row] in common]
        new_rows = [row for row in range(b, b_end) if self.new[row] in common]
        pairs, work = _myers(
            [self.old[i] for i in rows], [self.new[j] for j in new_rows], self.work
        )
        self.work -= work
        for i, j in pairs:
            yield rows[i], new_rows[j], 1


def _increasing(pairs: list[Pair]) -> list[Pair]:
    """Return a longest selection of pairs, sorted by the first number, with rising second ones."""
    seconds = [second for _, second in pairs]
    if seconds == sorted(seconds):
        return pairs
    tails: list[int] = []  # smallest second number that ends a selection of each length
    last: list[int] = []  # index of that pair
    before: list[int] = []
    for at, second in enumerate(seconds):
        place = bisect_left(tails, second)
        before.append(last[place - 1] if place else -1)
        tails[place : place + 1] = [second]
        last[place : place + 1] = [at]
    chosen = []
    at = last[-1]
    while at >= 0:
        chosen.append(pairs[at])
        at = before[at]
    return chosen[::-1]


def _myers(old: list[str], new: list[str], limit: int) -> tuple[list[Pair], int]:
    """Return rows of a longest common subsequence (none beyond `limit` steps), and the steps."""
    n, m = len(old), len(new)
    reached = {1: 0}  # furthest x by diagonal k = x - y
    rounds: list[dict[int, int]] = []
    work = 0
    for d in range(n + m + 1):
        rounds.append(reached.copy())
        for k in range(-d, d + 1, 2):
            if k == -d or (k != d and reached[k - 1] < reached[k + 1]):
                x = reached[k + 1]
            else:
                x = reached[k - 1] + 1
            y = x - k
            work += 2
            while x < n and y < m and old[x] == new[y]:
                x, y, work = x + 1, y + 1, work + 1
            reached[k] = x
            if x >= n and y >= m:
                return _matched_rows(rounds, n, m), work
            if work > limit:
                return [], work
    raise AssertionError("n + m edits always suffice")


def _matched_rows(rounds: list[dict[int, int]], x: int, y: int) -> list[Pair]:
    """Return the matched rows of the path to (x, y), given the state before each round."""
    pairs: list[Pair] = []
    for d in range(len(rounds) - 1, -1, -1):
        reached, k = rounds[d], x - y
        down = k == -d or (k != d and reached[k - 1] < reached[k + 1])
        k += 1 if down else -1
        from_x = reached[k] if d else 0
        from_y = from_x - k if d else 0
        while x > from_x and y > from_y:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = from_x, from_y
    return pairs[::-1]
