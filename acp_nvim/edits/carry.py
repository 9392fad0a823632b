"""Transfer of pending edits to a new text, after a program, git or an undo replaced the live one.

Such changes count as the user's. Hunks that the new text does not contain are lost. They are parked
until the text contains them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from acp_nvim.edits.hunks import Hunk, apply, diff
from acp_nvim.edits.merge import Merged, merge
from acp_nvim.edits.pending import ParkedEdits, Pending
from acp_nvim.edits.text import EMPTY, Text, from_keys, keys

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

MAX_PARKED = 20
"""Maximum number of parked edits per file. The oldest are dropped."""


class Carried(msgspec.Struct, frozen=True):
    """Result of a transfer: the new text contains the edits in `entry`, but not those in `lost`."""

    entry: Pending | None
    lost: Pending | None = None


def carry_over(
    entry: Pending, now: Text | None, replaced: bool = False, earlier: Pending | None = None
) -> Carried:
    """Carry an entry over to the current text, which is None if there is no file.

    If both sides changed the same lines, that is a conflict: `live` has the user's lines, and
    `theirs` the agent's. With `replaced`, git has replaced the text, and such hunks are lost.
    Otherwise an `earlier` entry that had the current text replaces the entry.
    """
    if now == entry.live:
        return Carried(entry)
    if earlier is not None and not replaced:
        return _replace_entry(entry, earlier)
    if entry.base is None and now is not None:
        return Carried(msgspec.structs.replace(entry, live=now))
    if entry.base is None or entry.live is None or now is None:
        return Carried(None, entry)
    merged = merge(entry.live, now, entry.base)
    if isinstance(merged, Merged):
        remaining = msgspec.structs.replace(entry, base=merged.text, live=now)
        lost = entry.hunks_not_in(remaining)
        return Carried(_unless_settled(remaining), entry.with_only(lost) if lost else None)
    return _carry_entangled(entry, now, replaced)


def split_parked(parked: Pending, now: Text | None) -> tuple[Pending | None, Pending | None]:
    """Return the parked edits that the current text contains again, and the others."""
    if now == parked.live:
        return parked, None
    if parked.base is None or parked.live is None or now is None:
        return None, parked
    present = parked.hunks_in(now)
    back = _rebase(parked.with_only(present), now) if present else None
    if back is None:
        return None, parked
    rest = [hunk for hunk in parked.hunks if hunk not in present]
    return back, parked.with_only(rest) if rest else None


def combine(entry: Pending, other: Pending) -> Pending:
    """Combine two entries of a file with the same live text: the hunks of both are pending.

    If the agents created or deleted the file, one entry is the whole file and includes the other.
    """
    writers = entry.writers | other.writers
    if entry.base is None or other.base is None or entry.live is None:
        whole_file = entry if entry.base is None or entry.live is None else other
        return msgspec.structs.replace(whole_file, writers=writers)
    merged = merge(entry.live, entry.base, other.base)  # each base reverts hunks of the live text
    base = merged.text if isinstance(merged, Merged) else other.base
    return msgspec.structs.replace(
        other,
        base=base,
        writers=writers,
        format_change=other.format_change or entry.format_change,
        origin=other.origin or entry.origin,
    )


class Parked:
    """Parked edits by path, the oldest first."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[ParkedEdits, ...]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def get(self, path: str) -> tuple[ParkedEdits, ...]:
        """Return the parked edits of a file."""
        return self._files.get(path, ())

    def all(self) -> dict[str, tuple[ParkedEdits, ...]]:
        """Return the parked edits of all files, by path."""
        return dict(self._files)

    def set(self, path: str, parked: Sequence[ParkedEdits]) -> None:
        """Replace the parked edits of a file."""
        self._files.pop(path, None)
        if parked:
            self._files[path] = tuple(parked)

    def add(self, path: str, lost: Pending | None, branch: str, time: float) -> bool:
        """Park the edits that a file lost when it left `branch`. Return whether there are any."""
        if lost is not None:
            self._files[path] = (*self.get(path), ParkedEdits(lost, branch, time))[-MAX_PARKED:]
        return lost is not None

    def take(self, path: str, now: Text | None, entry: Pending | None) -> Pending | None:
        """Remove the edits that this text of the file contains.

        Return them combined with the file's `entry`, or None if there are no such edits.
        """
        taken: Pending | None = None
        left: list[ParkedEdits] = []
        for parked in self.get(path):
            contained, rest = split_parked(parked.entry, now)
            if contained is not None:
                entry = taken = contained if entry is None else combine(contained, entry)
            if rest is not None:
                left.append(msgspec.structs.replace(parked, entry=rest))
        self.set(path, left)
        return taken

    def drop(self, paths: Collection[str]) -> None:
        """Drop the parked edits of these files."""
        for path in paths:
            self._files.pop(path, None)


def _replace_entry(entry: Pending, other: Pending) -> Carried:
    """Return the result of replacing the entry with `other`, which has the current text."""
    lost = entry.hunks_not_in(other)
    return Carried(_unless_settled(other), entry.with_only(lost) if lost else None)


def _carry_entangled(entry: Pending, now: Text, replaced: bool) -> Carried:
    """Carry over the edits, except for lines that both sides changed."""
    present = entry.hunks_in(now)
    touched = [hunk for hunk in entry.hunks if hunk not in present]
    remaining = _rebase(entry.with_only(present), now)
    if replaced:
        return Carried(_unless_settled(remaining) if remaining else None, entry.with_only(touched))
    if remaining is None:
        remaining = msgspec.structs.replace(entry, base=now, live=now)
    theirs = _without_edits_of_others(entry, now, touched)
    return Carried(
        msgspec.structs.replace(remaining, is_conflict=True, theirs=theirs, is_overtaken=True)
    )


def _rebase(entry: Pending, now: Text) -> Pending | None:
    """Return the entry with the live text `now`, or None if other changes overlap its hunks."""
    if entry.base is None or entry.live is None:
        return None
    merged = merge(entry.live, now, entry.base)
    if not isinstance(merged, Merged):
        return None
    return msgspec.structs.replace(entry, base=merged.text, live=now)


def _without_edits_of_others(entry: Pending, now: Text, touched: Collection[Hunk]) -> Text:
    """Return the current text, with the agent's version of the lines that both sides changed."""
    edits = diff(keys(entry.live), keys(now))
    apart = [edit for edit in edits if not any(_touches(edit, hunk) for hunk in touched)]
    return from_keys(apply(keys(entry.live), apart)) or EMPTY


def _touches(edit: Hunk, hunk: Hunk) -> bool:
    """Return whether an edit of the live text touches a hunk's lines."""
    return edit.start <= hunk.new_end and hunk.new_start <= edit.end


def _unless_settled(entry: Pending) -> Pending | None:
    return None if entry.is_settled else entry
