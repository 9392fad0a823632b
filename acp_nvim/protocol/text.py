"""Lone surrogates, from agents that split UTF-16 and from Neovim.

JSON permits them as escapes, but UTF-8 does not. In messages to and from agents they become U+FFFD,
and two adjacent halves become one character. Our own files keep them: they are the bytes of a file
name that is not UTF-8 (`os.fsdecode`).
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

import msgspec

from acp_nvim.patterns import late

_Value = TypeVar("_Value")

_ESCAPE: Final = late(
    rb"\\(?:"
    rb"(?P<pair>u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|.)",
    re.DOTALL,
)


def repair_escapes(line: bytes) -> bytes:
    r"""Return a line of JSON with each lone surrogate escape replaced by `\ufffd`."""
    return _ESCAPE.sub(lambda m: rb"\ufffd" if m["lone"] else m[0], line)


def clean_text(text: str) -> str:
    """Return `text` without lone surrogates."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean(value: Any) -> Any:
    """Return `value` (structs, dicts, lists, scalars) as builtins without lone surrogates."""
    return _clean(msgspec.to_builtins(value, enc_hook=_decode_raw))


def encode_exactly(value: Any) -> bytes:
    """Return `value` as JSON in which lone surrogates are escapes."""
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:
        import json  # rarely needed

        data = json.dumps(msgspec.to_builtins(value)).encode()
    return data + b"\n"


def decode_exactly(data: bytes, type: type[_Value]) -> _Value:
    """Return a value from `encode_exactly`. Raise ValueError if the data is invalid."""
    try:
        return msgspec.json.decode(data, type=type)
    except msgspec.DecodeError as error:
        if b"\\ud" not in data:
            raise
        import json  # rarely needed

        try:
            return msgspec.convert(json.loads(data), type)
        except RecursionError:
            raise error from None


def _decode_raw(value: Any) -> Any:
    if isinstance(value, msgspec.Raw):
        return msgspec.json.decode(value)
    raise TypeError(f"objects of type {type(value).__qualname__} are not supported")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value
