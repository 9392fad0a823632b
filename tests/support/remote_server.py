"""Agents behind an address: a server that starts a process of the agent for each client.

python -m tests.support.remote_server PORT command …     # prints the addresses
with RemoteServer([sys.executable, "-m", "tests.agents", "script"]) as server:
    server.url("ws")
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from acp_nvim.tutor.server import addresses, listening
from tests.support.waiting import until

ROOT = str(Path(__file__).resolve().parent.parent.parent)
LINE_BYTES = 128 << 20

TUTOR = (sys.executable, "-m", "acp_nvim.tutor")


class RemoteServer:
    """A server process that can be killed, and started again at the same port."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        """`command` is the agent; the tutor is a server by itself."""
        self._tutor = tuple(command[:3]) == TUTOR
        self._command = list(command)
        self._env = {**os.environ, "PYTHONPATH": ROOT, **(env or {})}
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self._urls: dict[str, str] = {}

    def start(self) -> None:
        """Start it; at the port that it had before."""
        port = f"127.0.0.1:{self._port}"
        ours = [sys.executable, "-m", "tests.support.remote_server", str(self._port)]
        argv = [*TUTOR, "--listen", port] if self._tutor else [*ours, *self._command]
        self._process = subprocess.Popen(argv, env=self._env, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for _ in range(2):
            url = self._process.stdout.readline().strip()
            self._urls[url.partition(":")[0]] = url
        self._port = int(self._urls["ws"].rpartition(":")[2].partition("/")[0])

    def url(self, scheme: str) -> str:
        """The address by that transport, `ws` or `http`."""
        return self._urls[scheme]

    def kill(self) -> None:
        """End it at once, as a crash would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def runs(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.runs:
            self.kill()
        until(lambda: not self.runs)


async def bridge(
    command: Sequence[str],
    read: Callable[[], Awaitable[bytes]],
    write: Callable[[bytes], None],
) -> None:
    """Serve one client with a process of its own."""
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, limit=LINE_BYTES
    )
    assert child.stdin is not None
    assert child.stdout is not None
    telling = asyncio.ensure_future(_tell(child.stdout, write))
    with contextlib.suppress(ConnectionError):
        while data := await read():
            child.stdin.write(data)
            await child.stdin.drain()
    child.stdin.close()
    await child.wait()
    await telling


async def _tell(stdout: asyncio.StreamReader, write: Callable[[bytes], None]) -> None:
    while line := await stdout.readline():
        write(line)


async def serve(port: int, command: Sequence[str]) -> None:
    """Serve for ever."""

    async def one(read: Callable[[], Awaitable[bytes]], write: Callable[[bytes], None]) -> None:
        await bridge(command, read, write)

    server = await listening(one, "127.0.0.1", port)
    for address in addresses(server):
        print(address, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2:]))
