"""What became of the editor's own tools in a session, as `state().sessions[n].tools` shows it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec


class Offered(msgspec.Struct, frozen=True):
    """Names of tools; `writing` are those of them that change files."""

    names: Sequence[str] = ()
    writing: Collection[str] = ()


class ToolUse(msgspec.Struct):
    """The tools on offer, connections that are open, and calls so far."""

    offered: Callable[[], Offered] = Offered
    """Returns those of now. Tools are loaded when somebody asks for their names."""
    connected: int = 0
    calls: int = 0
    failed: int = 0
    slowest_ms: int = 0
    ever: bool = False
    """Whether the agent has connected at all."""

    def offer(self, offered: Callable[[], Offered]) -> None:
        """These tools are on offer from now on."""
        self.offered = offered

    def connect(self, connected: int) -> None:
        """So many connections are open."""
        self.connected = connected
        self.ever = self.ever or connected > 0

    def count(self, seconds: float, *, failed: bool) -> None:
        """Add a call that has ended."""
        self.calls += 1
        self.failed += failed
        self.slowest_ms = max(self.slowest_ms, round(seconds * 1000))
