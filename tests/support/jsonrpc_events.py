r"""Events that a JSON-RPC peer makes of bytes, as values that compare.

Example:

    assert events(b'{"jsonrpc": "2.0", "method": "m"}\n') == [("Notification", "m", b"{}")]
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from acp_nvim.protocol.jsonrpc import Event, Peer, Violation


def plain(event: Event) -> tuple[object, ...]:
    """Return an event as values that compare; a Raw compares by identity."""
    fields = (getattr(event, name) for name in event.__struct_fields__)
    return type(event).__name__, *(bytes(f) if isinstance(f, msgspec.Raw) else f for f in fields)


def events(data: bytes, peer: Peer | None = None) -> list[tuple[object, ...]]:
    return [plain(event) for event in (peer or Peer()).receive(data)]


def violation(data: bytes, peer: Peer | None = None) -> Violation:
    """Return the only event of `data`, which must be a violation."""
    (event,) = (peer or Peer()).receive(data)
    assert isinstance(event, Violation)
    return event


def answer(event: Violation) -> tuple[Any, int]:
    """Return id and code of the reply to a violation."""
    assert event.reply is not None
    assert event.reply.count(b"\n") == 1
    assert event.reply.endswith(b"\n")
    reply = json.loads(event.reply)
    assert reply["jsonrpc"] == "2.0"
    return reply["id"], reply["error"]["code"]
