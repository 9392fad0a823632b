"""The kept states of a directory without git: own copies, named by their content."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

from acp_nvim.agent import whole
from acp_nvim.agent.workspace.store import (
    MAX_FILES,
    Blob,
    Change,
    LimitError,
    Room,
    Scan,
)
from acp_nvim.agent.workspace.trees import Tree, Trees

SKIPPED: Final = frozenset(
    {
        *(".git", ".hg", ".svn", ".jj", "node_modules", ".venv", "venv", "__pycache__", ".tox"),
        *(".cache", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".direnv", ".gradle"),
    }
)
"""Directories that hold what programs made, or another store's data."""

FEW: Final = 32
"""Entries of a tree whose stamps are read at once, without a thread: some ten microseconds."""

Stamp = tuple[int, int, int, int]


class CopyStore:
    """Everything below ``root`` but `SKIPPED` directories and what is ours."""

    def __init__(self, root: str, home: Path, own: Path | None = None) -> None:
        """``home`` is where the copies lie, ``own`` all that this program writes for itself: who
        works in his home directory has both below the root.
        """
        self._root = os.path.realpath(root)
        self._own = os.path.realpath(own or home)
        self._blobs = home / "blobs"
        whole.directory(self._blobs)
        self._stamps: dict[str, Stamp] = {}
        self._files: Tree = {}
        self._trees = Trees(home / "trees")
        self._tree = ""

    @property
    def root(self) -> str:
        """The directory, absolute, symlinks resolved."""
        return self._root

    def scan(self, paths: Sequence[str] | None = None) -> Scan:
        """Look at everything, or at these files only. StoreError."""
        room = Room()
        if paths is None or not self._tree:
            present = list(self._walk())
            gone = self._files.keys() - set(present)
        else:
            stem = self._root.rstrip(os.sep) + os.sep
            present = [path for path in paths if path.startswith(stem)]
            gone = set()
        for path in [*present, *gone]:
            self._take(path, room)
        before, self._tree = self._tree, self._named()
        changes = self.differences(before, self._tree) if before else []
        return Scan(self._tree, changes, room.left_out)

    def rests(self) -> bool:
        """Whether the next look would find nothing. Reads no file; a tree of more than `FEW`
        entries is not said to rest.
        """
        if not self._tree or len(self._stamps) > FEW:
            return False
        waiting, left, files = [self._root], FEW, 0
        while waiting:
            for entry in _entries(waiting.pop()):
                left -= 1
                if left < 0:
                    return False
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED and entry.path != self._own:
                        waiting.append(entry.path)
                elif entry.is_symlink() or entry.is_file():
                    files += 1
                    if self._stamps.get(entry.path) != _stamp(entry):
                        return False
        return files == len(self._stamps)

    def held(self) -> list[str]:
        """The files (absolute paths) of the present tree."""
        return list(self._files)

    def unkept(self, paths: Sequence[str]) -> list[str]:
        """Those of these files (below the root), there or not, that `scan` passes over."""
        start = len(Path(self._root).parts)
        return [path for path in paths if SKIPPED.intersection(Path(path).parts[start:-1])]

    def differences(self, old: str, new: str) -> list[Change]:
        """What differs between two trees. StoreError."""
        before, after = self._trees.get(old), self._trees.get(new)
        paths = sorted(before.keys() | after.keys())
        return [
            Change(path, before.get(path), after.get(path))
            for path in paths
            if before.get(path) != after.get(path)
        ]

    def contents(self, wanted: Sequence[tuple[str, Blob]]) -> dict[str, bytes]:
        """The kept bytes by absolute path; those that are gone lack."""
        found: dict[str, bytes] = {}
        for path, blob in wanted:
            try:
                found[path] = zlib.decompress(self._place(blob.id).read_bytes())
            except (FileNotFoundError, zlib.error):
                continue
        return found

    # ---- within

    def _walk(self) -> Iterator[str]:
        waiting = [self._root]
        count = 0
        while waiting:
            for entry in _entries(waiting.pop()):
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED and entry.path != self._own:
                        waiting.append(entry.path)
                    continue
                count += 1
                if count > MAX_FILES:
                    raise LimitError(f"{self._root} has more than {MAX_FILES} files and no git")
                yield entry.path

    def _take(self, path: str, room: Room) -> None:
        """Bring one file up to date."""
        try:
            info = os.lstat(path)
        except OSError:
            self._stamps.pop(path, None)
            self._files.pop(path, None)
            return
        stamp = _stamp_of(info)
        if self._stamps.get(path) == stamp or not room.fits(path):
            return
        try:
            data = _read(path, info.st_mode)
        except OSError:
            room.left_out.append(path)
            return
        executable = 0o100755 if info.st_mode & 0o100 else 0o100644
        mode = 0o120000 if stat.S_ISLNK(info.st_mode) else executable
        self._files[path] = Blob(self._keep(data), mode)
        self._stamps[path] = stamp

    def _keep(self, data: bytes) -> str:
        name = blake2b(data, digest_size=20).hexdigest()
        place = self._place(name)
        if not place.exists():
            place.parent.mkdir(mode=whole.DIRECTORY, exist_ok=True)
            part = place.with_name(f"{place.name}.part")
            with open(part, "wb", opener=whole.opener) as file:
                file.write(zlib.compress(data, 1))
            part.replace(place)
        return name

    def _place(self, name: str) -> Path:
        return self._blobs / name[:2] / name[2:]

    def _named(self) -> str:
        digest = blake2b(digest_size=20)
        for path in sorted(self._files):
            blob = self._files[path]
            digest.update(f"{path}\0{blob.id}{blob.mode}\0".encode(errors="surrogateescape"))
        name = digest.hexdigest()
        self._trees.add(name, self._files, self._tree)
        return name


def _entries(directory: str) -> list[os.DirEntry[str]]:
    """What is in a directory; one that cannot be read, or is gone, is empty."""
    try:
        with os.scandir(directory) as found:
            return list(found)
    except OSError:
        return []


def _stamp_of(info: os.stat_result) -> Stamp:
    return info.st_mtime_ns, info.st_size, info.st_ino, info.st_mode


def _stamp(entry: os.DirEntry[str]) -> Stamp | None:
    try:
        return _stamp_of(entry.stat(follow_symlinks=False))
    except OSError:
        return None


def _read(path: str, mode: int) -> bytes:
    if stat.S_ISLNK(mode):
        return os.fsencode(os.readlink(path))  # noqa: PTH115
    return Path(path).read_bytes()
