"""The agent's end of a connection: one task for each request of the client, in one event loop."""

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
    """The handler of the client's messages. Params come decoded, as the structs of `schema`."""

    async def request(self, params: Any) -> Wire:
        """Answer a request. RequestError refuses it. Cancelled by `$/cancel_request`."""
        ...

    def notification(self, params: Any) -> None:
        """Take a notification."""
        ...

    def answered(self, params: Any, result: Wire) -> None:
        """The result of a request is written; messages that must follow it can be sent now."""
        ...


class Connection:
    """Requests both ways, as lines of bytes."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        """``write`` is given each line; once the client is gone it drops them."""
        self._write = write
        self._peer = Peer()
        self._waiting: dict[Id, asyncio.Future[Any]] = {}
        self._serving: dict[Id, asyncio.Task[None]] = {}

    async def run(self, service: Service, read: Callable[[], Awaitable[bytes]]) -> None:
        """Serve until ``read`` returns `b''`, as the client closes its end; then cancel whatever
        still runs.
        """
        while data := await read():
            for event in self._peer.receive(data):
                self._take(event, service)
        running = list(self._serving.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def ask(self, method: str, params: Wire) -> Any:
        """Send a request, return its decoded result. RequestError when the client refuses.

        When the caller is cancelled the request is taken back with `$/cancel_request`.
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

    def post(self, method: str, params: Wire) -> None:
        """Send a request whose answer does not matter."""
        self._write(self._peer.request(method, params)[1])

    def tell(self, method: str, params: Wire) -> None:
        """Send a notification."""
        self._write(self._peer.notify(method, params))

    def _take(self, event: Event, service: Service) -> None:
        match event:
            case Request():
                task = asyncio.create_task(self._serve(event, service), name=event.method)
                self._serving[event.id] = task
            case Notification(method="$/cancel_request"):
                self._cancel(event)
            case Notification():
                self._notified(event, service)
            case Response():
                self._answered(event)
            case Violation(reply=reply) if reply is not None:
                self._write(reply)

    async def _serve(self, request: Request, service: Service) -> None:
        number = request.id
        try:
            params = codec.decode_params(request.method, request.params, "agent")
            result = await service.request(params)
            self._write(self._peer.respond(number, result))
            service.answered(params, result)
        except asyncio.CancelledError:
            self._write(self._peer.refuse(number, errors.REQUEST_CANCELLED, "cancelled"))
        except DecodeError as e:
            self._write(self._peer.refuse(number, e.code, str(e)))
        except RequestError as e:
            self._write(self._peer.refuse(number, e.code, e.message, e.data))
        except Exception as e:  # a mistake of ours: the client learns of it, and we go on
            traceback.print_exc()
            self._write(self._peer.refuse(number, errors.INTERNAL_ERROR, f"tutor: {e!r}"))
        finally:
            del self._serving[number]

    def _cancel(self, event: Notification) -> None:
        try:
            params = codec.decode_params(event.method, event.params, "agent")
        except DecodeError:
            return  # there is nobody to tell: a notification has no answer
        task = self._serving.get(params.request_id)
        if task is not None:
            task.cancel()

    def _notified(self, event: Notification, service: Service) -> None:
        try:
            params = codec.decode_params(event.method, event.params, "agent")
        except DecodeError:
            return  # unknown notifications are ignored (v1/extensibility)
        service.notification(params)

    def _answered(self, event: Response) -> None:
        answer = self._waiting.get(event.id)
        if answer is None or answer.done():
            return  # taken back meanwhile
        if event.error is not None:
            error = event.error
            answer.set_exception(RequestError(error.code, error.message, error.data))
        else:
            answer.set_result(event.result)
