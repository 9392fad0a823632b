"""Adoption of a process that was started before the event loop."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from threading import Thread
from typing import Any, cast

STDIN, STDOUT, STDERR = 0, 1, 2


async def adopt(
    process: subprocess.Popen[bytes], protocol: asyncio.SubprocessProtocol
) -> AdoptedChild:
    """Adopt a process whose three streams are pipes. The loop then owns the pipes."""
    child = AdoptedChild(process, protocol)
    await child.connect()
    return child


class AdoptedChild(asyncio.SubprocessTransport):
    """asyncio's subprocess transport for a process that already runs."""

    def __init__(
        self, process: subprocess.Popen[bytes], protocol: asyncio.SubprocessProtocol
    ) -> None:
        super().__init__({"subprocess": process})
        self._process = process
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._pipes: dict[int, asyncio.BaseTransport] = {}

    async def connect(self) -> None:
        """Start reading, and waiting for the exit.

        Connect stdout last, because its handler needs the other streams.
        """
        process = self._process
        for fd, file in (
            (STDIN, process.stdin),
            (STDERR, process.stderr),
            (STDOUT, process.stdout),
        ):
            connect = self._loop.connect_write_pipe if fd == STDIN else self._loop.connect_read_pipe
            self._pipes[fd], _ = await cast(Any, connect)(self._reader(fd), file)
        self._protocol.connection_made(self)
        # As in asyncio without a child watcher. The thread ends with the process.
        Thread(target=self._wait, daemon=True).start()

    def _reader(self, fd: int) -> Callable[[], asyncio.Protocol]:
        return lambda: _Pipe(fd, self._protocol)

    def _wait(self) -> None:
        self._process.wait()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._protocol.process_exited)

    def get_pid(self) -> int:
        return self._process.pid

    def get_returncode(self) -> int | None:
        """Return the code in the form of `Popen.returncode`, or None while the process runs."""
        return self._process.returncode

    def get_pipe_transport(self, fd: int) -> asyncio.BaseTransport | None:
        return self._pipes.get(fd)

    def send_signal(self, signal: int) -> None:
        self._process.send_signal(signal)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        """Close the pipes. Like asyncio, kill a process that is still running."""
        for pipe in self._pipes.values():
            pipe.close()
        if self._process.returncode is None:
            self._process.kill()


class _Pipe(asyncio.Protocol):
    """Forwarder of one stream's events to the protocol of the process."""

    def __init__(self, fd: int, protocol: asyncio.SubprocessProtocol) -> None:
        self._fd = fd
        self._protocol = protocol

    def data_received(self, data: bytes) -> None:
        self._protocol.pipe_data_received(self._fd, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.pipe_connection_lost(self._fd, exc)

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()
