"""Transport over stdin and stdout of an agent's process (spec: transports, stdio).

It uses asyncio's subprocess protocol, the layer under anyio's streams. Callbacks need no tasks,
writes never wait, and the exit is reported even while a grandchild holds stdout open (asyncio's own
`wait` also waits for the pipes).

Lua may let the host start an agent before it imports anything else (`child.early`): the *early
agent*. `EarlyStart` keeps it until the first transport starts. That transport adopts the process if
it would start the same one, and otherwise ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import anyio
from msgspec import Struct

from acp_nvim.agent.child.adopted import adopt
from acp_nvim.agent.child.early import EarlyAgent
from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.guard import CHILD
from acp_nvim.agent.child.launch import AgentStartError, find_program, spawn
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.child.stderr import StderrRing
from acp_nvim.agent.child.tree import END_SIGNALS, ProcessTree
from acp_nvim.agent.transport.stream import CHUNK_BYTES, READ_AHEAD, ByteQueue
from acp_nvim.tasks import true_within

STDIN, STDOUT, STDERR = 0, 1, 2
MAX_JOINED = 64
"""Maximum number of messages joined in one write, so that the agent can begin to read earlier."""
MAX_LAST_BYTES = 4 << 20
"""Number of bytes read beyond `READ_AHEAD` after the exit.

It is larger than any pipe buffer, so that no output of a dead agent is lost.
"""


MAX_UNUSED_S = 10.0
"""Time after which an early agent is ended if no prompt needs it, in seconds."""
END_STEP_S = 0.2
"""Time for each step of ending an unused early agent, in seconds."""


class _Running(Struct, frozen=True):
    """Started process."""

    pid: int
    child: asyncio.SubprocessTransport
    tree: ProcessTree


class EarlyStart:
    """Early agent, if there is one. The first transport that starts adopts or ends it."""

    def __init__(self, reaper: Reaper, agent: EarlyAgent | None = None) -> None:
        self._reaper = reaper
        self._agent = agent

    @property
    def has_agent(self) -> bool:
        """Return whether the early agent is still unused."""
        return self._agent is not None

    def pop(self) -> EarlyAgent | None:
        """Return the agent on the first call, then None."""
        agent, self._agent = self._agent, None
        return agent

    async def end_if_unused(self) -> None:
        """End the agent if no prompt needs it in time."""
        if self.has_agent:
            await anyio.sleep(MAX_UNUSED_S)
            await self.end()

    async def end(self) -> None:
        """End the agent if it is unused."""
        if (agent := self.pop()) is not None:
            await _end_early(agent, self._reaper)


async def _end_early(agent: EarlyAgent, reaper: Reaper) -> None:
    transport = StdioTransport(
        agent.words, cwd=agent.cwd, env=agent.env, reaper=reaper, kill_s=END_STEP_S
    )
    await transport.adopt(agent)
    await transport.stop()


class StdioTransport:
    """Agent as a child process that leads its own session (`AgentTransport`).

    When the process ends, on its own or through `stop`, all its descendants are ended too: the
    process group, and any outside of it that can be found (`tree.ProcessTree`).
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str | Path,
        env: Mapping[str, str],
        reaper: Reaper,
        kill_s: float = 2,
        on_stderr: Callable[[bytes], None] | None = None,
        early: EarlyStart | None = None,
    ) -> None:
        """`argv` runs without a shell in `cwd`, with the environment `env` and the mark.

        `kill_s` is the time for each step of the end (closed stdin, SIGTERM, SIGKILL), in
        seconds. `on_stderr` gets stderr in pieces. `early` may have started the same process.
        """
        self._argv, self._cwd, self._env = argv, cwd, env
        self._reaper = reaper
        self._early = EarlyStart(reaper) if early is None else early
        self._kill_s = kill_s
        self._mark = reaper.mark()
        self._stderr = StderrRing(on_stderr)
        self._pipes = _Pipes(self._stderr.feed, self._on_exit, self._on_stdin_closed)
        self._running: _Running | None = None
        self._ending: asyncio.Task[None] | None = None
        self._is_given_up = False
        self._joined: list[bytes] | None = None
        """Data sent after the first write of this loop iteration, still to be written."""

    async def start(self) -> None:
        """Start the process, or adopt the early one. Raise AgentStartError."""
        early = self._early.pop()
        if early is not None and self._can_adopt(early):
            await self.adopt(early)
            return
        if early is not None:
            await _end_early(early, self._reaper)
        env = {**self._env, **self.inherited_variables}
        child = await spawn(self._pipes, self._argv, cwd=self._cwd, env=env, reaper=self._reaper)
        self._on_start(child)

    def _can_adopt(self, early: EarlyAgent) -> bool:
        try:
            program = find_program(self._argv, self._cwd, self._env)
        except AgentStartError:
            return False  # the start will report it
        return early.matches(self._argv, str(self._cwd), self._env, program)

    async def adopt(self, early: EarlyAgent) -> None:
        """Adopt a running process, including the responsibility to end it.

        Its earlier output is in its pipes. An earlier exit is reported like any other.
        """
        self._mark = early.mark
        with anyio.CancelScope(shield=True):
            self._on_start(await adopt(early.process, self._pipes))

    def _on_start(self, child: asyncio.SubprocessTransport) -> None:
        pid = child.get_pid()
        self._running = _Running(pid, child, ProcessTree(pid, self._mark))
        if sys.platform != "win32":
            self._reaper.add(pid)
        if self._pipes.exit is not None:
            self._end()

    @property
    def pid(self) -> int | None:
        """Return the process id, or None before the start."""
        return None if self._running is None else self._running.pid

    @property
    def exit(self) -> Exit | None:
        """Return the exit, or None while the process runs."""
        return self._pipes.exit

    @property
    def lost(self) -> None:
        return None

    @property
    def has_closed_input(self) -> bool:
        """Return whether the client has given up on the agent because it closed its stdin."""
        return self._is_given_up

    @property
    def inherited_variables(self) -> Mapping[str, str]:
        """Return the mark by which all processes of the agent are found when it ends."""
        return {CHILD: self._mark}

    def stderr(self, lines: int) -> list[str]:
        return self._stderr.tail(lines)

    def configure(self, kill_s: float) -> None:
        self._kill_s = kill_s

    async def receive(self) -> bytes:
        """Return the next bytes of stdout, or `b''` at its end.

        The end comes at most `kill_s` after the exit, even if another process holds stdout open.
        """
        data = await self._pipes.stdout.get()
        self._pipes.regulate()
        return data

    def rest(self, seconds: float) -> None:
        """Stop reading for `seconds`. The agent blocks once the pipe is full."""
        self._pipes.rest(seconds)

    def send(self, data: bytes) -> None:
        """Queue `data` for stdin without blocking.

        Data for a broken pipe is dropped, without an error. The first data of a loop iteration is
        written at once; the rest is joined.
        """
        if self._joined is None:
            self._joined = []
            asyncio.get_running_loop().call_soon(self._write_joined)
            self._write(data)
        else:
            self._joined.append(data)
            if len(self._joined) >= MAX_JOINED:
                self._write_all()

    def _write_joined(self) -> None:
        self._write_all()
        self._joined = None

    def _write_all(self) -> None:
        if self._joined:
            self._write(b"".join(self._joined))
            self._joined.clear()

    def _write(self, data: bytes) -> None:
        if self._pipes.stdin is not None and not self._pipes.stdin.is_closing():
            self._pipes.stdin.write(data)

    async def wait(self) -> Exit:
        """Wait for the process itself to end.

        To get its last output, call `receive` until it returns `b''`.
        """
        await self._pipes.exited.wait()
        assert self._pipes.exit is not None
        return self._pipes.exit

    async def stop(self) -> Exit | None:
        """End the whole tree: close stdin, then send SIGTERM, then SIGKILL.

        Each step has `kill_s` seconds. Return the exit, or None if even SIGKILL has not ended the
        process (a kernel wait). Idempotent and safe to call concurrently. If the caller is
        cancelled, stopping continues.
        """
        if self._running is not None:
            await asyncio.shield(self._end())
        return self._pipes.exit

    async def aclose(self) -> None:
        await self.stop()

    @property
    def _started_process(self) -> _Running:
        assert self._running is not None
        return self._running

    def _on_exit(self) -> None:
        if self._running is not None:  # else `start` sees the exit
            self._end()

    def _on_stdin_closed(self) -> None:
        """Give up on an agent that closed its stdin.

        The agent first gets `kill_s` seconds for its last output and its exit.
        """
        if self._ending is None:
            asyncio.get_running_loop().call_later(self._kill_s, self._give_up)

    def _give_up(self) -> None:
        if self._ending is None:
            self._is_given_up = True
            self._pipes.stdout.end()

    def _end(self) -> asyncio.Task[None]:
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end_tree())
        return self._ending

    async def _end_tree(self) -> None:
        """End all processes of the agent: first close its stdin, then send signals."""
        try:
            # Once a process has ended, its descendants can no longer be found.
            await self._started_process.tree.scan()
            self._close_stdin()
            with anyio.move_on_after(self._kill_s):
                await self._pipes.exited.wait()
            for number in END_SIGNALS:
                has_members = await self._started_process.tree.scan()
                if self._pipes.exit is not None and not has_members:
                    break
                await self._signal(number)
            with anyio.move_on_after(self._kill_s):
                await self._pipes.drained.wait()
        finally:
            # Also reached when the loop is closing, without time for a graceful end.
            if not self._is_gone():
                self._kill()
            self._pipes.end()
            self._started_process.child.close()
            self._reaper.remove(self._started_process.pid)

    def _close_stdin(self) -> None:
        self._write_all()
        if self._pipes.stdin is not None:
            self._pipes.stdin.close()

    async def _signal(self, number: signal.Signals) -> None:
        if number == signal.SIGKILL:
            self._kill()
        elif sys.platform == "win32":
            self._started_process.child.terminate()
        else:
            self._started_process.tree.signal(number)
        await true_within(self._is_gone, self._kill_s)

    def _kill(self) -> None:
        if sys.platform == "win32":
            with contextlib.suppress(ProcessLookupError):
                self._started_process.child.kill()
        else:
            self._started_process.tree.signal(signal.SIGKILL)

    def _is_gone(self) -> bool:
        return self._pipes.exit is not None and not self._started_process.tree.alive()

    def __repr__(self) -> str:
        state = self.exit or ("ending" if self._ending else "running")
        return f"<StdioTransport {self.pid} [{state}]>"


class _Pipes(asyncio.SubprocessProtocol):
    """Subprocess events of asyncio, in a form that can be awaited."""

    def __init__(
        self,
        on_stderr: Callable[[bytes], None],
        on_exit: Callable[[], None],
        on_stdin_closed: Callable[[], None],
    ) -> None:
        """`on_stdin_closed` is called when the child has closed its stdin."""
        self.stdout = ByteQueue()
        self.stdin: asyncio.WriteTransport | None = None
        self.exit: Exit | None = None
        self.exited = anyio.Event()
        self.drained = anyio.Event()
        self._on_stderr, self._on_exit, self._on_stdin_closed = on_stderr, on_exit, on_stdin_closed
        self._transport: asyncio.SubprocessTransport | None = None
        self._open = {STDOUT, STDERR}
        self._paused = False
        self._resting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self.stdin = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(STDIN))
        # The size of a pipe. Memory for larger reads would be mapped and released each time.
        cast(Any, self._transport.get_pipe_transport(STDOUT)).max_size = CHUNK_BYTES

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        chunk = cast(bytes, data)
        if fd == STDERR:
            self._on_stderr(chunk)
        else:
            self.stdout.put(chunk)
            self.regulate()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if fd == STDOUT:
            self.stdout.end()
        elif fd == STDIN:
            self._on_stdin_closed()
        if not self._open:
            self.drained.set()

    def process_exited(self) -> None:
        assert self._transport is not None
        status = self._transport.get_returncode()
        assert status is not None
        self.exit = Exit.of(status)
        self.exited.set()
        self.regulate()
        self._on_exit()

    def rest(self, seconds: float) -> None:
        """Pause reading stdout for a time, unless such a pause is running."""
        if self._resting is None and self.exit is None:
            self._resting = asyncio.get_running_loop().call_later(seconds, self._on_rest)
            self.regulate()

    def _on_rest(self) -> None:
        self._resting = None
        self.regulate()

    def regulate(self) -> None:
        """Pause reading stdout while too much is unread, and resume it below the limit."""
        limit = READ_AHEAD if self.exit is None else READ_AHEAD + MAX_LAST_BYTES
        is_resting = self._resting is not None and self.exit is None
        full = is_resting or self.stdout.size >= limit
        if full == self._paused or STDOUT not in self._open or self._transport is None:
            return
        pipe = cast(Any, self._transport.get_pipe_transport(STDOUT))
        pipe.pause_reading() if full else pipe.resume_reading()
        self._paused = full

    def end(self) -> None:
        """Stop reading and writing."""
        if self._resting is not None:
            self._resting.cancel()
        # Unsent data would keep the pipe open. An empty pipe has already closed.
        if self.stdin is not None and self.stdin.get_write_buffer_size():
            self.stdin.abort()
        self.stdout.end()
        self.drained.set()
