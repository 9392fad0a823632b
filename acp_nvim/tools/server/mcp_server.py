"""Connection of one client to the tools over the Model Context Protocol, without I/O.

Calls run as tasks. Other requests are answered at once.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

import anyio
import msgspec

from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.jsonrpc import Id, Notification, Peer, Request, Violation
from acp_nvim.tools.server import mcp_methods
from acp_nvim.tools.server import mcp_types as mcp
from acp_nvim.tools.server.mcp_methods import Subscription, Work
from acp_nvim.tools.server.session_tools import SessionTools

LINE_BYTES: Final = 10 << 20
MAX_VIOLATIONS: Final = 100
"""Number of faults after which a client is disconnected."""


class McpServer:
    """Server side of a connection.

    `send` takes lines and never waits. `start` runs a task that ends with the connection.
    """

    def __init__(
        self,
        tools: SessionTools,
        send: Callable[[bytes], None],
        start: Callable[[Callable[[], Coroutine[Any, Any, None]]], None],
        on_violation: Callable[[str], None] = lambda kind: None,
    ) -> None:
        """`on_violation` is called with the kind of each fault of the client."""
        self._tools = tools
        self._send = send
        self._start = start
        self._on_violation = on_violation
        self._peer = Peer(LINE_BYTES)
        self._calls: dict[Id, anyio.CancelScope] = {}
        self._subscriptions: dict[Id, anyio.CancelScope] = {}
        self._is_initialized = False
        self._idle = anyio.Event()
        self._violations = 0

    @property
    def has_too_many_faults(self) -> bool:
        """Return whether the client must be disconnected."""
        return self._violations > MAX_VIOLATIONS

    async def idle(self) -> None:
        """Wait until no call is running. Subscriptions may continue."""
        while self._calls:
            self._idle = anyio.Event()
            await self._idle.wait()

    def receive(self, data: bytes) -> None:
        """Handle bytes from the client: answer or start the requests in complete lines."""
        for event in self._peer.receive(data):
            if isinstance(event, Request):
                self._on_request(event)
            elif isinstance(event, Notification):
                self._on_notification(event)
            elif isinstance(event, Violation):
                self._fault(event)

    def _fault(self, violation: Violation) -> None:
        self._violations += 1
        self._on_violation(violation.kind)
        if violation.reply is not None and not self.has_too_many_faults:
            self._send(violation.reply)

    def _on_notification(self, note: Notification) -> None:
        if note.method == "notifications/cancelled":
            self._cancel(note)
        elif note.method == "notifications/initialized" and not self._is_initialized:
            self._is_initialized = True
            changes = self._tools.changes
            self._start(partial(mcp_methods.send_changes, changes, changes.count, self._notify))

    def _cancel(self, note: Notification) -> None:
        """Cancel a call without an answer, as the protocol requires."""
        try:
            id = mcp_methods.read(mcp.CancelledParams, note.params).request_id
        except RequestError:
            self._fault(Violation("message", "cancelled: no requestId", bytes(note.params)))
            return
        if scope := self._calls.get(id) or self._subscriptions.get(id):
            scope.cancel()

    # -- requests ---------------------------------------------------------------------------------

    def _on_request(self, request: Request) -> None:
        id, method = request.id, request.method
        try:
            response = mcp_methods.answer(self._tools, id, method, request.params, self._notify)
        except RequestError as error:
            self._refuse(id, error)
            return
        if isinstance(response, Work):
            self._start_work(id, response)
        else:
            self._send(self._peer.respond(id, response))

    def _start_work(self, id: Id, work: Work) -> None:
        """Start the work. Register it before its task runs, because a cancel may follow at once."""
        running = self._subscriptions if isinstance(work, Subscription) else self._calls
        scope = running[id] = anyio.CancelScope()

        async def run() -> None:
            with scope:
                await self._run_work(running, id, work)
            if running.pop(id, None):
                self._peer.respond(id, None)  # sent nowhere: the client has cancelled the request
            if not self._calls:
                self._idle.set()

        self._start(run)

    async def _run_work(self, running: dict[Id, anyio.CancelScope], id: Id, work: Work) -> None:
        try:
            result = await work.run()
        except RequestError as error:
            del running[id]
            self._refuse(id, error)
        else:
            del running[id]
            self._send(self._peer.respond(id, result))

    def _refuse(self, id: Id, error: RequestError) -> None:
        self._send(self._peer.refuse(id, error.code, error.message, error.data))

    def _notify(self, method: str, params: msgspec.Struct) -> None:
        self._send(self._peer.notify(method, params))
