"""Application of each kind of `session/update` (v1/prompt-turn, v1/tool-calls, v1/agent-plan and
others), and of version-independent updates (`protocol.updates`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import UNSET

from acp_nvim import wording
from acp_nvim.protocol import schema, updates
from acp_nvim.session import agent_work, options, plans, retries, subagents, upserts
from acp_nvim.session.calls import call_updates
from acp_nvim.session.prompts import suggested
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import (
    Compaction,
    Line,
    Message,
    Role,
    Unknown,
    add_part,
)
from acp_nvim.session.upserts import part, sent, stream

Update = Any
Apply = Callable[[Session, Any], None]


def apply(session: Session, update: Update) -> None:
    """Apply one update. Unknown kinds are shown as such."""
    _APPLY.get(update.__class__, _unknown)(session, update)


def joined(updates: Sequence[Any]) -> schema.AgentMessageChunk | None:
    """Join plain text chunks of one agent message into one chunk. Return None for other updates."""
    if len(updates) < 2:
        return None
    message_id = getattr(updates[0], "message_id", UNSET)
    texts: list[str] = []
    for update in updates:
        if update.__class__ is not schema.AgentMessageChunk or update.message_id != message_id:
            return None
        content = update.content
        if content.__class__ is not schema.TextContent or content.annotations:
            return None
        texts.append(content.text)
    return schema.AgentMessageChunk(schema.TextContent("".join(texts)), message_id)


def said(session: Session) -> str:
    """Return the agent's text since the user's last message."""
    texts: list[str] = []
    for entry in reversed(session.transcript.entries):
        if isinstance(entry, Message) and entry.role == "user":
            break
        if isinstance(entry, Message) and entry.role == "agent":
            texts.append(entry.text())
    return "".join(reversed(texts))


def _agent_message(session: Session, update: schema.AgentMessageChunk) -> None:
    content, message_id = update.content, update.message_id or None
    if content.__class__ is schema.TextContent and not content.annotations:
        session.transcript.stream("agent", content.text, message_id)
    else:
        stream(session, "agent", content, message_id)
    session.observer.streamed()


def _thought(session: Session, update: schema.AgentThoughtChunk) -> None:
    stream(session, "thought", update.content, update.message_id or None)
    session.observer.streamed()


def _user_message(session: Session, update: schema.UserMessageChunk) -> None:
    """Drop an echo of the prompt that is already shown. Other chunks are replayed messages."""
    for content in sent(update.content):
        _user_block(session, content, update.message_id or None)


def _user_block(session: Session, content: Any, message_id: str | None) -> None:
    said = part(content)
    if session.echo and isinstance(said, str) and session.echo.startswith(said):
        session.echo = session.echo[len(said) :]
        return
    role: Role = "user"
    message = session.transcript.stream(role, said, message_id)
    message.author = session.user
    session.observer.changed(session)


def _tool_call(session: Session, update: schema.ToolCall | schema.ToolCallUpdate) -> None:
    call_updates.upsert(session, update)


def _subagent(session: Session, update: schema.SubagentUpdate) -> None:
    subagents.told(session, update)


def _suggestions(session: Session, update: schema.PromptSuggestionsUpdate) -> None:
    """Set the prompts that the agent suggests. One with more than text and links is left out."""
    texts = filter(None, (suggested(one.prompt) for one in update.suggestions))
    session.suggestions = session.bounded("suggestions", list(texts))
    session.change("suggestions")


def _commands(session: Session, update: schema.AvailableCommandsUpdate) -> None:
    session.commands = session.bounded("commands", update.available_commands)
    session.change("commands")


def _mode(session: Session, update: schema.CurrentModeUpdate) -> None:
    options.mode_changed(session, update.current_mode_id)


def _options(session: Session, update: schema.ConfigOptionUpdate) -> None:
    options.replace(session, update.config_options)


def _info(session: Session, update: schema.SessionInfoUpdate) -> None:
    """Set the title. Null clears it, an absent title leaves it."""
    if update.title is not UNSET:
        session.title = update.title
        session.change("title")


def _usage(session: Session, update: schema.UsageUpdate) -> None:
    if update.cost is UNSET or update.cost is None:
        cost = session.usage.cost if session.usage else UNSET
        update = schema.UsageUpdate(update.used, update.size, cost)
    session.usage = update
    session.change("usage")


def _notice(session: Session, update: schema.Notice) -> None:
    levels: dict[str, Literal["info", "warning", "error"]] = {
        "warning": "warning",
        "error": "error",
    }
    details = (update.description,) if update.description else ()
    if session.in_turn and any(map(retries.rate_limited, (update.title, *details))):
        session.retries(wording.PART_RATE_LIMITED)
    session.transcript.add(Line(levels.get(update.severity, "info"), update.title, details))
    session.observer.changed(session)
    session.event(
        "AcpNotice",
        severity=update.severity,
        title=update.title,
        description=update.description or None,
    )


def _compaction_of(session: Session, compaction_id: str) -> Compaction:
    for entry in reversed(session.transcript.entries):
        if isinstance(entry, Compaction) and entry.id == compaction_id:
            session.transcript.touch(entry)
            return entry
    entry = Compaction(compaction_id)
    session.transcript.add(entry)
    return entry


def _compaction(session: Session, update: schema.CompactionUpdate) -> None:
    entry = _compaction_of(session, update.compaction_id)
    entry.status = update.status
    if update.summary is not UNSET:
        entry.summary = [part(block) for block in update.summary or ()]
    if update.error is not UNSET:
        entry.error = _error_text(update.error)
    session.observer.changed(session)


def _error_text(error: Any) -> str | None:
    return None if error is None else str(getattr(error, "message", error))


def _compaction_chunk(session: Session, update: schema.CompactionSummaryChunk) -> None:
    add_part(_compaction_of(session, update.compaction_id).summary, part(update.content))
    session.observer.changed(session)


def _unknown(session: Session, update: Any) -> None:
    if isinstance(update, schema.UnknownUpdate):
        session.transcript.add(Unknown(update.session_update, update.raw))
    else:
        session.transcript.add(Unknown(type(update).__name__, str(update)))
    session.observer.changed(session)


_APPLY: dict[type, Apply] = {
    schema.UserMessageChunk: _user_message,
    schema.AgentMessageChunk: _agent_message,
    schema.AgentThoughtChunk: _thought,
    schema.ToolCall: _tool_call,
    schema.ToolCallUpdate: _tool_call,
    schema.Plan: plans.replaced,
    schema.AvailableCommandsUpdate: _commands,
    schema.CurrentModeUpdate: _mode,
    schema.ConfigOptionUpdate: _options,
    schema.SessionInfoUpdate: _info,
    schema.UsageUpdate: _usage,
    schema.Notice: _notice,
    schema.CompactionUpdate: _compaction,
    schema.CompactionSummaryChunk: _compaction_chunk,
    schema.PlanUpdate: plans.updated,
    schema.PlanRemoved: plans.removed,
    schema.PromptSuggestionsUpdate: _suggestions,
    schema.SubagentUpdate: _subagent,
    schema.SessionMessage: subagents.message,
    schema.SessionMessageChunk: subagents.message_chunk,
    updates.MessageChunk: upserts.chunk,
    updates.MessageContent: upserts.content,
    updates.MessageKept: upserts.kept,
    updates.CallPatch: _tool_call,
    updates.CallContent: upserts.call_content,
    updates.Work: agent_work.apply,
    updates.TerminalState: upserts.terminal_state,
    updates.TerminalBytes: upserts.terminal_bytes,
    updates.UsageState: upserts.usage,
}
