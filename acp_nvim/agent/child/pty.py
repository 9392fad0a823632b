"""A command on a pseudo-terminal of its own: in its own session and process group, with the device
as its controlling terminal.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Self

import anyio

from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.guard import CHILD
from acp_nvim.agent.child.launch import AgentStartError, spawn
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.child.tree import ProcessTree
from acp_nvim.tasks import true_within

AVAILABLE: Final = sys.platform != "win32"
ROWS: Final = 48
COLUMNS: Final = 160
"""Wide, because the reader is first of all an agent: what programs cut at the edge is lost."""
PIECE: Final = 1 << 16
PAUSE_S: Final = 0.004
"""After `PIECE` bytes at once reading pauses, so that a flood leaves time for everything else."""
DRAIN_S: Final = 0.3
"""How long the last output may take after the exit while children still hold the device open."""

# A session leader without a terminal gets the first one it opens; `exec` then makes it the program.
_OPEN: Final = 'exec "$@" <>"$0" >&0 2>&1'


class PtyProcess:
    """A running command. `feed` gets its output as it comes; when the command has ended and its
    output is complete `on_end` is called, and `wait` returns.
    """

    def __init__(
        self,
        device: _Device,
        transport: asyncio.SubprocessTransport,
        *,
        reaper: Reaper,
        on_end: Callable[[Exit], None],
        kill_s: float,
    ) -> None:
        """Made by `start`; `transport` belongs to a process that `device` has been given to."""
        self.pid: int = transport.get_pid()
        self._device = device
        self._transport = transport
        self._tree = ProcessTree(self.pid)
        self._reaper = reaper
        self._kill_s = kill_s
        self._on_end = on_end
        self._ending: asyncio.Task[None] | None = None
        self._finishing: asyncio.Task[None] | None = None
        self._finished = anyio.Event()

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: str | Path,
        env: Mapping[str, str],
        reaper: Reaper,
        feed: Callable[[bytes], None],
        on_end: Callable[[Exit], None] = lambda _: None,
        kill_s: float = 2,
    ) -> Self:
        """Start `argv` (never a shell) in `cwd` with the environment `env` and our mark
        in it, so that daemons that it leaves behind end with us.

        `feed` may be called just before this returns. `kill_s` is the time in seconds between
        SIGTERM and SIGKILL. Raises AgentStartError.
        """
        device = _Device(feed)
        try:
            transport = await spawn(
                device,
                argv,
                cwd=cwd,
                env={CHILD: reaper.mark(), **env},
                reaper=reaper,
                by=("/bin/sh", "-c", _OPEN, device.path),
                streams=asyncio.subprocess.DEVNULL,
            )
        except AgentStartError:
            device.close()
            raise
        process = cls(device, transport, reaper=reaper, on_end=on_end, kill_s=kill_s)
        process._watch()
        return process

    @property
    def exit(self) -> Exit | None:
        """How it ended; None while it runs."""
        return self._device.exit

    @property
    def runs_on(self) -> bool:
        """Whether it or a child of it runs, and nobody ends it."""
        return self._ending is None and not self._gone()

    async def wait(self) -> Exit:
        """Wait until the command has ended and its output has been fed; any number may wait."""
        await self._finished.wait()
        assert self._device.exit is not None
        return self._device.exit

    def write(self, data: bytes) -> None:
        """Send what the user types; dropped once the command has ended."""
        if self._device.exit is None:
            self._device.write(data)

    async def stop(self) -> None:
        """End the command and all it has started: SIGTERM, SIGKILL after `kill_s`.

        Returns when they are gone, at the latest after about twice that time.
        """
        await asyncio.shield(self.begin_stop())

    def begin_stop(self) -> asyncio.Task[None]:
        """Start to end it; the task is done when all are gone."""
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end())
        return self._ending

    def _watch(self) -> None:
        # While a program is replaced by the next one the process table may not show it: not known
        # to be gone counts as there.
        if self._device.exit is None or self._tree.alive():
            self._reaper.add(self.pid)
        self._device.when_exited(self._exited)

    def _exited(self) -> None:
        self._transport.close()
        self._finishing = asyncio.get_running_loop().create_task(self._finish())

    async def _finish(self) -> None:
        """Children that stay behind keep their group listed until `stop`."""
        self._device.release()
        try:
            with anyio.move_on_after(DRAIN_S):
                await self._device.drained.wait()
        finally:
            self._finished.set()
            if not self._tree.alive():
                self._reaper.remove(self.pid)
            assert self._device.exit is not None
            self._on_end(self._device.exit)

    async def _end(self) -> None:
        try:
            # Before anything dies: afterwards who descended from whom can't be told.
            await self._tree.look()
            for number in (signal.SIGTERM, signal.SIGKILL):
                if self._gone():
                    break
                self._tree.signal(number)
                await true_within(self._gone, self._kill_s)
                await self._tree.look()
        finally:
            # Also reached when the loop is closed under us: no time left for manners then.
            if not self._gone():
                self._tree.signal(signal.SIGKILL)
            await self._close()

    async def _close(self) -> None:
        """The last output first, so that whoever waits has all of it."""
        with anyio.move_on_after(DRAIN_S):
            await self._finished.wait()
        self._device.close()
        self._reaper.remove(self.pid)

    def _gone(self) -> bool:
        return self._device.exit is not None and not self._tree.alive()

    def __repr__(self) -> str:
        return f"<PtyProcess {self.pid} [{self.exit or 'running'}]>"


class _Device(asyncio.SubprocessProtocol):
    """Our end of the pseudo-terminal, and asyncio's events about the process."""

    def __init__(self, feed: Callable[[bytes], None]) -> None:
        self.exit: Exit | None = None
        self.drained = anyio.Event()
        """Nothing more can come."""
        self._feed = feed
        self._on_exit: Callable[[], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.BaseTransport | None = None
        self._unsent = bytearray()
        self._master, self._slave = os.openpty()
        self.path = os.ttyname(self._slave)
        os.set_blocking(self._master, False)
        _set_size(self._master)
        self._loop.add_reader(self._master, self._read)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def process_exited(self) -> None:
        assert isinstance(self._transport, asyncio.SubprocessTransport)
        status = self._transport.get_returncode()
        assert status is not None
        self.exit = Exit.of(status)
        if self._on_exit is not None:
            self._on_exit()

    def when_exited(self, action: Callable[[], None]) -> None:
        """Call `action` when the process has ended; at once where it has already."""
        self._on_exit = action
        if self.exit is not None:
            action()

    def write(self, data: bytes) -> None:
        """Queue `data` for the program."""
        if self._master < 0:
            return
        self._unsent += data
        self._flush()

    def release(self) -> None:
        """Let go of the program's end: once nobody holds it, reading comes to an end."""
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def close(self) -> None:
        """Close both ends."""
        self.release()
        if self._master >= 0:
            self._loop.remove_reader(self._master)
            self._loop.remove_writer(self._master)
            os.close(self._master)
            self._master = -1
        self.drained.set()

    def _read(self) -> None:
        pieces, size, open_ = list[bytes](), 0, True
        while size < PIECE:
            try:
                data = os.read(self._master, PIECE)
            except BlockingIOError:
                break
            except OSError:  # EIO: the last one who held the other end has closed it
                data = b""
            if not data:
                open_ = False
                break
            pieces.append(data)
            size += len(data)
        else:
            self._loop.remove_reader(self._master)
            self._loop.call_later(PAUSE_S, self._resume)
        if pieces:
            self._feed(b"".join(pieces))
        if not open_:
            self.close()

    def _resume(self) -> None:
        if self._master >= 0:
            self._loop.add_reader(self._master, self._read)

    def _flush(self) -> None:
        try:
            sent = os.write(self._master, self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError:  # the program is gone, nobody reads this any more
            sent = len(self._unsent)
        del self._unsent[:sent]
        if self._unsent:
            self._loop.add_writer(self._master, self._flush)
        else:
            self._loop.remove_writer(self._master)


def _set_size(device: int) -> None:
    if sys.platform != "win32":
        import termios

        termios.tcsetwinsize(device, (ROWS, COLUMNS))
