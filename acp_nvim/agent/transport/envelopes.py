"""As much of a message as Streamable HTTP has to know to find its way: id, method, session."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

OPENING: Final = ("session/load", "session/resume", "session/fork")
"""Requests about a session that the connection need not have yet."""


class _Session(msgspec.Struct):
    sessionId: str | UnsetType = UNSET  # noqa: N815 -- the name on the wire
    connectionId: str | UnsetType = UNSET  # noqa: N815
    protocolVersion: Any = UNSET  # noqa: N815


class Envelope(msgspec.Struct):
    """The outside of a message. What is of another type than it should be counts as absent."""

    id: Any = UNSET
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"")
    result: msgspec.Raw = msgspec.Raw(b"")

    @property
    def is_request(self) -> bool:
        """Whether an answer is wanted."""
        return self.method is not None and self.id is not UNSET

    @property
    def is_answer(self) -> bool:
        """Whether it is the answer to a request."""
        return self.method is None and self.id is not UNSET

    @property
    def session(self) -> str | None:
        """The session that the params name."""
        return _text(_part(self.params).sessionId)

    @property
    def opened(self) -> str | None:
        """The session that the result names."""
        return _text(_part(self.result).sessionId)

    @property
    def connection(self) -> str | None:
        """The connection that the result of `initialize` names."""
        return _text(_part(self.result).connectionId)

    @property
    def version(self) -> str:
        """The version of the protocol that the result of `initialize` names."""
        version = _part(self.result).protocolVersion
        return str(version) if isinstance(version, int | str) else ""


_outside: Final = msgspec.json.Decoder(Envelope)
_inside: Final = msgspec.json.Decoder(_Session)
_NOTHING: Final = _Session()


def read(line: bytes) -> Envelope:
    """Return the outside of a message; an empty one where it cannot be read."""
    try:
        return _outside.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Envelope()


def refusal(asked: Envelope, code: int, message: str) -> bytes:
    """Return the line that answers a request of ours with an error, for a server that has not."""
    error = {"code": code, "message": message}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": asked.id, "error": error}) + b"\n"


def _part(raw: msgspec.Raw) -> _Session:
    try:
        return _inside.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _NOTHING


def _text(value: str | UnsetType) -> str | None:
    return value if isinstance(value, str) else None
