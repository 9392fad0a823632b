"""Near end of a transport to a remote agent, for tests without a connection."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar
from typing import Any

import anyio

from acp_nvim.agent.transport.base import AgentTransport
from acp_nvim.agent.transport.remote import remote_agent

Json = dict[str, Any]


class RemoteClient:
    """Sender and receiver of messages."""

    def __init__(self, transport: AgentTransport, remarks: list[str]) -> None:
        self.transport = transport
        self.remarks = remarks
        self._rest = b""

    def send(self, **message: Any) -> None:
        self.transport.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def line(self, within: float = 20) -> bytes:
        """Return the next message as it arrived; `b''` at the end."""
        pieces = [self._rest]
        with anyio.fail_after(within):
            while b"\n" not in pieces[-1]:
                data = await self.transport.receive()
                if not data:
                    return b""
                pieces.append(data)
        line, _, self._rest = b"".join(pieces).partition(b"\n")
        return line

    async def is_held_back(self, sent: Callable[[], int]) -> bool:
        """Return whether a server that sends without end waits while nothing is read here.

        `sent` returns the number of its messages.
        """
        before = -1
        while before != sent():
            before = sent()
            await anyio.wait_all_tasks_blocked()
        waits = before < 500
        for _ in range(before):
            await self.line()
        return waits and sent() > before

    async def message(self) -> Json:
        line = await self.line()
        assert line, self.transport.lost
        found: Json = json.loads(line)
        return found

    async def end(self) -> str:
        """Read to the end and return its reason."""
        while await self.line():
            pass
        return str(self.transport.lost)


@asynccontextmanager
async def reached(
    url: str,
    headers: Mapping[str, str] | None = None,
    message_bytes: int = 1 << 20,
    cookies: dict[str, CookieJar] | None = None,
) -> AsyncIterator[RemoteClient]:
    """Yield a transport that has been started; close it afterwards."""
    remarks: list[str] = []
    transport = remote_agent(
        url,
        headers=headers or {},
        message_bytes=message_bytes,
        on_stderr=lambda data: remarks.append(data.decode()),
        cookies={} if cookies is None else cookies,
    )
    try:
        await transport.start()
        yield RemoteClient(transport, remarks)
    finally:
        await transport.stop()
