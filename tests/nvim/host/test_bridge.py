"""End of the host's loop: no thread and no request keeps the process alive."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import anyio.lowlevel
import pytest
from anyio import to_thread
from anyio._backends._asyncio import WorkerThread
from pynvim.msgpack_rpc.async_session import AsyncSession

from acp_nvim.nvim.bridge import Bridge
from tests.support.waiting import PATIENCE_S


class ClosedSession:
    """Connection that Neovim closes at once."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.loop = SimpleNamespace(_loop=self._loop)

    def request(self, *_args: Any) -> None:
        """Answer nothing, as a closed connection."""

    def run(self, *_handlers: Any) -> None:
        self._loop.run_until_complete(anyio.lowlevel.checkpoint())
        raise EOFError

    def stop(self) -> None:
        self._loop.stop()


@pytest.fixture(autouse=True)
def sigterm() -> Iterator[None]:
    """Restore the signal handler for SIGTERM, which the end of a host sets to be ignored, for later
    tests and their children.
    """
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("when", ["before", "afterwards", "both"])
def test_no_thread_remains(when: str) -> None:
    """Python waits for threads at its end, and they wait for work that never comes."""
    done: list[str] = []

    async def main() -> None:
        try:
            if when != "afterwards":
                await to_thread.run_sync(done.append, "before")
            await anyio.Event().wait()
        finally:
            with anyio.CancelScope(shield=True):
                if when != "before":
                    await to_thread.run_sync(done.append, "afterwards")

    session = ClosedSession()
    Bridge(cast(AsyncSession, session)).run(main(), lambda _name, _args: None)
    workers = [one for one in threading.enumerate() if isinstance(one, WorkerThread)]
    for worker in workers:
        worker.join(PATIENCE_S)
    left = [worker for worker in workers if worker.is_alive()]
    for worker in left:
        worker.queue.put_nowait(None)  # otherwise pytest itself would wait for it
    session.loop._loop.close()
    assert "afterwards" in done or when == "before"
    assert left == []


def test_a_shielded_request_ends_with_the_connection() -> None:
    ended: list[bool] = []

    async def write() -> None:
        with anyio.move_on_after(PATIENCE_S, shield=True) as patience:
            try:
                await bridge.call("acp.buffers.live", "write")
            finally:
                try:
                    await bridge.call("acp.buffers.live", "restore")
                finally:
                    ended.append(not patience.cancel_called)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(write)

    session = ClosedSession()
    bridge = Bridge(cast(AsyncSession, session))
    bridge.run(main(), lambda _name, _args: None)
    session.loop._loop.close()
    assert ended == [True]
