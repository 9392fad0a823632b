"""The pending edit of one file: its base, its live text, and the difference between the two.

The base is the text as the user last accepted it. The live text is the text of buffer and disk.
Hunks are not stored but computed from the two. Every operation returns a new `Pending`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from acp_nvim import wording
from acp_nvim.edits.hunks import Hunk, apply, diff, invert
from acp_nvim.edits.text import EMPTY, Text, from_keys, keys

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

Kind = Literal["modified", "created", "deleted"]

_WORD: Final = re.compile(r"\w+|[^\w\s]")


class Restoration(msgspec.Struct, frozen=True):
    """Change requested by a decision: replace `before` with `after` (None: no file).

    It applies to buffer and disk. If the current text is not `before`, nothing is changed and the
    user is informed. `note` is one line for the user; with equal texts, it is the only effect.
    """

    path: str
    before: Text | None
    after: Text | None
    note: str = ""


class Summary(msgspec.Struct, frozen=True):
    """One entry of `state().edits`, with counts of hunks and lines."""

    path: str
    hunks: int
    added: int
    removed: int
    kind: Kind
    conflict: bool


class Pending(msgspec.Struct, frozen=True, dict=True):
    """Edits of a file that the user has neither accepted nor rejected.

    If `base` is None, the agent created the file. If `live` is None, the agent deleted it.
    `written` is the agent's last text. It becomes None when the agent writes a file again that it
    created and the user has changed. If the agent renamed the file, `origin` is the old path.
    `writers` are the numbers of the sessions that wrote.

    If `is_conflict` is set, the agent's text could not be merged into the user's unsaved one. That
    text is in `theirs` and on disk, but not in `live`. If `is_overtaken` is set, the agent's text
    is neither on disk nor in `live`, because the user has changed the same lines in the meantime.

    `format_change` describes the change besides the text (`line endings: unix → dos`), which is
    accepted or rejected with the file.
    """

    path: str
    base: Text | None
    live: Text | None
    written: Text | None
    origin: str | None = None
    writers: frozenset[int] = frozenset()
    is_conflict: bool = False
    theirs: Text | None = None
    format_change: str = ""
    is_overtaken: bool = False
    is_named: bool = True
    """False if it includes a change found on disk in a turn whose agent did not name the file."""

    @property
    def kind(self) -> Kind:
        """Return the kind of the agent's change."""
        if self.base is None:
            return "created"
        return "deleted" if self.live is None else "modified"

    @property
    def is_settled(self) -> bool:
        """Return whether nothing is left to accept or reject."""
        is_unchanged = self.base == self.live and self.origin is None
        return is_unchanged and not self.is_conflict and not self.format_change

    @property
    def is_user_edited(self) -> bool:
        """Return whether the user has changed a file that the agent created."""
        return self.base is None and self.live != self.written

    @cached_property
    def hunks(self) -> list[Hunk]:
        """Return the pending hunks from base to live rows, in ascending order.

        If only the final newline differs, a hunk replaces the last line with the same text.
        """
        last = self._marked_hunks[-1:]
        if last and last[0].lines and last[0].lines[-1].endswith("\n"):
            lines = (*last[0].lines[:-1], last[0].lines[-1][:-1])
            return [*self._marked_hunks[:-1], msgspec.structs.replace(last[0], lines=lines)]
        return self._marked_hunks

    @cached_property
    def _marked_hunks(self) -> list[Hunk]:
        """Return the hunks over `text.keys`. Only the last line of the last one can be marked."""
        return diff(keys(self.base), keys(self.live))

    def removed_lines(self, hunk: Hunk) -> tuple[str, ...]:
        """Return the lines of the base that a hunk replaces."""
        return self.base.lines[hunk.start : hunk.end] if self.base else ()

    @cached_property
    def summary(self) -> Summary:
        """Return the counts; for a conflict without hunks, the counts between both sides."""
        base, live, hunks = self.base, self.live, self._marked_hunks
        if self.is_conflict and not hunks:
            base, live = self.live, self.theirs
            hunks = diff(keys(base), keys(live))
        added = 0 if live in (None, EMPTY) else sum(len(h.lines) for h in hunks)
        removed = 0 if base in (None, EMPTY) else sum(h.end - h.start for h in hunks)
        return Summary(self.path, len(hunks), added, removed, self.kind, self.is_conflict)

    def hunk_at(self, row: int) -> Hunk | None:
        """Return the hunk at a 0-based live row; a removal is at both rows around it."""
        near = None
        for hunk in self.hunks:
            if hunk.new_start <= row < hunk.new_end:
                return hunk
            if not hunk.lines and row in (hunk.new_start - 1, hunk.new_start):
                near = near or hunk
        return near

    def equal_hunk(self, other: Pending, hunk: Hunk) -> Hunk | None:
        """Return the hunk that equals one in another state of the file: the nearest one in the
        base.
        """
        removed = other.removed_lines(hunk)
        same = (h for h in self.hunks if h.lines == hunk.lines and self.removed_lines(h) == removed)
        return min(same, key=lambda candidate: abs(candidate.start - hunk.start), default=None)

    def hunks_not_in(self, other: Pending) -> list[Hunk]:
        """Return the hunks that another state of the file does not have."""
        return [hunk for hunk in self.hunks if other.equal_hunk(self, hunk) is None]

    @property
    def pending_lines(self) -> int:
        """Return the number of pending lines, removed and added."""
        return sum(hunk.end - hunk.start + len(hunk.lines) for hunk in self._marked_hunks)

    def edited(
        self, after: Text, formatter: bool = False, restorable: Sequence[Hunk] = ()
    ) -> Pending:
        """Return the entry after a change to the live text by anyone but the agent.

        Changes outside of the hunks are added to the base. A formatter's change belongs to every
        hunk that it touches; a user's only if it changes lines of a hunk or inserts lines between
        them. A change to whole hunks and to lines beside them is split. `restorable` are the hunks
        that were pending when the text was like this before: restored parts of these count as the
        agent's again.
        """
        if self.base is None or self.live is None:
            return msgspec.structs.replace(self, live=after)
        edits = diff(keys(self.live), keys(after))
        edits = [
            edit for edit in edits if not any(_may_have_restored(edit, hunk) for hunk in restorable)
        ]
        return self._with_edits(after, edits, formatter)

    def _with_edits(self, after: Text, edits: Sequence[Hunk], formatter: bool = False) -> Pending:
        """Return the entry with the live text `after`.

        Those of the `edits` that are outside of hunks are also applied to the base.
        """
        outside = _edits_outside(keys(self.base), self._marked_hunks, edits, touching=formatter)
        base = from_keys(apply(keys(self.base), outside))
        return msgspec.structs.replace(self, base=base, live=after)

    def undone(self, after: Text, earlier: Collection[Pending]) -> Pending:
        """Return the entry after an undo or redo to a text that none of the `earlier` entries has.

        A change is pending if it adds the same lines as a hunk of these entries, or removes the
        same lines as a hunk that adds none.
        """
        if self.base is None or self.live is None:
            return msgspec.structs.replace(self, live=after)
        live = keys(self.live)
        hunks = [(entry, hunk) for entry in earlier for hunk in entry.hunks]
        added = {line for _, hunk in hunks for line in hunk.lines}
        deletions = [(entry, hunk) for entry, hunk in hunks if not hunk.lines]
        removed = {line for entry, hunk in deletions for line in entry.removed_lines(hunk)}
        edits = [
            edit
            for edit in diff(live, keys(after))
            if added.isdisjoint(edit.lines) and removed.isdisjoint(live[edit.start : edit.end])
        ]
        writers = self.writers.union(*(entry.writers for entry in earlier))
        return msgspec.structs.replace(self._with_edits(after, edits), writers=writers)

    def returned_to(self, earlier: Pending) -> Pending:
        """Return the entry after an undo or redo to the text of an earlier entry.

        The hunks of that entry are pending again, except those accepted since.
        """
        base = None if self.base is None else earlier.base
        writers = self.writers | earlier.writers
        return msgspec.structs.replace(self, base=base, live=earlier.live, writers=writers)

    def accepted(self, chosen: Collection[Hunk]) -> Pending:
        """Return the entry with these hunks applied to the base."""
        return msgspec.structs.replace(
            self, base=from_keys(apply(keys(self.base), self._select(chosen)))
        )

    def with_only(self, chosen: Collection[Hunk]) -> Pending:
        """Return the entry with all other hunks accepted."""
        return self.accepted([hunk for hunk in self.hunks if hunk not in chosen])

    def accepted_as(self, other: Pending, hunk: Hunk) -> Pending:
        """Return the entry with a hunk of another state of the file accepted.

        If no hunk here is equal, the hunks in its place lose the new lines that both have.
        """
        same = self.equal_hunk(other, hunk)
        if same is not None:
            return self.accepted([same])
        base = keys(self.base)
        start, end = _move_rows(hunk, diff(keys(other.base), base))
        for own in reversed(self._marked_hunks):
            removed = diff(hunk.lines, own.lines)
            common = apply(hunk.lines, [Hunk(cut.start, cut.end, (), 0) for cut in removed])
            if common and own.start <= end and start <= own.end:
                above = base[own.start : max(own.start, start)]
                below = base[min(own.end, end) : own.end]
                base[own.start : own.end] = [*above, *common, *below]
        return msgspec.structs.replace(self, base=from_keys(base))

    def rejected(self, chosen: Collection[Hunk]) -> Pending:
        """Return the entry with these hunks reverted in the live text."""
        back = invert(keys(self.base), self._select(chosen))
        return msgspec.structs.replace(self, live=from_keys(apply(keys(self.live), back)))

    def revert_steps(self) -> list[Restoration]:
        """Return the steps that restore the file to its base, at its old path."""
        if self.base is None:
            if self.is_user_edited:
                return [
                    Restoration(
                        self.path, self.live, self.live, note=wording.WHY_NEW_FILE_NOT_DELETED
                    )
                ]
            return [Restoration(self.path, self.live, None)]
        if self.origin is not None:
            return [
                Restoration(self.origin, None, self.base),
                Restoration(self.path, self.live, None),
            ]
        note = wording.WHY_BUFFER_NOT_REPLACED if self.is_conflict and not self.is_overtaken else ""
        return [Restoration(self.path, self.live, self.base, note=note)]

    def hunks_in(self, committed: Text) -> list[Hunk]:
        """Return the hunks whose live lines and surroundings are unchanged in another text."""
        if self.live is None:
            return []
        others = diff(keys(self.live), keys(committed))
        ends = [other.end for other in others]

        def touched(hunk: Hunk) -> bool:
            at = bisect_left(ends, hunk.new_start)
            return at < len(others) and others[at].start <= hunk.new_end

        return [hunk for hunk in self.hunks if not touched(hunk)]

    def _select(self, chosen: Collection[Hunk]) -> list[Hunk]:
        """Return these hunks as hunks over `text.keys`."""
        selected = set(chosen)
        both = zip(self._marked_hunks, self.hunks, strict=True)
        return [marked for marked, hunk in both if hunk in selected]


class Reject(msgspec.Struct, frozen=True):
    """Reject of one file: its entry before and after, and the requests to buffer and disk."""

    before: Pending
    after: Pending | None
    steps: list[Restoration]


class ParkedEdits(msgspec.Struct, frozen=True):
    """Edits that a file lost when git or another program replaced its text."""

    entry: Pending
    branch: str
    """Branch of the edits; may be empty."""
    time: float


class FileEdits(msgspec.Struct, frozen=True):
    """State of one file in a ledger, which another ledger can continue from."""

    entry: Pending | None = None
    undo_entry: Pending | None = None
    history: tuple[Pending, ...] = ()
    parked: tuple[ParkedEdits, ...] = ()


def _move_rows(hunk: Hunk, changes: Sequence[Hunk]) -> tuple[int, int]:
    """Return the first row of a hunk and the row after the hunk, once `changes` are applied."""
    start = hunk.start + sum(change.growth for change in changes if change.end <= hunk.start)
    end = hunk.end + sum(c.growth for c in changes if c.start < hunk.end or c.end <= hunk.start)
    return start, max(start, end)


def _may_have_restored(edit: Hunk, hunk: Hunk) -> bool:
    """Return whether an edit may have restored a hunk.

    This is the case if `edit` and `hunk` share lines of the new text, or one of the two removes
    lines next to the other.
    """
    if edit.lines and hunk.lines:
        return edit.new_start < hunk.new_end and hunk.new_start < edit.new_end
    is_touching = edit.new_start <= hunk.new_end and hunk.new_start <= edit.new_end
    return is_touching and (bool(hunk.lines) or edit.growth < 0)


def _edits_outside(
    base: Sequence[str], pending: Sequence[Hunk], edits: Sequence[Hunk], touching: bool
) -> list[Hunk]:
    """Return the edits of the live text outside of all pending hunks, moved to the base's rows."""
    moved: list[Hunk] = []
    passed = shift = 0
    for edit in edits:
        while passed < len(pending) and pending[passed].new_end <= edit.start:
            shift -= pending[passed].growth
            passed += 1
        end = passed
        while end < len(pending) and pending[end].new_start < edit.end:
            end += 1
        within = pending[passed:end]
        if within and not touching and _contains(edit, within):
            moved += _parts_outside(base, within, edit, shift)
            continue
        following = pending[passed] if passed < len(pending) else None
        before = pending[passed - 1] if passed else None
        is_inside = following is not None and following.new_start < edit.end
        lines = edit.lines
        if before is not None and before.new_end == edit.start:
            is_inside |= touching
            lines = lines[_count_restored(base, before, lines) :]
        if following is not None and following.new_start == edit.end:
            is_inside |= touching
            lines = lines[: len(lines) - _count_restored(base, following, lines, last=True)]
        if not is_inside and (lines or edit.end > edit.start):
            start = edit.start + shift
            moved.append(Hunk(start, edit.end + shift, lines, start))
    return moved


def _contains(edit: Hunk, hunks: Sequence[Hunk]) -> bool:
    """Return whether an edit of the live text replaces all lines of these hunks."""
    return edit.start <= hunks[0].new_start and hunks[-1].new_end <= edit.end


def _parts_outside(
    base: Sequence[str], hunks: Sequence[Hunk], edit: Hunk, shift: int
) -> list[Hunk]:
    """Return the parts of an edit that change no row of the base that these hunks change.

    If the edit restores a hunk and accepted lines beside it, these lines are settled. So are lines
    that it deletes together with lines that the agent had only added. A part that may contain text
    of the hunks is left out: joined lines, for example, or the agent's lines after a substitution.
    """
    first = edit.start + shift
    end = edit.end + shift - sum(hunk.growth for hunk in hunks)
    parts = diff(base[first:end], edit.lines)
    moved = [Hunk(first + p.start, first + p.end, p.lines, first + p.start) for p in parts]
    only_added = all(hunk.start == hunk.end for hunk in hunks)

    def is_outside(part: Hunk) -> bool:
        if part.start == part.end:
            return all(part.end < hunk.start or hunk.end < part.start for hunk in hunks)
        return all(part.end <= hunk.start or hunk.end <= part.start for hunk in hunks)

    def is_separate(part: Hunk) -> bool:
        if not any(line.strip() for line in part.lines):
            return only_added or is_outside(part)
        return is_outside(part) and not _may_contain(part, base[part.start : part.end], hunks)

    return [part for part in moved if is_separate(part)]


def _may_contain(part: Hunk, replaced: Sequence[str], hunks: Sequence[Hunk]) -> bool:
    """Return whether a part that replaces lines of the base may contain text of these hunks.

    If False, the part adds no lines, and no word that it adds is in a hunk. If True, the words may
    be the same by chance. The part then stays pending, so nothing is lost.
    """
    words = _count_words(part.lines) - _count_words(replaced)
    added = _count_words([line for hunk in hunks for line in hunk.lines])
    return part.growth > 0 or bool(words & added)


def _count_words(lines: Sequence[str]) -> Counter[str]:
    """Return how often each word and each other character except blanks occurs."""
    return Counter(word for line in lines for word in _WORD.findall(line))


def _count_restored(
    base: Sequence[str], removal: Hunk, lines: Sequence[str], *, last: bool = False
) -> int:
    """Return how many of the first (or `last`) lines were removed by the hunk `removal`."""
    step = -1 if last else 1
    removed = iter(base[removal.start : removal.end][::step] if not removal.lines else ())
    return sum(1 for _ in takewhile(lambda line: line in removed, lines[::step]))
