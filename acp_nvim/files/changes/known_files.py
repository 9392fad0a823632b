"""Comparison of files with their known states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from acp_nvim.files.buffers.tracked_file import FileState
from acp_nvim.files.bytes.disk import bytes_of, is_settled, read_signed, signature_of
from acp_nvim.files.checkpoints.snapshots import FileChange


def read_all(paths: Sequence[str]) -> dict[str, tuple[bytes | None, str | None]]:
    """Return contents and signatures of files. Unreadable files are left out."""
    found: dict[str, tuple[bytes | None, str | None]] = {}
    for path in paths:
        with suppress(OSError):
            found[path] = read_signed(path)
    return found


def compare_known(
    known: Mapping[str, FileState],
) -> tuple[list[FileChange], dict[str, str | None]]:
    """Return the files that differ from their known contents, and the signatures of all files read.

    The signature of a file that has changed just now is left out: the next change may not alter it.
    """
    changes: list[FileChange] = []
    found: dict[str, str | None] = {}
    for path, state in known.items():
        signature = signature_of(path)
        if state.compared == signature:
            continue
        settled = is_settled(path, signature)
        try:
            data = bytes_of(path)
        except OSError:
            continue
        if settled:
            found[path] = signature
        before = state.disk_bytes()
        if data != before:
            changes.append(FileChange(path, before, data))
    return changes, found


def signatures_of(paths: Sequence[str]) -> dict[str, str | None]:
    """Return the signature of each file; None for one that does not exist."""
    return {path: signature_of(path) for path in paths}
