"""The trees of a `CopyStore`: which content each file had at some moment.

A tree is kept as what differs in it from the one before, in a file of that name, so that the next
process of the same Neovim knows it as well.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import msgspec

from acp_nvim.workspace import private_files
from acp_nvim.workspace.snapshots.store import Blob, StoreError

Tree = dict[str, Blob]
"""Contents by absolute path."""


class _Stored(msgspec.Struct, frozen=True):
    """What makes a tree of the one of the name ``before`` (empty: of nothing)."""

    before: str
    there: dict[bytes, Blob]
    gone: list[bytes]


class Trees:
    """By name."""

    def __init__(self, home: Path) -> None:
        """``home`` is where they lie."""
        self._home = home
        self._known: dict[str, Tree] = {"": {}}

    def add(self, name: str, tree: Tree, before: str) -> None:
        """Keep a tree, if it is new. StoreError where it cannot be written."""
        if name in self._known:
            return
        old = self._known[before]
        there = {os.fsencode(path): it for path, it in tree.items() if old.get(path) != it}
        gone = [os.fsencode(path) for path in old.keys() - tree.keys()]
        data = msgspec.msgpack.encode(_Stored(before, there, gone))
        try:
            if not (self._home / name).exists():
                private_files.write(self._home / name, zlib.compress(data, 1), sync=False)
        except OSError as error:
            raise StoreError(f"{self._home}: {error.strerror}") from error
        self._known[name] = dict(tree)

    def get(self, name: str) -> Tree:
        """The tree of that name. StoreError when it is not kept."""
        steps: list[tuple[str, _Stored]] = []
        while name not in self._known:
            steps.append((name, self._stored(name)))
            name = steps[-1][1].before
        for later, stored in reversed(steps):
            tree = self._known[name] | {os.fsdecode(p): it for p, it in stored.there.items()}
            for path in stored.gone:
                tree.pop(os.fsdecode(path), None)
            self._known[later], name = tree, later
        return self._known[name]

    def _stored(self, name: str) -> _Stored:
        try:
            data = zlib.decompress((self._home / name).read_bytes())
            return msgspec.msgpack.decode(data, type=_Stored)
        except (OSError, zlib.error, msgspec.DecodeError) as error:
            raise StoreError("that state is no longer kept") from error
