"""Existing files that are not in a tree: large files, FIFOs, unreadable directories.

So a path that a tree lacks may have existed. `Marks.name` appends the name of a `LeftOut` to the
name of its tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim.files.checkpoints.store import Blob, Change, read_packed, signature_of, write_packed

NOT_ENTERED: Final = "in a folder that was not looked into"
_MARK: Final = "+"


class LeftOut(msgspec.Struct, frozen=True):
    """Files that a tree leaves out.

    `files` are known, by absolute path. `folders` are directories with unknown files.
    """

    files: dict[str, Blob] = {}
    folders: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Return whether anything was left out."""
        return bool(self.files or self.folders)

    def get(self, path: str) -> Blob | None:
        """Return the blob of a path that the tree lacks, or None if there was no file."""
        content = self.files.get(path)
        if content is None and self.hides(path):
            return Blob("", 0, NOT_ENTERED)
        return content

    def hides(self, path: str) -> bool:
        """Return whether the path is in a directory that was not entered."""
        if not self.folders:
            return False
        return any(str(parent) in self.folders for parent in Path(path).parents)


class _Stored(msgspec.Struct, frozen=True):
    files: dict[bytes, Blob]
    folders: list[bytes]


class Marks:
    """Store of `LeftOut`s, each in a file named by its content."""

    def __init__(self, home: Path) -> None:
        """`home` is the directory of these files."""
        self._home = home
        self._known: dict[str, LeftOut] = {"": LeftOut()}

    def name(self, tree: str, out: LeftOut) -> str:
        """Return the name of a tree with these files left out. Raise StoreError."""
        if not out:
            return tree
        files = {os.fsencode(path): out.files[path] for path in sorted(out.files)}
        folders = sorted(os.fsencode(path) for path in out.folders)
        data = msgspec.msgpack.encode(_Stored(files, folders))
        name = blake2b(data, digest_size=20).hexdigest()
        if name not in self._known:
            write_packed(self._home / name, data)
            self._known[name] = out
        return f"{tree}{_MARK}{name}"

    def parts(self, name: str) -> tuple[str, LeftOut]:
        """Return the tree and the `LeftOut` of a name. Raise StoreError if it is not stored."""
        tree, _, mark = name.partition(_MARK)
        if mark not in self._known:
            self._known[mark] = self._read(mark)
        return tree, self._known[mark]

    def _read(self, mark: str) -> LeftOut:
        stored = read_packed(self._home / mark, _Stored)
        files = {os.fsdecode(path): blob for path, blob in stored.files.items()}
        return LeftOut(files, frozenset(map(os.fsdecode, stored.folders)))


def differences(changes: Iterable[Change], old: LeftOut, new: LeftOut) -> list[Change]:
    """Return the `changes` between two trees, including those of left-out files.

    A file of unknown content does not count as changed.
    """
    by_path = {change.path: change for change in changes}
    for path in old.files.keys() | new.files.keys():
        change = by_path.get(path)
        before = old.files.get(path) or (change.before if change else None)
        after = new.files.get(path) or (change.after if change else None)
        if before == after:
            by_path.pop(path, None)
        else:
            by_path[path] = Change(path, before, after)
    return [_mark_unknown_sides(by_path[path], old, new) for path in sorted(by_path)]


def _mark_unknown_sides(change: Change, old: LeftOut, new: LeftOut) -> Change:
    """Return the change, with a `NOT_ENTERED` blob for a side that is in an unread directory."""
    path, before, after = change.path, change.before, change.after
    if (before is None and old.hides(path)) or (after is None and new.hides(path)):
        return Change(path, before or old.get(path), after or new.get(path))
    return change


def was_left_out(path: str, then: Blob | None, now: Blob | None) -> bool:
    """Return whether a file is unchanged and only missing in the old tree, which left it out."""
    if then is None or now is None or then.is_stored or not now.is_stored or not then.id:
        return False
    return then.id == signature_of(path)


def certain_changes(changes: Iterable[Change]) -> list[Change]:
    """Return the changes between two scans that are certain.

    A file that one of them could not read counts as unchanged.
    """
    return [
        change
        for change in changes
        if not any(side and side.why == NOT_ENTERED for side in (change.before, change.after))
        and not was_left_out(change.path, change.before, change.after)
    ]
