"""Notes on saves and decisions by the user in other Neovims.

From its first turn on, a process has an inbox in `stdpath('data')/acp/saves`. The other Neovims
append a note to all inboxes before each write, and one after it with the contents of the file
before and after the write (`lua/acp/buffers/save_notes.lua`). So a scan can separate the save from
changes by an agent right before and after it. A write that fails has a note, too. Hosts note the
writes of decisions in the same way. The inbox is locked while the process lives. The next process
removes the inboxes of dead ones. Only the user may read the folder.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import anyio
import msgspec
from anyio import to_thread
from msgspec import UNSET, UnsetType

from acp_nvim.edits.records import from_bytes, to_bytes
from acp_nvim.files.bytes import nofollow, private_files
from acp_nvim.files.bytes.disk import signature_of

MAX_WRITE_NS: Final = 1_000_000_000
"""Time for which a scan waits for the note after a write, from the change on, in nanoseconds."""
MAX_LATE_NS: Final = 10_000_000_000
"""Time after which a change is an agent's although a Neovim may be writing the file."""
PAUSE_S: Final = 0.01
MAX_INBOX: Final = 8 << 20
"""Size in bytes at which an inbox stops getting notes on decisions."""
MAX_READ: Final = 1 << 20
"""Size in bytes of an inbox from which the next turn gets a new one."""
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
_HEAD: Final = re.compile(rb"(begin|end|failed) (\d+) (\d+) (\d+) (-?\d+) (-?\d+)\n")
_NO_FILE: Final = -1
_UNKNOWN: Final = -2
_APPEND: Final = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
_MAX_FILE: Final = 256 * 1024
"""Size in bytes of a file from which its contents are not noted."""

Content = bytes | UnsetType | None
"""Bytes of a file, None if there is no file, UNSET if they are not known."""


class Save(msgspec.Struct, frozen=True):
    """Contents of a file before and after a save, and the signature afterwards."""

    before: Content
    after: Content
    signature: str | None


class _Note(msgspec.Struct, frozen=True):
    kind: str
    """`begin`, `end` or `failed`."""
    writer: int
    path: str
    save: Save


class _Inbox:
    """Inbox file of this process."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self.handle = handle
        self._rest = b""
        """Beginning of an incomplete note."""

    @property
    def size(self) -> int:
        """Return the number of bytes in the file."""
        return os.fstat(self.handle).st_size

    def read(self) -> Iterator[_Note]:
        with suppress(OSError):
            while data := os.read(self.handle, 1 << 20):
                self._rest += data
        while (found := _first_note(self._rest)) is not None:
            note, size = found
            self._rest = self._rest[size:]
            yield note


class SaveNotes:
    """Inbox of this process. No method raises OSError: without an inbox there are no notes."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._count = 0
        """Number of inboxes so far."""
        self._inboxes: list[_Inbox] = []
        """The inbox and the one before it, which a Neovim may have opened before its removal."""
        self._saves: dict[str, list[Save]] = {}
        """Saves by real path, until they are processed."""
        self._begun: dict[str, dict[int, str | None]] = {}
        """Signatures of files before the writes that have no second note yet, by writer."""

    def set_inbox(self, data: Path, instance: str) -> None:
        """Set the inbox, below `stdpath('data')`; `instance` names this Neovim."""
        self._path = data / "acp" / "saves" / f"{instance}.{os.getpid()}"

    def open(self) -> None:
        """Create an inbox before a turn, unless there is a small one. This call blocks."""
        if self._path is None or (self._inboxes and self._inboxes[-1].size < MAX_READ):
            return
        with suppress(OSError):
            for path in private_files.directory(self._path.parent).iterdir():
                _remove_dead(path)
            self._count += 1
            path = self._path.with_name(f"{self._path.name}.{self._count}")
            inbox = _Inbox(path, os.open(path, _FLAGS, private_files.FILE))
            private_files.try_lock(inbox.handle)
            for earlier in self._inboxes[:-1]:
                os.close(earlier.handle)
            self._inboxes = [*self._inboxes[-1:], inbox]
            for earlier in self._inboxes[:-1]:
                earlier.path.unlink(missing_ok=True)

    @asynccontextmanager
    async def note_write(self, path: str) -> AsyncIterator[None]:
        """Note a write for a decision by the user, as `save_notes.lua` notes a save.

        It counts as failed if the context raises an exception.
        """
        inboxes = await to_thread.run_sync(self._other_inboxes)
        if not inboxes:
            yield
            return
        before, signature = await to_thread.run_sync(_content_of, path)
        await to_thread.run_sync(_append, inboxes, "begin", path, signature, (UNSET, UNSET))
        kind = "failed"
        try:
            yield
            kind = "end"
        finally:
            after, signature = await to_thread.run_sync(_content_of, path)
            await to_thread.run_sync(_append, inboxes, kind, path, signature, (before, after))

    def _other_inboxes(self) -> list[Path]:
        """Return the inboxes of other Neovims."""
        if self._path is None:
            return []
        instance = self._path.name.rpartition(".")[0]
        with suppress(OSError):
            found = self._path.parent.iterdir()
            return [path for path in found if not path.name.startswith(f"{instance}.")]
        return []

    def close(self) -> None:
        """Remove the inbox at the end of this process."""
        for inbox in self._inboxes:
            os.close(inbox.handle)
            with suppress(OSError):
                inbox.path.unlink()
        self._inboxes.clear()

    def saved_paths(self) -> list[str]:
        """Return the real paths of files with saves that have not been processed."""
        self._read()
        return [path for path, saves in self._saves.items() if saves]

    def keep(self, paths: Collection[str]) -> None:
        """Forget the saves of all other files."""
        self._saves = {path: saves for path, saves in self._saves.items() if path in paths}

    def forget_until(self, path: str, signature: str | None) -> None:
        """Forget the saves of a file up to the one with this signature."""
        saves = self._saves.get(path, [])
        saves[:] = [save for save in saves if _is_older(signature, save.signature)]

    def is_saved(self, path: str, signature: str | None) -> bool:
        """Return whether the user has saved a file with this signature in another Neovim."""
        self._read()
        return any(save.signature == signature for save in self._saves.get(path, ()))

    async def saves(
        self, path: str, signature: str | None, at: int, own: str | None
    ) -> Sequence[Save]:
        """Return the saves of a file that have not been processed, oldest first.

        `signature` is the file's current one, and `at` the time of its last change in nanoseconds.
        If a Neovim is writing the file, wait for the note after the write. `own` is the signature
        of the last save in this Neovim, which has replaced earlier saves.
        """
        self._read()
        while self._writers(path, signature) and time.time_ns() - at < MAX_WRITE_NS:
            await anyio.sleep(PAUSE_S)
            self._read()
        if self._writers(path, signature) and not self.is_being_written(path, signature, at):
            del self._begun[path]
        return self.saves_since(path, own)

    def saves_since(self, path: str, own: str | None) -> Sequence[Save]:
        """Return the saves as `saves` does, but don't wait for a note."""
        saves = self._saves.setdefault(path, [])
        return [save for save in saves if not _is_older(save.signature, own)]

    def is_being_written(self, path: str, signature: str | None, at: int) -> bool:
        """Return whether another Neovim may have changed a file at a time in nanoseconds.

        Then the note after the write is still missing. A Neovim that was killed writes none, and
        one that asks the user whether to overwrite the file may write it much later. The agent's
        changes must not count as saved in either case, nor stay unseen for long.
        """
        writers = self._writers(path, signature)
        return time.time_ns() - at < MAX_LATE_NS and any(map(_is_alive, writers))

    def forget(self, path: str, saves: Sequence[Save]) -> None:
        """Forget saves that have been processed, and the ones before them."""
        if saves:
            known = self._saves[path]
            del known[: known.index(saves[-1]) + 1]

    def _writers(self, path: str, signature: str | None) -> list[int]:
        """Return the Neovims that have begun to write a file with another signature."""
        begun = self._begun.get(path, {})
        return [writer for writer, before in begun.items() if before != signature]

    def _read(self) -> None:
        for note in (note for inbox in self._inboxes for note in inbox.read()):
            begun = self._begun.setdefault(note.path, {})
            begun.pop(note.writer, None)
            if note.kind == "begin":
                begun[note.writer] = note.save.signature
            elif note.kind == "end" and (
                note.save.before is UNSET or note.save.before != note.save.after
            ):
                self._saves.setdefault(note.path, []).append(note.save)


def _content_of(path: str) -> tuple[Content, str | None]:
    """Return the bytes of a file, UNSET for a large or special one, and its signature."""
    signature = signature_of(path)
    try:
        return nofollow.read(path, _MAX_FILE), signature
    except OSError:
        return UNSET, signature


def _append(
    inboxes: Sequence[Path],
    kind: str,
    path: str,
    signature: str | None,
    contents: tuple[Content, Content],
) -> None:
    """Append a note to the inboxes that still exist and are not large."""
    parts = [to_bytes(path), (signature or "").encode()]
    sizes = [*map(len, parts), *map(_size_of, contents)]
    head = f"{kind} {os.getpid()} {' '.join(map(str, sizes))}\n".encode()
    data = b"".join([head, *parts, *(part for part in contents if isinstance(part, bytes))])
    for inbox in inboxes:
        with suppress(OSError):
            handle = os.open(inbox, _APPEND)
            try:
                size = os.fstat(handle).st_size
                written = os.write(handle, data) if size < MAX_INBOX else len(data)
                if written < len(data) and os.fstat(handle).st_size == size + written:
                    os.ftruncate(handle, size)  # the disk is full; later notes must be readable
            finally:
                os.close(handle)


def _size_of(content: Content) -> int:
    """Return the size in a note."""
    if isinstance(content, UnsetType):
        return _UNKNOWN
    return _NO_FILE if content is None else len(content)


def _first_note(data: bytes) -> tuple[_Note, int] | None:
    """Return the first note and its size, or None if the note is not complete."""
    head = _HEAD.match(data)
    if head is None:
        return None
    writer, *sizes = map(int, head.groups()[1:])
    parts, at = list[bytes](), head.end()
    for size in sizes:
        parts.append(data[at : at + max(size, 0)])
        at += max(size, 0)
    if len(data) < at:
        return None
    contents: list[Content] = [
        part if size >= 0 else None if size == _NO_FILE else UNSET
        for part, size in zip(parts[2:], sizes[2:], strict=True)
    ]
    save = Save(contents[0], contents[1], parts[1].decode() or None)
    return _Note(head[1].decode(), writer, from_bytes(parts[0]), save), at


def _is_older(signature: str | None, other: str | None) -> bool:
    """Return whether a signature is older than another one."""
    if signature is None or other is None:
        return False
    return _time_of(signature) < _time_of(other)


def _time_of(signature: str) -> tuple[int, ...]:
    """Return the time of the last change in a signature."""
    return tuple(map(int, signature.split(".")[:2]))


def _is_alive(pid: int) -> bool:
    if sys.platform == "win32":  # the call would interrupt the process
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _remove_dead(path: Path) -> None:
    """Remove an inbox whose process is dead. Windows removes no file that a process has open."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDWR)
        is_dead = private_files.try_lock(handle)
        os.close(handle)
        if is_dead:
            path.unlink()
