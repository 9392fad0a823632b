"""Raw params and results to the types of `schema`, strictly first, then with tolerance.

What is right is decoded by msgspec alone. Only what it refuses goes through `tolerance`, which
forgives what a good receiver forgives (v1 schema, `x-deserialize-*`) and what agents get wrong, and
says so in `notes`: one line a deviation, for the log and the count of violations.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from acp_nvim.protocol import errors, tolerance
from acp_nvim.protocol.errors import DecodeError
from acp_nvim.protocol.methods import asked, received
from acp_nvim.protocol.unions import read_untagged

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp_nvim.protocol.methods import Side

T = TypeVar("T")


def decode_params(method: str, raw: msgspec.Raw, side: Side, notes: list[str] | None = None) -> Any:
    """The params of a message that `side` received, as the struct of `methods.METHODS`.

    Absent and null params are the empty object. Appends to `notes` what was forgiven. Raises
    DecodeError with the code to refuse with, its text one line that names the field.
    """
    row = received(method, side)
    if row is None:
        raise DecodeError(f"unknown method {method!r}", errors.METHOD_NOT_FOUND)
    return decode(row.params, raw, notes, name="params")


def reader(method: str, side: Side) -> Callable[[msgspec.Raw], Any]:
    """The strict half of `decode_params` alone, for the method whose cost counts.

    What it refuses with msgspec.DecodeError (or RecursionError) is for `decode_params` to judge.
    """
    row = received(method, side)
    assert row is not None
    return _decoder(row.params).decode


def decode_result(method: str, raw: msgspec.Raw, notes: list[str] | None = None) -> Any:
    """The result of our request for `method`; null is the empty object. Raises DecodeError."""
    row = asked(method)
    if row is None:
        raise DecodeError(f"unknown method {method!r}", errors.METHOD_NOT_FOUND)
    return decode(row.result, raw, notes, name="result")


def decode(
    wanted: type[T], raw: msgspec.Raw | bytes, notes: list[str] | None = None, name: str = "value"
) -> T:
    """`raw` as `wanted`: a struct of `schema` or a union of them. `name` is used in messages."""
    decoder: msgspec.json.Decoder[T] = _decoder(cast("Any", wanted))
    try:
        return decoder.decode(raw)
    except msgspec.DecodeError:
        return _decode_tolerantly(wanted, raw, [] if notes is None else notes, name)
    except RecursionError as e:
        raise DecodeError(f"{name}: nested too deeply") from e


def _decode_tolerantly(wanted: type[T], raw: msgspec.Raw | bytes, notes: list[str], name: str) -> T:
    try:
        value = msgspec.json.decode(raw)
        return tolerance.read(wanted, {} if value is None else value, name, notes)
    except (msgspec.DecodeError, RecursionError) as e:
        raise DecodeError(f"{name}: {e}") from e


@cache
def _decoder(wanted: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(wanted, dec_hook=read_untagged)
