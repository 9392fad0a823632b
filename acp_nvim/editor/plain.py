"""Values as msgpack and Lua want them: no None inside tables, no Structs, no unset fields."""

from __future__ import annotations

from typing import Any

import msgspec


def plain(value: Any) -> Any:
    """Return builtins without anything absent: what is None inside a map is left out, in a list it
    is skipped.
    """
    return _strip(msgspec.to_builtins(value))


def _strip(value: Any) -> Any:
    kind = value.__class__
    if kind is str:
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if kind is dict:
        return {key: _strip(item) for key, item in value.items() if item is not None}
    if kind is list or kind is tuple:
        return [_strip(item) for item in value if item is not None]
    return value
