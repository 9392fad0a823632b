"""Lazy import of the transports for remote agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from acp_nvim import wording
from acp_nvim.agent.transport.base import AgentTransport, TransportError

if TYPE_CHECKING:
    from acp_nvim.agent.transport.remote import Remotes


class Reach:
    """Factory of transports by address (`ReachAgent`)."""

    def __init__(self) -> None:
        self._remotes: Remotes | None = None

    def __call__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        message_bytes: int,
        on_stderr: Callable[[bytes], None],
    ) -> AgentTransport:
        from acp_nvim.agent.transport.remote import Remotes

        self._remotes = self._remotes or Remotes()
        try:
            return self._remotes(
                url, headers=headers, message_bytes=message_bytes, on_stderr=on_stderr
            )
        except ImportError as error:
            text = wording.WHY_NEEDS_REMOTE
            raise TransportError(text, again=False) from error
