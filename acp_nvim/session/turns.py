"""Turns of a session: their beginning and end, and the user's prompts in the transcript."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from acp_nvim import wording
from acp_nvim.protocol import schema
from acp_nvim.session import snapshot
from acp_nvim.session.calls import call_updates
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.prompts import Prompt, text_for_chat
from acp_nvim.session.session import Session, Status
from acp_nvim.session.transcript.entries import Entry, Heading, Line, Message, Part, ToolEntry

_ENDS: Final[Mapping[str | None, str]] = {
    "cancelled": wording.CANCELLED,
    "refusal": wording.REFUSED,
    "max_tokens": wording.TOKEN_LIMIT,
    "max_turn_requests": wording.REQUEST_LIMIT,
}


def announce(session: Session, prompt: Prompt) -> None:
    """Show a prompt at once, even if its agent is still starting.

    Do nothing if others are queued, the queue is held, or the prompt has no text.
    """
    if session.held or session.queue != [prompt] or prompt.given or not prompt.text.strip():
        return
    words = text_for_chat(prompt.text)
    message = Message("user", parts=[words], sent=time.time())
    session.transcript.add(message)
    session.transcript.written += len(words)
    session.announced = prompt, message
    session.observer.on_change(session)


def retract(session: Session) -> None:
    """Treat the announced prompt as not sent, and show a notice that it stays queued."""
    if session.announced is not None:
        session.announced = None
        session.notice("info", wording.PROMPT_STAYS_QUEUED)


def begin(
    session: Session, prompt: Prompt, agent_title: str, message_id: str | None = None
) -> None:
    """Begin a turn with a prompt that is about to be sent, or was inserted under this id.

    End a turn that the agent began itself. Add the prompt and a heading to the transcript. Clear
    the usage, suggestions and error of the turn before, and let a new plan begin a new entry.
    """
    if session.own_turn:
        session.own_turn = False
        session.observer.on_own_turn(session)
        session.event("AcpTurnEnd", stop_reason="end_turn")
    add_prompt(session, prompt, message_id)
    session.transcript.add(Heading(agent_title))
    session.plan_entry, session.turn_usage, session.suggestions = None, None, ()
    session.entries_before = len(session.transcript.entries)
    session.turn += 1
    session.in_turn = True
    session.status, session.stop_reason, session.error = "running", None, None
    session.change("status", "stop_reason", "error", "turn_usage", "suggestions")
    session.event("AcpTurnStart")
    session.observer.on_change(session)


def add_prompt(session: Session, prompt: Prompt, message_id: str | None = None) -> None:
    """Add a prompt to the transcript, unless the agent has already sent it under this id.

    Forget the ids from before a reopen in either case. If the prompt was announced, complete its
    message instead of adding one. Set `prompt_message` and `echo` unless the id is given.
    """
    session.forget_ids()
    if message_id is not None and session.transcript.message_of("user", message_id) is not None:
        return
    parts: list[Part] = [b.text if isinstance(b, schema.TextContent) else b for b in prompt.blocks]
    shown_parts = [text_for_chat(part) if isinstance(part, str) else part for part in parts]
    session.prompt_message = _complete_announced(
        session, prompt, shown_parts or [text_for_chat(prompt.text)]
    )
    session.transcript.set_prompt_number(session.prompt_message, prompt.number)
    session.echo = "".join(part for part in parts if isinstance(part, str))
    if message_id is not None:
        name_prompt(session, message_id)


def _add_user_message(session: Session, parts: Sequence[Part]) -> Message:
    """Add the user's message to the transcript and return it."""
    message = Message("user", parts=list(parts), closed=True, sent=time.time())
    session.transcript.add(message)
    session.transcript.written += sum(len(part) if isinstance(part, str) else 1 for part in parts)
    return message


def _complete_announced(session: Session, prompt: Prompt, parts: list[Part]) -> Message:
    """Add the attachments and late text of a prompt to its announced message, and return it.

    If the prompt was not announced, or other entries follow that message, add a new one.
    """
    announced, session.announced = session.announced, None
    if announced is None or announced[0] is not prompt:
        return _add_user_message(session, parts)
    message = announced[1]
    text = message.text()
    words = next((p for p in parts if isinstance(p, str) and p.startswith(text)), "")
    rest = [words[len(text) :] if part is words else part for part in parts]
    rest = [part for part in rest if part]
    if session.transcript.last is not message:
        is_blank = all(isinstance(part, str) and not part.strip() for part in rest)
        return message if is_blank else _add_user_message(session, rest)
    for part in rest:
        session.transcript.stream("user", part, None)
    return message


def name_prompt(session: Session, message_id: str) -> None:
    """Set the agent's id of the user's message.

    Parts that the agent has sent under this id before are not shown twice.
    """
    message, session.prompt_message, session.echo = session.prompt_message, None, ""
    if message is None:
        return
    existing = session.transcript.message_of("user", message_id)
    if existing is not None and existing is not message:
        session.transcript.rewrite("user", message_id, [])
    session.transcript.set_message_id(message, message_id)
    session.prompt_ids.add(message_id)


def end(
    session: Session,
    stop_reason: str | None,
    error: str | None = None,
    details: Sequence[str] = (),
    public_error: str | None = None,
    usage: schema.Usage | None = None,
    *,
    quiet: bool = False,
) -> None:
    """End the turn, with the agent's answer or without one.

    Close its open calls, complete its last message, add a line about an irregular end, and queue
    `AcpTurnEnd`. The session is then idle unless the agent is still working.

    `public_error` is the error for state and event if it differs from `error`. `usage` has the
    tokens of the turn. `quiet` adds no line, because the chat shows the reason elsewhere.
    """
    entries = session.transcript.entries[session.entries_before :]
    line = _end_line(stop_reason, error, details, entries if session.in_turn else None)
    session.set_retry(None)
    session.echo, session.prompt_message = "", None
    session.in_turn = False
    if session.own_turn:
        session.own_turn = False
        session.observer.on_own_turn(session)
    _close_remaining_calls(session, stop_reason, failed=error is not None)
    session.stop_reason, session.error = stop_reason, public_error or error
    if session.status in ("running", "cancelling"):
        session.status = "idle"
        update_status(session)
    session.transcript.complete()
    if line is not None and not quiet:
        session.notice(line.level, line.title, line.details)
    session.turn_usage = usage
    session.spent += usage.total_tokens if usage is not None else 0
    session.change("status", "stop_reason", "error", "turn_usage")
    tokens = snapshot.turn_usage(usage)
    session.event("AcpTurnEnd", stop_reason=stop_reason, error=session.error, usage=tokens)


def _close_remaining_calls(session: Session, stop_reason: str | None, *, failed: bool) -> None:
    """Close the open calls of a turn that ends.

    After a cancel or an error, close all. Otherwise, close none while the agent has background
    tasks, and mark the status of calls that the user has not refused as assumed.
    """
    if stop_reason == "cancelled" or session.status == "cancelling":
        call_updates.close_open(session, "cancelled")
    elif failed:
        call_updates.close_open(session, "failed")
    elif not session.background:
        refused, rest = _calls_left_open(session.tool_calls.open_calls(), session.entries)
        call_updates.close(session, refused, "cancelled")
        call_updates.close(session, rest, "completed" if stop_reason == "end_turn" else "cancelled")
        for call in rest:
            call.mark_assumed()


def _end_line(
    stop_reason: str | None,
    error: str | None,
    details: Sequence[str],
    entries: Sequence[Entry] | None,
) -> Line | None:
    """Return the line about the end of a turn, or None for a regular end.

    `entries` are the entries of a turn that the user has begun, which should not be empty.
    """
    if error is not None:
        return Line("error", error, tuple(details))
    if stop_reason == "end_turn":
        is_empty = entries is not None and _are_empty(entries)
        return Line("info", wording.TURN_WITHOUT_ANSWER) if is_empty else None
    text = _ENDS.get(stop_reason) or wording.TURN_ENDED.format(reason=stop_reason)
    return Line("warning", text)


def is_without_answer(session: Session) -> bool:
    """Return whether the agent has sent nothing in the running turn."""
    return _are_empty(session.transcript.entries[session.entries_before :])


def _are_empty(entries: Sequence[Entry]) -> bool:
    """Return whether no entry comes from the agent, not even a notice."""
    return all(
        isinstance(entry, Heading)
        or (isinstance(entry, Message) and (entry.role == "user" or not entry.parts))
        for entry in entries
    )


def _calls_left_open(
    calls: Iterable[ToolCall], entries: Mapping[ToolCall, ToolEntry]
) -> tuple[list[ToolCall], list[ToolCall]]:
    """Return open calls whose end the agent has not reported: refused ones, and others.

    A call that waits for the user or is paused stays open.
    """
    left = [
        call for call in calls if call.status != "paused" and entries[call].open_question is None
    ]
    refused = [call for call in left if _is_refused(call, entries[call])]
    return refused, [call for call in left if call not in refused]


def _is_refused(call: ToolCall, entry: ToolEntry) -> bool:
    """Return whether the user refused a call that has not begun.

    Some agents end the turn without reporting it.
    """
    return call.status == "pending" and bool(entry.decisions) and entry.decisions[-1].is_refused


def update_status(session: Session) -> None:
    """Update the status: running while any work continues."""
    works = session.in_turn or session.at_work or bool(session.background)
    status: Status = "running" if works else "idle"
    if session.status in ("idle", "running") and session.status != status:
        session.status = status
        session.change("status")
