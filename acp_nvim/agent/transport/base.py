"""The port of a connection to its agent, whatever transport lies behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.launch import AgentStartError
from acp_nvim.agent.transport.stream import Transport


class TransportError(AgentStartError):
    """An agent elsewhere cannot be reached, or the way to it broke. The text is one line for users,
    without any secret.
    """

    def __init__(
        self, text: str, *, again: bool = True, after: float = 0.0, soon: bool = False
    ) -> None:
        """``again``: it may work later, in ``after`` seconds at the earliest. ``soon``: it may work
        in a moment, even where there was no connection before.
        """
        super().__init__(text)
        self.again = again
        self.after = after
        self.soon = soon


class AgentTransport(Transport, Protocol):
    """An agent that can be started, spoken to and ended. Each is used once."""

    async def start(self) -> None:
        """Start the agent, or reach it. Raises AgentStartError, whose text is one line."""

    @property
    def pid(self) -> int | None:
        """The process id of an agent that runs here; None for any other."""

    @property
    def exit(self) -> Exit | None:
        """How the agent ended; None while it runs, and where nobody can know."""

    @property
    def lost(self) -> TransportError | None:
        """Why an agent elsewhere is not reached any more; None for a process."""

    @property
    def deaf(self) -> bool:
        """Whether the agent was given up because it takes no input any more."""

    @property
    def inherited(self) -> Mapping[str, str]:
        """Environment variables for processes that we start on the agent's behalf, so that they end
        with it; empty where the agent starts nothing here.
        """

    def rest(self, seconds: float) -> None:
        """Read nothing for so long; the agent waits once its pipe is full."""

    async def wait(self) -> Exit:
        """Wait for the agent to end, for ever where nobody can know. Its last output may still be
        on the way: `receive` to the end for that.
        """

    async def stop(self) -> Exit | None:
        """End the agent and all that it has started; None where its end could not be seen.

        Idempotent, safe to call concurrently. A caller that is cancelled leaves, the end goes on.
        """

    def stderr(self, lines: int) -> list[str]:
        """The newest lines that the agent wrote beside the protocol, oldest first."""

    def configure(self, kill_s: float) -> None:
        """Option `timeouts.kill_s`, in seconds, is another now."""


class OpenTransport(Protocol):
    """Makes the transport for one run of an agent; nothing is started yet."""

    def __call__(
        self,
        command: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        kill_s: float,
        on_stderr: Callable[[bytes], None],
    ) -> AgentTransport:
        """``on_stderr`` is given the agent's output beside the protocol, as it comes."""


class ReachAgent(Protocol):
    """Makes the transport for one connection to an agent elsewhere; nothing is sent yet."""

    def __call__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        message_bytes: int,
        on_stderr: Callable[[bytes], None],
    ) -> AgentTransport:
        """``headers`` go with each request, as they are; of one message that comes no more than
        ``message_bytes`` and a little has to be handed on. ``on_stderr`` is given remarks about the
        connection, as lines. Raises TransportError.
        """
