"""Parsers of the output of git's plumbing commands."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

from acp_nvim.files.checkpoints.store import Blob

DIFF_TREE: Final = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev")
"""Command whose output `parse_differences` parses. Two trees or commits follow."""
_NO_FILE: Final = "0" * 6
_SUBMODULE: Final = "160000"


def parse_differences(content: bytes) -> Iterable[tuple[tuple[str, str], tuple[str, str], str]]:
    """Yield modes, object names and path of each record of `--raw -z`."""
    parts = iter(content.split(b"\0"))
    for meta in parts:
        if meta.startswith(b":"):
            old_mode, new_mode, old, new, _ = meta[1:].decode().split(" ")
            yield (old_mode, new_mode), (old, new), os.fsdecode(next(parts))


def parse_tree(listed: bytes) -> Iterable[tuple[str, str, str, str]]:
    """Yield mode, kind, object name and path of each entry of `ls-tree -z`."""
    for entry in listed.split(b"\0"):
        if entry:
            meta, name = entry.split(b"\t", 1)
            mode, kind, oid = meta.decode().split()
            yield mode, kind, oid, os.fsdecode(name)


def blob_of(mode: str, oid: str) -> Blob | None:
    """Return a blob, or None for no file or a submodule."""
    return None if mode in (_NO_FILE, _SUBMODULE) else Blob(oid, int(mode, 8))


def parse_blobs(output: bytes) -> Iterator[bytes | None]:
    """Yield the contents of the blobs in the output of `cat-file --batch`.

    Yield None for missing objects and for objects of other types.
    """
    at = 0
    while (end := output.find(b"\n", at)) >= 0:
        words = output[at:end].rsplit(b" ", 2)
        at = end + 1
        if words[-1].isdigit():
            size = int(words[-1])
            is_blob = words[-2] == b"blob" and len(output) > at + size
            yield output[at : at + size] if is_blob else None
            at += size + 1
        else:
            yield None
