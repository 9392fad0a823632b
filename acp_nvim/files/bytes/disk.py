"""Files on disk: read, compare by signature, replace.

All functions block, and none of them follows a symbolic link below a resolved path (`nofollow`).
"""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Final

from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.bytes import atomic_write, nofollow
from acp_nvim.files.bytes.file_format import (
    BinaryError,
    Decoded,
    Format,
    codec_of,
    decode,
    decode_as,
    encodable,
)
from acp_nvim.files.bytes.nofollow import LinkError, NotRegularError, Rights, SizeError
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Reason, Refusal
from acp_nvim.files.checkpoints import store
from acp_nvim.files.ports import BufferText

GRAIN_NS: Final = 20_000_000
"""Upper bound of the granularity of file timestamps."""

EMPTIED_NS: Final = 100_000_000
"""Time that a program may take to write a file after truncating it, in nanoseconds."""
EMPTIED_PAUSE_S: Final = 0.005
"""Pause between the checks whether a file was written, in seconds."""
EMPTIED_CHECKS: Final = 40
"""Maximum number of these checks."""

# -- for agents and decisions: failures are raised as `Refusal` -----------------------------------


def read(place: Place, limit: int | None) -> bytes | None:
    """Return the bytes of a file, or None if there is no such file.

    Raise Refusal for a directory, a pipe or a device (reading a pipe could block forever), for a
    file of more than `limit` bytes, for a path with a new symbolic link in it, and for any system
    error.
    """
    try:
        return nofollow.read(place.real, limit)
    except OSError as error:
        raise _as_refusal(place, error) from error


def read_decoded(place: Place, limit: int, fileencodings: str, fileformats: str) -> Decoded | None:
    """Return a file's text, decoded as Neovim would, or None if there is no such file.

    Raise Refusal as `read` does, and for a binary file.
    """
    data = read(place, limit)
    if data is None:
        return None
    try:
        return decode(data, fileencodings, fileformats)
    except BinaryError as error:
        raise Refusal("binary", place.path, "is not a text file") from error


def saved_text(place: Place, limit: int, file_format: Format) -> Text:
    """Return a file's text in the format of its buffer, or an empty text if there is no file.

    The file may have a NUL, as its buffer may. Raise Refusal as `read` does.
    """
    data = read(place, limit)
    return EMPTY if data is None else decode_as(data, file_format, allows_nul=True).text


def write(place: Place, data: bytes, rights: Rights | None = None) -> None:
    """Replace the bytes of a file atomically, keeping its mode and links.

    Create missing parent directories. A new file gets `rights`. Raise Refusal (reason `directory`,
    `readonly` or `failed`) and leave the old bytes in place.
    """
    try:
        atomic_write.write(place.real, data, rights)
    except OSError as error:
        raise _as_refusal(place, error, "readonly") from error


def _as_refusal(place: Place, error: OSError, denied: Reason = "failed") -> Refusal:
    """Return the refusal for a system error. `denied` is the reason for PermissionError."""
    reason: Reason = "failed"
    if isinstance(error, SizeError):
        reason = "too_large"
    elif isinstance(error, IsADirectoryError):
        reason = "directory"
    elif isinstance(error, PermissionError):
        reason = denied
    return Refusal(reason, place.path, _why(place, error))


def _why(place: Place, error: OSError) -> str:
    """Describe the error. A cycle of links is not described as a new link."""
    if isinstance(error, LinkError):
        try:
            os.stat(place.real)  # noqa: PTH116
        except OSError as stat_error:
            if stat_error.errno == errno.ELOOP:
                return "its symbolic links lead in a circle"
    return error.strerror or str(error)


def contains_saved(
    place: Place, live: BufferText, saved_as: str, encoded: bytes | None = None
) -> bool:
    """Return whether the file contains the text of its buffer after a save.

    `saved_as` is the file's signature right after the save. `encoded` is the text as
    `saved_bytes` returns it, if the caller has it already. The result is also True if the file has
    changed since, cannot be read, or has an encoding for which Python has no codec: none of these
    is a failed write.
    """
    if codec_of(live.format.encoding) is None or signature_of(place.real) != saved_as:
        return True
    try:
        data = read(place, None)
    except Refusal:
        return True
    if data is not None and (data == encoded or _is_text(data, live)):
        return True
    return signature_of(place.real) != saved_as


def saved_bytes(raw: Text, file_format: Format) -> bytes | None:
    """Return the bytes of a saved buffer, or None if its encoding lacks a character."""
    if file_format.binary:
        return str(raw).encode("utf-8", "surrogateescape")
    return encodable(raw, file_format)


def _is_text(data: bytes, live: BufferText) -> bool:
    """Return whether the bytes are the buffer's text.

    Both the encoded and the decoded form are compared: a text can have several encodings, and some
    bytes decode to no text.
    """
    if saved_bytes(live.raw, live.format) == data:
        return True
    if live.format.binary:
        return False
    try:
        return decode_as(data, live.format).text == live.text
    except BinaryError:
        return False


# -- for scans of files: failures are raised as OSError -------------------------------------------


def bytes_of(path: str) -> bytes | None:
    """Return a regular file's bytes, or None if there is no regular file.

    A directory, a link, a FIFO, a path below a linked directory and a name that is too long all
    count as no file. Raise OSError, also if the file is too large to store.
    """
    try:
        return nofollow.read(path, store.MAX_FILE_BYTES)
    except (LinkError, NotRegularError, IsADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return None
        raise


def bytes_or_none(path: str) -> bytes | None:
    """Return the result of `bytes_of`, or None also if the file cannot be read."""
    try:
        return bytes_of(path)
    except OSError:
        return None


def signature_of(path: str) -> str | None:
    """Return a string that changes when the file changes, or None if there is no file.

    Lua computes the same string (`stamp`).
    """
    try:
        info = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return _signature(info)


def _signature(info: os.stat_result) -> str:
    seconds, rest = divmod(info.st_mtime_ns, 1_000_000_000)
    return f"{seconds}.{rest}.{info.st_size}.{info.st_ino}"


def settled_signature(path: str) -> str | None:
    """Return a file's signature if the next change is sure to change it, otherwise None.

    A change within the granularity of file timestamps may leave the signature as it is.
    """
    try:
        info = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return _signature(info) if time.time_ns() - info.st_ctime_ns > GRAIN_NS else None


def is_settled(path: str, signature: str | None) -> bool:
    """Return whether the next change to a file is sure to change this signature."""
    return signature in (None, settled_signature(path))


def read_signed(path: str) -> tuple[bytes | None, str | None]:
    """Return the bytes, and the signature from before the read. Raise OSError.

    Another process may be writing the file. Compare the signature again before acting on the bytes.
    """
    signature = signature_of(path)
    return bytes_of(path), signature


def read_dated(path: str) -> tuple[bytes | None, str | None, int]:
    """Return the result of `read_signed`, and `changed_at` from before the read."""
    signature = signature_of(path)
    at = changed_at(path)
    return bytes_of(path), signature, at


def is_just_emptied(path: str) -> bool:
    """Return whether a file has just been truncated, as programs do before they write."""
    try:
        info = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return False
    return info.st_size == 0 and 0 <= time.time_ns() - info.st_ctime_ns < EMPTIED_NS


def is_just_removed(path: str) -> bool:
    """Return whether a file may have just been removed or renamed, as editors do before a write."""
    is_missing = not os.path.lexists(path)
    return is_missing and 0 <= time.time_ns() - changed_at(path) < EMPTIED_NS


def wait_written(path: str) -> None:
    """Wait for a file that a program has just removed or renamed, but not for long."""
    for _ in range(EMPTIED_CHECKS):
        if not is_just_removed(path):
            return
        time.sleep(EMPTIED_PAUSE_S)


def wait_filled(path: str) -> None:
    """Wait for the text of a file that a program has just truncated, but not for long."""
    for _ in range(EMPTIED_CHECKS):
        if not is_just_emptied(path):
            return
        time.sleep(EMPTIED_PAUSE_S)


def changed_at(path: str) -> int:
    """Return the time of a file's last change, in nanoseconds.

    For a missing file it is the latest time at which it can have been removed.
    """
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        exists = os.path.exists  # never raises OSError
        above = next(parent for parent in Path(path).parents if exists(parent))
        return above.stat().st_mtime_ns
