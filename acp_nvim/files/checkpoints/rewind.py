"""The user's commands on checkpoints: list, compare and restore them."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from anyio import to_thread

from acp_nvim import wording
from acp_nvim.edits.agent_bases import ChangeKind
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.edits.unified import unified_rows
from acp_nvim.files.bytes.file_format import BinaryError, decode
from acp_nvim.files.bytes.nofollow import spot
from acp_nvim.files.changes.disk_changes import DiskChanges
from acp_nvim.files.changes.turns import real_roots
from acp_nvim.files.checkpoints.agent_changes import Content
from acp_nvim.files.checkpoints.checkpoints import Checkpoint, Plan
from acp_nvim.files.checkpoints.prompt_checkpoints import PromptCheckpoints
from acp_nvim.files.checkpoints.restore import Choice, Restoring, choose, expected_changes, question
from acp_nvim.files.checkpoints.store import StoreError, list_names
from acp_nvim.files.files import Files
from acp_nvim.files.ports import AgentSession, BusyError, Claim
from acp_nvim.files.review.live_texts import LiveTexts
from acp_nvim.render.text import display_path, visible

ANSWERS: Final = (wording.OPTION_RESTORE_TOO, wording.OPTION_KEEP)
MAX_DIFF_BYTES: Final = 2 * 1024 * 1024
"""Maximum number of bytes for a comparison by lines."""
Ask = Callable[[str, Sequence[str]], Awaitable[int | None]]
"""Function that asks a question with these answers, and returns the index of the chosen one."""
Side = bytes | Text | None
"""Content of a file at one time, or None for no file. A `Text` is from its buffer."""


class Rewind:
    """Commands that list and restore the checkpoints of all sessions."""

    def __init__(
        self,
        files: Files,
        live: LiveTexts,
        disk_changes: DiskChanges,
        prompts: PromptCheckpoints,
        claim: Claim,
    ) -> None:
        """`claim` keeps other Neovims from accepting or rejecting edits below given directories."""
        self._checkpoints = files.checkpoints
        self._claim = claim
        self._files = files
        self._live = live
        self._restoring = Restoring(files)
        self._disk = disk_changes
        self._snapshots = files.snapshots
        self._prompts = prompts

    # -- listing ----------------------------------------------------------------------------------

    async def list_lines(self, session: AgentSession) -> list[str]:
        """Return lines for a session's checkpoints, newest first, with the files changed since.

        Further lines give the reasons why directories were not stored.
        """
        checkpoints = self._checkpoints.of(session.n)
        if not checkpoints:
            return [wording.NO_CHECKPOINTS]
        roots = real_roots(session)
        await self._disk.scan(roots)
        now = self._snapshots.trees(roots)
        width = max(len(checkpoint.label) for checkpoint in checkpoints)
        lines: list[str] = []
        for checkpoint in reversed(checkpoints):
            lines += await self._checkpoint_lines(session, checkpoint, now, width)
        return lines

    async def changes(self, session: AgentSession, n: int) -> list[str]:
        """Return the changes since the checkpoint before prompt `n` as a unified diff."""
        checkpoint = self._checkpoints.get(session.n, n)
        if checkpoint is None:
            return [self._missing(session, n)]
        await self._disk.scan(real_roots(session))
        present = await self._prompts.present(session, n, "")
        plan = await self._checkpoints.plan(session.n, checkpoint, present.trees)
        rows = await to_thread.run_sync(_diff_rows, checkpoint, present, plan, session.cwd)
        return rows or [wording.UNCHANGED.format(n=n)]

    async def _checkpoint_lines(
        self, session: AgentSession, checkpoint: Checkpoint, now: dict[str, str], width: int
    ) -> list[str]:
        at = time.strftime("%H:%M:%S", time.localtime(checkpoint.time))
        head = f"{checkpoint.n:3}  {at}  {checkpoint.label:<{width}}"
        try:
            paths = await self._checkpoints.since(checkpoint, now)
            changed = list_names(paths, session.cwd)
            became = f"{len(paths)} changed: {changed}" if paths else wording.PART_UNCHANGED
        except StoreError as error:
            became = str(error)
        return [f"{head}  {became}", *(f"     {reason}" for reason in checkpoint.reasons)]

    # -- restoring --------------------------------------------------------------------------------

    async def restore(
        self, session: AgentSession, n: int | None, ask: Ask, *, every: bool = False
    ) -> list[str]:
        """Restore the files that agents changed to before prompt `n`, or undo a restore (None).

        With `every`, also restore files that only the user changed. Call `ask` for files that both
        changed. Return lines for the user.
        """
        excluded: set[str] = set()
        confirmed: dict[str, Content] = {}
        while True:
            if session.is_running:
                return [wording.STILL_WORKING]
            await self._disk.wait_over(session)
            try:
                async with self._claim([session.cwd, *session.roots]):
                    done = await self._attempt(session, n, excluded, confirmed, every=every)
            except BusyError:
                return [wording.OTHER_NEOVIM_BUSY]
            if not isinstance(done, Choice):
                return done
            unanswered = _files_not_asked_about(done, excluded, confirmed)
            since_then = "the restore" if n is None else f"prompt {n}"
            words = question(unanswered, done.unknown, session.cwd, since_then)
            answer = await ask(words, ANSWERS)
            if answer is None:
                return [wording.NOT_RESTORED]
            if answer == 0:
                confirmed.update({path: done.contents[path] for path in unanswered})
            else:
                excluded.update(unanswered)

    async def _attempt(
        self,
        session: AgentSession,
        n: int | None,
        excluded: AbstractSet[str],
        confirmed: Mapping[str, Content],
        *,
        every: bool,
    ) -> list[str] | Choice:
        """Restore the files, or return the choice unchanged if the user has to be asked first."""
        roots = real_roots(session)
        await self._disk.scan(roots)
        async with self._live.hold():
            then = self._checkpoint(session, n)
            if then is None:
                return [wording.NO_RESTORE if n is None else self._missing(session, n)]
            await self._snapshots.scan(roots)
            present, choice = await self._prepare(session, then, every=every, undo=n is None)
            if _files_not_asked_about(choice, excluded, confirmed):
                return choice
            return await self._restore(session, n, then, present, choice.without(excluded))

    def _checkpoint(self, session: AgentSession, n: int | None) -> Checkpoint | None:
        if n is None:
            return self._checkpoints.last_undo(session.n)
        return self._checkpoints.get(session.n, n)

    async def _prepare(
        self, session: AgentSession, then: Checkpoint, *, every: bool, undo: bool
    ) -> tuple[Checkpoint, Choice]:
        """Return the current state, and the restore that starts from it."""
        present = await self._prompts.present(session, then.n, f"before restore {then.n}")
        plan = await self._checkpoints.plan(session.n, then, present.trees, undo)
        for path in plan.touched:
            present.touched[path] = await self._live.sync(path)
        choice = await to_thread.run_sync(
            lambda: choose(plan, then, present, every=every, undo=undo)
        )
        choice.notes.extend(plan.reasons)
        return present, choice

    async def _restore(
        self,
        session: AgentSession,
        n: int | None,
        then: Checkpoint,
        present: Checkpoint,
        choice: Choice,
    ) -> list[str]:
        """Restore the chosen files, and return messages. `n` is None for an undo of a restore."""
        present.agent_changes.update(await to_thread.run_sync(expected_changes, choice, then))
        if n is not None:  # before any change, so an interrupted restore can be undone
            self._checkpoints.on_restore(session.n, present)
        kind = ChangeKind.DECIDED if n is not None else ChangeKind.UNDONE
        async with self._live.as_one_change(choice.contents, kind):
            notes, count = await self._restoring.carry_out(choice, then, present)
        notes += choice.notes
        has_failed = bool(notes) and not count
        if n is None or has_failed:  # there is nothing to undo
            self._checkpoints.on_undo(session.n)
        await self._snapshots.scan(list(then.trees))  # attributes the restore to no agent
        if has_failed:
            return [f"{wording.NOT_RESTORED}: {notes[0]}", *notes[1:]]
        back = wording.RESTORED.format(n=then.n)
        what = wording.RESTORE_UNDONE if n is None else back
        changed = wording.PART_FILE_CHANGED if count == 1 else wording.PART_FILES_CHANGED
        message = what + changed.format(count=count)
        if choice.users and n is not None:
            message += wording.PART_USER_CHANGES_LEFT.format(count=len(choice.users))
        return [message, *notes]

    def _missing(self, session: AgentSession, n: int) -> str:
        checkpoints = self._checkpoints.of(session.n)
        if not checkpoints:
            return wording.NO_CHECKPOINTS
        first, last = checkpoints[0].n, checkpoints[-1].n
        line = wording.ONE_CHECKPOINT if first == last else wording.NO_CHECKPOINT
        return line.format(n=n, first=first, last=last)


def _files_not_asked_about(
    choice: Choice, excluded: AbstractSet[str], confirmed: Mapping[str, Content]
) -> list[str]:
    """Return files that both sides changed, unless the user was asked about the current content."""
    return [
        path
        for path in choice.shared
        if path not in excluded
        and (path not in confirmed or confirmed[path] != choice.contents[path])
    ]


# -- changes to files since a checkpoint -----------------------------------------------------------


def _diff_rows(checkpoint: Checkpoint, present: Checkpoint, plan: Plan, cwd: str) -> list[str]:
    """Return the diff from `checkpoint` to `present`. `plan` restores the checkpoint.

    This call blocks.
    """
    then: dict[str, Side] = {
        step.target.path: step.target.data for step in plan.steps if step.target.mode
    }
    then.update(plan.touched)
    then.update(checkpoint.unsaved)
    rows: list[str] = []
    for path in sorted(then.keys() | present.unsaved.keys()):
        now = present.unsaved[path] if path in present.unsaved else _read(path)
        rows += _file_diff(
            display_path(path, cwd), then[path] if path in then else _read(path), now
        )
    lost = [
        f"{display_path(step.target.path, cwd)}: {step.why_not}"
        for step in plan.steps
        if step.why_not
    ]
    return [*(f"# {visible(reason)}" for reason in (*plan.reasons, *lost)), *rows]


def _read(path: str) -> Side:
    try:
        with spot(path) as at:
            info = at.info()
            if info is not None and stat.S_ISLNK(info.st_mode):
                return os.fsencode(os.readlink(at.name, dir_fd=at.folder))
            with at.open() as file:
                return file.read()
    except OSError:
        return None


def _file_diff(name: str, old: Side, new: Side) -> list[str]:
    """Return the diff of one file. The diff has no rows if the file is unchanged."""
    if old == new:
        return []
    try:
        lines = unified_rows(_text(old), _text(new))
    except BinaryError:
        lines = [f"Binary files differ: {_size(old)}, now {_size(new)}"]
    if not lines and (old is None) == (new is None):
        return []
    before = "/dev/null" if old is None else f"a/{name}"
    after = "/dev/null" if new is None else f"b/{name}"
    return [f"diff {name}", f"--- {before}", f"+++ {after}", *map(visible, lines), ""]


def _text(side: Side) -> Text:
    if side is None:
        return EMPTY
    if isinstance(side, Text):
        return side
    if len(side) > MAX_DIFF_BYTES:
        raise BinaryError("too large")
    return decode(side).text


def _size(side: Side) -> str:
    if side is None:
        return "none"
    return f"{len(side if isinstance(side, bytes) else str(side).encode())} bytes"
