"""Reaching an agent elsewhere: its transport, and the attempts to have one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import anyio

from acp_nvim import wording
from acp_nvim.agent.settings import AgentSettings
from acp_nvim.agent.transport import addresses
from acp_nvim.agent.transport.base import AgentTransport, ReachAgent, TransportError
from acp_nvim.agent.wire.traffic import Traffic


class Attempts:
    """The attempts of one connection: one, or as many as there are pauses."""

    def __init__(self, pauses: Iterator[float] | None) -> None:
        """``pauses`` are those before each attempt, in seconds."""
        self.are_many = pauses is not None
        self._pauses = pauses
        self._stopped = anyio.Event()
        self._starting: anyio.CancelScope | None = None

    def stop(self) -> None:
        """Leave the attempt that is under way, and make no other one."""
        self._stopped.set()
        if self._starting is not None:
            self._starting.cancel()

    def transport_to(
        self,
        spec: AgentSettings,
        reach: ReachAgent,
        env: Mapping[str, str],
        message_bytes: int,
        traffic: Traffic,
    ) -> AgentTransport:
        """Return the transport to an agent with a `url`; what is secret of it stays out of the log.

        ``env`` has the values of variables in headers. Raises TransportError.
        """
        url = spec.url or ""
        headers, hidden = addresses.expanded(spec.headers, {**env, **spec.env})
        traffic.hide([*hidden, *addresses.secrets(url)])
        return reach(
            url,
            headers=headers,
            message_bytes=message_bytes,
            on_stderr=lambda data: traffic.add("err", data),
        )

    async def start(self, transport: AgentTransport) -> None:
        """Start a transport, unless the attempts are stopped. Raises as it does."""
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
        """Wait before the first one. Raises TransportError where all are used up, as with a server
        that takes connections and ends each of them.
        """
        if self._pauses is None:
            return
        pause = next(self._pauses, None)
        if pause is None:
            raise TransportError(wording.WHY_ENDED_EACH_TIME, again=False)
        await self._wait(pause)

    async def another(self, error: TransportError, tell: Callable[[float], None]) -> None:
        """Wait before another one, after `error`; ``tell`` is told for how long, in seconds.

        Raises the error where there is none.
        """
        pause = next(self._pauses, None) if self._pauses is not None else None
        if pause is None or not error.again:
            raise error
        pause = max(pause, error.after)
        tell(pause)
        await self._wait(pause)
        if self._stopped.is_set():
            raise error

    async def _wait(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._stopped.wait()
