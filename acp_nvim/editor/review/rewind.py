"""Checkpoints made before prompts, listed, and brought back: files and buffers."""

from __future__ import annotations

import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from anyio import to_thread

from acp_nvim.agent.fs import atomic_write, disk, nofollow
from acp_nvim.agent.fs.decode import BinaryError, Format, decode, decode_as, encode
from acp_nvim.agent.fs.live import BufferText
from acp_nvim.agent.fs.nofollow import Rights, spot
from acp_nvim.agent.fs.paths import Place
from acp_nvim.agent.workspace.checkpoints import Checkpoint, Checkpoints, Plan, Target
from acp_nvim.agent.workspace.rights import usual
from acp_nvim.agent.workspace.snapshots import Snapshots, below, stamp_of
from acp_nvim.agent.workspace.store import StoreError, names
from acp_nvim.editor.bridge import NvimError
from acp_nvim.editor.review import since
from acp_nvim.editor.review.decide import Decide, Refused, refused_why
from acp_nvim.editor.review.disk_edits import DiskEdits
from acp_nvim.editor.review.edits import Edits
from acp_nvim.editor.review.laying import laid, lay
from acp_nvim.edits.hunks import diff
from acp_nvim.edits.seen import Act
from acp_nvim.edits.text import Text
from acp_nvim.protocol.errors import RequestError
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session

LABEL: Final = 60
"""Characters of a prompt that a checkpoint is called by."""
ATTEMPTS: Final = 5
NONE: Final = (
    "no checkpoints yet: one is made before each prompt, and they are known as long as the Neovim "
    "lives that made them"
)
NOTHING: Final = "no restore to undo; :Acp checkpoints lists what there is"


class Rewind:
    """Makes and restores the checkpoints of all sessions."""

    def __init__(
        self, edits: Edits, decide: Decide, disk_edits: DiskEdits, snapshots: Snapshots
    ) -> None:
        self.checkpoints = Checkpoints(snapshots)
        self._edits = edits
        self._decide = decide
        self._disk = disk_edits
        self._snapshots = snapshots
        self._prompts: dict[int, tuple[Prompt | None, int]] = {}

    def number(self, session: Session, prompt: Prompt) -> int:
        """A prompt goes out, perhaps once more; returns its number, 1 for the session's first."""
        last, n = self._prompts.get(session.n, (None, 0))
        if last is not prompt:
            n += 1
        self._prompts[session.n] = prompt, n
        return n

    async def keep(self, session: Session, n: int, label: str) -> Checkpoint:
        """Keep the state before prompt ``n``; `complete` it after a look at the directories."""
        checkpoint = await self._present(session, n, label)
        self.checkpoints.add(session.n, checkpoint)
        self._tell(session)
        return checkpoint

    def revived(self, session: Session) -> None:
        """A session goes on whose checkpoints another process has made."""
        numbers = [checkpoint.n for checkpoint in self.checkpoints.kept(session.n)]
        self._prompts[session.n] = None, max(numbers, default=0)
        self._tell(session)

    def _tell(self, session: Session) -> None:
        labels = {kept.n: kept.label for kept in self.checkpoints.kept(session.n)}
        session.checkpoints = [{"n": n, "label": label} for n, label in labels.items()]
        session.change("checkpoints")

    def complete(self, checkpoint: Checkpoint, session: Session) -> None:
        """The directories have been looked at."""
        checkpoint.trees.clear()
        checkpoint.trees.update(self._snapshots.trees(session.roots))
        checkpoint.reasons[:] = self._snapshots.reasons(session.roots)

    async def _present(self, session: Session, n: int, label: str) -> Checkpoint:
        roots = [Place(root, root).real for root in session.roots]
        words = " ".join(label.split())
        return self.checkpoints.make(
            n,
            words if len(words) <= LABEL else words[: LABEL - 1] + "…",
            session.roots,
            await self._unsaved(roots),
            self._edits.ledger.files(),
        )

    async def _unsaved(self, roots: Sequence[str]) -> dict[str, Text]:
        """Buffers with unsaved edits below these directories."""
        try:
            found: list[dict[str, Any]] = await self._edits.bridge.call(
                "acp.buffers.disk_changes", "unsaved"
            )
        except NvimError:
            return {}  # Neovim is closing
        return {
            item["path"]: Text(tuple(item["lines"]), bool(item["eol"]))
            for item in found
            if any(below(item["path"], root) for root in roots)
        }

    # ---- seeing

    async def listed(self, session: Session) -> list[str]:
        """The checkpoints of a session with what changed since, newest first, as Markdown."""
        kept = self.checkpoints.kept(session.n)
        if not kept:
            return [NONE]
        await self._disk.look(session.roots)
        now = self._snapshots.trees(session.roots)
        lines: list[str] = []
        for checkpoint in reversed(kept):
            lines += await self._line(session, checkpoint, now)
        return lines

    async def changes(self, session: Session, n: int) -> list[str]:
        """What changed since the checkpoint before prompt ``n``, as a unified diff."""
        checkpoint = self.checkpoints.get(session.n, n)
        if checkpoint is None:
            return [self._missing(session, n)]
        await self._disk.look(session.roots)
        present = await self._present(session, n, "")
        plan = await self.checkpoints.plan(session.n, checkpoint, present.trees)
        found = await to_thread.run_sync(since.rows, checkpoint, present, plan, session.cwd)
        return found or [f"nothing has changed since before prompt {n}"]

    async def _line(
        self, session: Session, checkpoint: Checkpoint, now: dict[str, str]
    ) -> list[str]:
        at = time.strftime("%H:%M:%S", time.localtime(checkpoint.time))
        head = f"{checkpoint.n:3}  {at}  {checkpoint.label}"
        try:
            paths = await self.checkpoints.since(checkpoint, now)
            changed = names(paths, session.cwd)
            became = f"{len(paths)} changed since: {changed}" if paths else "as now"
        except StoreError as error:
            became = str(error)
        return [head, f"     {became}", *(f"     {reason}" for reason in checkpoint.reasons)]

    # ---- bringing back

    async def restore(self, session: Session, n: int | None) -> list[str]:
        """Bring files and buffers back to before prompt ``n``; None: undo the last restore."""
        if session.status in ("running", "cancelling"):
            return ["a turn is running: cancel it before files are restored"]
        await self._disk.over(session)
        await self._disk.look(session.roots)
        async with self._edits.alone():
            return await self._restore(session, n)

    async def _restore(self, session: Session, n: int | None) -> list[str]:
        undone = self.checkpoints.take_undo(session.n) if n is None else None
        checkpoint = undone if n is None else self.checkpoints.get(session.n, n)
        if checkpoint is None:
            return [NOTHING if n is None else self._missing(session, n)]
        await self._snapshots.look(session.roots)
        present = await self._present(session, checkpoint.n, f"before restore {checkpoint.n}")
        plan = await self.checkpoints.plan(session.n, checkpoint, present.trees)
        for path in plan.touched:
            present.touched[path] = await self._edits.sync(path)
        plan.touched.update(checkpoint.touched if undone is not None else {})
        if undone is None:
            self.checkpoints.restored(session.n, present)
        act = Act.DECIDED if undone is None else Act.RETURNED
        paths = {*(it.path for it in plan.targets), *plan.touched}
        paths |= checkpoint.unsaved.keys() | present.unsaved.keys()
        async with self._edits.carrying_out(paths, act):
            notes, count = await self._carry_out(plan, checkpoint, present)
        what = "the restore was undone" if undone else f"restored to before prompt {checkpoint.n}"
        return [f"{what}: {count} file{'' if count == 1 else 's'} changed", *notes, *plan.reasons]

    def _missing(self, session: Session, n: int) -> str:
        kept = self.checkpoints.kept(session.n)
        if not kept:
            return "this session has no checkpoints of this run of Neovim"
        there = (
            f"there are {kept[0].n} to {kept[-1].n}"
            if len(kept) > 1
            else f"there is only {kept[0].n}"
        )
        return f"no checkpoint {n}; {there}"

    async def _carry_out(
        self, plan: Plan, checkpoint: Checkpoint, present: Checkpoint
    ) -> tuple[list[str], int]:
        notes: list[str] = []
        done: set[str] = set()
        for target in plan.targets:
            await self._try(self._file(target, checkpoint), target.path, done, notes)
        for path, text in plan.touched.items():
            data = None if text is None else encode(text, self._format(path))
            await self._try(self._file(Target(path, data), checkpoint), path, done, notes)
        for path in checkpoint.unsaved.keys() | present.unsaved.keys():
            await self._try(self._buffer(path, checkpoint), path, done, notes)
        self._edits.changed(*done)
        await self._snapshots.look(list(checkpoint.trees))  # what changed now is no agent's
        return notes, len(done)

    async def _try(self, work: Any, path: str, done: set[str], notes: list[str]) -> None:
        try:
            if await work:
                done.add(path)
        except (Refused, RequestError, OSError) as error:
            words = error.strerror if isinstance(error, OSError) else refused_why(error)
            notes.append(f"{Path(path).name} was left as it is: {words}")

    def _format(self, path: str) -> Format:
        live = self._edits.mirrors.get(path)
        return live.format if live else self._edits.layouts.get(path) or Format()

    async def _file(self, target: Target, checkpoint: Checkpoint) -> bool:
        """Bytes and mode on disk, then the buffer, then what was pending."""
        place = Place(target.path, target.path)
        rights = self._snapshots.rights(target.path)
        changed = await to_thread.run_sync(_put, place, target, rights)
        found = self._edits.mirrors.found(place.real, await self._edits.buffers.peek(place))
        live = found if isinstance(found, BufferText) else None
        try:
            lies = laid(live.format if live else None, target.data, target.data)
            layout = lies.over(live.format)[1] if lies and live else None
            text = _text(target, layout)
        except BinaryError:
            return changed
        self._edits.known[place.real] = text
        self._edits.layouts.lies(place.real, text, lies.new if lies else None)
        if live is not None and text is None:
            await self._edits.bridge.call("acp.buffers.disk_changes", "vacate", live.bufnr)
            await self._edits.mirrors.read(place)
        elif live is not None and text is not None:
            await self._follow(place, live, text)
            if layout is not None and layout != live.format:
                await lay(self._edits.bridge, live, layout)
                await self._edits.mirrors.read(place)
        self._edits.ledger.restored(place.real, text, checkpoint.pending.get(place.real))
        return changed

    async def _follow(self, place: Place, live: BufferText, text: Text) -> None:
        """The buffer shows what the file holds."""
        for _ in range(ATTEMPTS):
            stamp = await to_thread.run_sync(stamp_of, place.real)
            outcome = await self._edits.bring(live, text, modified=False, stamp=stamp)
            if outcome == "done":
                return
            found = self._edits.mirrors.found(place.real, await self._edits.buffers.peek(place))
            if not isinstance(found, BufferText):
                return
            live = found
        raise Refused("its buffer could not follow")

    async def _buffer(self, path: str, checkpoint: Checkpoint) -> bool:
        """Unsaved edits as they were; where there were none, the buffer is as its file."""
        place = Place(path, path)
        live = await self._edits.mirrors.load(place)
        if not isinstance(live, BufferText):
            raise Refused(live.why or "its buffer does not load")
        stamp = await to_thread.run_sync(stamp_of, path)
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
        outcome = await self._edits.bring(live, text, modified=unsaved, stamp=stamp)
        if outcome != "done":
            raise Refused(f"its buffer has {outcome}")
        self._edits.ledger.restored(path, text, checkpoint.pending.get(path))
        return True


def _put(place: Place, target: Target, rights: Rights | None) -> bool:
    """Make the file hold what it held; False when it does. A file that comes back has ``rights``.
    RequestError, and OSError as of `spot`.
    """
    if target.data is None:
        return _delete(place.real)
    if target.mode == 0o120000:
        nofollow.symlink(place.real, target.data)
        return True
    executable = bool(target.mode & 0o100)
    rights = rights or usual(executable)
    info = nofollow.info(place.real)
    if info is not None and stat.S_ISLNK(info.st_mode):
        atomic_write.replace(place.real, target.data, rights)
        return True
    same = info is not None and _holds(place.real, target.data)
    if not same:
        disk.write(place, target.data, rights)
    mode = Rights.of(info).mode if info else rights.mode
    wanted = mode | 0o111 if executable else mode & ~0o111
    if info is not None and mode != wanted:
        nofollow.give(place.real, Rights(wanted, info.st_uid, info.st_gid))
    return not same or mode != wanted


def _holds(path: str, data: bytes) -> bool:
    with spot(path) as at, at.open() as file:
        return file.read() == data


def _delete(path: str) -> bool:
    """Delete what is there, but for a directory; False when nothing is."""
    try:
        with spot(path) as at:
            info = at.info()
            if info is None:
                return False
            at.unlink()
            return True
    except (FileNotFoundError, NotADirectoryError):
        return False


def _text(target: Target, layout: Format | None) -> Text | None:
    """The text that the file has now; BinaryError where it is none."""
    if target.data is None:
        return None
    return (decode_as(target.data, layout) if layout else decode(target.data)).text
