"""Files that Neovim has not loaded: read whole, or replaced at once."""

from __future__ import annotations

from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.workspace import atomic_write, nofollow
from acp_nvim.workspace.file_format import BinaryError, Decoded, Format, decode, decode_as
from acp_nvim.workspace.nofollow import Rights, SizeError
from acp_nvim.workspace.paths import Place
from acp_nvim.workspace.refusals import Reason, Refusal


def read(place: Place, limit: int | None) -> bytes | None:
    """The bytes of a file, None when there is none.

    Refusal for a directory, for what is no regular file (reading a pipe would never end), for
    more than ``limit`` bytes, for a path that has become a link since it was resolved, and when
    the system refuses.
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


def saved(place: Place, limit: int, layout: Format) -> Text:
    """A file's text, decoded as its buffer was; empty when there is none. Refuses like `stored`."""
    data = read(place, limit)
    if data is None:
        return EMPTY
    try:
        return decode_as(data, layout).text
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
    """The refusal that an error of the system means; ``denied`` where it permits no such thing."""
    reason: Reason = "failed"
    if isinstance(error, SizeError):
        reason = "too_large"
    elif isinstance(error, IsADirectoryError):
        reason = "directory"
    elif isinstance(error, PermissionError):
        reason = denied
    return Refusal(reason, place.path, error.strerror or str(error))
