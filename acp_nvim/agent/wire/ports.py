"""Ports of an endpoint: the handler of the peer's messages, and flow control."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

from msgspec import Raw

from acp_nvim.agent.wire.calls import IncomingCall
from acp_nvim.protocol import schema
from acp_nvim.protocol.jsonrpc import Violation


class Handler(Protocol):
    """Handler of the peer's messages. Only `on_request` may wait."""

    def on_notification(self, method: str, params: Raw) -> None:
        """Handle a notification that is not a well-formed `session/update`."""

    def on_updates(self, messages: Sequence[schema.SessionNotification], size: int) -> None:
        """Apply decoded `session/update`s that arrived together in `size` bytes.

        An update that fails must not prevent the others.
        """

    def on_request(self, method: str, params: Raw, call: IncomingCall) -> Awaitable[Any] | None:
        """Start answering a request. Return an awaitable of the result.

        The result is a Struct, dict, Raw or None. Return None instead of an awaitable if
        `call.answer` is called later; `call.when_abandoned` then reports the end. The method may be
        an `async def`, but only the body of a plain function runs in wire order. A RequestError,
        raised at once or when awaited, becomes the answer. Any other error is answered with -32603
        and passed to `on_error`.
        """

    def turn_text(self, session_id: str) -> str:
        """Return the peer's text in the running turn of a session, by the peer's id."""

    def on_violation(self, violation: Violation) -> None:
        """Handle a protocol violation. The endpoint has sent an error response if one is due."""

    def on_error(self, error: Exception) -> None:
        """Handle an unexpected error in this handler or in an `on_response`. Do not raise."""


class FlowControl(Protocol):
    """Pauses in reading while too much output is waiting to be shown (`nvim/flow.py`)."""

    async def room(self) -> float | None:
        """Wait until there is room. Return the number of seconds for which no redraw is needed."""
