"""Connection of the agent to its client: one task for each request."""

from __future__ import annotations

import asyncio
import traceback
from typing import TYPE_CHECKING, Any, Protocol

from acp_nvim.protocol import codec, errors
from acp_nvim.protocol.errors import DecodeError, RequestError
from acp_nvim.protocol.jsonrpc import Notification, Peer, Request, Response, Violation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from acp_nvim.protocol.jsonrpc import Event, Id
    from acp_nvim.protocol.schema import Wire


class Service(Protocol):
    """Handler of the client's messages, whose params are structs of `schema`."""

    async def request(self, params: Any) -> Wire: ...
    def notification(self, params: Any) -> None: ...
    def on_answered(self, params: Any, result: Wire) -> None: ...


class Connection:
    """JSON-RPC connection with requests in both directions. A message is a line of bytes."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        """`write` sends a line, or drops it if the client has disconnected."""
        self._write = write
        self._peer = Peer()
        self._waiting: dict[Id, asyncio.Future[Any]] = {}
        self._serving: dict[Id, asyncio.Task[None]] = {}

    async def run(self, service: Service, read: Callable[[], Awaitable[bytes]]) -> None:
        """Serve until `read` returns `b''`, then cancel the requests that are still running."""
        while data := await read():
            for event in self._peer.receive(data):
                self._handle(event, service)
        running = list(self._serving.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def ask(self, method: str, params: Wire) -> Any:
        """Send a request and return its decoded result.

        Raise RequestError if the client refuses it. If the caller is cancelled, the request is
        cancelled by `$/cancel_request`.
        """
        number, line = self._peer.request(method, params)
        answer = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._write(line)
        try:
            raw = await answer
        except asyncio.CancelledError:
            self._write(self._peer.notify("$/cancel_request", {"requestId": number}))
            raise
        finally:
            del self._waiting[number]
        return codec.decode_result(method, raw)

    def notify(self, method: str, params: Wire) -> None:
        self._write(self._peer.notify(method, params))

    def _handle(self, event: Event, service: Service) -> None:
        match event:
            case Request():
                task = asyncio.create_task(self._serve(event, service), name=event.method)
                self._serving[event.id] = task
            case Notification():
                self._on_notification(event, service)
            case Response():
                self._on_response(event)
            case Violation(reply=reply) if reply is not None:
                self._write(reply)

    async def _serve(self, request: Request, service: Service) -> None:
        number = request.id
        try:
            params = codec.decode_params(request.method, request.params, "agent")
            result = await service.request(params)
            self._write(self._peer.respond(number, result))
            service.on_answered(params, result)
        except asyncio.CancelledError:
            self._write(self._peer.refuse(number, errors.REQUEST_CANCELLED, "cancelled"))
        except DecodeError as e:
            self._write(self._peer.refuse(number, e.code, str(e)))
        except RequestError as e:
            self._write(self._peer.refuse(number, e.code, e.message, e.data))
        except Exception as e:  # a bug: report it and serve the next request
            traceback.print_exc()
            self._write(self._peer.refuse(number, errors.INTERNAL_ERROR, f"tutor: {e!r}"))
        finally:
            del self._serving[number]

    def _on_notification(self, event: Notification, service: Service) -> None:
        try:
            params = codec.decode_params(event.method, event.params, "agent")
        except DecodeError:
            return  # unknown notifications are ignored (v1/extensibility)
        if event.method != "$/cancel_request":
            service.notification(params)
        elif params.request_id in self._serving:
            self._serving[params.request_id].cancel()

    def _on_response(self, event: Response) -> None:
        answer = self._waiting.get(event.id)
        if answer is None or answer.done():
            return  # cancelled
        if event.error is not None:
            error = event.error
            answer.set_exception(RequestError(error.code, error.message, error.data))
        else:
            answer.set_result(event.result)
