"""A transport for acp.nvim: agents behind a Unix socket, `url = 'unix:///run/agent.sock'`."""

from __future__ import annotations

import asyncio
import contextlib
from urllib.parse import urlsplit

from acp_nvim.agent.transport.base import TransportError
from acp_nvim.agent.transport.remote import Address

CHUNK = 1 << 16


class UnixTransport:
    """One connection. acp.nvim makes a new one when this one has ended."""

    def __init__(self, address: Address) -> None:
        self._path = urlsplit(address.url).path
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def start(self) -> None:
        """Connect. What TransportError says is shown to the user, in one line."""
        try:
            self._reader, self._writer = await asyncio.open_unix_connection(self._path)
        except OSError as error:
            raise TransportError(f"cannot reach {self._path}: {error.strerror}") from error

    async def receive(self) -> bytes:
        """The next bytes of the stream of messages, a line each; b"" at the end."""
        assert self._reader is not None
        try:
            return await self._reader.read(CHUNK)
        except ConnectionError as error:
            raise TransportError(f"the connection broke: {error.strerror}") from error

    def send(self, data: bytes) -> None:
        """Queue a message, a line. This never waits and never raises."""
        assert self._writer is not None
        self._writer.write(data)

    async def aclose(self) -> None:
        """Close the connection, also where `start` has failed."""
        if self._writer is not None:
            self._writer.close()
            with contextlib.suppress(ConnectionError):
                await self._writer.wait_closed()
