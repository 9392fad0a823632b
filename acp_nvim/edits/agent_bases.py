"""What each session's agent believes a file to hold: the base of its next write.

An agent writes whole texts. What it changes is the difference between its text and the **base**:
what it last read or wrote, *of the text that is there*. So the base has to follow some changes of
the file, and must not follow others. `AgentBases.changed` is told of every change, with its `Act`:

- `TYPED`: the user's own work, a save, another agent's write. The base stays. The next write is
  merged with it, and refused where both changed the same lines.
- `DECIDED`: the user refused text (reject, restore, the other side of a conflict) or gave up what
  was not saved (`:edit!`). The base changes as the text does, for every session. Whoever writes
  that text again writes it again, because it is a change once more.
- `RETURNED`: the user went through texts that have been there (undo, redo, unreject, the restore of
  a restore). Where the agent's own lines change the base changes as well, and what had been taken
  out of it is in it again where it is there again. Anything else counts as typed: what the user
  undoes of their own, or brings back after the agent has read the file, is theirs.
- `REPLACED`: a program changed the file on disk. That is the user's work, too, with one exception:
  where the agent's own lines were there before and are afterwards as if it had never written them
  (`git checkout`), they are no longer part of the base.

A file that is gone is an empty base: the next write brings it, as a whole. If somebody else brought
another file meanwhile, the write is refused, because the agent knows nothing of that one.

In each case only those parts of the base change that the act has changed. So what the user typed
after the agent read the file is merged with its next write, whatever has been rejected meanwhile.

Texts are kept up to a number of bytes, the least recently used go first; of those that went only
the digest stays, which is enough to know whether a present text is still that one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from enum import Enum

import msgspec
from msgspec import UNSET, UnsetType

from acp_nvim.edits.hunks import Hunk, apply, diff
from acp_nvim.edits.merge import overlaid
from acp_nvim.edits.text import EMPTY, Text, digest, from_lines, rows, size

MAX_BYTES = 64 * 1024 * 1024
"""Of texts, all sessions together."""
MAX_DIGESTS = 20_000
LATEST = 3
"""Of an agent's writes of a file, before how many of the latest the base is kept."""


class Act(Enum):
    """How a file came by another text; see the module."""

    TYPED = "typed"
    DECIDED = "decided"
    RETURNED = "returned"
    REPLACED = "replaced"


class Stale(msgspec.Struct, frozen=True):
    """A write that is a change to a text which nobody has any more."""

    reason: str


class Belief(msgspec.Struct, frozen=True):
    """What one agent knows of one file."""

    base: Text
    read: Text
    """What it last read or wrote; the base where nothing of that has been taken out."""
    earlier: tuple[Text, ...] = ()
    """The base before the agent's writes: before the first, and before the latest ones."""
    decisions: tuple[tuple[Text, Belief], ...] = ()
    """What the file held before the user's latest decisions, and what the agent knew then."""

    @property
    def size(self) -> int:
        """About how many bytes it takes: so many texts of one file."""
        texts = [self.base, self.read, *self.earlier]
        for text, known in self.decisions:
            texts += [text, known.base]
        return size(self.base) * len({id(text) for text in texts})

    def reads(self, text: Text) -> Belief:
        """The agent is given this text."""
        return Belief(text, text, self._before_writes(self.base, text))

    def writes(self, text: Text) -> Belief:
        """The agent makes this of its base."""
        if text == self.base:
            return Belief(text, text, self.earlier)
        first = () if self.base == EMPTY else self.earlier[:1]
        latest = () if self.base == EMPTY else self.earlier[1:]
        return Belief(text, text, (*first, *(*latest, self.base)[-LATEST:]))

    def _before_writes(self, before: Text, after: Text) -> tuple[Text, ...]:
        """The earlier bases with what somebody else has changed."""
        if before == after:
            return self.earlier
        return tuple(overlaid(before, text, after) for text in self.earlier)

    def follows(self, before: Text | None, after: Text | None, act: Act) -> Belief:
        """The file changed from one text to the other."""
        if after is None:
            return Belief(EMPTY, self.read, self.earlier)
        if before is None:
            came_back = act in (Act.DECIDED, Act.RETURNED)
            return Belief(after, self.read, self.earlier) if came_back else self
        if act is Act.DECIDED:
            base = overlaid(before, self.base, after)
            earlier = self._before_writes(before, after)
            return Belief(base, self.read, earlier, self._decided(before))
        if act is Act.RETURNED:
            return self._as_before(before, after) or self._retraced(before, after)._returned(
                before, after
            )
        if act is Act.REPLACED:
            return self._without_own(before, after)
        return self

    def _decided(self, before: Text) -> tuple[tuple[Text, Belief], ...]:
        """The decisions and one more, made when the file had this text."""
        now = Belief(self.base, self.read, self.earlier)
        return (*self.decisions, (before, now))[-LATEST:]

    def _as_before(self, before: Text, after: Text) -> Belief | None:
        """A decision is taken back as a whole: the agent knows what it knew before."""
        known = next((known for text, known in reversed(self.decisions) if text == after), None)
        if known is None:
            return None
        return Belief(known.base, known.read, known.earlier, self._decided(before))

    def _retraced(self, before: Text, after: Text) -> Belief:
        """The agent's own lines are others now: so they are in the base."""
        if after == self.read or after in self.earlier:
            return Belief(after, self.read, self.earlier, self.decisions)
        if not self.earlier:
            return self
        apart = self.earlier[0]
        steps = diff(rows(before), rows(after))
        spans = [span for text in self.earlier for _, span in self._there(text, before)]
        taken = [s for s in steps if any(s.start <= end and first <= s.end for first, end in spans)]
        eol = after.eol if apart.eol != self.base.eol else before.eol
        partly = from_lines(apply(rows(before), taken), eol)
        if partly == before:
            return self
        base = overlaid(before, self.base, partly)
        return Belief(base, self.read, self.earlier, self.decisions)

    def _returned(self, before: Text, after: Text) -> Belief:
        """Lines that the agent knows and that had been taken out of its base are there again, or
        lines that it had taken out are gone again.
        """
        if self.read is self.base or self.base == self.read:
            return self
        known = set(rows(self.read))
        taken = [
            step
            for step in diff(rows(before), rows(after))
            if known.issuperset(step.lines)
            and known.isdisjoint(rows(before)[step.start : step.end])
        ]
        partly = from_lines(apply(rows(before), taken), after.eol if taken else before.eol)
        base = overlaid(before, self.base, partly)
        base = self.read if base == self.read else base
        return Belief(base, self.read, self.earlier, self.decisions)

    def _without_own(self, before: Text, after: Text) -> Belief:
        """The agent's own lines leave the base where they have left the file."""
        found = self
        for apart in reversed(self.earlier):
            found = found._back_to(apart, before, after)
        return found

    def _back_to(self, apart: Text, before: Text, after: Text) -> Belief:
        """The same, where they are as they were before one of its writes."""
        left = diff(rows(apart), rows(after))
        gone = [
            Hunk(own.new_start, own.new_end, rows(apart)[own.start : own.end], own.start)
            for own, _ in self._there(apart, before)
            if not _touch(left, own.start, own.end)
        ]
        ended = self.base.eol == before.eol and apart.eol == after.eol
        eol = apart.eol if ended else self.base.eol
        base = from_lines(apply(rows(self.base), gone), eol)
        return self if base == self.base else Belief(base, self.read, self.earlier, self.decisions)

    def _there(self, apart: Text, before: Text) -> list[tuple[Hunk, tuple[int, int]]]:
        """The agent's own hunks that nobody has touched in a text, and their rows there."""
        typed = diff(rows(self.base), rows(before))
        return [
            (own, _span(typed, own))
            for own in diff(rows(apart), rows(self.base))
            if not _touch(typed, own.new_start, own.new_end)
        ]


def _touch(hunks: list[Hunk], start: int, end: int) -> bool:
    """Whether hunks change one of these old rows, or bring lines where there are none."""
    return any(
        hunk.start <= start <= hunk.end
        if start == end
        else start < hunk.start < end
        if hunk.start == hunk.end
        else hunk.start < end and start < hunk.end
        for hunk in hunks
    )


def _span(typed: list[Hunk], own: Hunk) -> tuple[int, int]:
    """The rows of an agent's hunk in the text that the user has made of it since."""
    shift = sum(hunk.growth for hunk in typed if hunk.end <= own.new_start)
    return own.new_start + shift, own.new_end + shift


class AgentBases:
    """The beliefs by real path and session (its key)."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_digests: int = MAX_DIGESTS) -> None:
        self._files: dict[str, dict[str, Belief]] = {}
        self._used: OrderedDict[tuple[str, str], None] = OrderedDict()
        """Sessions and paths of all beliefs, the least recently used first."""
        self._digests: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._present: dict[str, Text | None] = {}
        """What these files hold, as far as it is known."""
        self._left: dict[str, Act] = {}
        """Files whose text is another one since, and by which act."""
        self._max_bytes = max_bytes
        self._max_digests = max_digests
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """How many bytes of texts are held, about."""
        return self._bytes

    # ---- what agents do

    def note(self, session: str, path: str, text: Text) -> None:
        """The agent was given this text. An unchanged text costs nothing."""
        known = self._belief(session, path)
        if known is None or known.base is not text or known.read is not text:
            self._put(session, path, known.reads(text) if known else Belief(text, text))
        self._present[path] = text

    def wrote(self, session: str, path: str, base: Text, text: Text, present: Text) -> None:
        """The agent made ``text`` of ``base``, and the file is ``present`` now."""
        known = self._belief(session, path)
        belief = known if known is not None and known.base == base else Belief(base, base)
        if belief.base != text or known is None or known.read is not known.base:
            self._put(session, path, belief.writes(text))
        self._present[path] = present
        self._left.pop(path, None)

    def last(self, session: str, path: str) -> Text | None:
        """The text that the agent last saw, where it is still held."""
        known = self._belief(session, path)
        return known.base if known is not None else None

    def base_of(self, session: str, path: str, present: Iterable[Text]) -> Text | Stale | None:
        """The text that a write is to be merged from; None for a file that the agent never saw.

        Where the text is no longer held it is found among the ``present`` ones, if it is one.
        """
        last = self.last(session, path)
        known = self._digests.get((session, path))
        if last is not None or known is None:
            return last
        found = next((text for text in present if digest(text) == known), None)
        if found is None:
            return Stale("the file has changed since it was read, and what it held is not kept")
        return found

    def forget(self, session: str) -> None:
        """The session is over."""
        for key in [key for key in self._used if key[0] == session]:
            self._drop(key)
        for key in [key for key in self._digests if key[0] == session]:
            del self._digests[key]

    # ---- what becomes of files

    def knows(self, path: str) -> bool:
        """Whether it matters to anybody what becomes of a file."""
        return path in self._files or any(name == path for _, name in self._digests)

    def changed(
        self,
        path: str,
        after: Text | None,
        act: Act,
        before: Text | UnsetType | None = UNSET,
    ) -> None:
        """A file has this text now (None: it is gone). ``before`` is what it had, where that is
        known better than here.
        """
        if path not in self._files and not self._digests:
            return
        if path in self._left and act in (Act.TYPED, Act.RETURNED):
            return  # `found` takes it up, after what the file has been given up for
        self._left.pop(path, None)
        was = self._present.get(path) if before is UNSET else before
        if path in self._files:
            self._present[path] = after
        if was == after or act is Act.TYPED:
            return
        for session, belief in list(self._files.get(path, {}).items()):
            follows = belief.follows(was, after, act)
            if follows is not belief:
                self._put(session, path, follows)
        self._follow_digests(path, was, after, act)

    def left(self, path: str, act: Act) -> None:
        """The file's text is given up for the one on disk, which is told next."""
        if path in self._files:
            self._left[path] = act

    def is_left(self, path: str) -> bool:
        """Whether it is not yet known what came in place of the file's text."""
        return path in self._left

    def found(self, path: str, present: Iterator[Text], act: Act) -> None:
        """A file is looked at. ``present`` is its text, and then the saved one where that is
        another: of a text that was given up that one came in its place.
        """
        if path not in self._files:
            return
        live = next(present)
        left = self._left.pop(path, None)
        if left is not None:
            self.changed(path, next(present, live), left)
            act = Act.TYPED
        if self._present.get(path) is not live:
            self.changed(path, live, act)

    def _follow_digests(self, path: str, before: Text | None, after: Text | None, act: Act) -> None:
        """Bases of which only the digest is held: known again where all of the text is."""
        if after is not None and (before is None or act is not Act.DECIDED):
            return
        known = digest(before) if before is not None and self._digests else None
        for session, name in [key for key in self._digests if key[1] == path]:
            if after is None or self._digests[session, name] == known:
                base = EMPTY if after is None else after
                self._put(session, path, Belief(base, base))

    # ---- within

    def _belief(self, session: str, path: str) -> Belief | None:
        found = self._files.get(path, {}).get(session)
        if found is not None:
            self._used.move_to_end((session, path))
        return found

    def _put(self, session: str, path: str, belief: Belief) -> None:
        key = session, path
        self._drop(key, keep=True)
        self._digests.pop(key, None)
        self._files.setdefault(path, {})[session] = belief
        self._used[key] = None
        self._bytes += belief.size
        while self._bytes > self._max_bytes:
            oldest = next(iter(self._used))
            gone = self._files[oldest[1]][oldest[0]]
            self._drop(oldest)
            self._digests[oldest] = digest(gone.base)
        while len(self._digests) > self._max_digests:
            self._digests.popitem(last=False)

    def _drop(self, key: tuple[str, str], keep: bool = False) -> None:
        """A belief goes; ``keep`` when another one takes its place at once."""
        session, path = key
        known = self._files.get(path, {}).pop(session, None)
        if known is None:
            return
        self._bytes -= known.size
        del self._used[key]
        if not self._files[path] and not keep:
            del self._files[path]
            self._present.pop(path, None)
            self._left.pop(path, None)
