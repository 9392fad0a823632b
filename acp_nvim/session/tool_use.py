"""What became of the editor's own tools in a session, as `state().sessions[n].tools` shows it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec


class ToolUse(msgspec.Struct):
    """Names of the tools on offer, connections that are open, and calls so far."""

    names: Sequence[str] = ()
    writing: Collection[str] = ()
    """Those of them that change files."""
    connected: int = 0
    calls: int = 0
    failed: int = 0
    slowest_ms: int = 0
    ever: bool = False
    """Whether the agent has connected at all."""

    def offer(self, names: Sequence[str], writing: Collection[str]) -> None:
        """These tools are on offer from now on; `writing` are those that change files."""
        self.names, self.writing = names, writing

    def connect(self, connected: int) -> None:
        """So many connections are open."""
        self.connected = connected
        self.ever = self.ever or connected > 0

    def count(self, seconds: float, *, failed: bool) -> None:
        """Add a call that has ended."""
        self.calls += 1
        self.failed += failed
        self.slowest_ms = max(self.slowest_ms, round(seconds * 1000))
