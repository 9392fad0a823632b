"""Run of an agent, from the start of its transport to the reason for its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import anyio

from acp_nvim import wording
from acp_nvim.agent.agent import Agent
from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.serving.client import Client
from acp_nvim.agent.serving.protocol_warnings import ProtocolWarnings
from acp_nvim.agent.transport.base import AgentTransport, TransportError
from acp_nvim.agent.wire.endpoint import Endpoint
from acp_nvim.agent.wire.ports import FlowControl
from acp_nvim.agent.wire.traffic import Traffic
from acp_nvim.protocol.jsonrpc import Peer
from acp_nvim.protocol.translation import Translation

if TYPE_CHECKING:
    from acp_nvim.agent.wire.path_fields import PathFields

EXIT_S: Final = 0.25
"""Time to wait for the exit that explains the end of the output, in seconds."""


class AgentRun:
    """Started agent: its transport and the calls over it."""

    def __init__(
        self,
        name: str,
        transport: AgentTransport,
        client: Client,
        translation: Translation,
        traffic: Traffic,
        warnings: ProtocolWarnings,
        flow: FlowControl,
        message_bytes: int,
        stopping: Callable[[], bool],
        paths: PathFields | None = None,
    ) -> None:
        """`stopping` returns whether the user has ended the agent.

        `paths` maps the agent's paths.
        """
        self.transport = transport
        self.exit: Exit | None = None
        """Exit that explains the end of the output, if known."""
        self._name = name
        self._warnings = warnings
        self._stopping = stopping
        self._closed_output = False
        self._peer = Peer(message_bytes, reads_updates=True)
        self.endpoint = Endpoint(
            transport,
            client,
            peer=self._peer,
            traffic=traffic,
            flow=flow,
            rest=transport.rest,
            last_words=self._reason,
            on_deviation=lambda note: warnings.count("forgiven", note),
            translation=translation,
            paths=paths,
        )
        self.agent = Agent(self.endpoint)

    def configure(self, message_bytes: int, kill_s: float) -> None:
        """Apply new values of the options `limits.message_bytes` and `timeouts.kill_s`."""
        self._peer.set_limit(message_bytes)
        self.transport.configure(kill_s)

    @property
    def pid(self) -> int | None:
        """Return the process id while a local agent runs, else None."""
        return self.transport.pid if self.transport.exit is None else None

    @property
    def lost(self) -> TransportError | None:
        """Return the reason why the connection to a remote agent was lost, or None."""
        return self.transport.lost

    async def close(self, *, by_itself: bool) -> None:
        """End the process after its output has ended. `by_itself` is false if the user ended it."""
        if self.transport.exit is None:
            self._closed_output = by_itself
            await self.transport.stop()

    def store_exit(self) -> None:
        self.exit = self.transport.exit

    async def _reason(self) -> str:
        """Return why the stream ended.

        Wait briefly for the exit of the process, which usually follows.
        """
        if self.lost is not None:
            return self.summary()
        with anyio.move_on_after(EXIT_S):
            self.exit = await self.transport.wait()
        if self.exit or self._stopping():
            return self.summary()
        return wording.AGENT_CLOSED.format(agent=self._name, pipe=self._closed_pipe())

    def _closed_pipe(self) -> str:
        """Return the name of the pipe that the agent closed, from the agent's point of view."""
        return "input" if self.transport.has_closed_input else "output"

    def summary(self) -> str:
        """Return how the agent ended, in one line."""
        name = self._name
        if self._stopping():
            return wording.AGENT_STOPPED.format(agent=name)
        if self.lost is not None:
            return wording.NOT_REACHED.format(agent=name, reason=self.lost)
        if self._closed_output:
            return wording.AGENT_CLOSED_AND_ENDED.format(agent=name, pipe=self._closed_pipe())
        if self.exit:
            return wording.AGENT_EXITED.format(agent=name, exit=self.exit)
        return wording.AGENT_ENDED.format(agent=name)

    def last_words(self) -> list[str]:
        """Return the newest lines of stderr, or else of stdout, except for protocol messages."""
        return self.transport.stderr(5) or list(self._warnings.unread)
