"""What the changes of files on disk mean: texts, kinds, merges with unsaved text."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from acp_nvim.edits.merge import Conflict, merge
from acp_nvim.edits.text import Text
from acp_nvim.workspace.file_format import Decoded, Format, decode, decode_as
from acp_nvim.workspace.snapshots.snapshots import FileChange, read, read_signed, signature_of
from acp_nvim.workspace.tracked_file import FileState


def changed_at(path: str) -> int:
    """When a file was changed or removed at the latest, in nanoseconds."""
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        above = next(parent for parent in Path(path).parents if parent.exists())
        return above.stat().st_mtime_ns


def read_dated(path: str) -> tuple[bytes | None, str | None, int]:
    """The bytes of a file, its signature and when it had changed, both from before they were read;
    OSError. With the same signature afterwards the bytes are of that time.
    """
    signature = signature_of(path)
    at = changed_at(path)
    return read(path), signature, at


def merged(base: Text | None, live: Text, theirs: Text | None) -> Text | None:
    """Both sides' changes; None when they overlap."""
    if live == theirs:
        return live
    if base is None or theirs is None:
        return None
    result = merge(base, live, theirs)
    return None if isinstance(result, Conflict) else result.text


def text_of(data: bytes | None, layout: Format | None) -> Text | None:
    """A file's text; BinaryError where it is none."""
    return None if data is None else decoded(data, layout).text


def decoded(data: bytes, layout: Format | None) -> Decoded:
    """A file's text, and how it lies on disk, where ``layout`` does not tell; BinaryError."""
    return decode_as(data, layout) if layout else decode(data)


def kind_of(before: object, after: object) -> str:
    """What was done to a file."""
    if after is None:
        return "deleted"
    return "created" if before is None else "modified"


def keep(kept: dict[str, bytes | None], paths: Sequence[str]) -> None:
    """Read files that are not kept yet; what cannot be read is left out."""
    for path in paths:
        if path not in kept:
            with suppress(OSError):
                kept[path] = read(path)


def differing(kept: Mapping[str, bytes | None]) -> list[FileChange]:
    """The files that are no longer what was kept of them."""
    found: list[FileChange] = []
    for path, data in kept.items():
        with suppress(OSError):
            now = read(path)
            if now != data:
                found.append(FileChange(path, data, now))
    return found


def signatures(paths: Sequence[str]) -> dict[str, str | None]:
    """By which it shows whether files change (`signature_of`)."""
    return {path: signature_of(path) for path in paths}


def as_they_are(paths: Sequence[str]) -> dict[str, tuple[bytes | None, str | None]]:
    """What files hold, and their signatures; what cannot be read is left out."""
    found: dict[str, tuple[bytes | None, str | None]] = {}
    for path in paths:
        with suppress(OSError):
            found[path] = read_signed(path)
    return found


def compared(
    known: Mapping[str, FileState],
) -> tuple[list[FileChange], dict[str, str | None]]:
    """The files that no longer hold what is known of them, and the signatures of all that were
    read for that.
    """
    changes: list[FileChange] = []
    found: dict[str, str | None] = {}
    for path, state in known.items():
        signature = signature_of(path)
        if state.compared == signature:
            continue
        try:
            data = read(path)
        except OSError:
            continue
        found[path] = signature
        before = state.disk_bytes()
        if data != before:
            changes.append(FileChange(path, before, data))
    return changes, found
