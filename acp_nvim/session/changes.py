"""What changed in a session and is not told yet: state by its name, tool calls, `User` events."""

from __future__ import annotations

from typing import Any

import msgspec

FROM_THE_START = (
    *("agent", "cwd", "status", "title", "tool_calls", "queue", "plan", "commands", "options"),
    *("permissions", "elicitations", "questions", "edits", "checkpoints", "terminals"),
)
"""State that is told of a session as soon as there is one."""

CALLS_AT_ONCE = 1000
"""Tool calls told in one frame; a replay may bring any number."""


class Event(msgspec.Struct):
    """A `User` autocommand to be; it is told once the text before it is on the screen (`mark`)."""

    name: str
    data: dict[str, Any]
    mark: int


class Changes:
    """Gathered as things happen, taken once a frame."""

    def __init__(self) -> None:
        """A session that was never told of."""
        self.names = set(FROM_THE_START)
        self.calls: set[int] = set()
        """Tool calls by their index."""
        self.events: list[Event] = []

    def statuses(self, n: int, mark: int) -> list[str]:
        """Return the list to which ids and statuses of tool calls are added, in turns: events
        `AcpToolCall` that follow one another are kept, and told, as one.
        """
        last = self.events[-1] if self.events else None
        if last is None or last.name != "AcpToolCall" or last.mark != mark:
            last = Event("AcpToolCall", {"session": n, "calls": []}, mark)
            self.events.append(last)
        calls: list[str] = last.data["calls"]
        return calls

    def take_names(self) -> list[str]:
        """Return the names of changed state, sorted."""
        names = sorted(self.names)
        self.names.clear()
        return names

    def take_calls(self) -> list[int]:
        """Return the first of the tool calls that changed; of very many a rest stays."""
        changed = sorted(self.calls)
        self.calls = set(changed[CALLS_AT_ONCE:])
        return changed[:CALLS_AT_ONCE]

    def take_events(self, drawn: int) -> list[Event]:
        """Return the events whose text is drawn, in order."""
        if self.events and self.events[-1].mark <= drawn:  # marks never fall
            events, self.events = self.events, []
            return events
        ready = 0
        while ready < len(self.events) and self.events[ready].mark <= drawn:
            ready += 1
        events, self.events = self.events[:ready], self.events[ready:]
        return events
