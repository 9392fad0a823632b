"""Bases of the agents' next writes: the text that each agent believes a file to have.

An agent writes whole texts. Its change is the difference between its text and the **base**: the
text that it last read or wrote, *as far as that still exists*. The base therefore follows some
changes to the file and not others. `AgentBases.record_change` is called for every change, with its
`ChangeKind`:

- `TYPED`: the user's own work, a save, another agent's write. The base does not change. The next
  write is merged with the change, and refused if both changed the same lines.
- `DECIDED`: the user refused text (reject, restore, the other side of a conflict) or discarded
  unsaved text (`:edit!`). The base changes as the text does, for every session. If an agent writes
  the refused text again, that is a new change.
- `UNDONE`: the user returned to an earlier text (undo, redo, unreject, the undo of a restore). The
  base follows changes to the agent's own lines, and restored lines that had been removed from it.
  Other changes count as typed: if the user undoes their own work, or restores something after the
  agent has read the file, it is the user's.
- `REPLACED`: a program changed the file on disk. That counts as the user's work, with one
  exception: if the agent's own lines are gone as if never written (`git checkout`), they are
  removed from the base. Programs empty a file before they write it: the text before that counts as
  replaced by the text after it.

A change that restores exactly the text that the agent last saw makes it the base again. A deleted
file has an empty base, so the next write creates it. If another file was created in its place, the
write is refused, since the agent does not know that file.

Only the changed parts of the base follow a change. Text that the user typed after the agent read
the file is therefore merged with its next write, even if something was rejected in between.

Texts are kept up to `MAX_BYTES`. The least recently used are dropped first. Their digests are kept,
so that a text that has not changed since is recognized.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from enum import Enum

import msgspec
from msgspec import UNSET, UnsetType

from acp_nvim.edits.hunks import Hunk, apply, diff
from acp_nvim.edits.merge import overlay
from acp_nvim.edits.text import EMPTY, Text, from_lines, rows, size

MAX_BYTES = 64 * 1024 * 1024
"""Maximum size of the texts of all sessions together, in bytes."""
MAX_DIGESTS = 20_000
LATEST = 3
"""Number of an agent's latest writes to a file for which the earlier base is kept."""


class ChangeKind(Enum):
    """Kind of change to a file's text. The module's docstring lists the effects."""

    TYPED = "typed"
    DECIDED = "decided"
    UNDONE = "undone"
    REPLACED = "replaced"


class Stale(msgspec.Struct, frozen=True):
    """Result for a write that changes a text that no longer exists."""

    reason: str


class Belief(msgspec.Struct, frozen=True):
    """One agent's knowledge of one file."""

    base: Text
    read: Text
    """Text that the agent last read or wrote: the base plus the lines removed from it."""
    earlier: tuple[Text, ...] = ()
    """Bases before the agent's first write and before its latest ones."""
    decisions: tuple[tuple[Text, Belief], ...] = ()
    """Texts of the file before the user's latest decisions, and the beliefs at that time."""

    @property
    def size(self) -> int:
        """Return the approximate number of bytes of the texts."""
        texts = [self.base, self.read, *self.earlier]
        for text, known in self.decisions:
            texts += [text, known.base]
        return size(self.base) * len({id(text) for text in texts})

    def after_read(self, text: Text) -> Belief:
        """Return the belief after the agent has read this text."""
        return Belief(text, text, self._follow_earlier(self.base, text))

    def after_write(self, text: Text) -> Belief:
        if text == self.base:
            return Belief(text, text, self.earlier)
        first = () if self.base == EMPTY else self.earlier[:1]
        latest = () if self.base == EMPTY else self.earlier[1:]
        return Belief(text, text, (*first, *(*latest, self.base)[-LATEST:]))

    def _follow_earlier(self, before: Text, after: Text) -> tuple[Text, ...]:
        """Return the earlier bases after a change that the agent did not make."""
        if before == after:
            return self.earlier
        return tuple(overlay(before, text, after) for text in self.earlier)

    def after_change(self, before: Text | None, after: Text | None, kind: ChangeKind) -> Belief:
        """Return the belief after a change to the file."""
        if after is None:
            return Belief(EMPTY, self.read, self.earlier)
        if before is None:
            is_restored = kind in (ChangeKind.DECIDED, ChangeKind.UNDONE) or after == self.read
            return Belief(after, self.read, self.earlier) if is_restored else self
        if (
            kind in (ChangeKind.TYPED, ChangeKind.REPLACED)
            and self.base is not self.read
            and after == self.read
        ):
            # An unreported undo, or a program, has restored the agent's text.
            return Belief(after, after, self.earlier, self.decisions)
        if kind is ChangeKind.DECIDED:
            base = overlay(before, self.base, after)
            earlier = self._follow_earlier(before, after)
            return Belief(base, self.read, earlier, self._with_decision(before))
        if kind is ChangeKind.UNDONE:
            known = self._before_decision(before, after)
            if known is not None:
                return known
            return self._with_undone_writes(before, after)._with_restored_lines(before, after)
        if kind is ChangeKind.REPLACED:
            return self._without_gone_writes(before, after)
        return self

    def _with_decision(self, before: Text) -> tuple[tuple[Text, Belief], ...]:
        """Return the decisions plus one that was made when the file had the text `before`."""
        now = Belief(self.base, self.read, self.earlier)
        return (*self.decisions, (before, now))[-LATEST:]

    def _before_decision(self, before: Text, after: Text) -> Belief | None:
        """Return the belief from before a decision that is undone as a whole."""
        known = next((known for text, known in reversed(self.decisions) if text == after), None)
        if known is None:
            return None
        return Belief(known.base, known.read, known.earlier, self._with_decision(before))

    def _with_undone_writes(self, before: Text, after: Text) -> Belief:
        """Return the belief after changes to the agent's own lines were undone or redone."""
        if after == self.read or after in self.earlier:
            return Belief(after, self.read, self.earlier, self.decisions)
        if not self.earlier:
            return self
        earlier = self.earlier[0]
        steps = diff(rows(before), rows(after))
        spans = [span for text in self.earlier for _, span in self._surviving_hunks(text, before)]
        chosen = [
            s for s in steps if any(s.start <= end and first <= s.end for first, end in spans)
        ]
        eol = after.eol if earlier.eol != self.base.eol else before.eol
        partial = from_lines(apply(rows(before), chosen), eol)
        if partial == before:
            return self
        base = overlay(before, self.base, partial)
        return Belief(base, self.read, self.earlier, self.decisions)

    def _with_restored_lines(self, before: Text, after: Text) -> Belief:
        """Return the belief whose base has the restored lines that the agent has read.

        Lines that the agent had removed are removed again.
        """
        if self.read is self.base or self.base == self.read:
            return self
        known = set(rows(self.read))
        chosen = [
            step
            for step in diff(rows(before), rows(after))
            if known.issuperset(step.lines)
            and known.isdisjoint(rows(before)[step.start : step.end])
        ]
        partial = from_lines(apply(rows(before), chosen), after.eol if chosen else before.eol)
        base = overlay(before, self.base, partial)
        base = self.read if base == self.read else base
        return Belief(base, self.read, self.earlier, self.decisions)

    def _without_gone_writes(self, before: Text, after: Text) -> Belief:
        """Return the belief without the agent's own lines that are gone from the file."""
        belief = self
        for earlier in reversed(self.earlier):
            belief = belief._without_gone_write(earlier, before, after)
        return belief

    def _without_gone_write(self, earlier: Text, before: Text, after: Text) -> Belief:
        """Return the belief without the hunks of a write that `after` has undone.

        `earlier` is the base before that write.
        """
        remaining = diff(rows(earlier), rows(after))
        removals = [
            Hunk(own.new_start, own.new_end, rows(earlier)[own.start : own.end], own.start)
            for own, _ in self._surviving_hunks(earlier, before)
            if not _touches(remaining, own.start, own.end)
        ]
        is_same_eol = self.base.eol == before.eol and earlier.eol == after.eol
        eol = earlier.eol if is_same_eol else self.base.eol
        base = from_lines(apply(rows(self.base), removals), eol)
        return self if base == self.base else Belief(base, self.read, self.earlier, self.decisions)

    def _surviving_hunks(self, earlier: Text, before: Text) -> list[tuple[Hunk, tuple[int, int]]]:
        """Return the agent's own hunks that `before` still has, with their rows in `before`."""
        typed = diff(rows(self.base), rows(before))
        return [
            (own, _span(typed, own))
            for own in diff(rows(earlier), rows(self.base))
            if not _touches(typed, own.new_start, own.new_end)
        ]


def _touches(hunks: list[Hunk], start: int, end: int) -> bool:
    """Return whether hunks change one of these old rows, or insert lines between them."""
    if start == end:
        return any(hunk.start <= start <= hunk.end for hunk in hunks)
    return any(
        start < hunk.start < end
        if hunk.start == hunk.end
        else hunk.start < end and start < hunk.end
        for hunk in hunks
    )


def _span(typed: list[Hunk], own: Hunk) -> tuple[int, int]:
    """Return the rows of an agent's hunk in the text after the user's edits."""
    shift = sum(hunk.growth for hunk in typed if hunk.end <= own.new_start)
    return own.new_start + shift, own.new_end + shift


class AgentBases:
    """Beliefs by real path and session key."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_digests: int = MAX_DIGESTS) -> None:
        self._files: dict[str, dict[str, Belief]] = {}
        self._sizes: OrderedDict[tuple[str, str], int] = OrderedDict()
        """Sizes of all beliefs by session and path, the least recently used first."""
        self._digests: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._present: dict[str, Text | None] = {}
        """Present texts of the files, if known."""
        self._discarded: dict[str, ChangeKind] = {}
        """Files whose text was discarded and whose new text is still unknown, with the kind of
        change.
        """
        self._max_bytes = max_bytes
        self._max_digests = max_digests
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """Return the approximate number of bytes of texts held."""
        return self._bytes

    # -- events from agents -----------------------------------------------------------------------

    def record_read(self, session: str, path: str, text: Text) -> None:
        belief = self._belief(session, path)
        if belief is None or belief.base is not text or belief.read is not text:
            self._set(session, path, belief.after_read(text) if belief else Belief(text, text))
        self._present[path] = text

    def record_write(self, session: str, path: str, base: Text, text: Text, present: Text) -> None:
        """Record that the agent changed `base` to `text`, so the file is `present` now."""
        known = self._belief(session, path)
        belief = known if known is not None and known.base == base else Belief(base, base)
        if belief.base != text or known is None or known.read is not known.base:
            self._set(session, path, belief.after_write(text))
        self._present[path] = present
        self._discarded.pop(path, None)

    def last_seen(self, session: str, path: str) -> Text | None:
        """Return the text that the agent last saw, if it is still held."""
        belief = self._belief(session, path)
        return belief.base if belief is not None else None

    def base_of(self, session: str, path: str, present: Iterable[Text]) -> Text | Stale | None:
        """Return the base of a write, or None for a file that the agent has never seen.

        If only the digest of the last seen text is held, return the text in `present` that has it,
        or `Stale` if none does.
        """
        last = self.last_seen(session, path)
        digest = self._digests.get((session, path))
        if last is not None or digest is None:
            return last
        known = next((text for text in present if text.digest == digest), None)
        if known is None:
            return Stale(
                "the file has changed since it was read, and its earlier text is not known"
            )
        return known

    def forget_session(self, session: str) -> None:
        """Drop the beliefs of a session."""
        for key in [key for key in self._sizes if key[0] == session]:
            self._drop(key)
        for key in [key for key in self._digests if key[0] == session]:
            del self._digests[key]

    # -- changes to files -------------------------------------------------------------------------

    def has_beliefs(self, path: str) -> bool:
        """Return whether any agent has a belief about a file."""
        return path in self._files or any(name == path for _, name in self._digests)

    def record_change(
        self,
        path: str,
        after: Text | None,
        kind: ChangeKind,
        before: Text | UnsetType | None = UNSET,
    ) -> None:
        """Record a file's new text, or None for a deleted file.

        `before` is the earlier text, if known.
        """
        if path not in self._files and not self._digests:
            return
        if path in self._discarded and kind in (ChangeKind.TYPED, ChangeKind.UNDONE):
            return  # `record_present` records the change after that to the saved text
        self._discarded.pop(path, None)
        was = self._present.get(path) if before is UNSET else before
        if path in self._files:
            self._present[path] = after
        if was == after:
            return
        is_followed = False
        for session, belief in list(self._files.get(path, {}).items()):
            changed = belief.after_change(was, after, kind)
            if changed is not belief:
                is_followed = True
                self._set(session, path, changed)
        is_emptied = kind is ChangeKind.REPLACED and after == EMPTY
        if is_emptied and not is_followed and path in self._present:
            self._present[path] = was
        if kind is not ChangeKind.TYPED:
            self._follow_digests(path, was, after, kind)

    def record_discard(self, path: str, kind: ChangeKind) -> None:
        """Record that a file's text was discarded in favor of the text on disk.

        `record_present` supplies the new text.
        """
        if path in self._files:
            self._discarded[path] = kind

    def is_discarded(self, path: str) -> bool:
        """Return whether a file's text was discarded and the new text is still unknown."""
        return path in self._discarded

    def record_present(self, path: str, present: Iterator[Text], kind: ChangeKind) -> None:
        """Record the current text of a file.

        `present` yields the text, then the saved text if it differs. The saved text replaces a
        discarded one.
        """
        if path not in self._files:
            return
        live = next(present)
        discard = self._discarded.pop(path, None)
        if discard is not None:
            self.record_change(path, next(present, live), discard)
            kind = ChangeKind.TYPED
        if self._present.get(path) is not live:
            self.record_change(path, live, kind)

    def _follow_digests(
        self, path: str, before: Text | None, after: Text | None, kind: ChangeKind
    ) -> None:
        """Update the bases of which only the digest is held, after a decision or a deletion."""
        if after is not None and (before is None or kind is not ChangeKind.DECIDED):
            return
        known = before.digest if before is not None and self._digests else None
        for session, name in [key for key in self._digests if key[1] == path]:
            if after is None or self._digests[session, name] == known:
                base = EMPTY if after is None else after
                self._set(session, path, Belief(base, base))

    # -- helpers ----------------------------------------------------------------------------------

    def _belief(self, session: str, path: str) -> Belief | None:
        belief = self._files.get(path, {}).get(session)
        if belief is not None:
            self._sizes.move_to_end((session, path))
        return belief

    def _set(self, session: str, path: str, belief: Belief) -> None:
        key = session, path
        self._drop(key, is_replaced=True)
        self._digests.pop(key, None)
        self._files.setdefault(path, {})[session] = belief
        self._sizes[key] = belief.size
        self._bytes += self._sizes[key]
        while self._bytes > self._max_bytes:
            oldest = next(iter(self._sizes))
            dropped = self._files[oldest[1]][oldest[0]]
            self._drop(oldest)
            self._digests[oldest] = dropped.base.digest
        while len(self._digests) > self._max_digests:
            self._digests.popitem(last=False)

    def _drop(self, key: tuple[str, str], is_replaced: bool = False) -> None:
        """Drop a belief. With `is_replaced`, another belief takes its place at once."""
        session, path = key
        belief = self._files.get(path, {}).pop(session, None)
        if belief is None:
            return
        self._bytes -= self._sizes.pop(key)
        if not self._files[path] and not is_replaced:
            del self._files[path]
            self._present.pop(path, None)
            self._discarded.pop(path, None)
