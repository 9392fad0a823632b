"""Connections to remote agents: transports, and attempts to connect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from http.cookiejar import CookieJar
from typing import Final

import anyio
from msgspec import Struct

from acp_nvim import wording
from acp_nvim.agent.settings import AgentSettings
from acp_nvim.agent.surroundings import AgentLaunch
from acp_nvim.agent.transport import addresses
from acp_nvim.agent.transport.base import AgentTransport, TransportError
from acp_nvim.agent.transport.remote import remote_agent
from acp_nvim.agent.transport.via import via_of
from acp_nvim.agent.transport.via_tools import ViaTools
from acp_nvim.agent.transport.via_transport import Ready, ViaTransport
from acp_nvim.agent.via_place import ViaPlace
from acp_nvim.agent.wire.path_fields import PathFields
from acp_nvim.agent.wire.path_map import PathMap
from acp_nvim.agent.wire.traffic import Traffic

OnOutput = Callable[[bytes], None]
"""Function called with output outside the protocol."""

FIRST_PAUSES: Final = (0.5, 1.0, 2.0, 4.0)
"""Pauses before retries of a first connection, in seconds."""
FIRST_LONGEST_S: Final = 60.0
"""Maximum pause that a server may request before a first connection. A longer one is a refusal."""


class Attempts:
    """Attempts to connect, one after each pause.

    A first connection has only a few attempts, and only if a retry may succeed soon.
    """

    def __init__(self, pauses: Iterator[float] | None) -> None:
        """`pauses` are the seconds to wait before each attempt. A first connection has None."""
        self.is_first = pauses is None
        """Whether there was no connection before."""
        self._pauses = iter(FIRST_PAUSES) if pauses is None else pauses
        self._stopped = anyio.Event()
        self._starting: anyio.CancelScope | None = None

    def stop(self) -> None:
        """Stop the running attempt and make no others."""
        self._stopped.set()
        if self._starting is not None:
            self._starting.cancel()

    def transport_to(
        self,
        spec: AgentSettings,
        cookies: dict[str, CookieJar],
        env: Mapping[str, str],
        message_bytes: int,
        traffic: Traffic,
    ) -> AgentTransport:
        """Return the transport to an agent with a `url`. Its secrets are kept out of the log.

        `env` has the values of variables in headers. Raise TransportError.
        """
        url = spec.url or ""
        headers, hidden = addresses.expand_headers(spec.headers, {**env, **spec.env})
        traffic.add_secrets([*hidden, *addresses.secrets(url)])
        return remote_agent(
            url,
            headers=headers,
            message_bytes=message_bytes,
            on_stderr=lambda data: traffic.add("err", data),
            cookies=cookies,
        )

    async def start(self, transport: AgentTransport) -> None:
        """Start a transport, unless the attempts are stopped. Raise its errors."""
        with anyio.CancelScope() as self._starting:
            try:
                await transport.start()
            except TransportError:
                await transport.stop()
                raise
        if self._stopped.is_set():
            await transport.stop()
            raise TransportError(wording.WHY_CONNECTION_ENDED, again=False)

    async def first(self) -> None:
        """Wait before the first attempt.

        Raise TransportError if no pause is left. That happens if a server accepts each connection
        and then closes it.
        """
        if self.is_first:
            return
        pause = next(self._pauses, None)
        if pause is None:
            raise TransportError(wording.WHY_ENDED_EACH_TIME, again=False)
        await self._wait(pause)

    async def wait_before_next(
        self, error: TransportError, on_wait: Callable[[float], None]
    ) -> None:
        """Wait before another attempt, after `error`. `on_wait` receives the wait in seconds.

        Raise the error if there is no further attempt.
        """
        pause = next(self._pauses, None) if self._may_retry(error) else None
        if pause is None:
            raise error
        pause = max(pause, error.after)
        on_wait(pause)
        await self._wait(pause)
        if self._stopped.is_set():
            raise error

    def _may_retry(self, error: TransportError) -> bool:
        if self.is_first:
            return error.soon and error.after <= FIRST_LONGEST_S
        return error.again

    async def _wait(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._stopped.wait()


class ViaAgent(Struct, frozen=True):
    """Program of a remote agent, ready to start."""

    place: ViaPlace
    fields: PathFields
    tools: ViaTools
    transport: Callable[[float, OnOutput], ViaTransport]
    """Function that returns the transport for `timeouts.kill_s` and the receiver of stderr."""


def covers(name: str, spec: AgentSettings, path: str) -> bool:
    """Return whether an agent can see a path on this machine, according to its options."""
    if not (spec.via or spec.paths):
        return True
    paths = PathMap(name, spec.paths)
    paths.set_home("/", "")  # any home will do: only local directories matter
    return paths.covers_here(path)


def path_fields(name: str, spec: AgentSettings) -> PathFields:
    """Return the mapping of paths for an agent without `via`."""
    return PathFields(PathMap(name, spec.paths))


async def via_agent(name: str, spec: AgentSettings, launch: AgentLaunch) -> ViaAgent:
    """Return the program of an agent with the option `via`. Raise TransportError."""
    words = None
    if spec.via is True:
        assert launch.via is not None
        words = await launch.via(name)
    here = launch.cwd()
    via, paths = via_of(spec, words, here), PathMap(name, spec.paths)

    def directory(path: str) -> str:
        """Return the remote directory for a path on this machine."""
        folder = paths.folder_to_agent(path)
        return folder if folder.startswith("/") else ""

    def client(command: Sequence[str], kill_s: float, on_output: OnOutput) -> AgentTransport:
        return launch.transport(
            command, cwd=here, env=launch.env(), kill_s=kill_s, on_stderr=on_output
        )

    def link(command: Sequence[str]) -> ViaTransport:
        """Return a transport that runs a command for the editor's tools, without a log."""
        return ViaTransport(client(place.link(command), 1, _ignore), via, {}, _ignore, _ignore)

    def on_ready(report: Ready) -> None:
        paths.set_home(report.home, report.directory)
        tools.set_directory(report.relays)

    def transport(kill_s: float, on_output: OnOutput) -> ViaTransport:
        command = place.agent(spec.command, spec.cwd or (directory(here) if spec.paths else ""))
        program = client(command, kill_s, on_output)
        return ViaTransport(program, via, spec.env, on_ready, on_output, tools.close)

    place = ViaPlace(
        via, spec.env, directory, lambda path: paths.is_empty or paths.covers_here(path)
    )
    fields = PathFields(paths)
    tools = ViaTools(link, fields)
    return ViaAgent(place, fields, tools, transport)


def _ignore(_: object) -> None: ...
