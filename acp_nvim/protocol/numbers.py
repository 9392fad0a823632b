"""Request ids that are numbers but that msgspec does not read as int64: 1.0, 1e3, 2**63.

They are valid ids (JSON-RPC 2.0 section 4), so answers must repeat the same digits. Python would
write 1e3 as 1000.0.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw

_START: Final = b"-0123456789"
_syntax: Final = msgspec.json.Decoder(Raw)
_members: Final = msgspec.json.Decoder(dict[str, Raw])


class Number:
    """Number with its digits, so that 1.0 differs from 1.

    It is not a dataclass, because msgspec would encode its fields.
    """

    __slots__ = ("digits",)

    def __init__(self, digits: bytes) -> None:
        self.digits: Final = digits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self.digits == other.digits

    def __hash__(self) -> int:
        return hash(self.digits)

    @property
    def whole(self) -> int | None:
        """Return the equal integer, or None if there is none. Large values have float precision."""
        value = float(self.digits)
        return int(value) if value.is_integer() else None

    def __repr__(self) -> str:
        return self.digits.decode("ascii")


def read(raw: Raw | bytes | None) -> Number | None:
    """Return a JSON value as a number, or None if it is not one."""
    digits = b"" if raw is None else bytes(raw).strip()
    if digits[:1] not in _START or not digits:
        return None
    try:
        _syntax.decode(digits)
    except msgspec.DecodeError:
        return None
    return Number(digits)


def member(params: Raw, name: str) -> Number | None:
    """Return the member of this name if it is a number, else None."""
    try:
        return read(_members.decode(params).get(name))
    except (msgspec.DecodeError, RecursionError):
        return None


def to_json(value: object) -> Raw:
    """Encode a number with its own digits, for msgspec. Raise TypeError for other types."""
    if isinstance(value, Number):
        return Raw(value.digits)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")
