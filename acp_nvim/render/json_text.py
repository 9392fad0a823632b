"""Readable JSON: keys in order, short values on one line, texts of several lines unescaped."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from acp_nvim.patterns import late
from acp_nvim.render.cutting import gap_row
from acp_nvim.render.diffs import text_rows
from acp_nvim.render.rows import MAX_WIDTH, Row, Target, cut_middle, row
from acp_nvim.render.text import visible

MAX_SHORT = 60
"""Maximum number of characters in a value on one line."""
MAX_STRUCTURED = 1 << 14
"""Maximum number of bytes of a value that is formatted according to its structure.

A larger one is only indented.
"""
MAX_MEMBERS = 40
"""Maximum number of keys or items shown. If there are more, the first and the last are shown."""
MAX_DEPTH = 20
"""Maximum number of indentation levels. Deeper values are on one line."""
MAX_ROWS = 1000

_PLAIN: Final = late(r"[\w.-]{1,60}")
_GAP: Final = object()


def json_rows(value: Any, full_target: Target) -> list[Row]:
    """Return a value as rows. The target `full_target` opens all of it.

    A very large value is only indented, and only its beginning and end are shown.
    """
    members = (
        _member_rows(value, full_target, "")
        if isinstance(value, dict)
        else _value_rows("", value, full_target, "")
    )
    rows = list(islice(members, MAX_ROWS))
    return rows if len(rows) < MAX_ROWS else text_rows(_indented_json(value), full_target)


def _member_rows(value: dict[Any, Any], full_target: Target, indent: str) -> Iterator[Row]:
    for item in _both_ends(value.items(), len(value)):
        if item is _GAP:
            yield gap_row(len(value) - MAX_MEMBERS, full_target)
        else:
            yield from _value_rows(f"{_key_text(item[0])}: ", item[1], full_target, indent)


def _item_rows(value: list[Any], full_target: Target, indent: str) -> Iterator[Row]:
    for item in _both_ends(value, len(value)):
        if item is _GAP:
            yield gap_row(len(value) - MAX_MEMBERS, full_target)
        else:
            yield from _value_rows("", item, full_target, indent)


def _both_ends(items: Any, count: int) -> Iterator[Any]:
    """Yield the items. If there are very many, yield the first ones, a gap and the last ones."""
    if count <= MAX_MEMBERS + 1:
        yield from items
        return
    half = MAX_MEMBERS // 2
    yield from islice(items, half)
    yield _GAP
    yield from reversed(list(islice(reversed(items), half)))


def _value_rows(key: str, value: Any, full_target: Target, indent: str) -> Iterator[Row]:
    """Yield a key with its value: a line, a block of text, or its members one level deeper."""
    if isinstance(value, str):
        yield from _text_rows(key, value, full_target, indent)
        return
    has_many = isinstance(value, (dict, list)) and len(value) > MAX_MEMBERS  # never short as JSON
    data = b"" if has_many else msgspec.json.encode(value)
    short = MAX_WIDTH if len(indent) > 2 * MAX_DEPTH else MAX_SHORT
    if not has_many and len(data) <= short:
        yield row(visible(f"{indent}{key}{_one_line_json(value)}"))
    elif len(data) > MAX_STRUCTURED or len(indent) > 2 * MAX_DEPTH:
        yield from text_rows(_indented_json(value), full_target, f"{indent}{key}", None, indent)
    else:
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        yield row(f"{indent}{visible(key)}{opening}")
        further = f"{indent}  "
        inside = _member_rows if isinstance(value, dict) else _item_rows
        yield from inside(value, full_target, further)
        yield row(indent + closing)


def _text_rows(key: str, text: str, full_target: Target, indent: str) -> Iterator[Row]:
    """Yield a text of several lines unescaped below its key, so that code is readable."""
    if "\n" in text.rstrip("\n"):
        yield row(visible(f"{indent}{key}").rstrip())
        yield from text_rows(text.removesuffix("\n"), full_target, f"{indent}│ ")
    else:
        yield row(visible(f"{indent}{key}{_one_line_json(cut_middle(text))}"))


def _one_line_json(value: Any, depth: int = MAX_DEPTH) -> str:
    if depth and isinstance(value, dict):
        members = (
            f"{_key_text(key)}: {_one_line_json(item, depth - 1)}" for key, item in value.items()
        )
        return f"{{{', '.join(members)}}}"
    if depth and isinstance(value, list):
        return f"[{', '.join(_one_line_json(item, depth - 1) for item in value)}]"
    import json  # imported late: not needed before a first prompt

    return json.dumps(value, ensure_ascii=False)


def _key_text(key: Any) -> str:
    """Return a key, in quotes if it is ambiguous without them."""
    return key if isinstance(key, str) and _PLAIN.fullmatch(key) else _one_line_json(key)


def _indented_json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8", "replace")
