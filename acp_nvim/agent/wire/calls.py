"""Open requests from the client and the peer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import anyio

from acp_nvim.protocol.jsonrpc import Id

OnResponse: TypeAlias = Callable[[Any, Exception | None], None]
"""Function called with `(result, None)` or `(None, error)`, an error of `OutgoingCall.answer`."""

OnInserted: TypeAlias = Callable[[str], None]
"""Function called with the message id of a prompt that the peer inserted (v2/prompt-lifecycle)."""


class ConnectionClosed(Exception):
    """End of the connection before the answer arrived, or before the request was sent."""


class OutgoingCall:
    """Request from the client, sent at `since` on the endpoint's clock, in seconds."""

    def __init__(
        self,
        id: int,
        method: str,
        since: float,
        on_response: OnResponse | None,
        session_id: str | None = None,
        on_inserted: OnInserted | None = None,
    ) -> None:
        self.id = id
        self.method = method
        self.since = since
        self.session_id = session_id
        """Agent's id of the session in the params, if any."""
        self.is_cancelled = False
        """Whether `$/cancel_request` was sent. The request stays open until its answer."""
        self._on_response = on_response
        self._on_inserted = on_inserted
        self._on_over: list[Callable[[], object]] = []
        self._is_over = False
        self._done = anyio.Event()
        self._result: Any = None
        self._error: Exception | None = None

    def finish(self, result: Any, error: Exception | None) -> None:
        """Pass the outcome to `on_response` and to the callers of `answer`."""
        self._result, self._error = result, error
        self._done.set()
        try:
            if self._on_response is not None:
                self._on_response(result, error)
        finally:
            self._end()

    def insert(self, message_id: str) -> None:
        """Report that the peer has inserted a prompt. The answer comes later."""
        on_inserted, self._on_inserted = self._on_inserted, None
        if on_inserted is not None:
            on_inserted(message_id)

    def cancel(self) -> None:
        """Mark the request as cancelled."""
        self.is_cancelled = True
        self._end()

    def when_over(self, action: Callable[[], object]) -> None:
        """Call `action` when the request is answered or cancelled, or at once if it already is."""
        if self._is_over:
            action()
        else:
            self._on_over.append(action)

    def _end(self) -> None:
        self._is_over = True
        actions, self._on_over = self._on_over, []
        for action in actions:
            action()

    async def answer(self) -> Any:
        """Wait for the decoded result and return it.

        Raise RequestError if the peer refuses, DecodeError if its result is unreadable, and
        ConnectionClosed if no answer can come.
        """
        await self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result

    def __repr__(self) -> str:
        state = "done" if self._done.is_set() else "cancelled" if self.is_cancelled else "open"
        return f"<OutgoingCall {self.id} {self.method} [{state}]>"


class IncomingCall:
    """Request from the peer. It reports a cancel and the end of the connection to the handler."""

    def __init__(
        self,
        id: Id,
        method: str,
        respond: Callable[[IncomingCall, Any], None] = lambda call, result: None,
    ) -> None:
        """`respond` sends the answer, unless one was sent."""
        self.id = id
        self.method = method
        self.is_cancelled = False
        """Whether the peer cancelled the request or the connection ended."""
        self.reason: str | None = None
        self._on_cancel: Callable[[], object] | None = None
        self._on_abandon: Callable[[], object] | None = None
        self._scope: anyio.CancelScope | None = None
        self.is_answered = False
        self._respond = respond

    @property
    def scope(self) -> anyio.CancelScope:
        """Return the cancel scope of the task that serves the request."""
        if self._scope is None:
            self._scope = anyio.CancelScope()
        return self._scope

    def when_cancelled(self, action: Callable[[], object]) -> None:
        """Call `action` when the peer cancels, instead of cancelling the handler's task.

        The handler then still answers. At the end of the connection, `action` is not called.
        """
        self._on_cancel = action

    def when_abandoned(self, action: Callable[[], object]) -> None:
        """Call `action` at the end of the connection, instead of cancelling the handler's task."""
        self._on_abandon = action

    def answer(self, result: Any) -> None:
        """Answer now, for a handler with further work that the peer need not wait for.

        The handler's later result or error is not sent.
        """
        self._respond(self, result)

    def close(self) -> None:
        """Mark the request as answered."""
        self.is_answered = True

    def cancel(self, reason: str) -> None:
        """Call the action of `when_cancelled`, or cancel the handler's task if there is none."""
        if self.is_cancelled:
            return
        self.is_cancelled, self.reason = True, reason
        if self._on_cancel is None:
            self.scope.cancel()
            return
        try:
            self._on_cancel()
        except Exception:
            self.scope.cancel()
            raise

    def abandon(self, reason: str) -> None:
        """End the handler at the end of the connection. No answer can be sent."""
        self.is_cancelled, self.reason = True, reason
        if self._on_abandon is not None:
            self._on_abandon()
        else:
            self.scope.cancel()

    def __repr__(self) -> str:
        state = "answered" if self.is_answered else "cancelled" if self.is_cancelled else "open"
        return f"<IncomingCall {self.id!r} {self.method} [{state}]>"
