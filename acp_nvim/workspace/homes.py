"""The folders of workspaces, found again after a workspace was moved or renamed.

A folder below `stdpath('data')/acp/workspaces` is named by the workspace's path (`roots.folder`).
A file `root` in it notes which directory that was (`identity.py`), and `by-inode/{number}` names
the folders of directories with that inode, a line each: `lua/acp/base/workspaces.lua` looks there,
too. A folder whose directory has made room for another one is `away-…` until it is found.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim.edits.hunks import diff
from acp_nvim.edits.records import Lost, Reader, decoded, encoded
from acp_nvim.edits.text import EMPTY
from acp_nvim.workspace import moved_paths, private_files, roots
from acp_nvim.workspace.identity import Identity, identity_of
from acp_nvim.workspace.journal import ROOT
from acp_nvim.workspace.moved_paths import Move
from acp_nvim.workspace.replica import FILE, SESSION, FileRecord

if sys.platform != "win32":
    import fcntl

AWAY: Final = "away-"


class _Note(msgspec.Struct, frozen=True, array_like=True):
    """The directory of a folder, when that was last written."""

    path: bytes
    identity: Identity

    def is_at(self, root: str, identity: Identity | None) -> bool:
        """Whether it is this directory, at this path."""
        return decoded(self.path) == root and self.identity.is_same(identity)


class Settled(msgspec.Struct, frozen=True):
    """What became of the folders of a path."""

    move: Move | None = None
    """The directory was moved there since something was kept of it."""
    until: float = math.inf
    """When it was last in use at its old path, in seconds since 1970, where another is there."""
    sessions: frozenset[str] = frozenset()
    """The keys of sessions that were its own."""
    is_anothers: bool = False
    """What was kept for this path is of a directory that was there before."""


class Homes:
    """All folders of workspaces. What it does blocks, and may raise OSError."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._stores = data / "acp" / "checkpoints"
        self._all = data / "acp" / "workspaces"

    # -- noting -----------------------------------------------------------------------------------

    def note(self, root: str) -> None:
        """The folder of this directory is in use: it can be found wherever that is moved to."""
        folder, identity = self._all / roots.name(root), identity_of(root)
        if identity is None:
            return
        note = _Note(encoded(root), identity)
        if _noted(folder) != note or folder.name not in self._names(identity.inode):
            with self._alone():
                self._note(folder, note)

    def _note(self, folder: Path, note: _Note) -> None:
        self._index(note.identity.inode, add=folder.name)
        private_files.write(folder / ROOT, msgspec.msgpack.encode(note), sync=False)

    def _names(self, inode: int) -> list[str]:
        """The folders of directories with this inode, as far as they are known."""
        return roots.indexed(self._data, inode)

    def _index(self, inode: int, *, add: str, drop: str = "") -> None:
        names = [name for name in self._names(inode) if name not in (add, drop)]
        there = [name for name in names if (self._all / name).exists()]
        text = "".join(f"{name}\n" for name in (add, *there))
        private_files.write(self._all / roots.INDEX / str(inode), text.encode(), sync=False)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process renames folders meanwhile; that takes moments."""
        private_files.directory(self._all)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        handle = os.open(self._all / "lock", flags, private_files.FILE)
        try:
            if sys.platform != "win32":
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    # -- finding ----------------------------------------------------------------------------------

    def settle(self, root: str) -> Settled:
        """See to it that the folder for a path is that of the directory which is there now; tells
        where that was. NewerVersionError: a newer version has written it, it stays where it is.
        """
        folder = self._all / roots.name(root)
        if roots.is_settled(self._data, root):
            return Settled()
        if _noted(folder) is None and not self._elsewhere(folder, roots.inode_of(root)):
            return Settled()
        with self._alone():
            return self._settle(root, folder)

    def _elsewhere(self, folder: Path, inode: int) -> list[Path]:
        """Other folders that may be of the directory."""
        return [self._all / name for name in self._names(inode) if name != folder.name]

    def _settle(self, root: str, folder: Path) -> Settled:
        identity, note = identity_of(root), _noted(folder)
        if identity is None or (note is not None and note.is_at(root, identity)):
            return Settled()
        if note is not None and note.identity.is_same(identity):
            return self._finish(folder, note, root)  # a process was killed in between
        found = self._found(root, folder, identity)
        if found is None and not self._is_anothers(folder, note, root, identity):
            return Settled()
        moved_paths.read(folder if found is None else found[0])  # unless it is a newer version's
        self._set_aside(folder, note)
        if found is None:
            return Settled(is_anothers=True)
        home, earlier = found
        self._move_stores(home, Move(decoded(earlier.path), root))
        home.rename(folder)
        return self._finish(folder, earlier, root)

    def _found(self, root: str, folder: Path, identity: Identity) -> tuple[Path, _Note] | None:
        """The folder of the directory, from where that was before."""
        for other in self._elsewhere(folder, identity.inode):
            note = _noted(other)
            if note is not None and note.identity.is_same(identity) and _has_left(note, root):
                return other, note
        return None

    def _move_stores(self, home: Path, move: Move) -> None:
        """The contents of checkpoints are found at the new paths, before their folder is."""
        owner = home.name if home.name.startswith(AWAY) else ""
        for directory in moved_paths.stored(moved_paths.read(home)[1]):
            old = moved_paths.store_name(directory, owner)
            new = moved_paths.store_name(move.path(directory))
            moved_paths.move_store(self._stores, old, new, move)

    def _finish(self, folder: Path, note: _Note, root: str) -> Settled:
        """The folder is in its place; its journal follows."""
        move = Move(decoded(note.path), root)
        until = _used_at(folder) if Path(move.old).exists() else math.inf
        _, reader = moved_paths.read(folder)
        sessions = frozenset(decoded(key) for kind, key in reader.values if kind == SESSION)
        moved_paths.move_journal(folder, move)
        identity = identity_of(root) or note.identity
        self._note(folder, _Note(encoded(root), identity))
        return Settled(move, until, sessions)

    # -- another directory at the path ------------------------------------------------------------

    def _is_anothers(self, folder: Path, note: _Note | None, root: str, identity: Identity) -> bool:
        """Whether a folder is of a directory that was here before: that is known where the file
        system tells when both were made, and no file has any of its edits.
        """
        if note is None or decoded(note.path) != root:
            return note is not None
        if not note.identity.born or not identity.born:
            return False
        return not _has_edits(moved_paths.read(folder)[1])

    def _set_aside(self, folder: Path, note: _Note | None) -> None:
        """Keep a folder for the directory that it is of."""
        if not folder.exists():
            return
        number, suffix = note.identity.inode if note else 0, 0
        while (away := self._all / f"{AWAY}{number}-{suffix}").exists():
            suffix += 1
        for directory in moved_paths.stored(moved_paths.read(folder)[1]):
            owned = moved_paths.store_name(directory, away.name)
            there = moved_paths.store_name(directory)
            if (self._stores / there).exists():
                (self._stores / there).rename(self._stores / owned)
        folder.rename(away)
        if note is not None:
            self._index(number, add=away.name, drop=folder.name)


def _noted(folder: Path) -> _Note | None:
    try:
        return msgspec.msgpack.decode((folder / ROOT).read_bytes(), type=_Note)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None


def _has_left(note: _Note, root: str) -> bool:
    """Whether a directory is not where it was noted any more."""
    old = decoded(note.path)
    return os.path.realpath(old) == root or not note.identity.is_same(identity_of(old))


def _used_at(folder: Path) -> float:
    with suppress(FileNotFoundError):
        return (folder / "journal").stat().st_mtime
    return folder.stat().st_mtime


def _has_edits(reader: Reader) -> bool:
    """Whether any file has lines of its pending edits."""
    return any(_is_there(reader, key) for kind, key in reader.values if kind == FILE)


def _is_there(reader: Reader, key: bytes) -> bool:
    record = reader.value(FILE, key, FileRecord)
    if record is None or record.edits.entry is None:
        return False
    try:
        base, live = reader.text(record.edits.entry.base), reader.text(record.edits.entry.live)
        content = Path(decoded(key)).read_bytes()
    except (Lost, OSError):
        return False
    if live is None:
        return False
    text = content.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    return text == str(live) or any(
        "\n" + "\n".join(hunk.lines) + "\n" in f"\n{text}\n"
        for hunk in diff((base or EMPTY).lines, live.lines)
        if any(hunk.lines)
    )
