r"""Real child processes, and programs that resist their end; the fixture `start` starts one.

Example:

    process = await start("print('hi')")
    assert await read_line(process) == b"hi\n"
"""

from __future__ import annotations

import os
import sys
import textwrap
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self, TypeAlias

import anyio

from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.transport.stdio import StdioTransport
from tests.support.processes import MARK, marked
from tests.support.waiting import PATIENCE_S

KILL_S = 0.3
QUIET = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
FOREVER = "\nwhile True: signal.pause()\n"

STUBBORN = textwrap.dedent("""
    import signal, subprocess, sys
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" \\
            "print('child', flush=True); signal.pause()"
    subprocess.Popen([sys.executable, "-c", child], start_new_session=%s)
    %s
""")

Start: TypeAlias = Callable[..., Awaitable[StdioTransport]]


class Children:
    """Starter of processes with a mark in their environment, which end with the block."""

    def __init__(self, cwd: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.reaper = Reaper()
        self._cwd = cwd
        self._started: list[StdioTransport] = []

    async def start(self, program: str | list[str], kill_s: float = KILL_S) -> StdioTransport:
        """Start a program given as Python source or as argv."""
        argv = program if isinstance(program, list) else [sys.executable, "-c", program]
        env = {"PATH": os.environ["PATH"], MARK: self.mark}
        process = StdioTransport(argv, cwd=self._cwd, env=env, reaper=self.reaper, kill_s=kill_s)
        await process.start()
        self._started.append(process)
        return process

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for process in self._started:
            await process.stop()
        await self.reaper.aclose()
        for survivor in marked(self.mark):
            survivor.kill()


async def read_line(process: StdioTransport) -> bytes:
    line = b""
    with anyio.fail_after(PATIENCE_S):
        while not line.endswith(b"\n"):
            chunk = await process.receive()
            assert chunk, f"the end came after {line!r}"
            line += chunk
    return line


async def read_all(process: StdioTransport) -> bytes:
    chunks = []
    with anyio.fail_after(PATIENCE_S):
        while chunk := await process.receive():
            chunks.append(chunk)
    return b"".join(chunks)
