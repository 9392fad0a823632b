"""Files and buffers made what they were: what a restore has chosen is carried out here."""

from __future__ import annotations

import os
import stat
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final

from anyio import to_thread

from acp_nvim.edits.hunks import diff
from acp_nvim.edits.text import Text
from acp_nvim.workspace import disk, nofollow, obstacles
from acp_nvim.workspace.decisions import Refused, refused_why
from acp_nvim.workspace.file_format import BinaryError, Format, decode, decode_as, encode
from acp_nvim.workspace.layout_changes import laid
from acp_nvim.workspace.nofollow import Rights, spot
from acp_nvim.workspace.obstacles import Blocked
from acp_nvim.workspace.paths import Place
from acp_nvim.workspace.pending_edits import PendingEdits
from acp_nvim.workspace.ports import BufferText
from acp_nvim.workspace.refusals import Refusal
from acp_nvim.workspace.restore_choice import Choice, in_order
from acp_nvim.workspace.snapshots.agent_changes import SAME, Content, Doing, mark
from acp_nvim.workspace.snapshots.checkpoints import Checkpoint, Step, Target
from acp_nvim.workspace.snapshots.rights import usual
from acp_nvim.workspace.snapshots.snapshots import Snapshots, signature_of
from acp_nvim.workspace.snapshots.snapshots import present as content_of
from acp_nvim.workspace.snapshots.store import Unkept, blob_mark
from acp_nvim.workspace.tracked_file import AgentLaid, Holds, LayBefore

ATTEMPTS: Final = 5


class Restoring:
    """Carries out restores, and their undoing."""

    def __init__(self, edits: PendingEdits, snapshots: Snapshots) -> None:
        self._edits = edits
        self._snapshots = snapshots

    async def carry_out(
        self, choice: Choice, then: Checkpoint, present: Checkpoint
    ) -> tuple[list[str], int]:
        """Make the files what they were ``then``; ``present`` gets what is needed to undo that.
        Returns notes for the user, and how many files have changed.
        """
        notes: list[str] = []
        done: set[str] = set()
        for step in in_order(choice.steps):
            await self._try(self._step(step, then, present), step.target.path, done, notes)
        for path, text in choice.touched.items():
            data = None if text is None else encode(text, self._format(path))
            await self._try(self._file(Target(path, data), then), path, done, notes)
        for path in choice.unsaved:
            await self._try(self._buffer(path, then), path, done, notes)
        self._edits.changed(*done)
        for path in present.doings.keys() - done:
            del present.doings[path]
        for path, doing in present.doings.items():
            self._edits.checkpoints.done(path, doing)
        return notes, len(done)

    async def _try(
        self, work: Coroutine[Any, Any, bool], path: str, done: set[str], notes: list[str]
    ) -> None:
        try:
            if await work:
                done.add(path)
        except (Refused, Refusal) as error:
            notes.append(f"{Path(path).name} was left as it is: {refused_why(error)}")
        except (Blocked, OSError) as error:
            words = error.strerror if isinstance(error, OSError) else error
            notes.append(f"{Path(path).name} was left as it is: {words}")

    def _format(self, path: str) -> Format:
        live = self._edits.buffers.get(path)
        return live.format if live else self._edits.state(path).user_format or Format()

    async def _step(self, step: Step, then: Checkpoint, present: Checkpoint) -> bool:
        """One file of the trees. Where they do not tell what is there now, that is kept first."""
        path = step.target.path
        if step.is_hidden:
            data = await to_thread.run_sync(content_of, path)
            if isinstance(data, Unkept):
                raise Refused(f"what is there now is not kept ({data.why}) and would be lost")
            mode = 0o100755 if os.access(path, os.X_OK) else 0o100644
            present.late[path] = Target(path, data, mode)
        return await self._file(step.target, then)

    async def _file(self, target: Target, checkpoint: Checkpoint) -> bool:
        """Bytes and mode on disk, then the buffer, then what was pending."""
        place = Place(target.path, target.path)
        rights = self._snapshots.rights(target.path)
        changed = await to_thread.run_sync(_put, place, target, rights)
        found = await self._edits.buffers.peek(place.real)
        live = found if isinstance(found, BufferText) else None
        data = target.data if stat.S_ISREG(target.mode) else None
        try:
            lies = laid(live.format if live else None, data, data)
            layout = lies.over(live.format)[1] if lies and live else None
            text = _text(data, layout)
        except BinaryError:
            return changed
        self._edits.tracked[place.real].hear(Holds(text, lies.new if lies else None))
        if live is not None and text is None:
            await self._edits.buffers.vacate(place.real, live)
        elif live is not None and text is not None:
            await self._follow(place, live, text)
            if layout is not None and layout != live.format:
                await self._edits.buffers.lay(place.real, live, layout)
                await self._edits.buffers.read(place)
        self._pend(place.real, text, checkpoint)
        return changed

    def _pend(self, path: str, text: Text | None, checkpoint: Checkpoint) -> None:
        """What was pending is so again, and is rejected to what the file was before that."""
        file = self._edits.tracked[path]
        user, agent = checkpoint.formats.get(path, (None, None))
        file.hear(LayBefore(user))
        if agent is not None:
            file.hear(AgentLaid(agent))
        self._edits.ledger.restored(path, text, checkpoint.pending.get(path))

    async def _follow(self, place: Place, live: BufferText, text: Text) -> None:
        """The buffer shows what the file holds."""
        for _ in range(ATTEMPTS):
            signature = await to_thread.run_sync(signature_of, place.real)
            outcome = await self._edits.bring(
                place.real, live, text, modified=False, signature=signature
            )
            if outcome == "done":
                return
            found = await self._edits.buffers.peek(place.real)
            if not isinstance(found, BufferText):
                return
            live = found
        raise Refused("its buffer could not follow")

    async def _buffer(self, path: str, checkpoint: Checkpoint) -> bool:
        """Unsaved edits as they were; where there were none, the buffer is as its file."""
        place = Place(path, path)
        live = await self._edits.buffers.load(place)
        if not isinstance(live, BufferText):
            raise Refused(live.why or "its buffer does not load")
        signature = await to_thread.run_sync(signature_of, path)
        text = checkpoint.unsaved.get(path)
        if text is None:
            if not live.modified:
                return False
            text = await to_thread.run_sync(
                disk.saved, place, self._edits.options().message_bytes, live.format
            )
        if not diff(live.text.lines, text.lines) and live.text.eol == text.eol:
            return False
        unsaved = path in checkpoint.unsaved
        outcome = await self._edits.bring(path, live, text, modified=unsaved, signature=signature)
        if outcome != "done":
            raise Refused(f"its buffer has {outcome}")
        self._pend(path, text, checkpoint)
        return True


def _put(place: Place, target: Target, rights: Rights | None) -> bool:
    """Make the file hold what it held; False when it does. A file that comes back has ``rights``.
    Blocked, Refusal, and OSError as of `spot`.
    """
    path = place.real
    if target.data is None:
        return _delete(path)
    if stat.S_ISREG(target.mode):
        return _write(place, target.data, rights, executable=bool(target.mode & 0o100))
    if stat.S_ISLNK(target.mode) and _points_to(Path(path)) == target.data:
        return False
    if obstacles.is_file(path):
        nofollow.remove(path)
    obstacles.make_way(path)
    obstacles.put(path, target.mode, target.data)
    return True


def _delete(path: str) -> bool:
    """Nothing is there any more. A folder is no file: it stays."""
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
    rights = rights or usual(executable)
    info = nofollow.info(place.real)
    if info is None or not stat.S_ISREG(info.st_mode):
        obstacles.make_way(place.real)
        info = None
    same = info is not None and _holds(place.real, data)
    if not same:
        disk.write(place, data, rights)
    mode = Rights.of(info).mode if info else rights.mode
    wanted = mode | 0o111 if executable else mode & ~0o111
    if info is not None and mode != wanted:
        nofollow.give(place.real, Rights(wanted, info.st_uid, info.st_gid))
    return not same or mode != wanted


def _holds(path: str, data: bytes) -> bool:
    with spot(path) as at, at.open() as file:
        return file.read() == data


def _points_to(path: Path) -> bytes | None:
    return os.fsencode(path.readlink()) if path.is_symlink() else None


def _text(data: bytes | None, layout: Format | None) -> Text | None:
    """The text that the file has now; BinaryError where it is none."""
    if data is None:
        return None
    return (decode_as(data, layout) if layout else decode(data)).text


def expected(choice: Choice, then: Checkpoint) -> dict[str, Doing]:
    """What a restore is going to make of its files. Reads some of them."""
    steps = {step.target.path: step for step in choice.steps}
    found: dict[str, Doing] = {}
    for path in choice.found:
        step = steps.get(path)
        marks = _tree_marks(step)
        if marks is None:
            marks = mark(choice.found[path]), mark(_after(path, step, choice, then))
        found[path] = Doing(*marks, agent=False)
    return found


def _after(path: str, step: Step | None, choice: Choice, then: Checkpoint) -> Content:
    """What a buffer, or else its file, is to hold."""
    if path in choice.unsaved and path in then.unsaved:
        return then.unsaved[path]
    if step is not None:
        return step.target.data
    return choice.touched[path] if path in choice.touched else content_of(path)


def _tree_marks(step: Step | None) -> tuple[str, str] | None:
    """Those of a step that is no other content of a file: another mode, a link."""
    if step is None or not step.in_trees:
        return None
    now, then = step.now, step.then
    if now and then and now.id == then.id and not now.fifo:
        return SAME, SAME
    special = any(blob and (blob.link or blob.fifo) for blob in (now, then))
    return (blob_mark(now), blob_mark(then)) if special else None
