"""The ledger of pending edits, kept up to date with buffers, files and the view."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import anyio
from anyio import to_thread

from acp_nvim import wording
from acp_nvim.edits.agent_bases import Act, AgentBases
from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.buffer_cache import BufferCache
from acp_nvim.files.buffers.buffer_state import Left, Lost, News, Reread, Typed
from acp_nvim.files.buffers.tracked_file import (
    AgentChanged,
    FileState,
    Holds,
    Removed,
    Saved,
    SavedIdle,
    SaveSigned,
    TrackedFiles,
    Unsettled,
    UserFormat,
)
from acp_nvim.files.bytes import disk, obstacles
from acp_nvim.files.bytes.disk import signature_of
from acp_nvim.files.bytes.file_format import Format, clean, format_as_written
from acp_nvim.files.bytes.nofollow import Rights
from acp_nvim.files.bytes.paths import Place, below, matches
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.changes.git_tree import GitTrees
from acp_nvim.files.changes.turns import Turns
from acp_nvim.files.checkpoints.checkpoints import Checkpoints
from acp_nvim.files.checkpoints.rights import usual
from acp_nvim.files.ports import (
    AgentSession,
    Authorship,
    Buffers,
    BufferText,
    Closed,
    FileOptions,
    PromptName,
    View,
)
from acp_nvim.files.writes.agent_write import Made

QUIET_S: Final = 0.05
"""How long the user has to stop typing before hunks are computed again."""


class PendingEdits:
    """Undecided changes of agents, by real path."""

    def __init__(
        self,
        buffers: Buffers,
        view: View,
        options: Callable[[], FileOptions],
        sessions: Callable[[], Iterable[AgentSession]],
        checkpoints: Checkpoints,
        turns: Turns,
        touched: Callable[[], None],
        authorship: Authorship,
    ) -> None:
        """``touched`` is called when the journal has to be written."""
        self.tracked = TrackedFiles()
        self.buffers = BufferCache(buffers, self.tracked, self._on_buffer_news)
        self.ledger = Ledger()
        self.bases = AgentBases()
        self.checkpoints = checkpoints
        self.turns = turns
        self.trees = GitTrees()
        self.restored = set[str]()
        """Files with edits of an earlier Neovim that are not compared with their texts yet."""
        self._has_left = False
        self.view, self.options = view, options
        self._touched = touched
        self._authorship = authorship
        self._lock = anyio.Lock()
        self._sessions = sessions
        self._dirty, self._lost = set[str](), set[str]()
        self._gathering, self._wake = set[asyncio.Task[Any] | None](), anyio.Event()
        """Tasks within `together`. Changes by other tasks do not wait for them."""
        self._announced: list[tuple[AgentSession, str, str, str, bool]] = []
        """Changes of agents that are not shown yet."""
        self._pending: list[str] = []
        self._parked = set[str]()
        """Files whose edits were parked, still to be reported."""

    def state(self, path: str) -> FileState:
        return self.tracked.state(path)

    def is_store(self, session: AgentSession, path: str) -> bool:
        """Return whether a session's agent keeps a file for itself (option `agents.*.store`)."""
        globs = self.options().stores.get(session.agent, ())
        return matches(Place(path, path), below(path, session.roots), globs)

    async def run(self, look: Callable[[str], Awaitable[None]]) -> None:
        """Process the user's edits until cancelled.

        ``look`` reads the latest changes of a file by running agents.
        """
        while True:
            await self._wake.wait()
            await anyio.sleep(QUIET_S)
            self._wake = anyio.Event()
            lost, self._lost = self._lost, set()
            for path in lost:
                await look(path)
                self._settle_reread(path)
                async with self.alone(path):
                    await self.sync(path)
                    await self._settle(path)
            if any(self.trees.moved(path)[0] for path in lost):
                await self.compare(look)
            self.flush()

    async def compare(self, look: Callable[[str], Awaitable[None]]) -> None:
        """Bring all entries up to date with their files, including parked ones."""
        paths = list(
            dict.fromkeys((*(it.path for it in self.ledger.files()), *self.ledger.parked()))
        )
        trees = self.trees.read(paths)
        with self.together():
            for path in paths:
                await look(path)
                async with self.alone(path):
                    await self.sync(path)
        self.trees.known.update(trees)

    def _settle_reread(self, path: str) -> None:
        if self.state(path).unsettled:
            self.tracked[path].hear(Unsettled(False))

    async def _settle(self, path: str) -> None:
        """Use the text that replaced a discarded buffer text as a new base for agents."""
        if not self.bases.is_left(path):
            return
        limit, place = self.options().message_bytes, Place(path, path)
        try:
            live = await self.live(path)
            buffer = self.buffers.get(path)
            present = [] if live is None else [live]
            if buffer is not None and buffer.modified:
                present.append(await to_thread.run_sync(disk.saved, place, limit, buffer.format))
        except Refusal:
            return  # not text, so an agent cannot write it either
        if present:
            self.bases.found(path, iter(present), Act.TYPED)
        else:
            self.bases.changed(path, None, Act.REPLACED)

    @asynccontextmanager
    async def alone(self, *paths: str) -> AsyncIterator[None]:
        """Hold the locks of these files and of decisions; only the user may change the files."""
        async with self._lock, AsyncExitStack() as stack:
            for path in sorted(set(paths)):
                await stack.enter_async_context(self.tracked[path].alone())
            yield

    # ---- changes by agents

    def wrote(
        self, session: AgentSession, path: str, made: Made, agents: Text | None = None
    ) -> None:
        """Enter an agent's write. ``agents`` is its own text if the user has amended the write."""
        before, after = made.before, made.after
        turn = self.turns.get(session)
        if turn is not None:
            turn.mentions.add_paths([path])
        self.checkpoints.touched(path, before)
        live = self.buffers.get(path)
        if live is not None and self.ledger.get(path) is None:
            self.tracked[path].hear(UserFormat(live.format))
        stored = self.ledger.file_entry(path)
        if agents is None or before is None:
            self.ledger.agent_wrote(path, before, made.asked, session.n)
        else:
            self.ledger.agent_wrote(path, before, agents, session.n)
            self.ledger.user_edited(path, made.asked)
        if made.asked != after:
            self.ledger.formatted(path, made.asked, after)
        if made.saved:
            self.ledger.on_disk.drop(path)
            file_format = format_as_written(after, live.format if live else None)
            self.tracked[path].hear(Holds(after, file_format))
        else:
            self.ledger.on_disk.left_unsaved(path, stored)
        self.checkpoints.record(path, before, after if agents is None else agents)
        self.attribute(session, path, before, agents or after, after)
        self.announce(session, path, "created" if before is None else "modified", "fs")

    def adopt(
        self, n: int, prompt: PromptName | None, path: str, before: Text | None, after: Text
    ) -> None:
        """Enter an agent's write that an earlier process was killed over.

        ``prompt`` is the agent's prompt, if option `blame` was on.
        """
        self.ledger.agent_wrote(path, before, after, n)
        if prompt is not None and self.options().blame:
            self._authorship.adopted(prompt, path, before, after)
        self.checkpoints.touched(path, before)
        self.checkpoints.record(path, before, after)
        self.changed(path)

    def attribute(
        self, session: AgentSession, path: str, before: Text | None, agents: Text, after: Text
    ) -> None:
        """Record the authors of a change's lines, if option `blame` is on."""
        if self.options().blame:
            self._authorship.wrote(session, path, before, agents, after)

    def prompt(self, session: AgentSession) -> PromptName | None:
        """Return the prompt of a session's agent, if option `blame` is on."""
        return self._authorship.prompt(session) if self.options().blame else None

    def attribute_moved(self, session: AgentSession, old: str, new: str) -> None:
        """Record a move, if option `blame` is on."""
        if self.options().blame:
            self._authorship.moved(session, old, new)

    def announce(
        self, session: AgentSession, path: str, kind: str, source: str, conflict: bool = False
    ) -> None:
        """Show an agent's change, as an event and by its hunks."""
        self.tracked[path].hear(AgentChanged())
        self.trees.learn([path])
        self._announced.append((session, path, kind, source, conflict))
        self.changed(path)

    def gone(self, path: str, rights: Rights | None, executable: bool) -> None:
        """Record the rights of a deleted file (None: those of any new file)."""
        if rights is None and executable:
            rights = usual(executable)
        if rights is not None or self.state(path).rights is not None:
            self.tracked[path].hear(Removed(rights))

    # ---- changes by the user

    def leave(self) -> None:
        """Ignore buffer changes from now on, since Neovim unloads all buffers when it exits."""
        self._has_left = True

    def _on_buffer_news(self, path: str, news: News) -> None:
        """Process a buffer change that Neovim reported, or that a read has shown."""
        if self._has_left:
            return
        match news:
            case Typed(after, undone):
                self._typed(path, after, undone)
            case Reread(before, after, undone):
                self._reread(path, after, undone)
            case Left(before, unsaved):
                self._left(path, before, unsaved)
            case Lost():
                self._look_later(path)

    def _typed(self, path: str, after: Text, undone: bool = False) -> None:
        """Process a change of the buffer by the user."""
        self.bases.changed(path, after, Act.RETURNED if undone else Act.TYPED)
        self._edited(path, after)

    def _edited(self, path: str, after: Text) -> None:
        if self.state(path).unsettled:
            return  # entered once its author is known
        buffer = self.buffers.get(path)
        if buffer is not None and buffer.modified:
            self.ledger.part(path)
        if self.ledger.followed(path) is not None:
            self.ledger.user_edited(path, after)
            self._dirty.add(path)
            self._wake.set()

    def _reread(self, path: str, after: Text, undone: bool) -> None:
        """Process a new read of the file by Neovim.

        Either an agent changed the file, or the user discarded unsaved changes.
        """
        self.bases.changed(path, after, Act.RETURNED if undone else Act.REPLACED)
        self.ledger.give_up(path)
        if self.turns.concern(path) and self.state(path).disk != after:
            self._unsettle(path)
        elif self.ledger.parked(path) or (self.ledger.get(path) and self.trees.moved(path)[0]):
            self._lost.add(path)
            self._wake.set()
        else:
            self._edited(path, after)

    def _unsettle(self, path: str) -> None:
        """Find out who made the present text of a file."""
        self.tracked[path].hear(Unsettled(True))
        self._lost.add(path)
        self._wake.set()

    def _left(self, path: str, before: Text | None, unsaved: bool) -> None:
        """Process a buffer text that was discarded for the file's, by `:edit!` or `:bwipeout!`."""
        if before is not None:
            self.bases.changed(path, before, Act.TYPED)
        self.bases.left(path, Act.DECIDED if unsaved and before is not None else Act.REPLACED)

    def _look_later(self, path: str) -> None:
        """Read the buffer later."""
        ledger = self.ledger
        known = ledger.followed(path) is not None or path in ledger.on_disk
        if known or ledger.parked(path) or self.buffers.get(path) is not None:
            self._lost.add(path)
            self._wake.set()

    def save_signed(self, path: str, signature: str, other_bytes: bool) -> None:
        """Record the signature of a user's save; ``other_bytes``: its bytes differ from the
        text.
        """
        self.tracked[path].hear(SaveSigned(signature, other_bytes))

    def saved(
        self,
        path: str,
        lines: Sequence[str] | None,
        eol: bool,
        file_format: Format,
        unaware: bool = False,
    ) -> None:
        """Process a save by the user, which resolves a conflict unless they are ``unaware``.

        ``lines`` are given for a buffer whose text is not known here.
        """
        self.turns.user_saved(path, self.state(path).disk)
        if path in self.ledger.on_disk:
            self.ledger.on_disk.drop(path)
            self.changed(path)
        live = self.buffers.get(path)
        text = Text(live.text.lines, eol) if live is not None else None
        if lines is not None:
            text = clean(Text(tuple(lines), eol))
        if text is None or (lines is None and self.buffers.is_stale(path)):
            self.tracked[path].hear(Saved(None, file_format))
            if not self.turns:  # read it before the next prompt
                self.tracked[path].hear(SavedIdle())
            return
        if lines is None and self.buffers.ended(path, eol):
            self._typed(path, text)
        self.tracked[path].hear(Saved(text, file_format))
        entry = self.ledger.get(path)
        if entry is not None and entry.conflict and not unaware:
            self.ledger.resolved(path, text)
            self.changed(path)

    async def hear(self, path: str) -> None:
        """Enter the user's changes of a file so far into the ledger, and do nothing else."""
        found = await self.buffers.peek(path)
        if isinstance(found, Closed):
            await self.sync(path)
        else:
            await self.found(path, await self._text(path, found))

    async def sync(self, path: str) -> Text | None:
        """Bring the ledger up to date with the file; return its live text."""
        try:
            text = await self.live(path)
        except Refusal:
            return None  # no longer text: its edits stay until it is text again
        await self.found(path, text)
        return text

    async def found(self, path: str, text: Text | None) -> None:
        """Process the text of a file: it is the user's unless an agent may have changed it."""
        buffer = self.buffers.get(path)
        is_typed = buffer is not None and buffer.modified
        if is_typed:
            self.ledger.part(path)
        elif path in self.ledger.on_disk:
            self.ledger.give_up(path)
            self.changed(path)
        entry = self.ledger.followed(path)
        is_same = entry is None or entry.live == text
        if self._has_left or (is_same and not self.ledger.parked(path)):
            self.restored.discard(path)
            return
        if self.turns.concern(path) and await self._unseen(path):
            self._unsettle(path)
            return
        moved, branch = await to_thread.run_sync(self.trees.moved, path)
        if (moved or path in self.restored or is_same) and not is_typed:
            self._tree_changed(path, text, branch, replaced=moved)
        else:
            self.ledger.user_edited(path, text)
            self.ledger.come_back(path, text)
        self.restored.discard(path)
        self.changed(path)

    def _tree_changed(self, path: str, text: Text | None, branch: str, *, replaced: bool) -> None:
        """Process a text by git, another program or the user of an earlier Neovim."""
        entry = self.ledger.get(path)
        was_apart = entry is not None and entry.conflict
        if self.ledger.tree_changed(path, text, replaced=replaced, branch=branch, time=time.time()):
            self._parked.add(path)
        now = self.ledger.get(path)
        if now is not None and now.conflict and not was_apart:
            self.view.tell(wording.CHANGED_BY_BOTH.format(file=Path(path).name))

    async def _unseen(self, path: str) -> bool:
        """Return whether the file has changed since its last scan, perhaps by an agent."""
        looked = self.state(path).last_look
        now = await to_thread.run_sync(signature_of, path)
        return looked != (self.turns.round, now)

    async def live(self, path: str, *, gone: bool = False) -> Text | None:
        """Return the text of a file from buffer or disk; None if there is no file. Raises Refusal.

        If an agent has deleted the file (``gone``), whatever replaces it does not count as a file.
        """
        place = Place(path, path)
        found = await self.buffers.read(place)
        if isinstance(found, BufferText):
            return await self._text(path, found, gone=gone)
        if (gone or self._is_gone(path)) and await to_thread.run_sync(_is_replaced, path):
            return None
        limit, file_format = self.options().message_bytes, (found.fileencodings, found.fileformats)
        stored = await to_thread.run_sync(disk.stored, place, limit, *file_format)
        return stored.text if stored else None

    async def _text(self, path: str, found: BufferText, *, gone: bool = False) -> Text | None:
        """Return the text of a buffer; None for a clean one whose file is deleted."""
        there = found.modified or await to_thread.run_sync(Path(path).exists)
        if there and (gone or self._is_gone(path)) and not found.modified:
            there = await to_thread.run_sync(obstacles.is_file, path)
        now = self.buffers.get(path) or found  # the user may have typed in the meantime
        return now.text if there else None

    def _is_gone(self, path: str) -> bool:
        """Return whether an agent has deleted the file and the deletion is undecided."""
        entry = self.ledger.get(path)
        return entry is not None and entry.live is None

    @asynccontextmanager
    async def carrying_out(self, paths: Iterable[str], act: Act) -> AsyncIterator[None]:
        """Record all changes of these files within the context as one act of the user."""
        known = [path for path in paths if self.bases.knows(path)]
        before = {path: await self._live_or_none(path) for path in known}
        yield
        for path, text in before.items():
            self.bases.changed(path, await self._live_or_none(path), act, text)

    async def _live_or_none(self, path: str) -> Text | None:
        """Return the live text; None also for a file that is not text."""
        try:
            return await self.live(path)
        except Refusal:
            return None

    # ---- the screen

    @contextmanager
    def together(self) -> Iterator[None]:
        """Show all changes by this task at once, so a moved file never appears twice."""
        task = asyncio.current_task()
        self._gathering.add(task)
        try:
            yield
        finally:
            self._gathering.discard(task)
            self.flush()

    def changed(self, *paths: str) -> None:
        """Show these files' hunks with the next frame."""
        self._dirty.update(paths)
        if asyncio.current_task() not in self._gathering:
            self.flush()

    def flush(self) -> None:
        """Show all changed files. The event of an agent's change is sent after its hunks."""
        dirty, self._dirty = self._dirty, set()
        announced, self._announced = self._announced, []
        if dirty:
            self._show_all(dirty)
        for change in announced:
            self.view.edited(*change)

    def _show_all(self, dirty: Iterable[str]) -> None:
        for path in sorted(dirty):
            self.show(path)
        self._touched()
        self._report_parked()
        pending = [entry.path for entry in self.ledger.files()]
        if pending != self._pending:
            self._pending = pending
            self.view.pending(pending)
        for session in self._sessions():
            self.view.summary(session, self.ledger.files(session.n))

    def _report_parked(self) -> None:
        paths, self._parked = sorted(self._parked), set()
        if paths:
            branch = self.ledger.parked(paths[0])[paths[0]][-1].branch if len(paths) == 1 else ""
            files = Path(paths[0]).name if len(paths) == 1 else f"{len(paths)} files"
            where = wording.PART_BRANCH.format(branch=branch) if branch else ""
            self.view.tell(wording.PARKED.format(files=files, where=where))

    def revived(self, session: AgentSession) -> None:
        """Show a resumed session that has edits here, so its first snapshot includes them."""
        self.view.summary(session, self.ledger.files(session.n), silent=True)

    def show(self, path: str) -> None:
        entry = self.ledger.get(path)
        buffer = self.buffers.get(path)
        current = entry is not None and buffer is not None and buffer.text == entry.live
        self.view.hunks(path, entry, buffer.tick if buffer is not None and current else None)

    def files(self, n: int | None) -> list[Pending]:
        """Return the entries in scope of `all`: those of the session and of ended sessions."""
        over = {s.n for s in self._sessions() if s.is_over}
        live = {s.n for s in self._sessions()} - over
        return [
            entry
            for entry in self.ledger.files()
            if n is None or n in entry.writers or not (entry.writers & live)
        ]

    def next_hunk(self, path: str, row: int) -> tuple[str, int] | None:
        """Return the first hunk from a row on, or that of the next file, wrapping around."""
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
    """Return whether a folder, a link or a FIFO is in place of a file."""
    return obstacles.describe(path) != ""
