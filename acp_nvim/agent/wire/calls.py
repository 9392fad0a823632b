"""Open requests: those of the client and those of the peer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import anyio

from acp_nvim.protocol.jsonrpc import Id

OnResponse: TypeAlias = Callable[[Any, Exception | None], None]
"""Called with `(result, None)` or `(None, error)`. Errors are those of `OutgoingCall.answer`."""

OnInserted: TypeAlias = Callable[[str], None]
"""Called with the message id of a prompt that the peer has inserted (v2/prompt-lifecycle)."""


class ConnectionClosed(Exception):
    """The connection ended before the answer arrived, or before the request was sent."""


class OutgoingCall:
    """Client request. `since` is the time of sending on the endpoint's clock, in seconds."""

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
        """Agent's id of the session that the request is about."""
        self.cancelled = False
        """Whether `$/cancel_request` was sent. The request stays open until its answer."""
        self._on_response = on_response
        self._on_taken = on_inserted
        self._on_over: list[Callable[[], object]] = []
        self._over = False
        self._done = anyio.Event()
        self._result: Any = None
        self._error: Exception | None = None

    def finish(self, result: Any, error: Exception | None) -> None:
        """Pass the outcome to `on_response` at once, then to the waiters of `answer`."""
        self._result, self._error = result, error
        self._done.set()
        try:
            if self._on_response is not None:
                self._on_response(result, error)
        finally:
            self._end()

    def insert(self, message_id: str) -> None:
        """Handle a prompt that the peer has inserted. Its answer is still to come."""
        on_inserted, self._on_taken = self._on_taken, None
        if on_inserted is not None:
            on_inserted(message_id)

    def cancel(self) -> None:
        """Mark the request as cancelled."""
        self.cancelled = True
        self._end()

    def when_over(self, action: Callable[[], object]) -> None:
        """Call `action` once the request is answered or cancelled, or now if it is already."""
        if self._over:
            action()
        else:
            self._on_over.append(action)

    def _end(self) -> None:
        self._over = True
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
        state = "done" if self._done.is_set() else "cancelled" if self.cancelled else "open"
        return f"<OutgoingCall {self.id} {self.method} [{state}]>"


class IncomingCall:
    """Request of the peer. Its handler uses it to learn of a cancel or the end of the
    connection.
    """

    def __init__(
        self,
        id: Id,
        method: str,
        respond: Callable[[IncomingCall, Any], None] = lambda call, result: None,
    ) -> None:
        """Set up as unanswered. `respond` sends the answer, unless one was sent."""
        self.id = id
        self.method = method
        self.cancelled = False
        """Whether the peer cancelled the request or the connection ended."""
        self.reason: str | None = None
        self._on_cancel: Callable[[], object] | None = None
        self._on_abandon: Callable[[], object] | None = None
        self._scope: anyio.CancelScope | None = None
        self.answered = False
        self._respond = respond

    @property
    def scope(self) -> anyio.CancelScope:
        """Return the cancel scope of the task that serves the request."""
        if self._scope is None:
            self._scope = anyio.CancelScope()
        return self._scope

    def when_cancelled(self, action: Callable[[], object]) -> None:
        """Call `action` when the peer cancels, instead of cancelling the handler's task.

        The handler then answers with a valid result. It is not called at the end of the connection.
        """
        self._on_cancel = action

    def when_abandoned(self, action: Callable[[], object]) -> None:
        """Call `action` at the end of the connection, for a request without a task."""
        self._on_abandon = action

    def answer(self, result: Any) -> None:
        """Answer now, for a handler that continues with work the peer need not wait for.

        Its later result or error is not sent.
        """
        self._respond(self, result)

    def close(self) -> None:
        """Mark the request as answered."""
        self.answered = True

    def cancel(self, reason: str) -> None:
        """Cancel the request: call the action of `when_cancelled`, or else cancel the handler's
        task.
        """
        if self.cancelled:
            return
        self.cancelled, self.reason = True, reason
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
        self.cancelled, self.reason = True, reason
        if self._on_abandon is not None:
            self._on_abandon()
        else:
            self.scope.cancel()

    def __repr__(self) -> str:
        state = "answered" if self.answered else "cancelled" if self.cancelled else "open"
        return f"<IncomingCall {self.id!r} {self.method} [{state}]>"
