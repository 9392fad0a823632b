"""Files as they are on disk: read whole, compared by signatures, or replaced at once.

All of it blocks. No link is followed below a resolved path (`nofollow`).
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
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
    encode,
)
from acp_nvim.files.bytes.nofollow import LinkError, NotRegularError, Rights, SizeError
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Reason, Refusal
from acp_nvim.files.checkpoints import store
from acp_nvim.files.ports import BufferText

GRAIN_NS: Final = 20_000_000
"""How far the clock of files may be behind."""

# -- for agents and decisions: what cannot be served is a `Refusal` -------------------------------


def read(place: Place, limit: int | None) -> bytes | None:
    """The bytes of a file, None when there is none.

    Refusal for a directory, for a pipe or device (reading a pipe would never end), for more than
    ``limit`` bytes, for a path that has become a link since it was resolved, and when the system
    refuses.
    """
    try:
        return nofollow.read(place.real, limit)
    except OSError as error:
        raise _refused(place, error) from error


def stored(place: Place, limit: int, fileencodings: str, fileformats: str) -> Decoded | None:
    """A file's text, decoded as Neovim would; None when there is none. Refuses ``binary``, too."""
    data = read(place, limit)
    if data is None:
        return None
    try:
        return decode(data, fileencodings, fileformats)
    except BinaryError as error:
        raise Refusal("binary", place.path, "is not a text file") from error


def saved(place: Place, limit: int, file_format: Format) -> Text:
    """A file's text, decoded as its buffer was; empty when there is none. Refuses like `stored`."""
    data = read(place, limit)
    if data is None:
        return EMPTY
    try:
        return decode_as(data, file_format).text
    except BinaryError as error:
        raise Refusal("binary", place.path, "is not a text file") from error


def write(place: Place, data: bytes, rights: Rights | None = None) -> None:
    """Put these bytes in place of the file's, at once. Mode and links stay, parents are created; a
    new file gets ``rights``.

    Refusal with reason ``directory``, ``readonly`` or ``failed``: the old bytes are there.
    """
    try:
        atomic_write.write(place.real, data, rights)
    except OSError as error:
        raise _refused(place, error, "readonly") from error


def _refused(place: Place, error: OSError, denied: Reason = "failed") -> Refusal:
    """The refusal for an error of the system; ``denied`` is the reason for a PermissionError."""
    reason: Reason = "failed"
    if isinstance(error, SizeError):
        reason = "too_large"
    elif isinstance(error, IsADirectoryError):
        reason = "directory"
    elif isinstance(error, PermissionError):
        reason = denied
    return Refusal(reason, place.path, _why(place, error))


def _why(place: Place, error: OSError) -> str:
    """Why the system refuses: a link that leads to itself has not become one later."""
    if isinstance(error, LinkError):
        try:
            os.stat(place.real)  # noqa: PTH116
        except OSError as found:
            if found.errno == errno.ELOOP:
                return "its symbolic links lead in a circle"
    return error.strerror or str(error)


def holds(place: Place, live: BufferText, saved_as: str) -> bool:
    """Whether the file holds the text of its buffer: only then is a write answered with success.

    ``saved_as`` is the file's signature right after the save. A later change is somebody else's
    doing and no failure of the write. A file that cannot be read, or is in an encoding without a
    codec, counts as written.
    """
    if codec_of(live.format.encoding) is None or signature_of(place.real) != saved_as:
        return True
    try:
        data = read(place, None)
    except Refusal:
        return True
    return signature_of(place.real) != saved_as or (data is not None and _is_text(data, live))


def _is_text(data: bytes, live: BufferText) -> bool:
    """Whether the bytes are the buffer's text. A text may have several forms in bytes, and a form
    may be no text: either comparison will do.
    """
    with suppress(UnicodeEncodeError):
        if encode(live.raw, live.format) == data:
            return True
    try:
        return decode_as(data, live.format).text == live.text
    except BinaryError:
        return False


# -- for looks at files: errors are OSError -------------------------------------------------------


def bytes_of(path: str) -> bytes | None:
    """A regular file's bytes, None when there is none: also where a folder, a link or a FIFO is, or
    a directory above it has become a link, which leads to another file. OSError, also for a file
    that is too large to be kept.
    """
    try:
        return nofollow.read(path, store.MAX_FILE_BYTES)
    except (LinkError, NotRegularError, IsADirectoryError):
        return None


def signature_of(path: str) -> str | None:
    """The same string as long as a file does not change; None where there is none. Lua computes
    the same one (`stamp`).
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
    """The signature of a file, None where it may not tell of its next change: there is no file, or
    it has just been changed, and the clock of files has grains.
    """
    try:
        info = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return _signature(info) if time.time_ns() - info.st_ctime_ns > GRAIN_NS else None


def is_settled(path: str, signature: str | None) -> bool:
    """Return whether the next change of a file is sure to change this signature."""
    return signature in (None, settled_signature(path))


def read_signed(path: str) -> tuple[bytes | None, str | None]:
    """The bytes, and the signature that the file had before they were read; OSError.

    A file may be read while it is written: who acts on the bytes compares the signature again.
    """
    signature = signature_of(path)
    return bytes_of(path), signature


def read_dated(path: str) -> tuple[bytes | None, str | None, int]:
    """As `read_signed`, with `changed_at` before the read."""
    signature = signature_of(path)
    at = changed_at(path)
    return bytes_of(path), signature, at


def changed_at(path: str) -> int:
    """When a file was changed or removed at the latest, in nanoseconds."""
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        above = next(parent for parent in Path(path).parents if parent.exists())
        return above.stat().st_mtime_ns
