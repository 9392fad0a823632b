"""What the head of a line that was too long to keep says about the message: its first members."""

from __future__ import annotations

import re
from typing import Final

_MEMBER: Final = re.compile(
    rb'\s*[{,]\s*"(?P<name>\w+)"\s*:\s*(?P<value>-?\d+(?=\s*[,}])|null|"(?:[^"\\]|\\.)*")?'
)


def members(head: bytes) -> dict[str, bytes]:
    """The members up to the first one that is no string, integer or null, which is b"" here.

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
