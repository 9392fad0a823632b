"""What the end of a turn means: for calls that are open then, and for the line that tells of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from acp_nvim import wording
from acp_nvim.session.entries import Entry, Heading, Line, Message, ToolEntry
from acp_nvim.session.tool_calls import ToolCall

_ENDS: Final[Mapping[str | None, str]] = {
    "cancelled": wording.CANCELLED,
    "refusal": wording.REFUSED,
    "max_tokens": wording.TOKEN_LIMIT,
    "max_turn_requests": wording.REQUEST_LIMIT,
}


def line(
    stop_reason: str | None,
    error: str | None,
    details: Sequence[str],
    entries: Sequence[Entry] | None,
) -> Line | None:
    """Return the line that tells how a turn has ended; None for one that ended as it should.
    `entries` are those of a turn that the user has begun: it should have some.
    """
    if error is not None:
        return Line("error", error, tuple(details))
    if stop_reason == "end_turn":
        is_empty = entries is not None and _are_empty(entries)
        return Line("info", wording.NO_ANSWER_CAME) if is_empty else None
    told = _ENDS.get(stop_reason) or wording.TURN_ENDED.format(reason=stop_reason)
    return Line("warning", told)


def _are_empty(entries: Sequence[Entry]) -> bool:
    """Whether nothing has come, not even a line in the margin."""
    return all(
        isinstance(entry, Heading)
        or (isinstance(entry, Message) and (entry.role == "user" or not entry.parts))
        for entry in entries
    )


def left_open(
    calls: Iterable[ToolCall], entries: Mapping[ToolCall, ToolEntry]
) -> tuple[list[ToolCall], list[ToolCall]]:
    """Return open calls whose end the agent has not told: those that the user refused, and the
    others. One that waits, for the user or as its agent says, goes on.
    """
    left = [call for call in calls if call.status != "paused" and entries[call].asks is None]
    refused = [call for call in left if _is_refused(call, entries[call])]
    return refused, [call for call in left if call not in refused]


def _is_refused(call: ToolCall, entry: ToolEntry) -> bool:
    """Whether the user refused a call that has not begun: some agents end the turn without another
    word about it.
    """
    return call.status == "pending" and bool(entry.decisions) and entry.decisions[-1].refused
