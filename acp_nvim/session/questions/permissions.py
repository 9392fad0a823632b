"""What a permission is about: a tool call of the session, or something that only the request tells
(v1/tool-calls, v2/tool-calls).
"""

from __future__ import annotations

from acp_nvim.protocol import schema, updates
from acp_nvim.session.calls import call_updates
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.session import Session

Asked = schema.RequestPermissionRequest | updates.PermissionRequest


def subject(session: Session, asked: Asked) -> ToolCall:
    """Return the tool call that is asked about, brought up to date by the request; one that only
    stands for the subject where that is none, for rules and guards.
    """
    if asked.tool_call is not None:
        session.tool_calls.release(asked.tool_call, session.root.turn)
        return call_updates.upsert(session, asked.tool_call)
    assert isinstance(asked, updates.PermissionRequest)
    about = asked.subject or updates.Subject("other")
    if about.command is None:
        return ToolCall(about.tool_call_id or "", title=asked.title, raw_input=about.raw)
    given = {"command": about.command} | ({"cwd": about.cwd} if about.cwd else {})
    id = about.tool_call_id or ""
    return ToolCall(id, title=about.command, kind="execute", raw_input=given)


def shown_at(session: Session, call: ToolCall) -> ToolCall | None:
    """Return the tool call under which the chat shows the question; None for one by itself."""
    return session.tool_calls.current(call.id, session.root.turn)
