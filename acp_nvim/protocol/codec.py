"""Decoding of raw params and results as types of `schema`: first strictly, then tolerantly.

msgspec alone decodes valid values. Only values that it refuses go through `tolerance`, which
accepts deviations as the v1 schema prescribes (`x-deserialize-*`) and known faults of agents. It
adds one line per deviation to `notes`, for the log and the count of violations.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from acp_nvim.protocol import errors
from acp_nvim.protocol.errors import DecodeError
from acp_nvim.protocol.methods import received_method, request_method
from acp_nvim.protocol.unions import read_untagged

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp_nvim.protocol.methods import Side

T = TypeVar("T")


def decode_params(method: str, raw: msgspec.Raw, side: Side, notes: list[str] | None = None) -> Any:
    """Return the params of a message that `side` received, as the type in `methods.METHODS`.

    Absent and null params count as an empty object. Tolerated deviations are appended to `notes`.
    Raise DecodeError with the error code for the answer. Its text is one line that names the field.
    """
    row = received_method(method, side)
    if row is None:
        raise DecodeError(f"unknown method {method!r}", errors.METHOD_NOT_FOUND)
    return decode(row.params, raw, notes, name="params")


def reader(method: str, side: Side) -> Callable[[msgspec.Raw], Any]:
    """Return a fast, strict form of `decode_params` for one method.

    It raises msgspec.DecodeError or RecursionError for values that need `decode_params`.
    """
    row = received_method(method, side)
    assert row is not None
    return partial(_read, row.params)


def _read(target: Any, raw: msgspec.Raw) -> Any:
    return _decoder(target).decode(raw)  # built on first use because it loads all types


def decode_result(method: str, raw: msgspec.Raw, notes: list[str] | None = None) -> Any:
    """Return the result of a request. Null counts as an empty object. Raise DecodeError."""
    row = request_method(method)
    if row is None:
        raise DecodeError(f"unknown method {method!r}", errors.METHOD_NOT_FOUND)
    return decode(row.result, raw, notes, name="result")


def decode(
    target: type[T], raw: msgspec.Raw | bytes, notes: list[str] | None = None, name: str = "value"
) -> T:
    """Return `raw` as `target`, a struct of `schema` or a union of them.

    `name` identifies the value in notes and errors.
    """
    decoder: msgspec.json.Decoder[T] = _decoder(cast("Any", target))
    try:
        return decoder.decode(raw)
    except msgspec.DecodeError:
        return _decode_tolerantly(target, raw, [] if notes is None else notes, name)
    except RecursionError as e:
        raise DecodeError(f"{name}: nested too deeply") from e


def _decode_tolerantly(target: type[T], raw: msgspec.Raw | bytes, notes: list[str], name: str) -> T:
    from acp_nvim.protocol import tolerance  # not needed for most agents

    try:
        value = msgspec.json.decode(raw)
        return tolerance.read(target, {} if value is None else value, name, notes)
    except (msgspec.DecodeError, RecursionError) as e:
        raise DecodeError(f"{name}: {e}") from e


@cache
def _decoder(target: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(target, dec_hook=read_untagged)
