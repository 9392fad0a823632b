"""The one ledger of pending edits, wired to buffers, files and the screen (contract section 9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from pathlib import Path
from typing import Any, Final

import anyio
from anyio import to_thread

from acp_nvim.editor import review_view
from acp_nvim.editor.bridge import Bridge
from acp_nvim.editor.buffers import Buffers
from acp_nvim.edits.agent_bases import Act, AgentBases
from acp_nvim.edits.hunks import diff
from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text
from acp_nvim.protocol.errors import RequestError
from acp_nvim.session.session import Session
from acp_nvim.workspace import disk, obstacles
from acp_nvim.workspace.buffer_cache import Mirrors
from acp_nvim.workspace.file_format import clean
from acp_nvim.workspace.layout_changes import as_written
from acp_nvim.workspace.layouts import Layouts
from acp_nvim.workspace.nofollow import Rights
from acp_nvim.workspace.paths import Place
from acp_nvim.workspace.ports import BufferText, Closed, FileOptions
from acp_nvim.workspace.snapshots.checkpoints import Checkpoints
from acp_nvim.workspace.snapshots.rights import usual
from acp_nvim.workspace.snapshots.snapshots import stamp_of
from acp_nvim.workspace.text_fit import restored

QUIET_S: Final = 0.05
"""How long the user's typing goes on before its hunks are computed anew."""

Push = Callable[..., None]


class Edits:
    """What agents changed and nobody has decided; by real path."""

    def __init__(
        self,
        bridge: Bridge,
        push: Push,
        options: Callable[[], FileOptions],
        sessions: Callable[[], Iterable[Session]],
        checkpoints: Checkpoints,
    ) -> None:
        self.bridge, self.buffers = bridge, Buffers(bridge)
        self.checkpoints = checkpoints
        self.mirrors = Mirrors(self.buffers, lambda: self)
        self.ledger = Ledger()
        self.agent_bases = AgentBases()
        self.known: dict[str, Text | None] = {}
        """What a file holds on disk by the hand of the user or the editor, since the last look."""
        self.bases: dict[str, Text | None] = {}
        """What buffer and file had in common before they came to be in conflict."""
        self.stamps: dict[str, str] = {}
        """Of files as the user saved them last: what they hold then is his."""
        self.unseen: set[str] = set()
        """Files that the user saved while no agent was at work, since the last prompt."""
        self.coded: set[str] = set()
        """Those of them whose bytes do not tell what was saved: encodings, parts of a text."""
        self.rereads: set[str] = set()
        """Files read again that nobody has looked at since: an agent's change may be in them."""
        self.reads: dict[str, Text] = {}
        """What Neovim has read by itself of files at which nobody has looked since."""
        self.looked: dict[str, str | None] = {}
        """Of files that were looked at by name while agents are at work, as they were then."""
        self.rounds: Counter[str] = Counter()
        """How often agents have changed each file."""
        self.layouts = Layouts()
        self.rights: dict[str, Rights] = {}
        """Of files that are gone: when they come back, they have them again."""
        self.push, self.options = push, options
        self.at_work: Callable[[str], bool] = lambda _: False
        """Whether an agent is at work that may change this file."""
        self.look_first: Callable[[str], Any] = lambda _: None
        """Told of a path whose file may have been changed by an agent at work."""
        self.exclusive: Callable[[str], AbstractAsyncContextManager[None]] = lambda _: nullcontext()
        """Holds off agents' requests for a file (`Files.turn`)."""
        self._lock = anyio.Lock()
        self._sessions = sessions
        self._dirty, self._lost = set[str](), set[str]()
        self._gathering, self._wake = False, anyio.Event()
        self._told: dict[int, list[Any]] = {}
        self._pending: list[str] = []

    async def run(self) -> None:
        """Follow the user's edits until cancelled."""
        while True:
            await self._wake.wait()
            await anyio.sleep(QUIET_S)
            self._wake = anyio.Event()
            lost, self._lost = self._lost, set()
            for path in lost:
                await self.look(path)
                self.rereads.discard(path)
                async with self.alone(path):
                    await self.sync(path)
                    await self._settle(path)
            self.flush()

    async def _settle(self, path: str) -> None:
        """A text was given up: what agents believe goes by the one that came in its place."""
        if not self.agent_bases.is_left(path):
            return
        limit, place = self.options().message_bytes, Place(path, path)
        try:
            live = await self.live(path)
            buffer = self.mirrors.get(path)
            present = [] if live is None else [live]
            if buffer is not None and buffer.modified:
                present.append(await to_thread.run_sync(disk.saved, place, limit, buffer.format))
        except RequestError:
            return  # no text: nor can an agent write it
        if present:
            self.agent_bases.found(path, iter(present), Act.TYPED)
        else:
            self.agent_bases.changed(path, None, Act.REPLACED)

    @asynccontextmanager
    async def alone(self, *paths: str) -> AsyncIterator[None]:
        """Nobody but the user changes these files, and no other decision is carried out."""
        async with self._lock, AsyncExitStack() as stack:
            for path in sorted(set(paths)):
                await stack.enter_async_context(self.exclusive(path))
            yield

    # ---- what agents did

    def wrote(
        self,
        session: Session,
        path: str,
        before: Text | None,
        after: Text,
        agents: Text | None = None,
    ) -> None:
        """A write through the editor has landed; ``agents``: before the user's changes to it."""
        saving = self.mirrors.saving.pop(path, None)
        live = self.mirrors.get(path)
        if live is not None and self.ledger.get(path) is None:
            self.layouts.note(path, live.format)
        saved_otherwise = saving is not None and saving.found == after != saving.asked
        asked = saving.asked if saving is not None and saved_otherwise else after
        if agents is None or before is None:
            self.ledger.agent_wrote(path, before, asked, session.n)
        else:
            self.ledger.agent_wrote(path, before, agents, session.n)
            self.ledger.user_edited(path, asked)
        if asked != after:
            self.ledger.formatted(path, asked, after)
        if saving is None or saving.saved:
            self.known[path] = after
            self.layouts.lies(path, after, as_written(after, live.format if live else None))
        self.checkpoints.did(path, before, after if agents is None else agents)
        self.told(session, path, "created" if before is None else "modified", "fs")

    def told(
        self, session: Session, path: str, kind: str, source: str, conflict: bool = False
    ) -> None:
        """Show a change that an agent made, as an event and in its hunks."""
        self.rounds[path] += 1
        self.changed(path)
        session.event("AcpEdit", path=path, kind=kind, source=source, conflict=conflict)

    def gone(self, path: str, rights: Rights | None, executable: bool) -> None:
        """A file was deleted that had these rights (None: those of any new file)."""
        if rights is None and executable:
            rights = usual(executable)
        if rights is not None:
            self.rights[path] = rights
        else:
            self.rights.pop(path, None)

    # ---- what the user did (Listener)

    def typed(self, path: str, after: Text, undone: bool = False) -> None:
        """The user changed the buffer to this text."""
        self.agent_bases.changed(path, after, Act.RETURNED if undone else Act.TYPED)
        self._typed(path, after)

    def _typed(self, path: str, after: Text) -> None:
        if path in self.rereads:
            return  # told once it is known what of it is his
        if self.ledger.followed(path) is not None:
            self.ledger.user_edited(path, after)
            self._dirty.add(path)
            self._wake.set()

    def reread(self, path: str, before: Text, after: Text, undone: bool = False) -> None:
        """Neovim has read the file again: an agent may have changed it, or the user may have given
        up what he had not saved.
        """
        self.agent_bases.changed(path, after, Act.RETURNED if undone else Act.REPLACED)
        if self.at_work(path) and self.known.get(path) != after:
            self.rereads.add(path)
            self._lost.add(path)
            self._wake.set()
        else:
            self._typed(path, after)

    def left(self, path: str, before: Text | None, unsaved: bool) -> None:
        """The buffer's text has been given up for that of the file, by `:edit!` or `:bwipeout!`."""
        if before is not None:
            self.agent_bases.changed(path, before, Act.TYPED)
        self.agent_bases.left(path, Act.DECIDED if unsaved and before is not None else Act.REPLACED)

    def lost(self, path: str) -> None:
        """What became of the buffer is not known: it has to be read, or is gone."""
        if self.ledger.followed(path) is not None or self.mirrors.get(path) is not None:
            self._lost.add(path)
            self._wake.set()

    def saved(
        self, path: str, lines: Sequence[str] | None, eol: bool, unaware: bool = False
    ) -> None:
        """The user saved the buffer: a conflict is settled by that, if he can know of it.

        ``lines`` come with a buffer whose text is not known here.
        """
        live = self.mirrors.get(path)
        text = Text(live.text.lines, eol) if live is not None else None
        if lines is not None:
            text = clean(Text(tuple(lines), eol))
        if text is None or (lines is None and self.mirrors.stale(path)):
            self.known.pop(path, None)
            self.coded.add(path)  # its text is on its way here: with this stamp it is the user's
            return
        if lines is None and self.mirrors.ended(path, eol):
            self.typed(path, text)
        self.known[path] = text
        self.bases.pop(path, None)
        entry = self.ledger.get(path)
        if entry is not None and entry.conflict and not unaware:
            self.ledger.resolved(path, text)
            self.changed(path)

    async def look(self, path: str) -> None:
        """Take up what an agent at work may have done to the file just now; not while `alone`."""
        looking = self.look_first(path)
        if looking is not None:
            await looking

    async def hear(self, path: str) -> None:
        """Have the ledger know what the user did to the file until now, and nothing else."""
        place = Place(path, path)
        found = self.mirrors.found(path, await self.buffers.peek(place))
        if isinstance(found, Closed):
            await self.sync(path)
        else:
            await self._found(path, await self._text(path, found))

    async def sync(self, path: str) -> Text | None:
        """Bring the ledger up to date with the file as it is; returns its live text."""
        try:
            text = await self.live(path)
        except RequestError:
            return None  # no text any more: its edits stay as they were until it is one again
        await self._found(path, text)
        return text

    async def _found(self, path: str, text: Text | None) -> None:
        """The file has this text, by the user's doing as far as no agent can have changed it."""
        entry = self.ledger.followed(path)
        if entry is None or entry.live == text:
            return
        if self.at_work(path) and await self._unseen(path):
            self.rereads.add(path)
            self._lost.add(path)
            self._wake.set()
        else:
            self.ledger.user_edited(path, text)
            self.changed(path)

    async def _unseen(self, path: str) -> bool:
        """Whether the file has changed since it was looked at: perhaps by an agent."""
        return self.looked.get(path, "") != await to_thread.run_sync(stamp_of, path)

    async def live(self, path: str, *, gone: bool = False) -> Text | None:
        """The text of a file as buffer or disk have it; None where there is none. RequestError.
        Where the agent has removed the file (``gone``), what it has put there is none.
        """
        place = Place(path, path)
        found = await self.mirrors.read(place)
        if isinstance(found, BufferText):
            return await self._text(path, found, gone=gone)
        if (gone or self._is_gone(path)) and await to_thread.run_sync(_is_replaced, path):
            return None
        limit, layout = self.options().message_bytes, (found.fileencodings, found.fileformats)
        stored = await to_thread.run_sync(disk.stored, place, limit, *layout)
        return stored.text if stored else None

    async def _text(self, path: str, found: BufferText, *, gone: bool = False) -> Text | None:
        """What a buffer shows; a clean one of a file that is gone shows none."""
        there = found.modified or await to_thread.run_sync(Path(path).exists)
        if there and (gone or self._is_gone(path)) and not found.modified:
            there = await to_thread.run_sync(obstacles.is_file, path)
        now = self.mirrors.get(path) or found  # the user may have typed meanwhile
        return now.text if there else None

    def _is_gone(self, path: str) -> bool:
        """Whether an agent has removed the file, and nobody has decided that."""
        entry = self.ledger.get(path)
        return entry is not None and entry.live is None

    async def bring(self, live: BufferText, after: Text, modified: bool, stamp: str | None) -> str:
        """Bring a buffer to what became of its file on disk, by hunks; nothing is saved.

        ``stamp`` is the file's when it was read. Returns the outcome: ``done``, ``moved`` (buffer
        or file changed again), ``busy`` (Neovim allows no edit now) or why not.
        """
        path = self.mirrors.path(live)
        hunks = restored(live.raw.lines, live.text.lines, diff(live.text.lines, after.lines))
        written = await self.buffers.take(live, hunks, after, modified, stamp)
        if written.live is not None:
            self.mirrors.put(path, written.live)
        return written.why if written.outcome == "failed" else written.outcome

    @asynccontextmanager
    async def carrying_out(self, paths: Iterable[str], act: Act) -> AsyncIterator[None]:
        """What becomes of these files meanwhile is one act of the user's, whatever the steps."""
        known = [path for path in paths if self.agent_bases.knows(path)]
        before = {path: await self._shown(path) for path in known}
        yield
        for path, text in before.items():
            self.agent_bases.changed(path, await self._shown(path), act, text)

    async def _shown(self, path: str) -> Text | None:
        """The live text, None also where it is none."""
        try:
            return await self.live(path)
        except RequestError:
            return None

    # ---- the screen

    @contextmanager
    def together(self) -> Iterator[None]:
        """What changes meanwhile is shown at once: a file that is moved is never two."""
        self._gathering = True
        try:
            yield
        finally:
            self._gathering = False
            self.flush()

    def changed(self, *paths: str) -> None:
        """These files' hunks changed: show them with the next frame."""
        self._dirty.update(paths)
        if not self._gathering:
            self.flush()

    def flush(self) -> None:
        """Tell Lua what changed."""
        dirty, self._dirty = self._dirty, set()
        for path in sorted(dirty):
            self.show(path)
        if not dirty:
            return
        pending = [entry.path for entry in self.ledger.files()]
        if pending != self._pending:
            self._pending = pending
            self.push("pending", pending)
        for session in self._sessions():
            edits = [review_view.summary(entry) for entry in self.ledger.files(session.n)]
            if edits != self._told.get(session.n, []):
                self._told[session.n] = session.edits = edits
                session.change("edits")

    def revived(self, session: Session) -> None:
        """A session goes on that has edits here: its snapshot has them from the start."""
        edits = [review_view.summary(entry) for entry in self.ledger.files(session.n)]
        self._told[session.n] = session.edits = edits

    def show(self, path: str) -> None:
        """Send the hunks of one file."""
        entry = self.ledger.get(path)
        if entry is None:
            self.push("hunks", path, [], {"kind": "modified", "conflict": False})
            return
        buffer = self.mirrors.get(path)
        tick = buffer.tick if buffer is not None and buffer.text == entry.live else None
        self.push("hunks", path, review_view.rows(entry), review_view.meta(entry, tick))

    def files(self, n: int | None) -> list[Pending]:
        """The entries that `all` means: the session's, and those of sessions that have ended."""
        over = {s.n for s in self._sessions() if s.status in ("closed", "failed")}
        live = {s.n for s in self._sessions()} - over
        return [
            entry
            for entry in self.ledger.files()
            if n is None or n in entry.writers or not (entry.writers & live)
        ]

    def next_hunk(self, path: str, row: int) -> tuple[str, int] | None:
        """The first hunk from a row on, else the one of the next file, going round."""
        entries = [entry for entry in self.ledger.files() if entry.live is not None]
        here = next((entry for entry in entries if entry.path == path), None)
        for hunk in here.hunks if here else ():
            if hunk.new_end > row or hunk.new_start >= row:
                return path, hunk.new_start
        order: Sequence[Pending] = entries
        if here is not None:
            at = entries.index(here)
            order = [*entries[at + 1 :], *entries[: at + 1]]
        for entry in order:
            if entry.hunks:
                return entry.path, entry.hunks[0].new_start
        return None


def _is_replaced(path: str) -> bool:
    """Whether a folder, a link or a FIFO is where a file was."""
    return obstacles.words(path) != ""
