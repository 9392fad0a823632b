"""Pending changes to a session for the next frame: state, tool calls, `User` events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

import msgspec

FROM_THE_START = (
    *("agent", "cwd", "status", "title", "tool_calls", "queue", "plan", "commands", "options"),
    *("preset", "purpose", "topic", "trust", "worktree", "permissions", "elicitations"),
    *("questions", "edits", "checkpoints", "terminals"),
)
"""State included in the first frame of every session."""

EVENTS_AT_ONCE = 200
"""Maximum number of events in one frame. The user's handlers run for each."""


class Event(msgspec.Struct):
    """`User` autocommand. It fires when the text before it (`mark`) is drawn."""

    name: str
    data: dict[str, Any]
    mark: int


class Changes:
    """Changes between two frames."""

    def __init__(self) -> None:
        """Begin with all state of a new session marked as changed."""
        self.names = dict.fromkeys(FROM_THE_START, 0)
        """Value of `Transcript.written` when each name first changed, as in `Event.mark`."""
        self.calls: dict[int, int] = {}
        """The same for tool calls, by index. Marks never decrease."""
        self.events: deque[Event] = deque()

    @property
    def is_pending(self) -> bool:
        """Return whether state or events are pending."""
        return bool(self.names or self.calls or self.events)

    def statuses(self, n: int, mark: int) -> list[str]:
        """Return the list to which ids and statuses of tool calls are appended, alternating.

        It is in the last event if that is an `AcpToolCall` event with this mark. Otherwise, a new
        event is queued.
        """
        last = self.events[-1] if self.events else None
        if last is None or last.name != "AcpToolCall" or last.mark != mark:
            last = Event("AcpToolCall", {"session": n, "calls": []}, mark)
            self.events.append(last)
        calls: list[str] = last.data["calls"]
        return calls

    def change(self, names: Iterable[str], mark: int) -> None:
        """Mark the state with these names as changed. `mark` is as in `Event`."""
        for name in names:
            self.names.setdefault(name, mark)

    def change_calls(self, indexes: Iterable[int]) -> None:
        """Mark these tool calls as changed."""
        self.calls = dict.fromkeys(indexes, 0)

    def take_names(self, drawn: int) -> list[str]:
        """Remove and return the sorted names of the state that changed within the drawn text.

        Later changes may be included.
        """
        names = sorted(name for name, mark in self.names.items() if mark <= drawn)
        for name in names:
            del self.names[name]
        return names

    def take_calls(self, drawn: int) -> list[int]:
        """Remove and return the sorted indexes of tool calls that changed within the drawn text."""
        calls = sorted(
            index for index, _ in takewhile(lambda call: call[1] <= drawn, self.calls.items())
        )
        if len(calls) == len(self.calls):
            self.calls.clear()
        for index in calls if self.calls else ():
            del self.calls[index]
        return calls

    def take_events(self, drawn: int) -> list[Event]:
        """Remove and return the events whose text is drawn, in order, at most `EVENTS_AT_ONCE`.

        Events of tool calls do not count, because few handlers use them.
        """
        events = self.events
        if 0 < len(events) <= EVENTS_AT_ONCE and events[-1].mark <= drawn:  # marks never decrease
            self.events = deque()
            return list(events)
        ready: list[Event] = []
        left = EVENTS_AT_ONCE
        while self.is_waiting(drawn) and (left or events[0].name == "AcpToolCall"):
            event = events.popleft()
            ready.append(event)
            left -= event.name != "AcpToolCall"
        return ready

    def is_waiting(self, drawn: int) -> bool:
        """Return whether there is an event whose text is drawn."""
        return bool(self.events) and self.events[0].mark <= drawn
