"""Changes of a session that wait for the next frame: names of state, tool calls, `User` events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

import msgspec

FROM_THE_START = (
    *("agent", "cwd", "status", "title", "tool_calls", "queue", "plan", "commands", "options"),
    *("permissions", "elicitations", "questions", "edits", "checkpoints", "terminals"),
)
"""State that every session tells in its first frame."""

EVENTS_AT_ONCE = 200
"""The most events in one frame: the user's handlers run for each."""


class Event(msgspec.Struct):
    """A `User` autocommand; it fires once the text before it is on the screen (`mark`)."""

    name: str
    data: dict[str, Any]
    mark: int


class Changes:
    """Collects changes between two frames."""

    def __init__(self) -> None:
        """Start with all state of a new session."""
        self.names = dict.fromkeys(FROM_THE_START, 0)
        """How much text was written when each first changed, as `Event.mark`."""
        self.calls: dict[int, int] = {}
        """The same of tool calls, by their index; marks never fall."""
        self.events: deque[Event] = deque()

    @property
    def pending(self) -> bool:
        """Whether state or events wait to be told."""
        return bool(self.names or self.calls or self.events)

    def statuses(self, n: int, mark: int) -> list[str]:
        """Return the list to which ids and statuses of tool calls are appended in pairs:
        `AcpToolCall` events in a row are kept and sent as one.
        """
        last = self.events[-1] if self.events else None
        if last is None or last.name != "AcpToolCall" or last.mark != mark:
            last = Event("AcpToolCall", {"session": n, "calls": []}, mark)
            self.events.append(last)
        calls: list[str] = last.data["calls"]
        return calls

    def change(self, names: Iterable[str], mark: int) -> None:
        """State of these names has changed; `mark` as in `Event`."""
        for name in names:
            self.names.setdefault(name, mark)

    def change_calls(self, indexes: Iterable[int]) -> None:
        """These tool calls are the list from now on."""
        self.calls = dict.fromkeys(indexes, 0)

    def take_names(self, drawn: int) -> list[str]:
        """Return the names of the state that changed within the drawn text, sorted. An event finds
        it, whatever has changed since.
        """
        names = sorted(name for name, mark in self.names.items() if mark <= drawn)
        for name in names:
            del self.names[name]
        return names

    def take_calls(self, drawn: int) -> list[int]:
        """Return the indexes of tool calls that changed within the drawn text, sorted."""
        calls = sorted(
            index for index, _ in takewhile(lambda it: it[1] <= drawn, self.calls.items())
        )
        if len(calls) == len(self.calls):
            self.calls.clear()
        for index in calls if self.calls else ():
            del self.calls[index]
        return calls

    def take_events(self, drawn: int) -> list[Event]:
        """Return the events whose text is drawn, in order and at most `EVENTS_AT_ONCE`; those of
        tool calls do not count, since few listen to them.
        """
        events = self.events
        if 0 < len(events) <= EVENTS_AT_ONCE and events[-1].mark <= drawn:  # marks never fall
            self.events = deque()
            return list(events)
        ready: list[Event] = []
        left = EVENTS_AT_ONCE
        while self.waits(drawn) and (left or events[0].name == "AcpToolCall"):
            event = events.popleft()
            ready.append(event)
            left -= event.name != "AcpToolCall"
        return ready

    def waits(self, drawn: int) -> bool:
        """Whether there is an event whose text is drawn."""
        return bool(self.events) and self.events[0].mark <= drawn
