"""Framing of records in a file that is only appended to, by several processes one after the other.

Each record has a mark, its length and a checksum in front. A process that was killed leaves a torn
record, a disk may damage others: reading skips to the next mark with a complete record.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK = b"\xf5acp"
"""Its first byte is in no UTF-8."""
_HEAD = Struct(">4sII")


def framed(payload: bytes) -> bytes:
    """Return one framed record; the payload may be empty."""
    return _HEAD.pack(MARK, len(payload), crc32(payload)) + payload


def joined(payloads: Iterable[bytes]) -> bytes:
    """Return framed records, one after the other."""
    return b"".join(map(framed, payloads))


def read_on(data: bytes) -> tuple[list[bytes], int, int]:
    """Return the complete records in order, how many bytes before the last one belong to none, and
    where to read on: behind the last one, since what follows may be a part of the next, which
    another process is writing now.
    """
    found: list[bytes] = []
    at = lost = end = 0
    while 0 <= at < len(data):
        payload = _record(data, at)
        if payload is not None:
            found.append(payload)
            lost += at - end
            at = end = at + _HEAD.size + len(payload)
        else:
            at = data.find(MARK, at + 1)
    return found, lost, end


def _record(data: bytes, at: int) -> bytes | None:
    if len(data) - at < _HEAD.size:
        return None
    mark, length, checksum = _HEAD.unpack_from(data, at)
    payload = data[at + _HEAD.size : at + _HEAD.size + length]
    whole = mark == MARK and len(payload) == length and crc32(payload) == checksum
    return payload if whole else None
