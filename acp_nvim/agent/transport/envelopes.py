"""Parts of a message that Streamable HTTP needs for routing: id, method, session."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

OPENING: Final = ("session/load", "session/resume", "session/fork")
"""Requests about a session that the connection may not have yet."""


class _Session(msgspec.Struct):
    sessionId: str | UnsetType = UNSET  # noqa: N815 -- the name on the wire
    connectionId: str | UnsetType = UNSET  # noqa: N815
    protocolVersion: Any = UNSET  # noqa: N815


class Envelope(msgspec.Struct):
    """Outer fields of a message. A field of the wrong type counts as absent."""

    id: Any = UNSET
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"")
    result: msgspec.Raw = msgspec.Raw(b"")

    @property
    def is_request(self) -> bool:
        return self.method is not None and self.id is not UNSET

    @property
    def is_answer(self) -> bool:
        return self.method is None and self.id is not UNSET

    @property
    def session(self) -> str | None:
        """Return the session id in the params."""
        return _text(_inner_fields(self.params).sessionId)

    @property
    def opened_session(self) -> str | None:
        """Return the session id in the result."""
        return _text(_inner_fields(self.result).sessionId)

    @property
    def connection(self) -> str | None:
        """Return the connection id in the result of `initialize`."""
        return _text(_inner_fields(self.result).connectionId)

    @property
    def version(self) -> str:
        """Return the protocol version in the result of `initialize`."""
        version = _inner_fields(self.result).protocolVersion
        return str(version) if isinstance(version, int | str) else ""


_outside: Final = msgspec.json.Decoder(Envelope)
_inside: Final = msgspec.json.Decoder(_Session)
_NOTHING: Final = _Session()


def read(line: bytes) -> Envelope:
    """Return the outer fields of a message. An unreadable message has none."""
    try:
        return _outside.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Envelope()


def refusal(asked: Envelope, code: int, message: str) -> bytes:
    """Return an error response to a client request, on behalf of the server."""
    error = {"code": code, "message": message}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": asked.id, "error": error}) + b"\n"


def _inner_fields(raw: msgspec.Raw) -> _Session:
    """Return the fields of params or a result that are read here. Unreadable JSON has none."""
    try:
        return _inside.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _NOTHING


def _text(value: str | UnsetType) -> str | None:
    return value if isinstance(value, str) else None
