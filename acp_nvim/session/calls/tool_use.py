"""Use of the editor's own tools in a session (`state().sessions[n].tools`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec


class Offered(msgspec.Struct, frozen=True):
    """Names of the offered tools. `writing` are those that change files."""

    names: Sequence[str] = ()
    writing: Collection[str] = ()


class ToolUse(msgspec.Struct):
    """Offered tools, open connections, and counts of calls."""

    offered: Callable[[], Offered] = Offered
    """Function that returns the current tools. They are loaded on first use."""
    connected: int = 0
    calls: int = 0
    failed: int = 0
    slowest_ms: int = 0
    has_connected: bool = False
    """Whether the agent has ever connected."""

    def offer(self, offered: Callable[[], Offered]) -> None:
        """Set the offered tools."""
        self.offered = offered

    def connect(self, connected: int) -> None:
        """Set the number of open connections."""
        self.connected = connected
        self.has_connected = self.has_connected or connected > 0

    def count(self, seconds: float, *, failed: bool) -> None:
        """Count a call that has ended."""
        self.calls += 1
        self.failed += failed
        self.slowest_ms = max(self.slowest_ms, round(seconds * 1000))
