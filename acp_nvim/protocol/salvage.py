"""Readable parts of broken messages: members at the ends of an oversize line, malformed errors."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from acp_nvim.patterns import late
from acp_nvim.protocol import errors, schema

_MEMBER: Final = late(
    rb'\s*[{,]\s*"(?P<name>\w+)"\s*:\s*(?P<value>-?\d[\d.eE+-]*(?=\s*[,}])|null|"(?:[^"\\]|\\.)*")?'
)

_LAST: Final = late(rb'(?:,\s*"\w+"\s*:\s*(?:-?\d[\d.eE+-]*|null|"(?:[^"\\]|\\.)*")\s*)+\}\s*\Z')


def end_members(head: bytes, tail: bytes, *, is_one: bool = True) -> dict[str, bytes]:
    """Return the members of a message at both ends of a line.

    Members at the end are those after the last value that is not a string, number or null. They
    belong to the message itself, because members of a nested object would be followed by two
    braces. If the line may contain several messages (`is_one` is false), only the `id` of an answer
    is included.
    """
    first = members(head)
    match = _LAST.search(tail)
    last = {} if match is None else members(match[0])
    if not is_one:
        last = {"id": last["id"]} if "id" in last and "method" not in first else {}
    return last | first


def members(head: bytes) -> dict[str, bytes]:
    """Return the members up to the first value that is not a string, number or null.

    The value of that member is b"". An `id` is included only if it is complete.
    """
    by_name: dict[str, bytes] = {}
    position = 0
    while match := _MEMBER.match(head, position):
        name = match["name"].decode("ascii", "replace")
        if match["value"] is None:
            return by_name if name == "id" else {**by_name, name: b""}
        by_name[name] = match["value"]
        position = match.end()
    return by_name


def error(raw: msgspec.Raw) -> schema.Error:
    """Return the readable parts of an error: a valid code and message, and the rest as data."""
    code: int = errors.INTERNAL_ERROR
    message = "an error without a message"
    try:
        data = msgspec.json.decode(raw)
    except RecursionError:
        return schema.Error(code, message)
    if isinstance(data, dict):
        given = data.get("code")
        code = int(given) if isinstance(given, int | float) else code
        message = _words(data.get("message") or message)
        data = data.get("data", data)
    elif isinstance(data, str):
        message = data
    return schema.Error(code, message, data)


def _words(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
