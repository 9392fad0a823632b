"""Detection of agents' edits on disk.

While a turn runs, changes in the session's directories are attributed to its agent, except for the
user's saves. The files that a tool call names are scanned as soon as it ends, the work tree shortly
after that, and again at the end of the turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import anyio
from anyio import to_thread
from msgspec import UNSET, UnsetType

from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.tracked_file import (
    CaughtUp,
    Compared,
    FileState,
    Forgotten,
    SavedIdle,
    Scanned,
)
from acp_nvim.files.buffers.turn_texts import ReadTexts, UnreadFiles
from acp_nvim.files.bytes.disk import (
    bytes_of,
    changed_at,
    is_settled,
    read_signed,
    signature_of,
    wait_filled,
)
from acp_nvim.files.bytes.file_format import BinaryError, decode_as, format_change
from acp_nvim.files.bytes.paths import is_below
from acp_nvim.files.changes.change_applier import EMPTY, ChangeApplier
from acp_nvim.files.changes.entered_change import lacks_save
from acp_nvim.files.changes.folder_watch import FolderWatch
from acp_nvim.files.changes.git_tree import HeadMove
from acp_nvim.files.changes.naming import Naming
from acp_nvim.files.changes.outer_trees import OuterTrees
from acp_nvim.files.changes.turn_start import TurnStart, TurnStarts, differing
from acp_nvim.files.changes.turns import Attribution, Turn, real_roots
from acp_nvim.files.checkpoints.agent_changes import SAME, ContentChange
from acp_nvim.files.checkpoints.snapshots import FileChange
from acp_nvim.files.checkpoints.store import Change, GitContent, blob_mark
from acp_nvim.files.files import Files
from acp_nvim.files.ports import AgentSession
from acp_nvim.files.review.live_texts import LiveTexts
from acp_nvim.tasks import Tasks

LATE_S: Final = 0.25
"""Pause before a change that Neovim did not accept is tried again, in seconds."""


class DiskChanges:
    """Detector of changes on disk, for all sessions with a running turn."""

    def __init__(self, files: Files, live: LiveTexts, tasks: Tasks) -> None:
        self._files = files
        self._live = live
        self._tracked = files.tracked
        self._snapshots = files.snapshots
        self._tasks = tasks
        self.turns = files.turns
        self._attribution = Attribution(self.turns, files.sessions)
        self.turn_starts = TurnStarts(files.tracked)
        self._naming = Naming(files)
        self.outer = OuterTrees(files.turns, files.snapshots, files.view, self._apply_outer)
        self.unread = UnreadFiles(files.turns, files.snapshots)
        self.reads = ReadTexts(files, tasks)
        self._watch = FolderWatch(files.snapshots.folders)
        self._is_catching_up = False
        """Whether a task is applying postponed changes."""
        self._applier = ChangeApplier(
            files, live, self._attribution, self.turn_starts, self._naming, self.unread
        )
        self.by_user = self._applier.by_user
        self._lock = anyio.Lock(fast_acquire=True)

    # -- turns ------------------------------------------------------------------------------------

    def enter(self, session: AgentSession) -> Turn:
        """Start a turn and return it. `begin` must be called next."""
        if not self.turns:
            self._applier.reset()
            self._files.save_notes.open()
        turn = self.turns.enter(session)
        self._attribution.enter(turn)
        return turn

    async def remember(self, turn: Turn, sent: int | None = None) -> TurnStart:
        """Record the files saved by the user since the last scan, before an agent changes them.

        The user may have saved them in another Neovim. While no agent is working, all changes by
        other Neovims count as such saves.

        Return the prompt's `TurnStart`. `sent` is the time at which the agent got the prompt, if it
        has it already.
        """
        idle = (file for file in self._tracked if file.state.saved_idle)
        notes = self._files.save_notes
        paths = {*notes.saved_paths(), *(file.path for file in idle)}
        saved = sorted(path for path in paths if turn.may_change(path))
        is_idle = sent is None and turn.is_new and len([*self.turns]) == 1
        for path in saved:
            self._tracked[path].apply(SavedIdle(False))
        unsaved = await self._files.buffers.unsaved() if saved else {}
        earlier = {path: self._tracked.state(path).saved for path in saved}
        contents = await to_thread.run_sync(_read_all, saved) if saved else {}
        for path, (data, signature) in contents.items():
            state = self._tracked.state(path)
            is_saved = state.saved == signature or notes.is_saved(path, signature)
            if state.postponed or not (state.disk is UNSET or is_idle or is_saved):
                continue
            if state.saved != earlier[path]:
                continue  # the file was read while Neovim saved it, and the saved text is known
            live = self._files.buffers.get(path)
            buffer = live.format if live else None
            with suppress(BinaryError):
                decoded = None if data is None else decode_as(data, buffer)
                text, known = (decoded.text, decoded.format) if decoded else (None, None)
                reformat = format_change(buffer or known, data, data)
                if path in unsaved and lacks_save(
                    unsaved[path], notes.saves_since(path, state.saved), buffer or known
                ):
                    await self._files.buffers.mark_unmerged(path)
                self._applier.record_disk(path, text, reformat)
                notes.forget_until(path, signature)
        if is_idle:
            notes.keep(saved)
        return self.turn_starts.add(turn, sent)

    async def begin(self, turn: Turn) -> None:
        """Scan the files before a turn.

        Earlier changes are attributed to no agent unless another turn runs. Changes during the
        scan, but after the prompt was sent, are the agent's.
        """
        await self.turns.announce()
        old = {} if self.turns.ready_turns() else self._tracked.known()
        await self._scan_before(turn.roots)
        turn.ready.set()
        for path, then in old.items():
            now = self._tracked.state(path)
            if now.disk is then.disk and now.postponed is None:
                self._tracked[path].apply(Forgotten())

    async def scan_early(self, session: AgentSession) -> None:
        """Scan the files of a session before its turn begins."""
        await self._scan_before(real_roots(session))

    async def _scan_before(self, roots: Sequence[str]) -> None:
        self._snapshots.retry(roots)
        await self.scan(roots)

    async def enter_early(self, start: TurnStart) -> None:
        """Process files that changed between a tool call that named them and the scan."""
        # The contents are older than the next prompt of the turn, so they are used only once.
        early, start.turn.early_contents = start.turn.early_contents, {}
        changes = await to_thread.run_sync(differing, early) if early else ()
        if changes:
            start.add(changes)
            async with self._lock, self._live.hold(*(change.path for change in changes)):
                await self._apply(changes)

    async def end(self, session: AgentSession) -> None:
        """Scan once more after a turn has ended. `leave` is called afterwards."""
        turn = self.turns.get(session)
        if turn is None:
            return
        await turn.ready.wait()
        await self.scan_named(turn)
        await self.scan(turn.roots, watch=True)
        await self.outer.scan(turn, is_over=True)
        self._naming.report(turn)

    def leave(self, session: AgentSession) -> None:
        """Finish a prompt, and its turn unless another prompt has joined it."""
        turn = self.turns.get(session)
        if turn is not None and turn.on_scanned():
            self.turns.leave(session)
            self._tasks.start_soon(self.turns.announce)

    async def wait_over(self, session: AgentSession) -> None:
        """Wait for the last scan of a turn that has ended."""
        turn = self.turns.get(session)
        if turn is not None:
            await turn.over.wait()

    async def catch_up(self, *, running: bool) -> None:
        """Wait for the scans after turns that have ended.

        With `running`, also scan for the ended tool calls of running turns.
        """
        for turn in self.turns:
            if turn.pending_scans:
                await turn.scans_done.wait()
            elif running and turn.scan.is_running:
                await self.scan_named(turn)
                await self.scan(turn.roots)

    # -- scans ------------------------------------------------------------------------------------

    def on_disk(self, path: str) -> Text | UnsetType | None:
        """Return the text of a file on disk at the last scan or save, or UNSET if unknown."""
        return self._tracked.state(path).disk

    async def scan_named(self, turn: Turn) -> None:
        async with turn.scan.lock:
            paths, turn.scan.paths = sorted(turn.scan.paths), set()
            given, turn.scan.diffs = turn.scan.diffs, []
            await self.scan(turn.roots, paths)
            await self._apply_old_texts(given)

    async def _apply_old_texts(self, given: Sequence[tuple[str, str | None, str]]) -> None:
        """Process the changes in whole-file diffs of files that no store has.

        A tool call may name such a file only after it has changed the file, so the old text is
        used.
        """
        for path, old, new in given:
            data = self._snapshots.single(path)
            is_known = self._tracked.state(path).disk is not UNSET
            if data is None or is_known or data != new.encode():
                continue
            change = FileChange(path, None if old is None else old.encode(), data)
            async with self._lock, self._live.hold(path):
                await self._apply([change])

    async def before_use(self, path: str) -> None:
        """Process agents' latest changes to a file before a decision.

        Call this outside of `LiveTexts.hold`.
        """
        if self.turns.ready_turns() and not await self.has_known_text(path):
            await self.scan(self.turns.roots(), [path])

    async def has_known_text(self, path: str) -> bool:
        """Return whether a file has its known text, so that a scan of it would change nothing.

        A store may have an earlier content, which later scans of the turn update.
        """
        state, turns = self._tracked.state(path), self.turns.round
        if not isinstance(state.disk, Text) or state.postponed is not None:
            return False
        signature, file = signature_of(path), self._tracked[path]
        if state.compared != signature:
            has_settled = is_settled(path, signature)
            if not await to_thread.run_sync(_has_text, path, state):
                return False
            if has_settled and file.state.disk is state.disk:
                file.apply(Compared(signature))
        file.apply(Scanned((turns, signature)))
        return True

    def reuse_last_scan(self, turn: Turn) -> bool:
        """Use the last scan as the one before this turn. Return whether that is possible.

        It is possible if no other turn runs and the system has reported no change since that scan.
        """
        roots, known = self._snapshots.within(turn.roots), self._tracked.known()
        others = [*known, *self._snapshots.singles()]
        is_alone = not self.turns.ready_turns() and not any(
            state.postponed for state in known.values()
        )
        are_inside = all(any(is_below(path, root) for root in roots) for path in others)
        if not (is_alone and are_inside and self._is_scan_valid(roots)):
            return False
        for path in known:
            self._tracked[path].apply(Forgotten())
        return True

    def _is_scan_valid(self, roots: Sequence[str]) -> bool:
        is_scanning = self._lock.locked()
        return (
            not is_scanning
            and self._snapshots.has_trees(roots)
            and self._watch.has_no_changes(roots)
        )

    async def scan_after_save(self, roots: Sequence[str]) -> None:
        """Scan after a save if no agent is working.

        The next prompt then need not wait for the scan.
        """
        within = self._snapshots.within(roots)
        if (
            not self.turns
            and self._watch.has_all(within)
            and not self._watch.has_no_changes(within)
        ):
            await self.scan(roots)

    async def scan(
        self, roots: Sequence[str], paths: Sequence[str] | None = None, *, watch: bool = False
    ) -> set[str]:
        """Process changes below these directories, or of these files. Return the changed files.

        With `watch`, also watch the directories. The next prompt then needs no scan if nothing
        changes.
        """
        if paths is not None and not paths:
            return set()
        signatures: dict[str, str | None] = {}
        async with self._lock:
            if paths is None:
                begin = self._watch.begin if watch else self._watch.begin_known
                await begin(self._snapshots.within(roots))
            else:
                signatures = await to_thread.run_sync(_signatures_of, paths)
            turns = self.turns.round
            rest: list[Change] = []
            changes = await self._snapshots.scan(roots, paths, rest)
            if rest:
                await self._record_unreviewed(rest)
            detected = {change.path for change in changes}
            undetected, compared = await self._undetected_changes(paths, detected)
            changes += undetected
            await self._apply_locked(changes)
            self._record_compared(compared)
            await self._naming.unmark_named()
            for path, signature in signatures.items():
                self._tracked[path].apply(Scanned((turns, signature)))
        return {change.path for change in changes}

    async def _apply_outer(self, changes: Sequence[FileChange]) -> None:
        async with self._lock:
            await self._apply_locked(changes)

    async def _apply_locked(self, changes: Sequence[FileChange]) -> None:
        if changes:
            by_git = await self._git_contents(changes)
            async with self._live.hold(*(change.path for change in changes)):
                with self._files.pending_view.together():
                    await self._apply(changes, by_git)

    async def _record_unreviewed(self, changes: Sequence[Change]) -> None:
        """Record agents' changes that are not reviewed: modes, links, large files."""
        paths = [change.path for change in changes]
        times = await to_thread.run_sync(lambda: list(map(changed_at, paths)))
        for change, time in zip(changes, times, strict=True):
            is_saved = self._files.save_notes.is_saved(change.path, signature_of(change.path))
            if is_saved or self._attribution.author_of(change.path, time) is None:
                continue
            before, after = SAME, SAME
            if not change.has_same_bytes:
                before, after = blob_mark(change.before), blob_mark(change.after)
            self._files.checkpoints.record_change(change.path, ContentChange(before, after))

    async def before_write(self, path: str) -> None:
        """Process an agent's own changes on disk before its write through the editor.

        Otherwise they would count as the earlier text.
        """
        state = self._tracked.state(path)
        if state.disk is UNSET:
            if self.turns and changed_at(path) >= self.turns.first_start():
                await self.scan(self.turns.roots(), [path])
        elif self._lock.locked() or not await self.has_known_text(path):
            await self.scan([], [path])

    def close(self) -> None:
        self._watch.close()
        self.outer.close()
        self._files.save_notes.close()

    async def check_unchanged(self, path: str, roots: Sequence[str]) -> bool:
        """Process changes to a file. Return whether its text is certainly unchanged."""
        if self._tracked.state(path).disk is not UNSET:
            return await self.has_known_text(path) or path not in await self.scan([], [path])
        is_detectable = await self._snapshots.can_detect_change(roots, path)
        return path not in await self.scan(roots, [path]) and is_detectable

    async def _undetected_changes(
        self, paths: Sequence[str] | None, detected: set[str]
    ) -> tuple[list[FileChange], Mapping[str, tuple[FileState, str | None]]]:
        """Return changes to files (None: all) that a store cannot detect.

        Such a file has the stored content again, but not its known text. Also return the compared
        states and signatures of all files read.
        """
        known = self._tracked.known(paths)
        states = {path: state for path, state in known.items() if path not in detected}
        if not states:
            return [], {}
        changes, signatures = await to_thread.run_sync(_compare_known, states)
        for path in states.keys() - {change.path for change in changes}:
            if states[path].postponed is not None:
                self._tracked[path].apply(CaughtUp())  # restored
        return changes, {path: (states[path], signature) for path, signature in signatures.items()}

    def _record_compared(self, compared: Mapping[str, tuple[FileState, str | None]]) -> None:
        """Record signatures of files whose known texts are still those that were compared.

        Call this after the changes have been applied. Before that, a changed file would seem to
        have its known text.
        """
        for path, (state, signature) in compared.items():
            if self._tracked.state(path).disk is state.disk:
                self._tracked[path].apply(Compared(signature))

    async def _git_contents(
        self, changes: Sequence[FileChange]
    ) -> Mapping[str, Sequence[GitContent]]:
        """Return the contents that the user's git commands during turns gave these files."""
        if not self.turns:
            return {}
        paths = [change.path for change in changes]
        began = self.turns.first_start()
        roots = [root for turn in self.turns for root in (*turn.roots, *turn.outer)]
        return await self._snapshots.git_contents(roots, paths, began, self.by_agent)

    def by_agent(self, move: HeadMove) -> bool:
        """Return whether a working agent may have moved HEAD."""
        return any(turn.may_have_run_git(move.first, move.last) for turn in self.turns)

    async def _apply(
        self, changes: Sequence[FileChange], by_git: Mapping[str, Sequence[GitContent]] = EMPTY
    ) -> None:
        try:
            await self._applier.apply(changes, by_git)
        finally:
            if not self._is_catching_up and self._postponed_files():
                self._is_catching_up = True
                self._tasks.start_soon(self._catch_up)

    async def _catch_up(self) -> None:
        try:
            while late := self._postponed_files():
                await anyio.sleep(LATE_S)
                await self.scan([], late)
        finally:
            self._is_catching_up = False

    def _postponed_files(self) -> list[str]:
        """Return the files with changes that could not be applied yet."""
        return [file.path for file in self._tracked if file.state.postponed is not None]


# -- comparison with known states, in a worker thread ----------------------------------------------


def _read_all(paths: Sequence[str]) -> dict[str, tuple[bytes | None, str | None]]:
    """Return contents and signatures of files. Unreadable files are left out."""
    contents: dict[str, tuple[bytes | None, str | None]] = {}
    for path in paths:
        wait_filled(path)
        with suppress(OSError):
            contents[path] = read_signed(path)
    return contents


def _compare_known(
    known: Mapping[str, FileState],
) -> tuple[list[FileChange], dict[str, str | None]]:
    """Return the files that differ from their known contents, and the signatures of all files read.

    Leave out the signature of a file that has just changed, since the next change may not alter it.
    """
    changes: list[FileChange] = []
    signatures: dict[str, str | None] = {}
    for path, state in known.items():
        signature = signature_of(path)
        if state.compared == signature:
            continue
        has_settled = is_settled(path, signature)
        try:
            data = bytes_of(path)
        except OSError:
            continue
        if has_settled:
            signatures[path] = signature
        before = state.disk_bytes()
        if data != before:
            changes.append(FileChange(path, before, data))
    return changes, signatures


def _has_text(path: str, state: FileState) -> bool:
    """Return whether a file contains its known text."""
    with suppress(OSError):
        return bytes_of(path) == state.disk_bytes()
    return False


def _signatures_of(paths: Sequence[str]) -> dict[str, str | None]:
    """Return the signature of each file, or None for one that does not exist."""
    return {path: signature_of(path) for path in paths}
