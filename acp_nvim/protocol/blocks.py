"""Decoding of blocks of whole lines, as envelopes or as updates.

Most messages from agents are `session/update`. A block of them is decoded into the final types in
one pass. Decoding first the envelopes and then the params would take twice as long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from io import BytesIO
from itertools import accumulate
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from acp_nvim.protocol import schema
from acp_nvim.protocol.unions import read_untagged

T = TypeVar("T")

Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

NO_PARAMS: Final = Raw(b"{}")
_Nothing: TypeAlias = Annotated[str, msgspec.Meta(pattern="(?!)")]
"""Type with no values, for members that must be absent."""


MAX_NESTING: Final = 100
"""Deepest nesting of objects and arrays in a message.

Recursive functions later search the values, and encode them again for Neovim and the history. The
JSON decoder's own limit depends on the Python version: about 1,000 levels in 3.11, and 20,000 in
3.14.
"""
_LONG: Final = 8_000
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS: Final = bytes(set(range(256)) - _STEPS.keys())
_FEW_STRINGS: Final = 40
"""Number of strings that are skipped one by one. An update with one long text has fewer."""
_BACKSLASH: Final = ord("\\")
_PLAIN: Final = bytes(set(_NO_BRACKETS) - set(b'"\\/bfnrtu'))
"""All bytes except brackets, quotes and the characters of escapes."""


def is_nested_too_deep(line: bytes) -> bool:
    """Return whether a line nests objects and arrays deeper than `MAX_NESTING`."""
    if len(line) <= 2 * MAX_NESTING:
        return False
    if len(line) <= _LONG and line.count(b"[") + line.count(b"{") <= MAX_NESTING:
        return False  # nearly all lines end here
    if not _has_more_openings(line, MAX_NESTING):
        return False
    brackets = _brackets(line)
    if not _has_more_openings(brackets, MAX_NESTING):
        return False
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_NESTING


def _has_more_openings(text: bytes, limit: int) -> bool:
    """Return whether a line has more than `limit` opening brackets.

    `count` is faster for short lines, and `find` for long ones.
    """
    found = text.count(b"[", 0, _LONG) + text.count(b"{", 0, _LONG)
    if found > limit or len(text) <= _LONG:
        return found > limit
    for bracket in (b"[", b"{"):
        at = text.find(bracket)
        while at >= 0 and limit >= 0:
            limit -= 1
            at = text.find(bracket, at + 1)
    return limit < 0


def _brackets(line: bytes) -> bytes:
    """Return the brackets of a line of JSON that are outside of its strings.

    `find` skips a whole string in one call, so it is used for the first few strings. All searches
    are slow with many strings or escaped quotes, so plain bytes are removed from the rest first.
    """
    outside: list[bytes] = []
    at = 0
    for _ in range(_FEW_STRINGS):
        start = line.find(b'"', at)
        end = line.find(b'"', start + 1)
        if start < 0 or end < 0 or line[end - 1] == _BACKSLASH:
            break
        outside.append(line[at:start])
        at = end + 1
    rest = line[at:].translate(None, _PLAIN)
    if b'\\"' in rest:
        rest = rest.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join([*outside, *rest.split(b'"')[::2]]).translate(None, _NO_BRACKETS)


class Envelope(Struct, frozen=True, gc=False):
    """Valid message. Ids such as 1.0 or 2**63 are excluded (`numbers`)."""

    method: str | UnsetType = UNSET
    params: Raw = NO_PARAMS
    id: Int64 | str | UnsetType | None = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class Update(Struct, frozen=True, gc=False):
    """Valid `session/update` notification. It has no id: with one it would be a request."""

    method: Literal["session/update"]
    params: schema.SessionNotification
    id: _Nothing | UnsetType = UNSET


@cache
def _envelope() -> Callable[[bytes], Envelope]:
    return msgspec.json.Decoder(Envelope).decode


@cache
def _update() -> Callable[[bytes], Update]:
    """Return the decoder, built on first use because it loads all types."""
    return msgspec.json.Decoder(Update, dec_hook=read_untagged).decode


def envelopes(block: bytes) -> list[Envelope] | None:
    """Return the messages of all lines, or None if they must be decoded one by one."""
    return _read(_envelope(), block)


def updates(block: bytes) -> list[Update] | None:
    """Return the updates of all lines, or None if any line is not a valid update."""
    return _read(_update(), block)


def split_flood(block: bytes) -> tuple[bytes, bytes]:
    """Split a block into lines that may all be updates, and a last line that is not an update.

    The last line is often the answer after the updates.
    """
    last = block.rfind(b"\n", 0, -1) + 1
    if not last or block.find(b"session/update", last) >= 0:
        return block, b""
    return block[:last], block[last:]


def _read(decode: Callable[[bytes], T], block: bytes) -> list[T] | None:
    try:
        if not block.isascii():
            block.decode()
        has_more_lines = block.find(b"\n", 0, -1) >= 0  # one long line need not be copied
        # `readlines` is faster than `split`.
        lines = BytesIO(block).readlines() if has_more_lines else [block]
        if len(block) > 2 * MAX_NESTING and any(map(is_nested_too_deep, lines)):
            return None
        return list(map(decode, lines))
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return None
