"""Whether a file holds what was written to it: only then is a write answered with success."""

from __future__ import annotations

from contextlib import suppress

from acp_nvim.workspace import disk
from acp_nvim.workspace.file_format import BinaryError, codec_of, decode_as, encode
from acp_nvim.workspace.paths import Place
from acp_nvim.workspace.ports import BufferText
from acp_nvim.workspace.refusals import Refusal
from acp_nvim.workspace.snapshots.snapshots import signature_of


def holds(place: Place, live: BufferText, saved: str) -> bool:
    """Whether the file holds the text of its buffer; blocks.

    ``saved`` is its stamp right after the save. What changes the file after that is somebody else's
    doing and no failure of the write. Where it cannot be read, or no codec is known, nothing can be
    told.
    """
    if codec_of(live.format.encoding) is None or signature_of(place.real) != saved:
        return True
    try:
        data = disk.read(place, None)
    except Refusal:
        return True
    return signature_of(place.real) != saved or (data is not None and _same(data, live))


def _same(data: bytes, live: BufferText) -> bool:
    """A text may have several forms in bytes, and a form may be no text: either will do."""
    with suppress(UnicodeEncodeError):
        if encode(live.raw, live.format) == data:
            return True
    try:
        return decode_as(data, live.format).text == live.text
    except BinaryError:
        return False
