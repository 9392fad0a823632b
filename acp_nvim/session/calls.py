"""The tool calls of a session, and the messages about them, singly or in runs.

Agents send no other message as often, so the cost of one is most of the cost of a session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from acp_nvim.protocol import schema
from acp_nvim.session import snapshot
from acp_nvim.session.changes import Changes, Event
from acp_nvim.session.entries import ToolEntry
from acp_nvim.session.lists import ITEMS
from acp_nvim.session.terminals import Terminals
from acp_nvim.session.tool_calls import FINISHED, ToolCall, ToolCalls
from acp_nvim.session.transcript import Transcript

Update = schema.ToolCall | schema.ToolCallUpdate


class Calls:
    """The transcript and the tool calls of session `n`, and the changes that wait to be told."""

    def __init__(self, n: int, cwd: str) -> None:
        """Start with no tool call."""
        self.n = n
        self.tool_calls = ToolCalls()
        self.transcript = Transcript()
        self.terminals = Terminals(cwd, self.transcript)
        self.entries: dict[ToolCall, ToolEntry] = {}
        self.replaying = False
        """The agent replays a stored session: nothing of it is an event now."""
        self.state_mark = 0
        self._changes = Changes()
        self.on_change: Callable[[], None] = lambda: None
        self.on_text: Callable[[], None] = lambda: None  # in its stead, for what streams
        self.on_call: Callable[[ToolCall], None] = lambda _: None
        """Called with each tool call that a message announced or changed, in wire order..."""
        self.on_plain_calls: Callable[[Iterable[ToolCall]], None] = lambda _: None
        """...except calls that name no file: these come together at the end of a run."""

    @property
    def silent(self) -> bool:
        """Whether events are dropped, as in a replay."""
        return self.replaying

    # -- what changed -----------------------------------------------------------------------------

    def change(self, *names: str) -> None:
        """Mark state of these names as changed."""
        self._changes.names.update(names)
        self.state_mark = self.transcript.written
        self.on_change()

    def event(self, name: str, **data: Any) -> None:
        """Queue a `User` event behind the text that came before it; a replay queues none."""
        if self.silent:
            return
        self._changes.events.append(
            Event(name, {"session": self.n, **snapshot.compact(**data)}, self.transcript.written)
        )
        self.on_change()

    # -- messages ---------------------------------------------------------------------------------

    def upsert_call(self, update: Update) -> ToolCall:
        """Apply a message about a tool call and show it."""
        self.upsert_calls((update,))
        call = self.tool_calls.get(update.tool_call_id)
        assert call is not None
        return call

    def upsert_calls(self, updates: Iterable[Update]) -> list[str]:
        """Apply a run of messages and show their calls. Returns the ids of calls that an update
        names first.

        An error in the middle leaves the rest in an iterator; the messages before it are applied
        and told.
        """
        known, entries = self.tool_calls.by_id, self.entries
        add, dirty = self.transcript.add, self.transcript.dirty
        numbers, silent = self._changes.calls, self.silent
        mark = self.state_mark = self.transcript.written
        statuses: list[str] | None = None
        plain: dict[ToolCall, None] = {}
        unknown: list[str] = []
        last: ToolCall | None = None
        locations: Sequence[schema.ToolCallLocation]
        try:
            for update in updates:
                call = known.get(update.tool_call_id)
                anew = update.__class__ is schema.ToolCall
                if call is None or (anew and call.status in FINISHED):
                    if call is None and update.__class__ is schema.ToolCallUpdate:
                        unknown.append(update.tool_call_id)
                    call = self.tool_calls.add(update)
                    entry = entries[call] = ToolEntry(call)
                    add(entry)
                    before, locations = "pending", ()
                else:
                    entry = entries[call]
                    dirty[entry] = None
                    before, locations = call.status, call.locations
                    self.tool_calls.merge(call, update)
                numbers.add(call.index)
                status = call.status
                if entry.told != status:
                    entry.told = status
                    if not silent:
                        if statuses is None:
                            statuses = self._changes.statuses(self.n, mark)
                        statuses += (call.id, status)
                if _is_plain(call) and not update.meta and not entry.terminals:
                    plain[call] = None
                else:
                    self._beside(entry, update, () if before in FINISHED else locations)
                    statuses = None
                last = call
        finally:
            if last is not None:
                self.on_plain_calls(plain)
                self._called(last)
        return unknown

    def close_calls(self, status: str, most: int | None = None) -> bool:
        """Close the calls that the agent left open, at most so many, as the spec asks when a turn
        is cancelled (v1/prompt-turn); False when none is open.
        """
        calls = self.tool_calls.open()[:most]
        self._close(calls, status)
        return bool(calls)

    def _close(self, calls: Iterable[ToolCall], status: Any) -> None:
        self.upsert_calls([schema.ToolCallUpdate(call.id, status=status) for call in calls])

    def _beside(
        self, entry: ToolEntry, update: Update, before: Sequence[schema.ToolCallLocation]
    ) -> None:
        """Apply the part of a message that is about terminals and locations. Each location is told
        once while the call runs, in the agent's order; the last one is followed.
        """
        call = entry.call
        self.terminals.apply(entry, update)
        if entry.terminals and call.finished:
            self.terminals.close(entry)
        for at in (update.locations or ())[:ITEMS]:
            if at not in before[:ITEMS]:
                self.event("AcpLocation", path=at.path, line=at.line or None)
        self.on_call(call)

    def _called(self, call: ToolCall) -> None:
        """A run of messages is applied; this call is the last one of it."""
        self.on_text()


def _is_plain(call: ToolCall) -> bool:
    """Whether a call holds text alone: no file, no command, no diff, no terminal."""
    if call.locations or call.raw_input:
        return False
    for item in call.content:  # noqa: SIM110 - this is asked for each message
        if item.__class__ is not schema.Content:
            return False
    return True
