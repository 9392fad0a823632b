"""Values as msgpack and Lua want them: no None inside tables, no Structs, no unset fields."""

from __future__ import annotations

from typing import Any

import msgspec

_PLAIN = (bool, int, float)


def legible(text: str) -> str:
    """Return a text without what UTF-8 has no bytes for."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def legible_all(texts: list[str]) -> list[str]:
    """The same for many at once."""
    return texts if "".join(texts).isascii() else [legible(text) for text in texts]


def plain(value: Any) -> Any:
    """Return builtins without anything absent: what is None inside a map is left out, in a list it
    is skipped.
    """
    kind = value.__class__
    if kind is str:
        return legible(value)
    if kind is dict:
        return {key: plain(item) for key, item in value.items() if item is not None}
    if kind is list or kind is tuple:
        return [plain(item) for item in value if item is not None]
    if value is None or kind in _PLAIN:
        return value
    return plain(msgspec.to_builtins(value))
