"""Edits that agents make on disk by themselves: found, attributed, brought to the buffers.

While a turn runs, what changes in the session's directories is its agent's, unless the user saved
it. Files that a tool call names are looked at as soon as it ends, the work tree soon after, and
once more when the turn ends.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import msgspec
from anyio import to_thread

from acp_nvim.editor.bridge import NvimError
from acp_nvim.edits.moves import Move, Moves
from acp_nvim.edits.text import Text
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks
from acp_nvim.workspace.attribution import Authors
from acp_nvim.workspace.change_texts import comes_yet, texts
from acp_nvim.workspace.entering import Step, enter
from acp_nvim.workspace.file_changes import (
    as_they_are,
    changed_at,
    differing,
    kind_of,
    read_dated,
    stamps,
    text_of,
)
from acp_nvim.workspace.file_format import BinaryError
from acp_nvim.workspace.layout_changes import Laid, laid
from acp_nvim.workspace.paths import Place
from acp_nvim.workspace.pending_edits import Edits
from acp_nvim.workspace.ports import BufferText
from acp_nvim.workspace.snapshots.agent_changes import SAME, Doing
from acp_nvim.workspace.snapshots.snapshots import FileChange, Snapshots, read, stamp_of
from acp_nvim.workspace.snapshots.store import UNKNOWN, Change, Unkept, blob_mark
from acp_nvim.workspace.turn_start import Before
from acp_nvim.workspace.turns import GRAIN_NS, Turn, Turns

ATTEMPTS: Final = 5
"""How often a changed file is brought to a buffer that keeps moving."""
PAUSE_S: Final = 0.05
LATE_S: Final = 0.25
"""How long Neovim is left alone before a change is brought to it that it did not take."""


class DiskEdits:
    """Watches over all sessions whose turn runs."""

    def __init__(self, edits: Edits, snapshots: Snapshots, tasks: Tasks) -> None:
        self._edits = edits
        self._snapshots = snapshots
        self._tasks = tasks
        self.turns = Turns(self._tell)
        self._authors = Authors(self.turns)
        self.before = Before(edits)
        self._stamps: dict[str, tuple[str | None, Text | None]] = {}
        """Of files whose content is `Edits.known`, as they were looked at last, and what was known
        then.
        """
        self._late: dict[str, tuple[Session, int]] = {}
        """Whose changes could not be brought to the files' buffers yet, and when they were made, in
        nanoseconds.
        """
        self._told: set[str] = set()
        self._moves = Moves()
        self._lock = anyio.Lock(fast_acquire=True)
        edits.at_work = self.turns.concern
        edits.look_first = self._before_use

    # ---- turns

    async def _tell(self, roots: list[str]) -> None:
        with suppress(NvimError):  # Neovim is closing
            await self._edits.bridge.call("acp.buffers.disk_changes", "turns", roots)

    def enter(self, session: Session) -> Turn:
        """A turn is about to start; `begin` comes next."""
        if not self.turns:
            self._edits.looked.clear()
            self._moves = Moves()
        turn = self.turns.enter(session)
        self._authors.enter(turn)
        return turn

    async def remember(self, turn: Turn) -> None:
        """What the user has saved since the last look is what those files hold, whatever the agent
        makes of them before the next one.
        """
        edits = self._edits
        saved = {path for path in edits.unseen if turn.concerns(path)}
        edits.unseen -= saved
        found = await to_thread.run_sync(as_they_are, sorted(saved)) if saved else {}
        for path, (data, stamp) in found.items():
            if path in edits.known and edits.stamps.get(path) != stamp:
                continue
            live = edits.mirrors.get(path)
            layout = live.format if live else None
            with suppress(BinaryError):
                text, lies = text_of(data, layout), laid(layout, data, data)
                edits.known[path] = text
                edits.layouts.lies(path, text, lies.new if lies else None)
        self.before.note(turn)

    def sent(self, turn: Turn) -> None:
        """The prompt goes. What changed since the agent was done with the one before is the user's,
        also where the looks at the files are not done.
        """
        turn.rests.append((turn.closed, time.time_ns() - GRAIN_NS))
        turn.closed = 0

    async def begin(self, turn: Turn) -> None:
        """What changed so far is nobody's, unless another turn runs; what changes while this
        looks is the agent's from when the prompt was sent.
        """
        await self.turns.announce()
        old = {} if self.turns.ready() else dict(self._edits.known)
        await self.look_before(turn.session)
        turn.ready.set()
        for path, text in old.items():
            if self._edits.known.get(path, "") is text and path not in self._late:
                del self._edits.known[path]
                self._stamps.pop(path, None)

    async def look_before(self, session: Session) -> None:
        """What is found belongs to what was there before the session's turn."""
        self._snapshots.retry([Place(root, root).real for root in session.roots])
        await self.look(session.roots)

    async def begun(self, turn: Turn) -> None:
        """Take up files that changed after they were named and before they were looked at."""
        found = await to_thread.run_sync(differing, turn.early) if turn.early else ()
        if found:
            turn.late += found
            async with self._lock, self._edits.alone(*(change.path for change in found)):
                await self._take_up(found)

    async def end(self, session: Session) -> None:
        """A turn is over: the last look that counts as its agent's. `leave` comes next."""
        turn = self.turns.get(session)
        if turn is None:
            return
        await turn.ready.wait()
        await self.look_at_named(turn)
        await self.look(turn.roots)

    def leave(self, session: Session) -> None:
        """All is done for a turn, unless the next one has begun."""
        turn = self.turns.get(session)
        if turn is not None and not turn.prompts:
            self.turns.leave(session)
            self._tasks.start_soon(self.turns.announce)

    async def over(self, session: Session) -> None:
        """Wait until the last look of a turn that has ended is done."""
        turn = self.turns.get(session)
        if turn is not None:
            await turn.over.wait()

    # ---- looking

    async def look_at_named(self, turn: Turn) -> None:
        """Take up what became of the files that tool calls have named which are over."""
        async with turn.naming:
            paths, turn.named = sorted(turn.named), set()
            given, turn.diffs = turn.diffs, []
            await self.look(turn.roots, paths)
            await self._believe(given)

    async def _believe(self, given: Sequence[tuple[str, str | None, str]]) -> None:
        """Files that no store keeps, named when they had changed already: a diff of the whole file
        tells what they held before.
        """
        for path, old, new in given:
            data = self._snapshots.single(path)
            if data is None or path in self._edits.known or data != new.encode():
                continue
            change = FileChange(path, None if old is None else old.encode(), data)
            async with self._lock, self._edits.alone(path):
                await self._take_up([change])

    def _before_use(self, path: str) -> Awaitable[set[str]] | None:
        """A decision is about to be made on a file that an agent may have changed just now."""
        if not self.turns.ready():
            return None
        return self.look(self.turns.roots(), [path])

    async def look(self, roots: Sequence[str], paths: Sequence[str] | None = None) -> set[str]:
        """Take up what changed: below these directories, or of these files only. Returns the files
        that changed.
        """
        if paths is not None and not paths:
            return set()
        async with self._lock:
            looked = await to_thread.run_sync(stamps, paths) if paths else {}
            rest: list[Change] = []
            changes = await self._snapshots.look(roots, paths, rest)
            if rest:
                await self._note(rest)
            seen, known = {change.path for change in changes}, self._edits.known
            unseen = [path for path in known if path not in seen]
            asked = {path: known[path] for path in unseen if paths is None or path in paths}
            changes += await to_thread.run_sync(self._rewritten, asked) if asked else ()
            for path in asked.keys() - {change.path for change in changes}:
                self._late.pop(path, None)  # it is as it was
            if changes:
                async with self._edits.alone(*(change.path for change in changes)):
                    with self._edits.together():
                        await self._take_up(changes)
            self._edits.looked.update(looked)
        return {change.path for change in changes}

    async def _note(self, changes: Sequence[Change]) -> None:
        """What agents made of files that are not reviewed: modes, links, more than can be shown."""
        paths = [change.path for change in changes]
        dates = await to_thread.run_sync(lambda: list(map(changed_at, paths)))
        for change, at in zip(changes, dates, strict=True):
            if self._authors.of(change.path, at) is not None:
                marks = blob_mark(change.before), blob_mark(change.after)
                doing = Doing(SAME, SAME) if change.same_bytes else Doing(*marks)
                self._edits.checkpoints.done(change.path, doing)

    async def before_write(self, path: str) -> None:
        """An agent is about to write a file through the editor. What it made of it by itself just
        before is taken up first: it would pass for the text that was there.
        """
        if path in self._edits.known:
            await self.look([], [path])
        elif self.turns and await to_thread.run_sync(changed_at, path) >= self.turns.began():
            await self.look(self.turns.roots(), [path])

    async def unchanged(self, path: str, roots: Sequence[str]) -> bool:
        """Take up what became of a file below these directories; whether it is known that its text
        has not changed.
        """
        if path in self._edits.known:
            return path not in await self.look([], [path])
        held = await self._snapshots.holds(roots, path)
        return path not in await self.look(roots, [path]) and held

    def _rewritten(self, known: Mapping[str, Text | None]) -> list[FileChange]:
        """Those of the files that are no longer what is known of them, though perhaps again what
        their store has.
        """
        found: list[FileChange] = []
        for path, text in known.items():
            stamp = stamp_of(path)
            if self._stamps.get(path) == (stamp, text):
                continue
            try:
                data = read(path)
            except OSError:
                continue
            self._stamps[path] = stamp, text
            before = self._edits.layouts.data(path, text)
            if data != before:
                found.append(FileChange(path, before, data))
        return found

    async def _take_up(self, changes: Sequence[FileChange]) -> None:
        for change in changes:
            if change.after is None:
                self._edits.gone(change.path, change.rights, change.executable)
            turn, at = await self._authors.last(change.path)
            if turn is not None and self.before.concerns(turn):
                turn.late.append(self.before.change(turn, change))
            session, then = self._late.pop(change.path, (None, 0))
            if turn is not None and at != then:
                session = turn.session
            if session is None:
                await self._foreign(change)
            elif isinstance(change.after, Unkept) or (
                isinstance(change.before, Unkept) and change.path not in self._edits.known
            ):
                self._tell_unkept(session, change)
            else:
                was = self._edits.ledger.get(change.path)
                taken = await self._take(session, at, change)
                if taken is not None:
                    if self._snapshots.is_single(change.path):
                        self._edits.checkpoints.touched(change.path, taken[1])
                    self._join(taken[0], self._moves.noted(change.path, *taken[1:], was))

    def _join(self, session: Session, move: Move | None) -> None:
        """Both parts of a move have been entered."""
        ledger = self._edits.ledger
        if move is None:
            return
        if ledger.joined(move.old, move.new, move.text, move.was, session.n):
            self._edits.changed(move.old, move.new)
            return
        came, was = ledger.get(move.new), move.was
        if came is not None and was is not None and was.base is None:  # new, as another one made it
            both = msgspec.structs.replace(came, writers=came.writers | was.writers)
            ledger.reinstated(move.new, came.live, both)
            self._edits.changed(move.new)

    async def _foreign(self, change: FileChange) -> None:
        """No agent's doing."""
        if self._edits.ledger.get(change.path) is not None:
            await self._edits.sync(change.path)

    async def _take(
        self, session: Session, at: int, change: FileChange
    ) -> tuple[Session, Text | None, Text | None] | None:
        """Enter one change of an agent's, made ``at`` that time, into buffer and ledger; returns
        whose it was (who changes the file meanwhile has changed it last) and the file before and
        after, None where nothing was entered.
        """
        place = Place(change.path, change.path)
        before: Text | None = None
        laid: Laid | None = None
        data: bytes | None = None
        for _ in range(ATTEMPTS):
            try:
                data, stamp, session, at = await self._read(place.real, session, at)
                peeked, known = await self._edits.buffers.glance(place)
                found = self._edits.mirrors.found(place.real, peeked)
                live = found if isinstance(found, BufferText) else None
                self._read_again(place.real, live, known)
                before, after, laid = texts(self._edits, change, data, live)
            except OSError:
                return None  # it has become too large, or no file
            except BinaryError:
                self._tell_binary(session, change, data)
                return None
            saved = after is not None and self._edits.stamps.get(place.real, "") == stamp
            if saved and self._users(place.real, after):
                self._seen(place.real, after, laid)
                await self._foreign(change)
                return None
            changed = laid is not None and laid.changed
            if before == after and not changed:  # the store may have seen it as it was in between
                self._seen(place.real, after, laid)
                return None
            outcome = "moved"
            if not await to_thread.run_sync(comes_yet, place.real, before, after):
                found_out = place.real, before, after, live, stamp, laid, known == stamp
                step = Step(session, *found_out, self._has(place.real, data))
                outcome = await enter(self._edits, step)
            if outcome == "done":
                self._seen(place.real, after, laid)
                return session, before, after
            if outcome not in ("moved", "busy"):
                session.notice("warning", f"{change.path} changed on disk: {outcome}")
                return None
            await anyio.sleep(PAUSE_S)
            turn, at = await self._authors.last(change.path)
            session = turn.session if turn else session
        self._put_off(session, at, place.real, before)
        self._edits.layouts.lies(place.real, before, laid.old if laid else None)
        return None

    async def _read(
        self, path: str, session: Session, at: int
    ) -> tuple[bytes | None, str | None, Session, int]:
        """A file, its stamp, and who has changed it since that time, and when; OSError."""
        data, stamp, then = await to_thread.run_sync(read_dated, path)
        if then != at:
            turn, at = await self._authors.last(path)
            session = turn.session if turn else session
        return data, stamp, session, at

    def _has(self, path: str, data: bytes | None) -> bool:
        """Whether the file holds just what is known of it: what was written through the editor."""
        known = self._edits.known
        return path in known and self._edits.layouts.holds(path, known[path], data)

    def _tell_binary(self, session: Session, change: FileChange, data: bytes | None) -> None:
        """What is no text has no hunks."""
        kind, path = kind_of(change.before, change.after), change.path
        if not self._has(path, data):
            self._edits.checkpoints.did(path, change.before, data)
            session.event("AcpEdit", path=path, kind=kind, source="disk", conflict=False)

    def _tell_unkept(self, session: Session, change: FileChange) -> None:
        """One side of it is not known: there is nothing to compare, and nothing to take back."""
        path, name = change.path, Path(change.path).name
        self._edits.checkpoints.did(path, change.before, change.after)
        kind = kind_of(change.before, change.after)
        session.event("AcpEdit", path=path, kind=kind, source="disk", conflict=False)
        text = _unreviewed(name, change)
        if text not in self._told:
            self._told.add(text)
            session.notice("warning", text)

    def _seen(self, path: str, after: Text | None, laid: Laid | None) -> None:
        """The file has been looked at."""
        self._edits.known[path] = after
        self._edits.layouts.lies(path, after, laid.new if laid else None)

    def _read_again(self, path: str, live: BufferText | None, stamp: str | None) -> None:
        """A formatter has made another text of the file than the user saved: his buffer has it, if
        it was read from the file with the stamp of that save.
        """
        edits = self._edits
        if live is None or live.modified or path not in edits.coded or stamp is None:
            return
        if stamp == edits.stamps.get(path) and edits.known.get(path) != live.text:
            self._seen(path, live.text, Laid(live.format, live.format))

    def _users(self, path: str, text: Text | None) -> bool:
        """Whether a file with the stamp of a save holds what the user saved. An agent may have
        changed it after it was written and before Neovim could tell: that is as long as it takes
        to reach the disk.
        """
        return path in self._edits.coded or self._edits.known.get(path, text) == text

    def _put_off(self, session: Session, at: int, path: str, before: Text | None) -> None:
        """The buffer cannot be changed now: the file counts as unseen until it can."""
        self._edits.known[path] = before
        self._stamps.pop(path, None)
        if not self._late:
            self._tasks.start_soon(self._catch_up)
        self._late[path] = session, at

    async def _catch_up(self) -> None:
        while self._late:
            await anyio.sleep(LATE_S)
            await self.look([], list(self._late))


def _unreviewed(name: str, change: FileChange) -> str:
    """Why a change of a file is not reviewed, and whether it can be taken back."""
    before, after = change.before, change.after
    if isinstance(before, Unkept) and before.mark != UNKNOWN:
        return f"{name} was {before.why}: its change is not reviewed, :Acp restore brings it back"
    if isinstance(before, Unkept):
        lost = "its change is not reviewed, and it cannot be brought back"
        return f"{name} was not kept before the change ({before.why}): {lost}"
    why = after.why if isinstance(after, Unkept) else ""
    return f"{name} is not kept any more ({why}): its changes are not reviewed"
