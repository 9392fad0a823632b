"""TCP proxy that can cut all its connections at once, as a failing network does.

with CuttingProxy(port) as proxy:
    proxy.port
    proxy.cut()
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Self

from tests.support.waiting import PATIENCE_S


class CuttingProxy:
    """Proxy that runs in its own thread."""

    def __init__(self, to: int) -> None:
        """Forward to the port `to` of this machine."""
        self.port = 0
        self._to = to
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))
        self._over = asyncio.Event()

    def cut(self) -> None:
        """End all connections in both directions, with unsent data."""
        self._loop.call_soon_threadsafe(self._cut)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._loop.close()

    async def _run(self) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._over.wait()
        server.close()
        self._cut()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    def _cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far, near = await asyncio.open_connection("127.0.0.1", self._to)
        self._open |= {writer, near}
        await asyncio.gather(_copy(reader, near), _copy(far, writer))
        self._open -= {writer, near}


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    target.close()
