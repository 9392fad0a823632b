"""Transport in memory, and an agent that runs as a coroutine at its other end.

Example:

    ours, theirs = MemoryTransport.pair()
    MemoryAgent(life)  # an `AgentTransport` without a process
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.launch import AgentStartError
from acp_nvim.agent.child.stderr import StderrRing
from acp_nvim.agent.transport.stream import ByteQueue


class MemoryTransport:
    """One end of a pair in memory. The other end receives the bytes that it sends.

    `sent` has everything that this end has sent, for tests that compare bytes.
    """

    def __init__(self) -> None:
        self.sent = bytearray()
        self.closed = False
        self._inbox = ByteQueue()
        self._peer: MemoryTransport | None = None

    @classmethod
    def pair(cls) -> tuple[MemoryTransport, MemoryTransport]:
        """Return two connected ends."""
        ours, theirs = cls(), cls()
        ours._peer, theirs._peer = theirs, ours
        return ours, theirs

    async def receive(self) -> bytes:
        return await self._inbox.get()

    def send(self, data: bytes) -> None:
        if self.closed:
            return
        self.sent += data
        if self._peer is not None:
            self._peer._inbox.put(data)

    def send_eof(self) -> None:
        """Close the sending direction only, as a program that closes its stdout."""
        if self._peer is not None:
            self._peer._inbox.end()

    async def aclose(self) -> None:
        """Close this end; the other one reads the sent data before the end."""
        self.closed = True
        self._inbox.end()
        if self._peer is not None:
            self._peer.closed = True
            self._peer._inbox.end()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{self._inbox.size} bytes waiting"
        return f"<MemoryTransport [{state}]>"


Life = Callable[["MemoryTransport", Callable[[bytes], None]], Awaitable[int]]
"""Coroutine of an agent: it gets its end of the stream and a function for stderr lines, and returns
the exit code.
"""


class MemoryAgent:
    """`AgentTransport` whose agent is a coroutine of this process: no pid, no pipes."""

    def __init__(
        self,
        life: Life | None,
        kill_s: float = 2,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> None:
        """Make a transport; without a life it cannot be started."""
        self._life = life
        self._kill_s = kill_s
        self._ours, self._far = MemoryTransport.pair()
        self._stderr = StderrRing(on_stderr)
        self._lives: asyncio.Task[int] | None = None
        self._rests = asyncio.Event()
        self._rests.set()

    @classmethod
    def of(cls, life: Life) -> Callable[..., MemoryAgent]:
        """Return a factory of transports to agents with this life (`OpenTransport`)."""

        def opened(command: Sequence[str], **options: Any) -> MemoryAgent:
            return cls(life, options["kill_s"], options["on_stderr"])

        return opened

    @property
    def pid(self) -> int | None:
        return None

    @property
    def exit(self) -> Exit | None:
        if self._lives is None or not self._lives.done():
            return None
        return (
            Exit(None, "SIGKILL") if self._lives.cancelled() else Exit(self._lives.result(), None)
        )

    @property
    def lost(self) -> None:
        return None

    @property
    def has_closed_input(self) -> bool:
        return False

    @property
    def inherited_variables(self) -> Mapping[str, str]:
        return {}

    async def start(self) -> None:
        if self._life is None:
            raise AgentStartError("Cannot start memory: nobody lives there")
        self._lives = asyncio.ensure_future(self._live(self._life))

    async def _live(self, life: Life) -> int:
        try:
            return await life(self._far, self._stderr.feed)
        finally:
            self._far.send_eof()

    async def receive(self) -> bytes:
        await self._rests.wait()
        return await self._ours.receive()

    def send(self, data: bytes) -> None:
        if self.exit is None:
            self._ours.send(data)

    def rest(self, seconds: float) -> None:
        if self._rests.is_set() and self.exit is None:
            self._rests.clear()
            asyncio.get_running_loop().call_later(seconds, self._rests.set)

    async def wait(self) -> Exit:
        assert self._lives is not None
        await asyncio.wait([self._lives])
        assert self.exit is not None
        return self.exit

    async def stop(self) -> Exit | None:
        if self._lives is None:
            return None
        self._ours.send_eof()
        await asyncio.wait([self._lives], timeout=self._kill_s)
        self._lives.cancel()
        return await self.wait()

    async def aclose(self) -> None:
        await self.stop()

    def stderr(self, lines: int) -> list[str]:
        return self._stderr.tail(lines)

    def configure(self, kill_s: float) -> None:
        self._kill_s = kill_s
