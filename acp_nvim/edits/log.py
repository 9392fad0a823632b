"""Records one after the other, as a file has them that is only appended to.

Each stands behind a mark, its length and a checksum. Whoever was killed while he wrote leaves a
torn record, a disk may damage others: each of these loses itself alone, for reading goes on at the
next mark after which a whole record stands.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK = b"\xf5acp"
"""No UTF-8 has that byte."""
_HEAD = Struct(">4sII")


def framed(payload: bytes) -> bytes:
    """One record; it may be empty."""
    return _HEAD.pack(MARK, len(payload), crc32(payload)) + payload


def joined(payloads: Iterable[bytes]) -> bytes:
    """Records one after the other."""
    return b"".join(map(framed, payloads))


def parted(data: bytes) -> tuple[list[bytes], int]:
    """The whole records in their order, and how many bytes belong to none."""
    found: list[bytes] = []
    at = lost = 0
    while at < len(data):
        payload = _record(data, at)
        if payload is not None:
            found.append(payload)
            at += _HEAD.size + len(payload)
        else:
            following = data.find(MARK, at + 1)
            end = len(data) if following < 0 else following
            lost += end - at
            at = end
    return found, lost


def _record(data: bytes, at: int) -> bytes | None:
    if len(data) - at < _HEAD.size:
        return None
    mark, length, checksum = _HEAD.unpack_from(data, at)
    payload = data[at + _HEAD.size : at + _HEAD.size + length]
    whole = mark == MARK and len(payload) == length and crc32(payload) == checksum
    return payload if whole else None
