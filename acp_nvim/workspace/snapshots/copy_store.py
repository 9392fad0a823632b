"""The stored trees of a directory without git: own copies, named by their content."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim.workspace import private_files
from acp_nvim.workspace.snapshots import left_out
from acp_nvim.workspace.snapshots.left_out import LeftOut, Marks
from acp_nvim.workspace.snapshots.store import (
    MAX_FILES,
    UNREADABLE,
    Blob,
    Change,
    LimitError,
    Room,
    Scan,
    content,
    is_beyond_link,
    read_packed,
    read_stored,
    write_packed,
)

SKIPPED: Final = frozenset(
    {
        *(".git", ".hg", ".svn", ".jj", "node_modules", ".venv", "venv", "__pycache__", ".tox"),
        *(".cache", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".direnv", ".gradle"),
    }
)
"""Directories of generated files, or of another store's data."""

FEW: Final = 32
"""Entries of a tree whose signatures are read at once, without a thread: some ten microseconds."""

Signature = tuple[int, int, int, int]


Tree = dict[str, Blob]
"""Contents by absolute path."""


class CopyStore:
    """Everything below ``root`` but `SKIPPED` directories and our own files."""

    def __init__(self, root: str, home: Path, own: Path | None = None) -> None:
        """``home`` is where the copies lie, ``own`` all that this program writes for itself: who
        works in their home directory has both below the root.
        """
        self._root = os.path.realpath(root)
        self._own = os.path.realpath(own or home)
        self._blobs = home / "blobs"
        private_files.directory(self._blobs)
        self._signatures: dict[str, Signature] = {}
        self._files: Tree = {}
        self._trees = Trees(home / "trees")
        self._marks = Marks(home / "out")
        self._out: dict[str, Blob] = {}
        self._closed: set[str] = set()
        """Directories that could not be read."""
        self._tree = ""

    @property
    def root(self) -> str:
        """The directory, absolute, symlinks resolved."""
        return self._root

    def scan(self, paths: Sequence[str] | None = None) -> Scan:
        """Look at everything, or at these files only. StoreError."""
        if paths is None or not self._tree:
            self._closed = set()
            present = list(self._walk())
            gone = sorted((self._files.keys() | self._out.keys()) - set(present))
        else:
            present, gone = self._direct(paths)
        self._forget(path for path in gone if not self._is_closed(path))
        room = Room()
        room.sort(path for path in present if self._is_new(path))
        self._take(room)
        before, self._tree = self._tree, self._name()
        changes = left_out.news(self.differences(before, self._tree)) if before else []
        told = [path for path, blob in self._out.items() if blob.is_missed]
        return Scan(self._tree, changes, told, list(room.fitting))

    def is_unchanged(self) -> bool:
        """Whether the next look finds nothing. Reads no file; a tree of more than `FEW`
        entries is not said to rest.
        """
        if not self._tree or len(self._signatures) > FEW:
            return False
        files = 0
        for count, entry in enumerate(self._below(), 1):
            if count > FEW:
                return False
            if not entry.is_dir(follow_symlinks=False):
                files += 1
                if self._signatures.get(entry.path) != _entry_signature(entry):
                    return False
        return files == len(self._signatures) and not self._closed

    def held(self) -> list[str]:
        """The files (absolute paths) of the present tree."""
        return list(self._files)

    def folders(self) -> list[str]:
        """The directories that a look goes through."""
        below = (entry for entry in self._below() if entry.is_dir(follow_symlinks=False))
        looked_at = (it.path for it in below if it.name not in SKIPPED and it.path != self._own)
        return [self._root, *looked_at]

    def skipped(self, paths: Sequence[str]) -> list[str]:
        """Those of these files (below the root), there or not, that `scan` passes over."""
        start = len(Path(self._root).parts)
        return [path for path in paths if SKIPPED.intersection(Path(path).parts[start:-1])]

    def differences(self, old: str, new: str) -> list[Change]:
        """The differences between two trees. StoreError."""
        (old_tree, was_out), (new_tree, is_out) = self._marks.parts(old), self._marks.parts(new)
        before, after = self._trees.get(old_tree), self._trees.get(new_tree)
        found = (
            Change(path, before.get(path), after.get(path))
            for path in before.keys() | after.keys()
            if before.get(path) != after.get(path)
        )
        return left_out.differences(found, was_out, is_out)

    def at(self, tree: str, path: str) -> Blob | None:
        """The content of one file in a tree; None if the tree has no such file. StoreError."""
        name, out = self._marks.parts(tree)
        return self._trees.get(name).get(path) or out.get(path)

    def contents(self, wanted: Sequence[tuple[str, Blob]]) -> dict[str, bytes]:
        """The stored bytes by absolute path; lost ones are missing."""
        found: dict[str, bytes] = {}
        for path, blob in wanted:
            try:
                if blob.fifo:
                    found[path] = b""
                    continue
                found[path] = zlib.decompress(read_stored(self._place(blob.id), 2))
            except (FileNotFoundError, zlib.error):
                continue
        return found

    # ---- within

    def _walk(self) -> Iterator[str]:
        """All files below the root. LimitError."""
        count = 0
        for entry in self._below():
            if not entry.is_dir(follow_symlinks=False):
                count += 1
                if count > MAX_FILES:
                    raise LimitError(f"{self._root} has more than {MAX_FILES} files and no git")
                yield entry.path

    def _below(self) -> Iterator[os.DirEntry[str]]:
        """All entries below the root, but those of `SKIPPED` directories and our own."""
        waiting = [self._root]
        while waiting:
            for entry in self._listed(waiting.pop()):
                yield entry
                if not entry.is_dir(follow_symlinks=False):
                    continue
                if entry.name not in SKIPPED and entry.path != self._own:
                    waiting.append(entry.path)

    def _listed(self, directory: str) -> list[os.DirEntry[str]]:
        """The entries of a directory. One that cannot be read is noted, unless it is gone."""
        try:
            with os.scandir(directory) as found:
                return list(found)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError:
            self._closed.add(directory)
            return []

    def _is_closed(self, path: str) -> bool:
        """Whether a file is in a directory that could not be read."""
        return bool(self._closed) and any(str(up) in self._closed for up in Path(path).parents)

    def _direct(self, paths: Sequence[str]) -> tuple[list[str], list[str]]:
        """Those of these files to look at, and those that are below the root no more: a directory
        on the way is a link now.
        """
        stem = self._root.rstrip(os.sep) + os.sep
        inside = [path for path in paths if path.startswith(stem)]
        away = {path for path in inside if is_beyond_link(path)}
        return [path for path in inside if path not in away], sorted(away)

    def _is_new(self, path: str) -> bool:
        """Whether a file is not as it was when it was taken in."""
        known = self._signatures.get(path)
        try:
            return known is None or known != _signature_of(os.lstat(path))
        except OSError:
            return True

    def _take(self, room: Room) -> None:
        """Store the files that have changed."""
        for path, info in room.fitting.items():
            try:
                data = content(path, info.st_mode)
            except OSError:
                self._leave_out(path, UNREADABLE)
                continue
            executable = 0o100755 if info.st_mode & 0o100 else 0o100644
            mode = 0o120000 if stat.S_ISLNK(info.st_mode) else executable
            self._out.pop(path, None)
            self._files[path] = Blob(self._keep(data), mode)
            self._signatures[path] = _signature_of(info)
        for path, blob in room.out.items():
            self._leave_out(path, blob)
        self._signatures |= {path: _signature_of(info) for path, info in room.settled.items()}
        self._forget(room.gone)

    def _leave_out(self, path: str, blob: Blob) -> None:
        self._files.pop(path, None)
        self._signatures.pop(path, None)
        self._out[path] = blob

    def _forget(self, paths: Iterable[str]) -> None:
        for path in paths:
            for known in (self._signatures, self._files, self._out):
                known.pop(path, None)

    def _keep(self, data: bytes) -> str:
        name = blake2b(data, digest_size=20).hexdigest()
        place = self._place(name)
        if not place.exists():
            place.parent.mkdir(mode=private_files.DIRECTORY, exist_ok=True)
            part = place.with_name(f"{place.name}.{os.getpid()}.part")
            with open(part, "wb", opener=private_files.opener) as file:
                file.write(zlib.compress(data, 1))
            part.replace(place)
        return name

    def _place(self, name: str) -> Path:
        return self._blobs / name[:2] / name[2:]

    def _name(self) -> str:
        digest = blake2b(digest_size=20)
        for path in sorted(self._files):
            blob = self._files[path]
            digest.update(f"{path}\0{blob.id}{blob.mode}\0".encode(errors="surrogateescape"))
        name = digest.hexdigest()
        self._trees.add(name, self._files, self._marks.parts(self._tree)[0])
        return self._marks.marked(name, LeftOut(dict(self._out), frozenset(self._closed)))


class _TreeChange(msgspec.Struct, frozen=True):
    """The difference from the tree of the name ``before`` (empty: no file)."""

    before: str
    there: dict[bytes, Blob]
    gone: list[bytes]


class Trees:
    """The trees of a `CopyStore` by name: which content each file had at some moment.

    Each is stored as the difference from the one before, in a file of that name, so that other
    processes know it as well.
    """

    def __init__(self, home: Path) -> None:
        """``home`` is their directory."""
        self._home = home
        self._known: dict[str, Tree] = {"": {}}

    def add(self, name: str, tree: Tree, before: str) -> None:
        """Keep a tree, if it is new. StoreError where it cannot be written."""
        if name in self._known:
            return
        old = self._known[before]
        there = {os.fsencode(path): it for path, it in tree.items() if old.get(path) != it}
        gone = [os.fsencode(path) for path in old.keys() - tree.keys()]
        data = msgspec.msgpack.encode(_TreeChange(before, there, gone))
        write_packed(self._home / name, data, sync=False)
        self._known[name] = dict(tree)

    def get(self, name: str) -> Tree:
        """The tree of that name. StoreError when it is not stored."""
        steps: list[tuple[str, _TreeChange]] = []
        while name not in self._known:
            steps.append((name, read_packed(self._home / name, _TreeChange)))
            name = steps[-1][1].before
        for later, stored in reversed(steps):
            tree = self._known[name] | {os.fsdecode(p): it for p, it in stored.there.items()}
            for path in stored.gone:
                tree.pop(os.fsdecode(path), None)
            self._known[later], name = tree, later
        return self._known[name]


def _signature_of(info: os.stat_result) -> Signature:
    return info.st_mtime_ns, info.st_size, info.st_ino, info.st_mode


def _entry_signature(entry: os.DirEntry[str]) -> Signature | None:
    try:
        return _signature_of(entry.stat(follow_symlinks=False))
    except OSError:
        return None
