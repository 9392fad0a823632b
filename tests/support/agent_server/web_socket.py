"""Server side of a WebSocket: a text message is one message of the protocol."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

CHUNK = 1 << 16


async def serve_web_socket(
    serve: Callable[..., Awaitable[None]],
    head: bytes,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Serve one client that has sent ``head``, the request to upgrade, until it disconnects. Raise
    ConnectionError.
    """
    try:
        from websockets.server import ServerProtocol
    except ImportError:
        text = b"WebSocket needs the extra acp-nvim[remote]\n"
        length = str(len(text)).encode()
        writer.write(b"HTTP/1.1 501 Not Implemented\r\nContent-Length: " + length)
        writer.write(b"\r\nConnection: close\r\n\r\n" + text)
        await writer.drain()
        return
    socket = _Socket(ServerProtocol(max_size=None), reader, writer)
    if await socket.opened(head):
        await serve(socket.read, socket.write)


class _Socket:
    """One open WebSocket."""

    def __init__(
        self, protocol: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._protocol = protocol
        self._reader = reader
        self._writer = writer
        self._parts: list[bytes] = []
        self._lines: list[bytes] = []

    async def opened(self, head: bytes) -> bool:
        """Answer the handshake. Return whether there is a WebSocket now."""
        protocol = self._protocol
        protocol.receive_data(head)
        for request in protocol.events_received():
            response = protocol.accept(request)
            response.headers["Acp-Connection-Id"] = secrets.token_hex(16)
            protocol.send_response(response)
        self._flush()
        return bool(protocol.state.name == "OPEN")

    async def read(self) -> bytes:
        """Return the next messages as lines; `b''` at the end."""
        while not self._lines:
            data = await self._reader.read(CHUNK)
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
            for frame in self._protocol.events_received():
                self._add_frame(frame)
            self._flush()
            if not data or self._protocol.close_expected():
                break
        lines, self._lines = self._lines, []
        return b"".join(lines)

    def _add_frame(self, frame: Any) -> None:
        from websockets.frames import Opcode

        if frame.opcode is Opcode.TEXT or (frame.opcode is Opcode.CONT and self._parts):
            self._parts.append(bytes(frame.data))
            if frame.fin:
                message, self._parts = b"".join(self._parts), []
                self._lines.append(message.replace(b"\n", b" ") + b"\n")

    def write(self, line: bytes) -> None:
        """Send one message, unless the client has disconnected."""
        if self._protocol.state.name == "OPEN":
            self._protocol.send_text(line.rstrip(b"\n"))
            self._flush()

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._writer.write(data)
            elif self._writer.can_write_eof():
                self._writer.write_eof()
