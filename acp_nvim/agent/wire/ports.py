"""The ports of an endpoint: who handles the messages of the peer, and who holds reading back."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

from msgspec import Raw

from acp_nvim.agent.wire.calls import IncomingCall
from acp_nvim.protocol import schema
from acp_nvim.protocol.jsonrpc import Violation


class Handler(Protocol):
    """Handles the messages of the peer. Only `request` may lead to waiting."""

    def notification(self, method: str, params: Raw) -> None:
        """The peer tells something."""

    def updated(self, messages: Sequence[schema.SessionNotification], size: int) -> None:
        """`session/update`s that came together, read already, in `size` bytes: asked for by
        `Peer.reads_updates`. One that fails keeps none of the others from being applied.
        """

    def request(self, method: str, params: Raw, call: IncomingCall) -> Awaitable[Any] | None:
        """The peer asks; the returned awaitable gives the result (Struct, dict, Raw or None).
        None where `call.answer` is called sooner or later, and `call.when_abandoned` hears the
        end.

        May be an `async def`. The body of a plain function runs in wire order.
        RequestError, at once or when awaited, becomes the answer; any other error a -32603 and a
        call of `failed`.
        """

    def said(self, session_id: str) -> str:
        """Return the text of the peer in the running turn of a session, by the peer's id."""

    def violation(self, violation: Violation) -> None:
        """The peer broke the protocol; it has been told where that is due."""

    def failed(self, error: Exception) -> None:
        """A method of this handler or an `on_response` raised an unexpected error. Never raises."""


class FlowControl(Protocol):
    """Holds reading back while too much waits to be shown (`nvim/flow.py`)."""

    async def room(self) -> float | None:
        """Wait until there is room for more. Returns the seconds for which nobody looks at it."""
