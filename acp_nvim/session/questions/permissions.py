"""Subject of a permission: a tool call or data of the request (v1/tool-calls, v2/tool-calls).

Some agents request a permission for a separate call whose only text is "Confirm Agent Actions". The
actions are in the other open calls of the turn, the covered ones.
"""

from __future__ import annotations

from typing import Final

import msgspec

from acp_nvim.protocol import schema, updates
from acp_nvim.session.calls import call_updates
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.requests import is_without_content
from acp_nvim.session.session import Session

NEWEST: Final = 200
"""Maximum number of open calls that a permission shows, the newest ones."""
Asked = schema.RequestPermissionRequest | updates.PermissionRequest


def subject(session: Session, asked: Asked) -> ToolCall:
    """Return the tool call of a permission, updated by the request.

    For any other subject, return a call that represents it to rules and guards.
    """
    if asked.tool_call is not None:
        session.tool_calls.free_id_if_over(asked.tool_call, session.root.turn)
        _let_begin_new_call(session, asked.tool_call)
        return call_updates.upsert(session, asked.tool_call, is_question=True)
    assert isinstance(asked, updates.PermissionRequest)
    about = asked.subject or updates.Subject("other")
    if about.command is None:
        return ToolCall(about.tool_call_id or "", title=asked.title, raw_input=about.raw)
    raw = {"command": about.command} | ({"cwd": about.cwd} if about.cwd else {})
    id = about.tool_call_id or ""
    return ToolCall(id, title=about.command, kind="execute", raw_input=raw)


def _let_begin_new_call(session: Session, asked: schema.ToolCallUpdate) -> None:
    """Let a question begin a new call if the call with its id has a question about something else.

    The same applies to an empty call whose question is answered: it is closed. Each question then
    keeps its position in the chat, and the next one appears below it.
    """
    call = session.tool_calls.get(asked.tool_call_id)
    if call is None or not isinstance(asked.title, str):
        return
    entry = session.entries[call]
    if entry.open_question is not None:
        if _would_change(call, asked):
            session.tool_calls.free_id(call)
        return
    if not entry.decisions or not is_without_content(call):
        return
    if not call.is_finished:
        refused = entry.decisions[-1].is_refused
        call_updates.close(session, [call], "cancelled" if refused else "completed")
        call.mark_assumed()
    session.tool_calls.free_id(call)


def _would_change(call: ToolCall, asked: schema.ToolCallUpdate) -> bool:
    """Return whether a question would change the card of a call."""
    from acp_nvim.session.questions.renewal import fingerprint  # rarely needed

    changed = call.copy()
    changed.merge(asked)
    return fingerprint(changed) != fingerprint(call)


def call_with_question(session: Session, call: ToolCall) -> ToolCall | None:
    """Return the tool call under which the chat shows the question, or None."""
    return session.tool_calls.current(call.id, session.root.turn)


def covered_calls(session: Session, asked: ToolCall) -> list[ToolCall]:
    """Return copies of the open calls that a permission for `asked` may allow, oldest first.

    There are none if the permission itself shows the allowed action.
    """
    if not is_without_content(asked):
        return []
    calls = [
        call
        for call in session.tool_calls.open_with_action()
        if call.shown_by is None
        and call is not asked
        and not (call.was_asked_first and is_without_content(call))
    ]
    return [_without_output(call) for call in calls[-NEWEST:]]


def _without_output(call: ToolCall) -> ToolCall:
    """Return a copy of a call without the texts of its content, which may be output.

    They are kept if the call has nothing else.
    """
    if not call.raw_input and not call.locations:
        return call.copy()
    changes = [item for item in call.content if isinstance(item, schema.Diff | updates.FileChanges)]
    return msgspec.structs.replace(call, content=changes)
