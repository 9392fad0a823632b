"""Files that Neovim has not loaded: read whole, or replaced at once."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from acp_nvim.agent.fs.decode import BinaryError, Decoded, Format, decode, decode_as
from acp_nvim.agent.fs.paths import Place
from acp_nvim.agent.fs.refusals import refusal
from acp_nvim.edits.text import EMPTY, Text


def read(place: Place, limit: int) -> bytes | None:
    """The bytes of a file, None when there is none.

    RequestError for a directory, for what is no regular file (reading a pipe would never end), for
    more than ``limit`` bytes, and when the system refuses.
    """
    try:
        info = os.stat(place.real)  # noqa: PTH116
        check_kind(place, info.st_mode)
        if info.st_size > limit:
            raise refusal("too_large", place.path, f"{info.st_size} bytes, the limit is {limit}")
        return Path(place.real).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise refusal("failed", place.path, error.strerror or str(error)) from error


def stored(place: Place, limit: int, fileencodings: str, fileformats: str) -> Decoded | None:
    """A file's text, decoded as Neovim would; None when there is none. Refuses ``binary``, too."""
    data = read(place, limit)
    if data is None:
        return None
    try:
        return decode(data, fileencodings, fileformats)
    except BinaryError as error:
        raise refusal("binary", place.path, "is not a text file") from error


def saved(place: Place, limit: int, layout: Format) -> Text:
    """A file's text, decoded as its buffer was; empty when there is none. Refuses like `stored`."""
    data = read(place, limit)
    if data is None:
        return EMPTY
    try:
        return decode_as(data, layout).text
    except BinaryError as error:
        raise refusal("binary", place.path, "is not a text file") from error


def check_kind(place: Place, mode: int) -> None:
    """RequestError unless a file of that mode is a regular one."""
    if stat.S_ISDIR(mode):
        raise refusal("directory", place.path, "is a directory")
    if not stat.S_ISREG(mode):
        raise refusal("failed", place.path, "is not a regular file")


def write(place: Place, data: bytes) -> None:
    """Put these bytes in place of the file's, at once. Mode and links stay, parents are created.

    RequestError with reason ``readonly`` or ``failed``.
    """
    path = Path(place.real)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
    except PermissionError as error:
        raise refusal("readonly", place.path, error.strerror or str(error)) from error
    except OSError as error:
        raise refusal("failed", place.path, error.strerror or str(error)) from error


def _replace(path: Path, data: bytes) -> None:
    try:
        info = path.stat()
    except FileNotFoundError:
        path.write_bytes(data)
        return
    if not info.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise PermissionError(13, "the file is write-protected")
    if info.st_nlink > 1 or not os.access(path.parent, os.W_OK):
        path.write_bytes(data)  # a new file would part it from its other names
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:50]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, stat.S_IMODE(info.st_mode))  # noqa: PTH101
        with contextlib.suppress(PermissionError):  # only its owner, or root, can keep the owner
            os.chown(temporary, info.st_uid, info.st_gid)
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
