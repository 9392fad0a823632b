"""JSON-RPC peer over a transport: one path for all messages, one task per request.

`run` reads and handles events in wire order and never waits for a handler. Notifications and
responses are handled on arrival. The handler of a request is called in the same order, and a new
task awaits the awaitable that it returns (v1/overview, v1/cancellation).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import anyio.lowlevel
import msgspec
from anyio.abc import TaskGroup
from msgspec import Raw, Struct

from acp_nvim.agent.transport.stream import Transport
from acp_nvim.agent.wire.calls import (
    ConnectionClosed,
    IncomingCall,
    OnInserted,
    OnResponse,
    OutgoingCall,
)
from acp_nvim.agent.wire.ports import FlowControl, Handler
from acp_nvim.agent.wire.traffic import Traffic
from acp_nvim.protocol import codec, errors, numbers, schema
from acp_nvim.protocol.dialects.dialect import Dialect
from acp_nvim.protocol.errors import LocalProtocolError, RemoteProtocolError, RequestError
from acp_nvim.protocol.jsonrpc import (
    Event,
    Id,
    Notification,
    Peer,
    PromptInsertion,
    Request,
    Response,
    Updates,
    Violation,
)
from acp_nvim.protocol.translation import Translation
from acp_nvim.render.text import one_line

if TYPE_CHECKING:
    from acp_nvim.agent.wire.path_fields import PathFields

__all__ = ["ConnectionClosed", "Endpoint", "FlowControl", "Handler", "IncomingCall", "OutgoingCall"]

CANCEL = "$/cancel_request"

CALM_READS, SMALL_READ = 8, 8 << 10
"""Reading may rest after `CALM_READS` reads of at most `SMALL_READ` bytes of notifications."""

AT_ONCE = 100
"""Number of events handled before other tasks run. Updates that arrive together count as one."""

MAX_UNREADABLE_ANSWERS = 1000
"""Maximum number of unreadable lines that are answered with an error.

An agent that prints other text on stdout may print any amount of it and read no answers.
"""

Params: TypeAlias = Struct | dict[str, Any]


class Endpoint:
    """Connection to a peer. `run` it in a task; the other methods work while it runs.

    `flow.room` is awaited before each read. Until it returns, nothing is read and the peer's pipe
    fills. It returns the number of seconds for which no data is needed. While the peer sends only
    few notifications at a time, `rest` is called with this number, because waking a process costs
    more than a short message.

    `last_words` is awaited at the end of the stream and returns the text of ConnectionClosed. It
    must not take long. `on_deviation` is called with a line about each deviation that is tolerated
    in a result. `translation` converts messages between the peer and the handler, after `paths` has
    mapped their paths.
    """

    def __init__(
        self,
        transport: Transport,
        handler: Handler,
        *,
        peer: Peer | None = None,
        traffic: Traffic | None = None,
        flow: FlowControl | None = None,
        rest: Callable[[float], None] | None = None,
        last_words: Callable[[], Awaitable[str]] | None = None,
        on_deviation: Callable[[str], None] = lambda note: None,
        translation: Translation | None = None,
        paths: PathFields | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._flow = flow
        self._rest = rest
        self._calm = 0
        """Number of consecutive reads with few notifications and no other messages."""
        self._last_words = last_words
        self._on_deviation = on_deviation
        self._translation: Translation = translation or Dialect()
        self._paths = paths
        self.closed: str | None = None
        """Reason why the connection has ended, or None while it is open."""
        self._unreadable: Counter[str] = Counter()
        """Number of unreadable lines, by kind of violation."""
        self._transport = transport
        self._handler = handler
        self._peer = peer or Peer()
        self._traffic = traffic
        self._clock = clock
        self._outgoing: dict[Id, OutgoingCall] = {}
        self._last_id = 0
        self._incoming: dict[Id, IncomingCall] = {}
        self._tasks: TaskGroup | None = None

    @property
    def outgoing(self) -> list[OutgoingCall]:
        """Return the client's open requests, oldest first."""
        return list(self._outgoing.values())

    def open_request(self, id: Id) -> OutgoingCall | None:
        """Return the client's open request with this id."""
        return self._outgoing.get(id)

    def is_over(self, id: Id) -> bool:
        """Return whether the client's request with this id has been answered."""
        return isinstance(id, int) and 0 < id <= self._last_id and id not in self._outgoing

    async def run(self) -> None:
        """Read until the end of the stream or `close`. Afterwards no request is open."""
        async with anyio.create_task_group() as self._tasks:
            try:
                if self.closed is None:
                    await self._read()
                self._end(await self._reason())
            finally:
                # After a cancel from outside, the peer still runs and receives its answers.
                self._answer_all("the client ends the connection")
                self._end("the client ended the connection")

    def close(self, reason: str) -> None:
        """End the connection: refuse the peer's open requests and fail the client's."""
        if self.closed is None:
            self._answer_all(reason)
            self._end(reason)
            if self._tasks is not None:
                self._tasks.cancel_scope.cancel()

    def begin(
        self,
        method: str,
        params: Params,
        *,
        on_response: OnResponse | None = None,
        on_inserted: OnInserted | None = None,
    ) -> OutgoingCall:
        """Send a request and return at once.

        `on_response` is called exactly once, before later messages are handled: with the answer,
        even after `cancel`, or at the end of the connection. `on_inserted` is called before that,
        at most once, if the peer reports the insertion of a prompt. Raise ConnectionClosed, or
        LocalProtocolError if `params` cannot be encoded, without calling either.
        """
        if self.closed is not None:
            raise ConnectionClosed(self.closed)
        id, line = self._peer.request(*self._translation.translate_outgoing(method, params))
        self._translation.on_sent(id, method, params)
        session_id = getattr(params, "session_id", None)
        session_id = session_id if isinstance(session_id, str) else None
        call = OutgoingCall(id, method, self._clock(), on_response, session_id, on_inserted)
        self._outgoing[id] = call
        self._last_id = id
        self._send(line, method)
        return call

    async def request(
        self,
        method: str,
        params: Params,
        *,
        on_response: OnResponse | None = None,
        on_inserted: OnInserted | None = None,
    ) -> Any:
        """Send a request and wait for its decoded result. Raise the errors of `begin` and `answer`.

        If the caller is cancelled, cancel the request.
        """
        call = self.begin(method, params, on_response=on_response, on_inserted=on_inserted)
        try:
            return await call.answer()
        except anyio.get_cancelled_exc_class():
            self.cancel(call)
            raise

    def notify(self, method: str, params: Params) -> None:
        """Send a notification, or drop it after the end. Raise LocalProtocolError."""
        if self._translation.is_request_only(method) and self.closed is None:
            self.begin(method, params)
            return
        line = self._peer.notify(*self._translation.translate_outgoing(method, params))
        self._send(line, method)

    def cancel(self, call: OutgoingCall) -> None:
        """Send a cancel request. The answer may still come and be valid."""
        if call.id in self._outgoing and not call.is_cancelled:
            call.cancel()
            self.notify(CANCEL, schema.CancelRequestNotification(request_id=call.id))

    # -- reading ----------------------------------------------------------------------------------

    async def _read(self) -> None:
        while True:
            idle_s = await self._flow.room() if self._flow is not None else None
            if idle_s and self._calm >= CALM_READS and self._rest is not None:
                self._rest(idle_s)
            data = await self._transport.receive()
            if not data:
                break
            if self._traffic is not None:
                self._traffic.add("in", data)
            if self._translation.active or self._paths is not None:
                self._peer.read_no_updates()
            only_notifications = await self._handle_all(self._peer.receive(data))
            self._calm = self._calm + 1 if only_notifications and len(data) <= SMALL_READ else 0
        self._handle(self._peer.close())

    async def _handle_all(self, events: list[Event]) -> bool:
        """Handle the events of one read, in steps that let other tasks run.

        Return whether all were notifications.
        """
        only_notifications = True
        for first in range(0, len(events), AT_ONCE):
            if first:
                await anyio.lowlevel.cancel_shielded_checkpoint()
            only_notifications = (
                self._handle(events[first : first + AT_ONCE]) and only_notifications
            )
        return only_notifications

    def _handle(self, events: list[Event]) -> bool:
        """Handle events in order. Return whether all were notifications."""
        notify, count = self._handler.on_notification, 0
        if self._paths is not None:
            events = self._paths.incoming(events)
        if self._translation.active:
            events = self._translation.events(events)
        for event in events:
            if self.closed is not None:
                break
            if type(event) is Updates:
                count += 1
                self._run_guarded(self._handler.on_updates, event.messages, event.size)
            elif type(event) is Notification and event.method != CANCEL:
                count += 1
                try:
                    notify(event.method, event.params)
                except Exception as error:
                    self._handler.on_error(error)
            else:
                self._handle_rare(event)
        return count == len(events)

    def _handle_rare(self, event: Event) -> None:
        match event:
            case Request():
                self._start(event)
            case Response():
                self._on_answer(event)
            case Violation():
                self._on_violation(event)
            case Notification():
                self._on_cancel(event)
            case PromptInsertion():
                self._on_insertion(event)

    def _on_violation(self, violation: Violation) -> None:
        if violation.reply is not None and not self._count_unreadable(violation.kind):
            self._send(violation.reply)
        self._run_guarded(self._handler.on_violation, violation)

    def _count_unreadable(self, kind: str) -> bool:
        """Count an unreadable line. Return whether there have been too many to answer."""
        if kind not in ("json", "utf8"):
            return False
        self._unreadable[kind] += 1
        return self._unreadable[kind] > MAX_UNREADABLE_ANSWERS

    def _on_answer(self, response: Response) -> None:
        for event in self._translation.response(response, self._handler.turn_text):
            match event:
                case Response():
                    self._finish_call(event)
                case Notification():
                    self._run_guarded(self._handler.on_notification, event.method, event.params)
                case Updates():
                    self._run_guarded(self._handler.on_updates, event.messages, event.size)
                case PromptInsertion():
                    self._on_insertion(event)

    def _on_insertion(self, inserted: PromptInsertion) -> None:
        call = self._outgoing.get(inserted.id)
        if call is not None:
            self._run_guarded(call.insert, inserted.message_id)

    def _finish_call(self, response: Response) -> None:
        call = self._outgoing.pop(response.id)
        result, error = self._outcome(response)
        self._run_guarded(call.finish, result, error)

    def _outcome(self, response: Response) -> tuple[Any, Exception | None]:
        if response.result is None:
            error = response.error or schema.Error(errors.INTERNAL_ERROR, "no result, no error")
            return None, RequestError(error.code, error.message, error.data)
        notes: list[str] = []
        try:
            result = _decode(response.method, response.result, notes)
        except RemoteProtocolError as unreadable:
            return None, unreadable
        for note in notes:
            self._on_deviation(f"{response.method}: {note}")
        return result, None

    def _on_cancel(self, notification: Notification) -> None:
        """Cancel a request from the peer. A numeric id is compared digit by digit."""
        number = numbers.member(notification.params, "requestId")
        call = self._incoming.get(number) if number is not None else None
        try:
            if call is None:
                params = codec.decode_params(CANCEL, notification.params, "client")
                call = self._incoming.get(params.request_id)
        except RemoteProtocolError as error:
            self._on_violation(
                Violation("message", f"{CANCEL}: {error}", bytes(notification.params))
            )
            return
        if call is not None:
            self._run_guarded(call.cancel, "cancelled by the agent")

    # -- answering --------------------------------------------------------------------------------

    def _start(self, request: Request) -> None:
        call = IncomingCall(request.id, request.method, self._respond)
        self._incoming[request.id] = call
        try:
            answer = self._handler.on_request(request.method, request.params, call)
        except Exception as error:
            self._refuse_with(call, error)
        else:
            if answer is not None:
                assert self._tasks is not None
                self._tasks.start_soon(self._serve, call, answer)

    async def _serve(self, call: IncomingCall, answer: Awaitable[Any]) -> None:
        try:
            with call.scope:
                self._respond(call, await answer)
        except Exception as error:
            self._refuse_with(call, error)
        finally:
            self._refuse(call, errors.REQUEST_CANCELLED, call.reason or "cancelled")

    def _respond(self, call: IncomingCall, result: Any) -> None:
        if not call.is_answered and self.closed is None:
            line = self._peer.respond(call.id, result)
            self._send_answer(call, line)

    def _refuse_with(self, call: IncomingCall, error: Exception) -> None:
        error = _only_one(error)
        if isinstance(error, RequestError) and not call.is_answered:
            self._refuse(call, error.code, error.message, error.data)
            return
        self._handler.on_error(error)
        text = one_line(f"internal error: {type(error).__name__}: {error}")
        self._refuse(call, errors.INTERNAL_ERROR, text)

    def _refuse(
        self, call: IncomingCall, code: int, message: str, data: Any = msgspec.UNSET
    ) -> None:
        if call.is_answered or self.closed is not None:
            return
        try:
            line = self._peer.refuse(call.id, code, message, data)
        except LocalProtocolError as error:
            self._handler.on_error(error)
            line = self._peer.refuse(call.id, code, message)
        self._send_answer(call, line)

    def _send_answer(self, call: IncomingCall, line: bytes) -> None:
        call.close()
        del self._incoming[call.id]
        self._send(line, call.method)

    # -- the end ----------------------------------------------------------------------------------

    async def _reason(self) -> str:
        if self.closed is None and self._last_words is not None:
            return await self._last_words()
        return "the agent closed the connection"

    def _answer_all(self, reason: str) -> None:
        for call in list(self._incoming.values()):
            self._refuse(call, errors.REQUEST_CANCELLED, reason)
            self._run_guarded(call.abandon, reason)

    def _end(self, reason: str) -> None:
        if self.closed is not None:
            return
        self.closed = reason
        incoming = list(self._incoming.values())
        self._incoming.clear()
        for request in incoming:
            self._run_guarded(request.abandon, reason)
        calls = self.outgoing
        self._outgoing.clear()
        for call in calls:
            self._run_guarded(call.finish, None, ConnectionClosed(reason))

    def _send(self, line: bytes, method: str | None = None) -> None:
        if self.closed is not None:
            return
        if self._paths is not None and method is not None:
            line = self._paths.outgoing(line, method)
        if self._traffic is not None:
            self._traffic.add("out", line)
        self._transport.send(line)

    def _run_guarded(self, action: Callable[..., None], *arguments: Any) -> None:
        """Run a callback. An error in it must not stop the reading."""
        try:
            action(*arguments)
        except Exception as error:
            self._handler.on_error(error)

    def __repr__(self) -> str:
        state = self.closed or f"{len(self._outgoing)} out, {len(self._incoming)} in"
        return f"<Endpoint [{state}]>"


def _decode(method: str, raw: Raw, notes: list[str]) -> Any:
    """Return the typed result, or JSON for a method outside the protocol (v1/extensibility)."""
    if method.startswith("_"):
        return msgspec.json.decode(raw)
    return codec.decode_result(method, raw, notes)


def _only_one(error: Exception) -> Exception:
    """Return the only error of an exception group, or the error itself."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
