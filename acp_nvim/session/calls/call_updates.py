"""Application of tool call messages to a session: calls, transcript entries, terminals, events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from acp_nvim.protocol import schema, updates
from acp_nvim.session import lists
from acp_nvim.session.calls.tool_calls import FINISHED, ToolCall, is_plain, limit_item
from acp_nvim.session.questions.requests import is_without_content
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import ToolEntry

CallUpdate = schema.ToolCall | schema.ToolCallUpdate

MAX_OUTPUT_BYTES: Final = 1 << 20
"""Maximum number of text bytes that chunks may add to a tool call, unless an option sets it."""


def upsert(session: Session, update: CallUpdate, *, is_question: bool = False) -> ToolCall:
    """Apply a message about a tool call, which may be a question. Show and return the call."""
    upsert_all(session, (update,), is_question=is_question)
    call = session.tool_calls.get(update.tool_call_id)
    assert call is not None
    return call


def upsert_all(
    session: Session, updates: Iterable[CallUpdate], *, is_question: bool = False
) -> list[str]:
    """Apply a run of messages and show their calls. Return the ids of unknown calls.

    On an error, the calls so far are shown, and the remaining messages stay in the iterator. A run
    may be long, so the attributes that each message needs are looked up once.
    """
    by_id, entries = session.tool_calls.by_id, session.entries
    dirty, unsaved = session.transcript.dirty, session.transcript.unsaved
    changed_calls, mark = session.changes.calls, session.transcript.written
    event: list[str] | None = None  # statuses in the last event, if more can be added
    plain: dict[ToolCall, None] = {}
    unknown: list[str] = []
    last: ToolCall | None = None
    reported_locations: Sequence[schema.ToolCallLocation]
    try:
        for update in updates:
            call = by_id.get(update.tool_call_id)
            if call is None and update.__class__ is schema.ToolCallUpdate:
                unknown.append(update.tool_call_id)
            if call is None or (call.status in FINISHED and _begins_new(session, call, update)):
                entry = _add(session, update, is_question=is_question)
                call, reported_locations = entry.call, ()
            else:
                entry = entries[call]
                dirty[entry] = unsaved[entry] = None
                reported_locations = () if call.status in FINISHED else call.locations
                _merge(session, entry, update)
            changed_calls.setdefault(call.index, mark)
            if entry.reported != call.status:
                event = _report_status(session, entry, event, mark)
            if is_plain(call) and not update.meta and not entry.terminals:
                plain[call] = None
            else:
                _apply_terminals_and_files(session, entry, update, reported_locations)
                event = None
            last = call
    finally:
        if last is not None:
            session.observer.on_plain_calls(session, plain)
            session.on_call(last)
            _renew_covering(session, last)
    return unknown


def _begins_new(session: Session, finished: ToolCall, update: CallUpdate) -> bool:
    """Return whether a message with the id of a finished call is about a new one."""
    begins_new = session.tool_calls.begins_new(finished, update, session.root.turn)
    return begins_new and session.entries[finished].open_question is None


def _add(session: Session, update: CallUpdate, *, is_question: bool) -> ToolEntry:
    call = session.tool_calls.add(update, is_question=is_question)
    if is_question and is_without_content(call):
        session.tool_calls.set_only_asked(call)
    entry = session.entries[call] = ToolEntry(call)
    session.transcript.add(entry)
    return entry


def _report_status(
    session: Session, entry: ToolEntry, event: list[str] | None, mark: int
) -> list[str] | None:
    """Add a changed status to the event, or to a new one at `mark`. Return the event."""
    call = entry.call
    entry.reported = call.status
    call.record_end(session.root.turn)
    if session.is_silent:
        return event
    if event is None:
        event = session.changes.statuses(session.n, mark)
    event += (call.id, call.status)
    return event


def append_content(session: Session, update: updates.CallContent) -> None:
    """Append an item to a tool call. If the call is unknown, the item creates it."""
    call = session.tool_calls.get(update.tool_call_id)
    if call is None:
        upsert(session, updates.CallPatch(update.tool_call_id, content=[update.content]))
        return
    item, size = limit_item(update.content, MAX_OUTPUT_BYTES - call.streamed)
    if item is not None:
        call.extend(item, size)
        upsert(session, updates.CallPatch(update.tool_call_id))


def _renew_covering(session: Session, last: ToolCall) -> None:
    """Renew the questions that cover other open calls, now that the call `last` has changed.

    A call that exists only because of its own question is not covered by another call's question.
    """
    if not len(session.root.decisions) or (last.was_asked_first and is_without_content(last)):
        return
    from acp_nvim.session.questions.renewal import renew_if_covered_changed  # rarely needed

    renew_if_covered_changed(session)


def _merge(session: Session, entry: ToolEntry, update: CallUpdate) -> None:
    session.tool_calls.merge(entry.call, update)
    if entry.decisions:
        from acp_nvim.session.questions.renewal import renew_if_changed  # rarely needed

        renew_if_changed(session, entry, update)


def _apply_terminals_and_files(
    session: Session,
    entry: ToolEntry,
    update: CallUpdate,
    reported: Sequence[schema.ToolCallLocation],
) -> None:
    """Apply the terminals and files of a message.

    Report locations in the agent's order, except the `reported` ones. A window that follows the
    agent goes to the last one.
    """
    call = entry.call
    session.terminals.apply(entry, update)
    if entry.terminals and call.is_finished:
        session.terminals.close(entry)
    for at in (update.locations or ())[: lists.ITEMS]:
        if at not in reported[: lists.ITEMS]:
            session.event("AcpLocation", path=at.path, line=at.line or None)
    session.observer.on_tool_call(session, call)


def show(session: Session, call: ToolCall) -> None:
    """Redraw a changed call and its question."""
    entry = session.entries[call]
    session.redraw(entry)
    if entry.open_question is not None:
        session.root.change(entry.open_question.listed)


def close_open(session: Session, status: str, limit: int | None = None) -> bool:
    """Close open calls, as required when a turn is cancelled (v1/prompt-turn).

    Close at most `limit` of them. Return False if none is open.
    """
    calls = session.tool_calls.open_calls()[:limit]
    close(session, calls, status)
    return bool(calls)


def close(session: Session, calls: Iterable[ToolCall], status: Any) -> None:
    """Close these calls with a status, as the agent would."""
    upsert_all(session, [schema.ToolCallUpdate(call.id, status=status) for call in calls])
