"""Requests that are open: ours, waiting for the peer, and the peer's, waiting for us."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import anyio

from acp_nvim.protocol.jsonrpc import Id

OnResponse: TypeAlias = Callable[[Any, Exception | None], None]
"""Called with `(result, None)` or `(None, error)`; errors are those of `OutgoingCall.answer`."""

OnTaken: TypeAlias = Callable[[str], None]
"""Called with the id of the message that a prompt has become (v2/prompt-lifecycle)."""


class ConnectionClosed(Exception):
    """The connection ended before the answer came, or had ended before the question was put."""


class OutgoingCall:
    """A request of ours. `since` is when it was sent, on the endpoint's clock, in seconds."""

    def __init__(
        self,
        id: int,
        method: str,
        since: float,
        on_response: OnResponse | None,
        session_id: str | None = None,
        on_taken: OnTaken | None = None,
    ) -> None:
        self.id = id
        self.method = method
        self.since = since
        self.session_id = session_id
        """The agent's id of the session that it is about."""
        self.cancelled = False
        """We have sent `$/cancel_request`. It stays open: an answer still comes."""
        self._on_response = on_response
        self._on_taken = on_taken
        self._on_over: list[Callable[[], object]] = []
        self._over = False
        self._done = anyio.Event()
        self._result: Any = None
        self._error: Exception | None = None

    def finish(self, result: Any, error: Exception | None) -> None:
        """Hand over the outcome: at once to `on_response`, then to whoever awaits `answer`."""
        self._result, self._error = result, error
        self._done.set()
        try:
            if self._on_response is not None:
                self._on_response(result, error)
        finally:
            self._end()

    def take(self, message_id: str) -> None:
        """The peer has taken the prompt; its answer is still to come."""
        on_taken, self._on_taken = self._on_taken, None
        if on_taken is not None:
            on_taken(message_id)

    def cancel(self) -> None:
        """Nobody waits for the answer any more."""
        self.cancelled = True
        self._end()

    def when_over(self, action: Callable[[], object]) -> None:
        """Call `action` once it is answered or cancelled; at once where it is already."""
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
        """The decoded result.

        Raises RequestError when the peer refused, DecodeError when its result can't be read,
        ConnectionClosed when no answer will come any more.
        """
        await self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result

    def __repr__(self) -> str:
        state = "done" if self._done.is_set() else "cancelled" if self.cancelled else "open"
        return f"<OutgoingCall {self.id} {self.method} [{state}]>"


class IncomingCall:
    """A request of the peer. The handler gets it, to learn when nobody waits any more."""

    def __init__(
        self,
        id: Id,
        method: str,
        respond: Callable[[IncomingCall, Any], None] = lambda call, result: None,
    ) -> None:
        """`respond` sends the answer, unless there is one."""
        self.id = id
        self.method = method
        self.cancelled = False
        """The peer has cancelled the request, or the connection has ended."""
        self.reason: str | None = None
        self._on_cancel: Callable[[], object] | None = None
        self._on_abandon: Callable[[], object] | None = None
        self._scope: anyio.CancelScope | None = None
        self.answered = False
        self._respond = respond

    @property
    def scope(self) -> anyio.CancelScope:
        """Of the task that serves it, if one does."""
        if self._scope is None:
            self._scope = anyio.CancelScope()
        return self._scope

    def when_cancelled(self, action: Callable[[], object]) -> None:
        """When the peer cancels the request, call `action` instead of cancelling the handler's
        task: the handler answers by itself, with a valid result. Not called at the end of the
        connection.
        """
        self._on_cancel = action

    def when_abandoned(self, action: Callable[[], object]) -> None:
        """At the end of the connection, call `action`; for a request that no task serves."""
        self._on_abandon = action

    def answer(self, result: Any) -> None:
        """Answer at once, for a handler that goes on with work that the peer need not wait for. Its
        later result or error is not sent.
        """
        self._respond(self, result)

    def close(self) -> None:
        """The answer is on its way: no other one is sent."""
        self.answered = True

    def cancel(self, reason: str) -> None:
        """The peer has sent `$/cancel_request`: call what `when_cancelled` was given, else end the
        handler's task.
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
        """The end of the connection: nobody can be answered, the handler ends in any case."""
        self.cancelled, self.reason = True, reason
        if self._on_abandon is not None:
            self._on_abandon()
        else:
            self.scope.cancel()

    def __repr__(self) -> str:
        state = "answered" if self.answered else "cancelled" if self.cancelled else "open"
        return f"<IncomingCall {self.id!r} {self.method} [{state}]>"
