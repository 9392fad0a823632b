"""What is saved of messages that are broken: the first members of a line that was too long to keep,
what an error says that is not as it should be.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from acp_nvim.protocol import errors, schema

_MEMBER: Final = re.compile(
    rb'\s*[{,]\s*"(?P<name>\w+)"\s*:\s*(?P<value>-?\d[\d.eE+-]*(?=\s*[,}])|null|"(?:[^"\\]|\\.)*")?'
)


def members(head: bytes) -> dict[str, bytes]:
    """The members up to the first one that is no string, number or null, which is b"" here.

    An `id` is only there when it is whole.
    """
    found: dict[str, bytes] = {}
    position = 0
    while match := _MEMBER.match(head, position):
        name = match["name"].decode("ascii", "replace")
        if match["value"] is None:
            return found if name == "id" else {**found, name: b""}
        found[name] = match["value"]
        position = match.end()
    return found


def error(raw: msgspec.Raw) -> schema.Error:
    """What can be read of it: code and message where they are such, all of it as data."""
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
