"""Conversion of values for msgpack and Lua: no None inside tables, no Structs, no unset fields."""

from __future__ import annotations

from typing import Any

import msgspec

from acp_nvim.patterns import late

_PLAIN = (bool, float)
_MAX_INTEGER = (1 << 63) - 1
"""Largest integer of Neovim."""
_NO_BYTE = late("[\ud800-\udc7f\udd00-\udfff]")


def legible(text: str) -> str:
    """Return a text that can be sent to Neovim.

    Lone surrogates become `?`, except those that represent bytes in a path that is not UTF-8
    (`os.fsdecode`).
    """
    if text.isascii():
        return text
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _NO_BYTE.sub("?", text)
    return text


def legible_all(texts: list[str]) -> list[str]:
    """Apply `legible` to each text."""
    return texts if "".join(texts).isascii() else [legible(text) for text in texts]


def plain(value: Any) -> Any:
    """Return a value as builtins, without the items of maps and lists that are None.

    An integer too large for Neovim becomes Neovim's largest one.
    """
    kind = value.__class__
    if kind is str:
        return legible(value)
    if kind is dict:
        return {key: plain(item) for key, item in value.items() if item is not None}
    if kind is list or kind is tuple:
        return [plain(item) for item in value if item is not None]
    if kind is int:
        is_small = -_MAX_INTEGER <= value <= _MAX_INTEGER
        return value if is_small else _MAX_INTEGER if value > 0 else -_MAX_INTEGER
    if value is None or kind in _PLAIN:
        return value
    return plain(msgspec.to_builtins(value))
