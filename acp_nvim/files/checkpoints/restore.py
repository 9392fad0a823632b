"""Restores of files and buffers to a checkpoint: select the files, then write them.

A restore covers the files that agents changed, unless all are requested.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Coroutine, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
from anyio import to_thread

from acp_nvim import wording
from acp_nvim.edits.disk_entries import disk_entry
from acp_nvim.edits.hunks import diff
from acp_nvim.edits.merge import Conflict, merge
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.tracked_file import AgentFormat, ContentKnown, UserFormat
from acp_nvim.files.bytes import disk, nofollow, obstacles
from acp_nvim.files.bytes.disk import signature_of
from acp_nvim.files.bytes.file_format import (
    BinaryError,
    Format,
    encode,
    fitting,
    format_change,
    text_of,
)
from acp_nvim.files.bytes.nofollow import Rights, spot
from acp_nvim.files.bytes.obstacles import Blocked
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.checkpoints.agent_changes import SAME, Content, ContentChange, follows, mark
from acp_nvim.files.checkpoints.checkpoints import Checkpoint, Plan, RestoreStep, Target
from acp_nvim.files.checkpoints.rights import usual_rights
from acp_nvim.files.checkpoints.snapshots import present as content_of
from acp_nvim.files.checkpoints.store import UNKNOWN, Unstored, blob_mark
from acp_nvim.files.files import Files
from acp_nvim.files.ports import BufferText
from acp_nvim.files.writes.file_writer import Refused, refusal_reason

ATTEMPTS: Final = 5

# -- selection ------------------------------------------------------------------------------------


class Choice(msgspec.Struct, frozen=True):
    """Files selected for a restore."""

    steps: list[RestoreStep]
    touched: dict[str, Text | None]
    """Files in no tree, with their texts."""
    unsaved: list[str]
    """Files whose buffers get unsaved text again, or lose it."""
    contents: dict[str, Content]
    """Present contents of all files of this restore. Unsaved text takes precedence."""
    shared: list[str]
    """Files of this restore that the user has changed too."""
    unknown: frozenset[str]
    """Files of `shared` with changes by an unknown author."""
    users: list[str]
    """Files that only the user has changed. They are left alone."""
    notes: list[str]
    """Lines for the user about files that cannot be restored."""

    def without(self, paths: Iterable[str]) -> Choice:
        """Return a restore that leaves these files alone."""
        left = set(paths)
        return msgspec.structs.replace(
            self,
            steps=[step for step in self.steps if step.target.path not in left],
            touched={path: text for path, text in self.touched.items() if path not in left},
            unsaved=[path for path in self.unsaved if path not in left],
            users=sorted({*self.users, *left}),
        )


def choose(plan: Plan, then: Checkpoint, now: Checkpoint, *, every: bool, undo: bool) -> Choice:
    """Return the files to restore: those that agents changed between `then` and `now`.

    With `every`, include files that only the user changed. With `undo`, include all files that a
    restore changed. This call blocks.
    """
    changes = plan.agent_changes

    def is_wanted(path: str) -> bool:
        return every or (path in changes and (undo or changes[path].agent))

    wanted = [step for step in plan.steps if is_wanted(step.target.path)]
    steps = {step.target.path: step for step in wanted if not step.why_not}
    buffers = sorted(then.unsaved.keys() | now.unsaved.keys())
    unsaved = [path for path in buffers if is_wanted(path)]
    paths = dict.fromkeys((*steps, *plan.touched, *unsaved))
    contents = {path: now.unsaved.get(path) or content_of(path) for path in paths}
    shared = (
        []
        if every
        else sorted(
            path
            for path in paths
            if path in changes and _is_shared(path, plan, steps.get(path), then, contents[path])
        )
    )
    candidates = {*(step.target.path for step in plan.steps), *buffers}
    return Choice(
        list(steps.values()),
        plan.touched,
        unsaved,
        contents,
        shared,
        frozenset(p for p in shared if UNKNOWN in (changes[p].before, changes[p].after)),
        sorted(path for path in candidates if not is_wanted(path)),
        [_left_line(step.target.path, step.why_not) for step in wanted if step.why_not],
    )


def _is_shared(
    path: str, plan: Plan, step: RestoreStep | None, then: Checkpoint, now: Content
) -> bool:
    """Return whether a restore would lose changes that are not by agents."""
    old_marks, new_marks = step.marks() if step else (set[str](), set[str]())
    if step is not None:
        old_marks.add(mark(step.target.data))
    else:
        old_marks.add(mark(plan.touched[path] if path in plan.touched else content_of(path)))
    if path in then.unsaved:
        old_marks.add(mark(then.unsaved[path]))
    new_marks.add(mark(now))
    if new_marks & old_marks:
        return False  # the old content is back, so nothing is lost
    change = plan.agent_changes[path]
    is_chain = follows(change.before, *old_marks) and follows(change.after, *new_marks)
    return change.gap or not is_chain


def _left_line(path: str, reason: str) -> str:
    return wording.FILE_LEFT_UNCHANGED.format(file=Path(path).name, reason=reason)


def in_order(steps: Iterable[RestoreStep]) -> list[RestoreStep]:
    """Sort the steps: deletions first, innermost first, since others may take their places."""
    steps = list(steps)
    deletions = [step for step in steps if step.target.data is None]
    deletions.sort(key=lambda step: step.target.path.count(os.sep), reverse=True)
    return [*deletions, *(step for step in steps if step.target.data is not None)]


def question(paths: list[str], unknown: Container[str], cwd: str, since: str) -> str:
    """Return a question with the files that the user changed too, or may have changed."""
    parts = [
        (wording.PART_USER_CHANGED_TOO, [path for path in paths if path not in unknown]),
        (wording.PART_UNKNOWN_AUTHOR, [path for path in paths if path in unknown]),
    ]
    messages = [
        text.format(", ".join(os.path.relpath(path, cwd) for path in named))
        for text, named in parts
        if named
    ]
    return wording.RESTORE_SHARED.format(since=since, changes=", and ".join(messages))


# -- execution ------------------------------------------------------------------------------------


class Restoring:
    """Restores of files, and their undo."""

    def __init__(self, files: Files) -> None:
        self._files = files

    async def carry_out(
        self, choice: Choice, then: Checkpoint, present: Checkpoint
    ) -> tuple[list[str], int]:
        """Restore the files to `then`. Record the contents that undo it in `present`.

        Return notes for the user, and the number of changed files.
        """
        notes: list[str] = []
        done: set[str] = set()
        expected = choice.contents
        for step in in_order(choice.steps):
            path = step.target.path
            await self._try(
                self._restore_step(step, then, present, expected[path]), path, done, notes
            )
        for path, text in choice.touched.items():
            data = None if text is None else encode(text, self._format(path))
            work = self._restore_file(Target(path, data), then, expected[path])
            await self._try(work, path, done, notes)
        for path in choice.unsaved:
            before = None if path in done else expected[path]
            await self._try(self._restore_buffer(path, then, before), path, done, notes)
        self._files.pending_view.refresh(*done)
        for path in present.agent_changes.keys() - done:
            del present.agent_changes[path]
        for path, change in present.agent_changes.items():
            self._files.checkpoints.record_change(path, change)
        return notes, len(done)

    async def _try(
        self, work: Coroutine[Any, Any, bool], path: str, done: set[str], notes: list[str]
    ) -> None:
        """Restore a file. Add it to `done`, or the reason for a failure to `notes`."""
        try:
            if await work:
                done.add(path)
        except (Refused, Refusal) as error:
            notes.append(_left_line(path, refusal_reason(error)))
        except (Blocked, OSError) as error:
            notes.append(_left_line(path, getattr(error, "strerror", None) or str(error)))

    def _format(self, path: str) -> Format:
        live = self._files.buffers.get(path)
        return live.format if live else self._files.tracked.state(path).user_format or Format()

    async def _restore_step(
        self, step: RestoreStep, then: Checkpoint, present: Checkpoint, expected: Content
    ) -> bool:
        """Restore one file of the trees. Return whether the file on disk was changed.

        First save the current content if the trees lack it.
        """
        path = step.target.path
        if step.is_hidden:
            data = await to_thread.run_sync(content_of, path)
            if isinstance(data, Unstored):
                raise Refused(wording.WHY_WOULD_BE_LOST.format(reason=data.why))
            mode = 0o100755 if os.access(path, os.X_OK) else 0o100644
            present.late[path] = Target(path, data, mode)
        return await self._restore_file(step.target, then, expected)

    async def _restore_file(
        self, target: Target, checkpoint: Checkpoint, expected: Content
    ) -> bool:
        """Restore bytes and mode on disk, then the buffer, then the pending edits.

        Return whether the file on disk was changed. Raise Refused if the content is no longer the
        one from which the restore was planned (`expected`).
        """
        place = Place(target.path, target.path)
        peeked = await self._files.buffers.peek(place.real)
        live = peeked if isinstance(peeked, BufferText) else None
        changed = await self._write(place, target, live, expected)
        data = target.data if stat.S_ISREG(target.mode) else None
        try:
            text, disk_format, buffer_format = _decode_for(live, data)
        except BinaryError:
            return changed
        self._files.tracked[place.real].apply(ContentKnown(text, disk_format))
        if live is not None:
            await self._update_buffer(place, live, text, buffer_format)
        entry = checkpoint.disk_entries.get(place.real, checkpoint.pending.get(place.real))
        self._restore_pending(place.real, text, checkpoint, entry)
        now = self._files.buffers.get(place.real)
        if now is not None and now.is_modified:
            self._files.ledger.split_from_disk(place.real)
            self._files.ledger.record_user_edit(place.real, now.text)
        return changed

    async def _write(
        self, place: Place, target: Target, live: BufferText | None, expected: Content
    ) -> bool:
        """Write the target. Return whether that changed the file.

        Raise Refused if the content is no longer the expected one.
        """
        rights = self._files.snapshots.rights(target.path)
        if live is None or not live.is_modified:
            return await to_thread.run_sync(_write_if_unchanged, place, target, rights, expected)
        if live.text != expected:
            raise Refused(wording.WHY_CHANGED)
        return await to_thread.run_sync(_write_target, place, target, rights)

    async def _update_buffer(
        self, place: Place, live: BufferText, text: Text | None, buffer_format: Format | None
    ) -> None:
        """Bring text and format of the buffer up to date with the file."""
        if text is None:
            await self._files.buffers.vacate(place.real, live)
            return
        await self._follow(place, live, text)
        if buffer_format is not None and buffer_format != live.format:
            await self._files.buffers.set_format(place.real, live, buffer_format)
            await self._files.buffers.read(place)

    def _restore_pending(
        self, path: str, text: Text | None, checkpoint: Checkpoint, entry: Pending | None
    ) -> None:
        """Restore the pending edits, and the formats to which a reject returns."""
        file = self._files.tracked[path]
        user, agent = checkpoint.formats.get(path, (None, None))
        file.apply(UserFormat(user))
        if agent is not None:
            file.apply(AgentFormat(agent))
        self._files.ledger.restore(path, text, entry)

    async def _follow(self, place: Place, live: BufferText, text: Text) -> None:
        """Bring the buffer up to date with the file.

        Text that the user has typed since `live` is kept there, unsaved.
        """
        before = live.text
        for _ in range(ATTEMPTS):
            result = merge(before, live.text, text)
            if isinstance(result, Conflict):
                break
            signature = await to_thread.run_sync(signature_of, place.real)
            outcome = await self._files.buffers.follow_disk(
                place.real,
                live,
                result.text,
                modified=result.text != text,
                signature=signature,
            )
            if outcome == "done":
                return
            buffer = await self._files.buffers.peek(place.real)
            if not isinstance(buffer, BufferText):
                return
            live = buffer
        raise Refused(wording.WHY_BUFFER_NOT_UPDATED)

    async def _restore_buffer(self, path: str, checkpoint: Checkpoint, expected: Content) -> bool:
        """Restore unsaved edits. If there were none, reload the buffer from its file.

        Return whether that changed the buffer. `expected` is the content from which the restore was
        planned, or None after the file was restored.
        """
        place = Place(path, path)
        live = await self._files.buffers.load(place)
        if not isinstance(live, BufferText):
            raise Refused(live.reason or wording.WHY_NOT_LOADED)
        if live.is_modified and live.text != expected:
            raise Refused(wording.WHY_CHANGED)
        signature = await to_thread.run_sync(signature_of, path)
        text = checkpoint.unsaved.get(path)
        if text is None:
            if not live.is_modified:
                return False
            text = await to_thread.run_sync(
                disk.saved_text, place, self._files.options().message_bytes, live.format
            )
        if not diff(live.text.lines, text.lines) and live.text.eol == text.eol:
            return False
        was_unsaved = path in checkpoint.unsaved
        outcome = await self._files.buffers.follow_disk(
            path, live, text, modified=was_unsaved, signature=signature
        )
        if outcome != "done":
            raise Refused(wording.WHY_BUFFER_OUTCOME.format(outcome=outcome))
        on_disk = self._disk_entry(path)
        self._restore_pending(path, text, checkpoint, checkpoint.pending.get(path))
        if was_unsaved:
            ledger = self._files.ledger
            ledger.disk_entries.set_both(path, on_disk, ledger.get(path))
        return True

    def _disk_entry(self, path: str) -> Pending | None:
        """Return the pending edits of a file on disk."""
        entry = self._files.ledger.disk_entry(path)
        common = self._files.tracked.state(path).conflict_base
        return entry and disk_entry(entry, common if isinstance(common, Text) else None)


def _decode_for(
    live: BufferText | None, data: bytes | None
) -> tuple[Text | None, Format | None, Format | None]:
    """Return the text of a file, its format on disk, and its format in its buffer.

    Raise BinaryError.
    """
    buffer_format = live.format if live else None
    if live is not None and live.is_void and data is not None:
        buffer_format = fitting(live.format, data)
    reformat = format_change(buffer_format, data, data)
    if reformat is None:
        return text_of(data, None), None, None
    if buffer_format is not None:
        buffer_format = reformat.applied_to(buffer_format)[1]
    return text_of(data, buffer_format), reformat.new, buffer_format


def _write_if_unchanged(
    place: Place, target: Target, rights: Rights | None, expected: Content
) -> bool:
    """Write the target. Return whether that changed the file.

    Raise Refused if the content is no longer the expected one.
    """
    if content_of(place.real) != expected:
        raise Refused(wording.WHY_CHANGED)
    return _write_target(place, target, rights)


def _write_target(place: Place, target: Target, rights: Rights | None) -> bool:
    """Write or delete the file, and return whether that changed it. A new file gets `rights`.

    Raise Blocked, Refusal, or OSError as `spot` does.
    """
    path = place.real
    if target.data is None:
        return _delete(path)
    if stat.S_ISREG(target.mode):
        return _write(place, target.data, rights, executable=bool(target.mode & 0o100))
    if stat.S_ISLNK(target.mode) and _link_target(Path(path)) == target.data:
        return False
    if obstacles.is_file(path):
        nofollow.remove(path)
    obstacles.clear(path)
    obstacles.create(path, target.mode, target.data)
    return True


def _delete(path: str) -> bool:
    """Delete a file or link, but no directory. Return whether it existed."""
    obstacles.check_above(path)
    try:
        with spot(path) as at:
            info = at.info()
            if info is None or stat.S_ISDIR(info.st_mode):
                return False
            at.unlink()
            return True
    except (FileNotFoundError, NotADirectoryError):
        return False


def _write(place: Place, data: bytes, rights: Rights | None, *, executable: bool) -> bool:
    rights = rights or usual_rights(executable)
    info = nofollow.info(place.real)
    if info is None or not stat.S_ISREG(info.st_mode):
        obstacles.clear(place.real)
        info = None
    is_same = info is not None and _has_content(place.real, data)
    if not is_same:
        disk.write(place, data, rights)
    mode = Rights.of(info).mode if info else rights.mode
    wanted = mode | 0o111 if executable else mode & ~0o111
    if info is not None and mode != wanted:
        nofollow.set_rights(place.real, Rights(wanted, info.st_uid, info.st_gid))
    return not is_same or mode != wanted


def _has_content(path: str, data: bytes) -> bool:
    with spot(path) as at, at.open() as file:
        return file.read() == data


def _link_target(path: Path) -> bytes | None:
    return os.fsencode(path.readlink()) if path.is_symlink() else None


def expected_changes(choice: Choice, then: Checkpoint) -> dict[str, ContentChange]:
    """Return the changes that a restore will make. This call reads files."""
    steps = {step.target.path: step for step in choice.steps}
    changes: dict[str, ContentChange] = {}
    for path, content in choice.contents.items():
        step = steps.get(path)
        marks = _special_marks(step)
        if marks is None:
            marks = mark(content), mark(_content_after(path, step, choice, then))
        changes[path] = ContentChange(*marks, agent=False)
    return changes


def _content_after(
    path: str, step: RestoreStep | None, choice: Choice, then: Checkpoint
) -> Content:
    """Return the content of a buffer, or of a file without unsaved text, after the restore."""
    if path in choice.unsaved and path in then.unsaved:
        return then.unsaved[path]
    if step is not None:
        return step.target.data
    return choice.touched[path] if path in choice.touched else content_of(path)


def _special_marks(step: RestoreStep | None) -> tuple[str, str] | None:
    """Return the marks of a step that changes only a mode, or involves a link or FIFO."""
    if step is None or not step.in_trees:
        return None
    now, then = step.now, step.then
    if now and then and now.id == then.id and not now.is_fifo:
        return SAME, SAME
    is_special = any(blob and (blob.is_link or blob.is_fifo) for blob in (now, then))
    return (blob_mark(now), blob_mark(then)) if is_special else None
