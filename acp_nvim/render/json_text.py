"""Readable JSON: keys in order, short values on one line, texts of several lines unescaped."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from acp_nvim.patterns import late
from acp_nvim.render.cutting import between
from acp_nvim.render.diffs import text_rows
from acp_nvim.render.rows import WIDEST, Row, Target, ends, row
from acp_nvim.render.text import visible

SHORT = 60
"""Maximum number of characters of a value on one line."""
SMALL = 1 << 14
"""Maximum number of bytes of a value that is formatted by its structure.

A larger one is only indented.
"""
MOST = 40
"""Maximum number of keys or items shown. If there are more, the first and the last are shown."""
DEEPEST = 20
"""Maximum number of indentation levels. Deeper values are on one line."""
ROWS = 1000

_PLAIN: Final = late(r"[\w.-]{1,60}")
_GAP: Final = object()


def json_rows(value: Any, whole: Target) -> list[Row]:
    """Return a value as rows. The target `whole` opens all of it.

    Of a very large value, beginning and end are shown, and it is only indented.
    """
    members = (
        _members(value, whole, "") if isinstance(value, dict) else _value("", value, whole, "")
    )
    rows = list(islice(members, ROWS))
    return rows if len(rows) < ROWS else text_rows(_indent(value), whole)


def _members(value: dict[Any, Any], whole: Target, indent: str) -> Iterator[Row]:
    for item in _both_ends(value.items(), len(value)):
        if item is _GAP:
            yield between(len(value) - MOST, whole)
        else:
            yield from _value(f"{_key(item[0])}: ", item[1], whole, indent)


def _items(value: list[Any], whole: Target, indent: str) -> Iterator[Row]:
    for item in _both_ends(value, len(value)):
        if item is _GAP:
            yield between(len(value) - MOST, whole)
        else:
            yield from _value("", item, whole, indent)


def _both_ends(items: Any, count: int) -> Iterator[Any]:
    """Yield the items, or the first ones, a gap and the last ones of very many."""
    if count <= MOST + 1:
        yield from items
        return
    half = MOST // 2
    yield from islice(items, half)
    yield _GAP
    yield from reversed(list(islice(reversed(items), half)))


def _value(key: str, value: Any, whole: Target, indent: str) -> Iterator[Row]:
    """Yield a key with its value: a line, a block of text, or its members one level deeper."""
    if isinstance(value, str):
        yield from _text(key, value, whole, indent)
        return
    many = isinstance(value, (dict, list)) and len(value) > MOST  # never short as JSON
    data = b"" if many else msgspec.json.encode(value)
    short = WIDEST if len(indent) > 2 * DEEPEST else SHORT
    if not many and len(data) <= short:
        yield row(visible(f"{indent}{key}{_short(value)}"))
    elif len(data) > SMALL or len(indent) > 2 * DEEPEST:
        yield from text_rows(_indent(value), whole, f"{indent}{key}", None, indent)
    else:
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        yield row(f"{indent}{visible(key)}{opening}")
        further = f"{indent}  "
        inside = _members if isinstance(value, dict) else _items
        yield from inside(value, whole, further)
        yield row(indent + closing)


def _text(key: str, text: str, whole: Target, indent: str) -> Iterator[Row]:
    """Yield a text of several lines unescaped below its key, so that code is readable."""
    if "\n" in text.rstrip("\n"):
        yield row(visible(f"{indent}{key}").rstrip())
        yield from text_rows(text.removesuffix("\n"), whole, f"{indent}│ ")
    else:
        yield row(visible(f"{indent}{key}{_short(ends(text))}"))


def _short(value: Any, depth: int = DEEPEST) -> str:
    if depth and isinstance(value, dict):
        members = (f"{_key(key)}: {_short(item, depth - 1)}" for key, item in value.items())
        return f"{{{', '.join(members)}}}"
    if depth and isinstance(value, list):
        return f"[{', '.join(_short(item, depth - 1) for item in value)}]"
    import json  # imported late: not needed before a first prompt

    return json.dumps(value, ensure_ascii=False)


def _key(key: Any) -> str:
    """Return a key, in quotes if it is ambiguous without."""
    return key if isinstance(key, str) and _PLAIN.fullmatch(key) else _short(key)


def _indent(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8", "replace")
