"""Transport to a remote agent through a local program (option `agents.*.via`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Final

import anyio
from msgspec import Struct

from acp_nvim import wording
from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.guard import CHILD
from acp_nvim.agent.child.launch import AgentStartError
from acp_nvim.agent.transport import via_guard
from acp_nvim.agent.transport.base import AgentTransport, TransportError
from acp_nvim.agent.transport.via import Via

EXIT_S: Final = 1.0
"""Time to wait for the exit after the end of the output, in seconds."""
_NOT_RUNNING: Final = r"(?i)no such container|pods? .* not found|is not running|container not found"
_NO_SERVICE: Final = r"(?i)cannot connect to the docker daemon|connection to the server .* refused"
_NO_SHELL: Final = r"(?i)exec:? .*sh.*: (?:executable file )?not found|no such file"
_REASONS: Final = (
    (r"Could not resolve hostname|Name or service not known", wording.WHY_HOST_UNKNOWN, True),
    (r"Host key verification failed|HOST IDENTIFICATION", wording.WHY_HOST_KEY, False),
    (r"Permission denied|Too many authentication failures", wording.WHY_KEY_REFUSED, False),
    (r"Connection refused|timed out|No route to host|unreachable", wording.WHY_HOST_SILENT, True),
    (r"Connection (?:closed|reset)|kex_exchange", wording.WHY_HOST_CLOSED, True),
    (r"chdir to cwd", wording.WHY_REMOTE_CWD_MISSING, False),
    (_NOT_RUNNING, wording.WHY_NOT_RUNNING, True),
    (_NO_SERVICE, wording.WHY_NO_SERVICE, True),
    (_NO_SHELL, wording.WHY_NO_SHELL, False),
)
"""Patterns in the last output of a program that did not reach the place.

Each has the text for the failed step, and whether a retry may help.
"""


class Ready(Struct, frozen=True):
    """The guard's report before it starts a command."""

    home: str
    """Home directory."""
    directory: str
    """Working directory of the command."""
    relays: str
    """Directory for relays to the editor's tools, or an empty string."""


async def _nothing() -> None: ...


class ViaTransport:
    """Remote agent, reached through a local process (`AgentTransport`)."""

    def __init__(
        self,
        client: AgentTransport,
        via: Via,
        env: Mapping[str, str],
        on_ready: Callable[[Ready], None],
        remark: Callable[[bytes], None],
        close: Callable[[], Coroutine[None, None, None]] = _nothing,
    ) -> None:
        """`client` is the local process, `env` the remote environment.

        `remark` receives remote output from before the agent starts. `close` ends the agent's
        local helpers.
        """
        self._client, self._via, self._env = client, via, env
        self._on_ready, self._remark, self._close = on_ready, remark, close
        self._rest = b""
        """Output of the agent that was received together with the guard's line."""
        self._lost: TransportError | None = None
        self._is_stopping = False

    async def start(self) -> None:
        """Start the agent and wait until it runs. Raise TransportError."""
        try:
            await self._client.start()
        except AgentStartError as error:
            raise TransportError(str(error), again=False) from error
        mark = via_guard.mark_of(self._client.inherited_variables[CHILD])
        self._client.send(via_guard.environment(self._env, mark))
        report = await self._guard_report(mark.encode() + b" ")
        state, _, folders = report.partition(" ")
        if state == via_guard.READY:
            home, _, others = folders.partition("\t")
            directory, _, relays = others.rpartition("\t")
            self._on_ready(Ready(home, directory, relays))
            return
        for beginning, template in (
            (via_guard.NO_DIRECTORY, wording.WHY_REMOTE_DIRECTORY_MISSING),
            (via_guard.NO_PROGRAM, wording.WHY_REMOTE_PROGRAM_MISSING),
        ):
            if report.startswith(beginning):
                name = report.removeprefix(beginning).strip()
                raise TransportError(template.format(name=name, via=self._via), again=False)
        raise TransportError(wording.WHY_VIA_FAILED.format(via=self._via, reason=report))

    async def _guard_report(self, mark: bytes) -> str:
        """Return the guard's line without the mark. Write the text before it to the log."""
        unread = b""
        while data := await self._client.receive():
            unread += data
            *lines, unread = unread.split(b"\n")
            for number, line in enumerate(lines):
                if line.startswith(mark):
                    self._rest = b"\n".join([*lines[number + 1 :], unread])
                    return line.removeprefix(mark).decode("utf-8", "replace")
                if line.strip():
                    self._remark(line + b"\n")
            if len(unread) > via_guard.MAX_BANNER:
                self._remark(unread)
                unread = b""
        if unread:
            self._remark(unread + b"\n")
        raise await self._failure()

    async def _failure(self) -> TransportError:
        with anyio.move_on_after(EXIT_S):
            await self._client.wait()
        words = self._client.stderr(20)
        text = "\n".join(words)
        for pattern, template, again in _REASONS:
            if re.search(pattern, text):
                return TransportError(template.format(via=self._via, reason=words[-1]), again=again)
        reason = words[-1] if words else str(self._client.exit or wording.WHY_CONNECTION_ENDED)
        return TransportError(wording.WHY_VIA_FAILED.format(via=self._via, reason=reason))

    @property
    def pid(self) -> int | None:
        """Return the id of the local process."""
        return self._client.pid

    @property
    def exit(self) -> Exit | None:
        return self._client.exit

    @property
    def lost(self) -> TransportError | None:
        """Return the reason why the connection broke, or None if the agent itself ended."""
        return self._lost

    @property
    def has_closed_input(self) -> bool:
        return self._client.has_closed_input

    @property
    def inherited_variables(self) -> Mapping[str, str]:
        return self._client.inherited_variables

    def rest(self, seconds: float) -> None:
        self._client.rest(seconds)

    async def receive(self) -> bytes:
        """Return the next bytes of the agent, or `b''` at the end."""
        if self._rest:
            data, self._rest = self._rest, b""
            return data
        data = await self._client.receive()
        if not data and not self._is_stopping and self._lost is None:
            with anyio.move_on_after(EXIT_S):
                await self._client.wait()
            if _is_cut(self._client.exit, is_ssh=self._via.is_ssh):
                self._lost = TransportError(wording.WHY_CONNECTION_ENDED)
        return data

    def send(self, data: bytes) -> None:
        self._client.send(data)

    async def wait(self) -> Exit:
        return await self._client.wait()

    async def stop(self) -> Exit | None:
        self._is_stopping = True
        async with anyio.create_task_group() as group:
            group.start_soon(self._close)
            await self._client.stop()
        return self.exit

    async def aclose(self) -> None:
        await self.stop()

    def stderr(self, lines: int) -> list[str]:
        return self._client.stderr(lines)

    def configure(self, kill_s: float) -> None:
        self._client.configure(kill_s)


def _is_cut(exit: Exit | None, *, is_ssh: bool) -> bool:
    """Return whether the local process ended without the agent.

    The guard exits with the agent's code. Therefore a signal has ended only the local process, and
    255 is ssh's code for a broken connection.
    """
    return exit is not None and (exit.signal is not None or (is_ssh and exit.code == 255))
