"""Running endpoint over a transport in memory; the test is the far side and uses plain JSON.

Example:

    async with Running(MemoryEndpoint()) as wire:
        wire.notify("session/update", sessionId="s1")
        wire.request(1, "fs/read_text_file", path="/a")
        assert await wire.get(1) == [...]
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Raw

from acp_nvim.agent.wire.calls import IncomingCall
from acp_nvim.agent.wire.endpoint import Endpoint
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.jsonrpc import Violation
from tests.support.memory_transport import MemoryTransport
from tests.support.waiting import PATIENCE_S, eventually

Serve = Callable[[str, Any, IncomingCall], Awaitable[Any]]


class RecordingHandler:
    """Handler that records everything; `serve` answers requests."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.errors: list[Exception] = []
        self.violations: list[Violation] = []
        self.serve: Serve = refuse

    def on_notification(self, method: str, params: Raw) -> None:
        self.heard.append((method, json.loads(bytes(params))))

    def on_updates(self, messages: Sequence[schema.SessionNotification], size: int) -> None:
        self.heard += messages

    def on_request(self, method: str, params: Raw, call: IncomingCall) -> Awaitable[Any]:
        self.heard.append(method)
        return self.serve(method, json.loads(bytes(params)), call)

    def turn_text(self, session_id: str) -> str:
        return ""

    def on_violation(self, violation: Violation) -> None:
        self.violations.append(violation)

    def on_error(self, error: Exception) -> None:
        self.errors.append(error)


async def refuse(method: str, params: Any, call: IncomingCall) -> Any:
    raise RequestError(-32601, f"method not found: {method}", {"method": method})


class MemoryEndpoint:
    """Endpoint that runs, with its far side as plain JSON."""

    def __init__(self, **options: Any) -> None:
        ours, self.far = MemoryTransport.pair()
        self.handler = RecordingHandler()
        self.endpoint = Endpoint(ours, self.handler, **options)
        self.inbox: list[Any] = []

    def notify(self, method: str, **params: Any) -> None:
        self.put({"method": method, "params": params})

    def request(self, id: Any, method: str, **params: Any) -> None:
        self.put({"id": id, "method": method, "params": params})

    def put(self, *messages: dict[str, Any]) -> None:
        """Send messages as one piece of the stream."""
        lines = [json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages]
        self.far.send("".join(lines).encode())

    def received(self) -> list[Any]:
        """Return everything that the endpoint has sent so far."""
        sent = bytes(self.endpoint._transport.sent)  # type: ignore[attr-defined]
        messages = [json.loads(line) for line in sent.splitlines()]
        assert all(message.pop("jsonrpc") == "2.0" for message in messages)
        return messages

    async def get(self, count: int) -> list[Any]:
        """Wait until the endpoint has sent exactly this number of messages, and return them."""
        await eventually(lambda: len(self.received()) >= count)
        messages = self.received()
        assert len(messages) == count
        return messages


class Running:
    """Context that runs the endpoint of a wire, then ends the stream."""

    def __init__(self, wire: MemoryEndpoint) -> None:
        self.wire = wire

    async def __aenter__(self) -> MemoryEndpoint:
        self.task = asyncio.ensure_future(self.wire.endpoint.run())
        return self.wire

    async def __aexit__(self, *_: object) -> None:
        await self.wire.far.aclose()
        async with asyncio.timeout(PATIENCE_S):
            await self.task
