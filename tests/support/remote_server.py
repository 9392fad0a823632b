"""Agents behind an address: a server that starts an agent process for each client.

python -m tests.support.remote_server PORT command …     # prints the addresses
with RemoteServer([sys.executable, "-m", "tests.agents", "script"]) as server:
    server.url("ws")
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.support.agent_server.server import addresses, listening
from tests.support.waiting import until

ROOT = str(Path(__file__).resolve().parent.parent.parent)
LINE_BYTES = 128 << 20

_ADDRESS = re.compile(r"(?P<scheme>wss?|https?)://[\w.]+:(?P<port>\d+)/acp")

TUTOR = (sys.executable, "-m", "acp_nvim.tutor")
TUTORS = (sys.executable, "-m", "tests.support.agent_server")


class RemoteServer:
    """Server process that can be killed and started again at the same port."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        server: Callable[[int], list[str]] | None = None,
    ) -> None:
        """Prepare a server for the agent `command`; tutors share one process. `server` returns the
        command of any other server at a port, which prints its addresses.
        """
        ours = [sys.executable, "-m", "tests.support.remote_server"]
        if server is not None:
            self._argv = server
        elif tuple(command[:3]) == TUTOR:
            self._argv = lambda port: [*TUTORS, f"127.0.0.1:{port}"]
        else:
            self._argv = lambda port: [*ours, str(port), *command]
        self._env = {**os.environ, "PYTHONPATH": ROOT, **(env or {})}
        self.port = 0
        """Port on which it listens; 0 before its first start."""
        self._process: subprocess.Popen[str] | None = None
        self._urls: dict[str, str] = {}

    def start(self) -> None:
        """Start it, at the same port as before."""
        argv = self._argv(self.port)
        self._process = subprocess.Popen(argv, env=self._env, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._urls.clear()
        while len(self._urls) < 2:
            url = _ADDRESS.search(self._process.stdout.readline())
            assert url is not None or self.runs
            if url is not None:
                self._urls["ws" if url["scheme"].startswith("ws") else "http"] = url[0]
                self.port = int(url["port"])

    def url(self, scheme: str) -> str:
        """Return the address by that transport, `ws` or `http`."""
        return self._urls[scheme]

    def wait_output(self, text: str) -> str:
        """Wait for the next line of its output with this text."""
        assert self._process is not None
        assert self._process.stdout is not None
        return next(line for line in self._process.stdout if text in line)

    def kill(self) -> None:
        """Kill it, as a crash would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def runs(self) -> bool:
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
    """Serve one client with its own process."""
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
    """Serve forever."""

    async def one(read: Callable[[], Awaitable[bytes]], write: Callable[[bytes], None]) -> None:
        await bridge(command, read, write)

    server = await listening(one, "127.0.0.1", port)
    for address in addresses(server):
        print(address, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2:]))
