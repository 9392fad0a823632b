"""Port of all transports: an agent that is started, written to, read from and ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.launch import AgentStartError
from acp_nvim.agent.transport.stream import Transport


class TransportError(AgentStartError):
    """Failure to reach a remote agent, or a broken connection to it.

    The text is one line for users, without secrets.
    """

    def __init__(
        self, text: str, *, again: bool = True, after: float = 0.0, soon: bool = False
    ) -> None:
        """With `again`, a retry after `after` seconds may succeed.

        With `soon`, a retry may succeed in a moment, even for a first connection.
        """
        super().__init__(text)
        self.again = again
        self.after = after
        self.soon = soon


class AgentTransport(Transport, Protocol):
    """Agent that can be started, written to, read from and ended. It is used once."""

    async def start(self) -> None:
        """Start the agent or connect to it. Raise AgentStartError, whose text is one line."""

    @property
    def pid(self) -> int | None:
        """Return the process id of a local agent, else None."""

    @property
    def exit(self) -> Exit | None:
        """Return the exit of the agent: None while it runs, and always None if it is remote."""

    @property
    def lost(self) -> TransportError | None:
        """Return the reason why the connection to a remote agent was lost, or None."""

    @property
    def has_closed_input(self) -> bool:
        """Return whether the client has given up on the agent because it closed its input."""

    @property
    def inherited_variables(self) -> Mapping[str, str]:
        """Return the environment variables that mark a process as the agent's.

        A process with the mark is ended with the agent. A remote agent has no such variables.
        """

    def rest(self, seconds: float) -> None:
        """Stop reading for `seconds`. The agent blocks once its pipe is full."""

    async def wait(self) -> Exit:
        """Wait for the agent to end. For a remote agent, wait forever.

        To get the agent's last output, call `receive` until it returns `b''`.
        """

    async def stop(self) -> Exit | None:
        """End the agent and all processes that it has started. Return its exit, if known.

        Idempotent and safe to call concurrently. If the caller is cancelled, stopping continues.
        """

    def stderr(self, lines: int) -> list[str]:
        """Return the newest lines that the agent wrote outside the protocol, oldest first."""

    def configure(self, kill_s: float) -> None:
        """Apply a new value of the option `timeouts.kill_s`, in seconds."""


class OpenTransport(Protocol):
    """Factory of the transport for one run of an agent. It starts nothing."""

    def __call__(
        self,
        command: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        kill_s: float,
        on_stderr: Callable[[bytes], None],
    ) -> AgentTransport:
        """Return a transport. `on_stderr` gets the agent's output outside the protocol."""
