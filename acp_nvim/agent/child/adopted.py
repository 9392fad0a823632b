"""A process that was started before there was a loop, as one that asyncio has started."""

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
    """Take over a process whose three streams are pipes; from here on they belong to the loop."""
    child = AdoptedChild(process, protocol)
    await child.connect()
    return child


class AdoptedChild(asyncio.SubprocessTransport):
    """What asyncio makes for a process of its own, over one that runs already."""

    def __init__(
        self, process: subprocess.Popen[bytes], protocol: asyncio.SubprocessProtocol
    ) -> None:
        super().__init__({"subprocess": process})
        self._process = process
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._pipes: dict[int, asyncio.BaseTransport] = {}

    async def connect(self) -> None:
        """Begin to read, and to wait for the end. Stdout comes last: what it tells needs the
        rest.
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
        # As asyncio does where the system has no better way, and ended by the process' own end.
        Thread(target=self._wait, daemon=True).start()

    def _reader(self, fd: int) -> Callable[[], asyncio.Protocol]:
        return lambda: _Pipe(fd, self._protocol)

    def _wait(self) -> None:
        self._process.wait()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._protocol.process_exited)

    def get_pid(self) -> int:
        """The process id."""
        return self._process.pid

    def get_returncode(self) -> int | None:
        """As `Popen` has it; None while it runs."""
        return self._process.returncode

    def get_pipe_transport(self, fd: int) -> asyncio.BaseTransport | None:
        """The transport of that stream."""
        return self._pipes.get(fd)

    def send_signal(self, signal: int) -> None:
        """To the process alone."""
        self._process.send_signal(signal)

    def terminate(self) -> None:
        """SIGTERM to the process alone."""
        self._process.terminate()

    def kill(self) -> None:
        """SIGKILL to the process alone."""
        self._process.kill()

    def close(self) -> None:
        """Close the pipes; a process that runs still is killed, as asyncio does."""
        for pipe in self._pipes.values():
            pipe.close()
        if self._process.returncode is None:
            self._process.kill()


class _Pipe(asyncio.Protocol):
    """One stream's events, told to the protocol of the process."""

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
