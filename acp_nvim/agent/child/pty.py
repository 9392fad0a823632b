"""Command on a pseudo-terminal, in its own session and process group."""

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
"""Number of columns of the terminal.

Agents read the output, and programs cut lines at the edge, so the terminal is wide.
"""
PIECE: Final = 1 << 16
INTERRUPT: Final = b"\x03"
"""Byte that CTRL-C sends."""
PAUSE_S: Final = 0.004
"""Pause after a read of `PIECE` bytes, in seconds, which leaves time for other work."""
DRAIN_S: Final = 0.3
"""Maximum wait for the last output while children hold the device open, in seconds."""

# A session leader without a terminal gets the first one that it opens. `exec` then replaces the
# shell with the program.
_OPEN: Final = 'exec "$@" <>"$0" >&0 2>&1'
_OPEN_OUTPUT: Final = 'exec "$@" >"$0" 2>&1'


class PtyProcess:
    """Running command.

    `feed` receives its output. When the command has ended and its output is complete, `on_end` is
    called and `wait` returns.
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
        """`device` is the terminal of the process. Create instances with `start`."""
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
        piped: bytes | None = None,
    ) -> Self:
        """Start `argv` without a shell in `cwd`, with the environment `env` and the host's mark.

        The mark makes the command's daemons end with the host. `feed` may be called just before
        this returns. `kill_s` is the time between SIGTERM and SIGKILL, in seconds. If `piped` is
        not None, stdin is a pipe that begins with these bytes. Raise AgentStartError.
        """
        device = _Device(feed, piped)
        try:
            transport = await spawn(
                device,
                argv,
                cwd=cwd,
                env={CHILD: reaper.mark(), **env},
                reaper=reaper,
                by=("/bin/sh", "-c", _OPEN if piped is None else _OPEN_OUTPUT, device.path),
                streams=asyncio.subprocess.DEVNULL,
                stdin=device.input,
            )
        except AgentStartError:
            device.close()
            raise
        process = cls(device, transport, reaper=reaper, on_end=on_end, kill_s=kill_s)
        process._watch()
        return process

    @property
    def exit(self) -> Exit | None:
        """Return the exit, or None while the command runs."""
        return self._device.exit

    @property
    def is_running(self) -> bool:
        """Return whether the command or one of its children is running, unless `stop` has begun."""
        return self._ending is None and not self._is_gone()

    async def wait(self) -> Exit:
        """Wait until the command has ended and its output is complete."""
        await self._finished.wait()
        assert self._device.exit is not None
        return self._device.exit

    def write(self, data: bytes) -> None:
        """Send keys that the user types. After the end of the command, drop them."""
        if self._device.exit is not None:
            return
        if self._device.has_terminal or INTERRUPT not in data:
            self._device.write(data)
        else:  # there is no terminal to turn the key into a signal
            self.begin_stop()

    async def stop(self) -> None:
        """End the command and its descendants: SIGTERM, then SIGKILL after `kill_s`.

        Return when they have ended, which takes at most about twice `kill_s`.
        """
        await asyncio.shield(self.begin_stop())

    def begin_stop(self) -> asyncio.Task[None]:
        """Start ending the command. The task is done when all processes have ended."""
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end())
        return self._ending

    def _watch(self) -> None:
        # During an exec, the process table may lack a process. It counts as running then.
        if self._device.exit is None or self._tree.alive():
            self._reaper.add(self.pid)
        self._device.when_exited(self._on_exit)

    def _on_exit(self) -> None:
        self._transport.close()
        self._finishing = asyncio.get_running_loop().create_task(self._finish())

    async def _finish(self) -> None:
        """Wait briefly for the last output, then report the end.

        While children are running, keep the group in the list of the reaper until `stop`.
        """
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
            # Once a process has ended, its descendants can no longer be found.
            await self._tree.scan()
            for number in (signal.SIGTERM, signal.SIGKILL):
                if self._is_gone():
                    break
                self._tree.signal(number)
                await true_within(self._is_gone, self._kill_s)
                await self._tree.scan()
        finally:
            # Also reached when the loop is closing, without time for a graceful end.
            if not self._is_gone():
                self._tree.signal(signal.SIGKILL)
            await self._close()

    async def _close(self) -> None:
        """Close the device after the last output."""
        with anyio.move_on_after(DRAIN_S):
            await self._finished.wait()
        self._device.close()
        self._reaper.remove(self.pid)

    def _is_gone(self) -> bool:
        return self._device.exit is not None and not self._tree.alive()

    def __repr__(self) -> str:
        return f"<PtyProcess {self.pid} [{self.exit or 'running'}]>"


class _Device(asyncio.SubprocessProtocol):
    """Master side of the pseudo-terminal, and asyncio's events about the process."""

    def __init__(self, feed: Callable[[bytes], None], piped: bytes | None = None) -> None:
        self.input: int | None = None
        """Read end of the pipe for the process's stdin, or None after the start."""
        self.exit: Exit | None = None
        self.drained = anyio.Event()
        """Set when the output is complete."""
        self._feed = feed
        self._on_exit: Callable[[], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.BaseTransport | None = None
        self._unsent = bytearray()
        self._master, self._slave = os.openpty()
        self.path = os.ttyname(self._slave)
        os.set_blocking(self._master, False)
        _set_size(self._master)
        self._sink = self._master
        """Descriptor to which the user's keys are written."""
        if piped is not None:
            self.input, self._sink = os.pipe()
            os.set_blocking(self._sink, False)
            self._unsent += piped
        self._loop.add_reader(self._master, self._read)

    @property
    def has_terminal(self) -> bool:
        """Return whether stdin of the process is the terminal, not a pipe."""
        return self._sink == self._master

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._close_input()
        self._flush()

    def process_exited(self) -> None:
        assert isinstance(self._transport, asyncio.SubprocessTransport)
        status = self._transport.get_returncode()
        assert status is not None
        self.exit = Exit.of(status)
        if self._on_exit is not None:
            self._on_exit()

    def when_exited(self, action: Callable[[], None]) -> None:
        """Call `action` when the process ends, or at once if it has already ended."""
        self._on_exit = action
        if self.exit is not None:
            action()

    def write(self, data: bytes) -> None:
        if self._master < 0:
            return
        if not self.has_terminal:  # there is no terminal to translate the keys
            data = data.replace(b"\r", b"\n")
        self._unsent += data
        self._flush()

    def release(self) -> None:
        """Close the slave side. Reading ends when no process has it open."""
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def close(self) -> None:
        self.release()
        self._close_input()
        if self._master >= 0:
            self._loop.remove_reader(self._master)
            self._loop.remove_writer(self._sink)
            if self._sink != self._master:
                os.close(self._sink)
            os.close(self._master)
            self._master = self._sink = -1
        self.drained.set()

    def _close_input(self) -> None:
        if self.input is not None:
            os.close(self.input)
            self.input = None

    def _read(self) -> None:
        """Pass on the command's output. Pause if there is a lot of it."""
        pieces, size, open_ = list[bytes](), 0, True
        while size < PIECE:
            try:
                data = os.read(self._master, PIECE)
            except BlockingIOError:
                break
            except OSError:  # EIO: the last holder of the slave side has closed it
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
        if self._master < 0:
            return
        try:
            sent = os.write(self._sink, self._unsent) if self._unsent else 0
        except BlockingIOError:
            sent = 0
        except OSError:  # the program has ended and cannot read it
            sent = len(self._unsent)
        del self._unsent[:sent]
        if self._unsent:
            self._loop.add_writer(self._sink, self._flush)
        else:
            self._loop.remove_writer(self._sink)


def _set_size(device: int) -> None:
    if sys.platform != "win32":
        import termios

        termios.tcsetwinsize(device, (ROWS, COLUMNS))
