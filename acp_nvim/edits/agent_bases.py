"""The base of each agent's next write: the text that it believes a file to hold.

An agent writes whole texts. Its change is the difference between its text and the **base**: the
text that it last read or wrote, *as far as that is still there*. So the base follows some changes
of the file and not others. `AgentBases.changed` is told of every change, with its `Act`:

- `TYPED`: the user's own work, a save, another agent's write. The base stays. The next write is
  merged with the change, and refused where both changed the same lines.
- `DECIDED`: the user refused text (reject, restore, the other side of a conflict) or gave up
  unsaved text (`:edit!`). The base changes as the text does, for every session. An agent that
  writes that text again does write it again, because it is a change once more.
- `RETURNED`: the user went back to an earlier text (undo, redo, unreject, the restore of a
  restore). The base follows where the agent's own lines change, and where lines that had been
  taken out of it are there again. Anything else counts as typed: what the user undoes of their
  own, or brings back after the agent has read the file, is theirs.
- `REPLACED`: a program changed the file on disk. That counts as the user's work, with one
  exception: where the agent's own lines are gone as if it had never written them (`git checkout`),
  they leave the base.

Whatever brings back just the text that the agent last saw makes it the base again.

A file that is gone has an empty base: the next write creates it. If somebody else created another
file meanwhile the write is refused, because the agent does not know that one.

Only those parts of the base change that the act has changed. So text that the user typed after the
agent read the file is merged with its next write, whatever has been rejected meanwhile.

Texts are kept up to a number of bytes; the least recently used go first and leave their digest,
which is enough to know whether a present text is still the same.
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
"""The most bytes of texts held, of all sessions together."""
MAX_DIGESTS = 20_000
LATEST = 3
"""Before how many of an agent's latest writes of a file the base is kept."""


class Act(Enum):
    """How a file's text changed; the module's docstring tells what follows."""

    TYPED = "typed"
    DECIDED = "decided"
    RETURNED = "returned"
    REPLACED = "replaced"


class Stale(msgspec.Struct, frozen=True):
    """A write that changes a text which no longer exists anywhere."""

    reason: str


class Belief(msgspec.Struct, frozen=True):
    """What one agent knows of one file."""

    base: Text
    read: Text
    """The text that it last read or wrote: the base, plus the lines that were taken out of it."""
    earlier: tuple[Text, ...] = ()
    """The base before the agent's first write, and before its latest ones."""
    decisions: tuple[tuple[Text, Belief], ...] = ()
    """The file's text before the user's latest decisions, and the belief at that time."""

    @property
    def size(self) -> int:
        """About how many bytes its texts take."""
        texts = [self.base, self.read, *self.earlier]
        for text, known in self.decisions:
            texts += [text, known.base]
        return size(self.base) * len({id(text) for text in texts})

    def reads(self, text: Text) -> Belief:
        """The agent is given this text."""
        return Belief(text, text, self._before_writes(self.base, text))

    def writes(self, text: Text) -> Belief:
        if text == self.base:
            return Belief(text, text, self.earlier)
        first = () if self.base == EMPTY else self.earlier[:1]
        latest = () if self.base == EMPTY else self.earlier[1:]
        return Belief(text, text, (*first, *(*latest, self.base)[-LATEST:]))

    def _before_writes(self, before: Text, after: Text) -> tuple[Text, ...]:
        """The earlier bases with another side's changes put in."""
        if before == after:
            return self.earlier
        return tuple(overlaid(before, text, after) for text in self.earlier)

    def follows(self, before: Text | None, after: Text | None, act: Act) -> Belief:
        """The file changed from one text to the other."""
        if after is None:
            return Belief(EMPTY, self.read, self.earlier)
        if before is None:
            came_back = act in (Act.DECIDED, Act.RETURNED) or after == self.read
            return Belief(after, self.read, self.earlier) if came_back else self
        if act in (Act.TYPED, Act.REPLACED) and self.base is not self.read and after == self.read:
            # An undo that nobody heard of, or a program, has brought the agent's text back.
            return Belief(after, after, self.earlier, self.decisions)
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
        """The decisions with one added, made when the file had this text."""
        now = Belief(self.base, self.read, self.earlier)
        return (*self.decisions, (before, now))[-LATEST:]

    def _as_before(self, before: Text, after: Text) -> Belief | None:
        """The belief before a decision, where that decision is taken back as a whole."""
        known = next((known for text, known in reversed(self.decisions) if text == after), None)
        if known is None:
            return None
        return Belief(known.base, known.read, known.earlier, self._decided(before))

    def _retraced(self, before: Text, after: Text) -> Belief:
        """Put changes of the agent's own lines into the base."""
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
        """Put back lines that the agent knows and that were taken out of its base; take out again
        what it had removed.
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
        """Take the agent's own lines out of the base where they have left the file."""
        found = self
        for apart in reversed(self.earlier):
            found = found._back_to(apart, before, after)
        return found

    def _back_to(self, apart: Text, before: Text, after: Text) -> Belief:
        """Do so for lines that are as they were before one of its writes."""
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
        """The agent's own hunks that are untouched in a text, with their rows there."""
        typed = diff(rows(self.base), rows(before))
        return [
            (own, _span(typed, own))
            for own in diff(rows(apart), rows(self.base))
            if not _touch(typed, own.new_start, own.new_end)
        ]


def _touch(hunks: list[Hunk], start: int, end: int) -> bool:
    """Whether hunks change one of these old rows, or insert lines between them."""
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
        """The files' present texts, as far as they are known."""
        self._left: dict[str, Act] = {}
        """Files whose text was given up for another that is not known yet, and by which act."""
        self._max_bytes = max_bytes
        self._max_digests = max_digests
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """About how many bytes of texts are held."""
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
        """The base of a write; None for a file that the agent never saw.

        Where the text is no longer held it is looked for among the ``present`` ones, by its digest.
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
        """Whether any agent has a belief about a file."""
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
        if was == after:
            return
        for session, belief in list(self._files.get(path, {}).items()):
            follows = belief.follows(was, after, act)
            if follows is not belief:
                self._put(session, path, follows)
        if act is not Act.TYPED:
            self._follow_digests(path, was, after, act)

    def left(self, path: str, act: Act) -> None:
        """The file's text is given up for the one on disk, which `found` tells."""
        if path in self._files:
            self._left[path] = act

    def is_left(self, path: str) -> bool:
        """Whether a file's text was given up and the next one is not known yet."""
        return path in self._left

    def found(self, path: str, present: Iterator[Text], act: Act) -> None:
        """A look at a file. ``present`` is its text, then the saved one where that differs: a text
        that was given up is followed by the saved one.
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
        """Update bases of which only the digest is held, where all of the text changed."""
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
        """Drop a belief; ``keep`` when another one replaces it at once."""
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
