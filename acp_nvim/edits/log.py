"""Framing of records in an append-only file with one writer at a time.

Each record is preceded by a mark, its length and a checksum. A killed process leaves a torn record,
and a disk may damage others: the reader skips to the next mark of a complete record.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK = b"\xf5acp"
"""Mark before each record. Its first byte does not occur in UTF-8."""
_HEAD = Struct(">4sII")


def frame(payload: bytes) -> bytes:
    return _HEAD.pack(MARK, len(payload), crc32(payload)) + payload


def join_records(payloads: Iterable[bytes]) -> bytes:
    """Return framed records in sequence."""
    return b"".join(map(frame, payloads))


def read_records(data: bytes) -> tuple[list[bytes], int, int]:
    """Return the complete records, the number of lost bytes between them, and where they end.

    The next read continues there, because another process may still be writing the next record.
    """
    records: list[bytes] = []
    at = lost = end = 0
    while 0 <= at < len(data):
        payload = _record(data, at)
        if payload is not None:
            records.append(payload)
            lost += at - end
            at = end = at + _HEAD.size + len(payload)
        else:
            at = data.find(MARK, at + 1)
    return records, lost, end


def _record(data: bytes, at: int) -> bytes | None:
    if len(data) - at < _HEAD.size:
        return None
    mark, length, checksum = _HEAD.unpack_from(data, at)
    payload = data[at + _HEAD.size : at + _HEAD.size + length]
    is_complete = mark == MARK and len(payload) == length and crc32(payload) == checksum
    return payload if is_complete else None
