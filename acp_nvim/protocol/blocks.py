"""Reads blocks of whole lines in one go, as envelopes or as updates.

Floods of an agent are `session/update`. A block of these is decoded as the final types, envelope
and params in one pass, in half the time of two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from acp_nvim.protocol import schema
from acp_nvim.protocol.unions import read_untagged

T = TypeVar("T")

Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

NO_PARAMS: Final = Raw(b"{}")
_Nothing: TypeAlias = Annotated[str, msgspec.Meta(pattern="(?!)")]
"""A type without a value, for members that must be absent."""


class Envelope(Struct, frozen=True, gc=False):
    """Nearly any valid message; ids such as 1.0 and 2**63 do not fit."""

    method: str | UnsetType = UNSET
    params: Raw = NO_PARAMS
    id: Int64 | str | UnsetType | None = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class Update(Struct, frozen=True, gc=False):
    """A `session/update` as it should be; with an id it would be a request."""

    method: Literal["session/update"]
    params: schema.SessionNotification
    id: _Nothing | UnsetType = UNSET


@cache
def _envelope() -> Callable[[bytes], Envelope]:
    return msgspec.json.Decoder(Envelope).decode


@cache
def _update() -> Callable[[bytes], Update]:
    """Made with the first update: it has to know of all types."""
    return msgspec.json.Decoder(Update, dec_hook=read_untagged).decode


def envelopes(block: bytes) -> list[Envelope] | None:
    """Return the messages of all lines; None when they must be read one by one."""
    return _read(_envelope(), block)


def updates(block: bytes) -> list[Update] | None:
    """Return the updates of lines that are all valid updates, else None."""
    return _read(_update(), block)


def flood(block: bytes) -> tuple[bytes, bytes]:
    """Split a block into lines that may all be updates, and a last line of another kind: often the
    answer after them.
    """
    last = block.rfind(b"\n", 0, -1) + 1
    if not last or block.find(b"session/update", last) >= 0:
        return block, b""
    return block[:last], block[last:]


def _read(decode: Callable[[bytes], T], block: bytes) -> list[T] | None:
    try:
        if not block.isascii():
            block.decode()
        return list(map(decode, block.split(b"\n")[:-1]))
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return None
