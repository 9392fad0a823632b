"""Dispatch of the session updates of both versions, and the short handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import UNSET

from acp_nvim import wording
from acp_nvim.protocol import schema, updates
from acp_nvim.session import agent_work, options, plans, retries, subagents
from acp_nvim.session.calls import call_updates
from acp_nvim.session.prompts import suggestion_as_text
from acp_nvim.session.session import Session
from acp_nvim.session.transcript import messages
from acp_nvim.session.transcript.entries import Compaction, Line, Unknown, add_part
from acp_nvim.session.transcript.messages import part_of_block

Handler = Callable[[Session, Any], object]


def apply(session: Session, update: updates.SessionUpdate) -> None:
    """Apply one update. An update of an unknown kind is shown with its raw data."""
    _HANDLERS.get(update.__class__, _add_unknown)(session, update)


def _set_suggestions(session: Session, update: schema.PromptSuggestionsUpdate) -> None:
    """Set the prompts that the agent suggests.

    A prompt with anything but text and links is left out.
    """
    texts = filter(
        None, (suggestion_as_text(suggestion.prompt) for suggestion in update.suggestions)
    )
    session.suggestions = session.limit_list("suggestions", list(texts))
    session.change("suggestions")


def _set_commands(session: Session, update: schema.AvailableCommandsUpdate) -> None:
    session.commands = session.limit_list("commands", update.available_commands)
    session.change("commands")


def _set_mode(session: Session, update: schema.CurrentModeUpdate) -> None:
    options.on_mode_changed(session, update.current_mode_id)


def _set_options(session: Session, update: schema.ConfigOptionUpdate) -> None:
    options.replace(session, update.config_options)


def _set_title(session: Session, update: schema.SessionInfoUpdate) -> None:
    """Set the title. Null clears it, and an absent title leaves it unchanged.

    The agent cannot change the title of a session with a purpose.
    """
    if update.title is not UNSET and session.purpose is None:
        session.title = update.title
        session.change("title")


def _set_usage(session: Session, update: schema.UsageUpdate) -> None:
    """Set tokens and cost. An absent or null cost leaves it unchanged."""
    if update.cost is UNSET or update.cost is None:
        cost = session.usage.cost if session.usage else UNSET
        update = schema.UsageUpdate(update.used, update.size, cost)
    session.usage = update
    session.change("usage")


def _update_terminal(session: Session, update: updates.TerminalState) -> None:
    """Update a terminal of the agent. Absent fields leave its values unchanged."""
    terminals = session.terminals
    terminal = terminals.agent_terminal(update.terminal_id)
    if update.command is not UNSET or update.cwd is not UNSET:
        command = terminal.launch.command if update.command is UNSET else update.command
        cwd = terminal.launch.cwd if update.cwd is UNSET else update.cwd or None
        terminal.set_command(command or update.terminal_id, None if cwd == session.cwd else cwd)
        session.observer.on_command(session, command, cwd or session.cwd)
    if update.cancellable is not UNSET:
        terminal.set_cancellable(update.cancellable)
    if update.output is not UNSET:
        terminal.replace(update.output)
    if update.exit is None:
        terminal.restart()
    elif update.exit is not UNSET:
        terminal.end(schema.given(update.exit.exit_code), schema.given(update.exit.signal))
    terminals.on_output(terminal)
    session.change("terminals")


def _append_terminal_output(session: Session, update: updates.TerminalBytes) -> None:
    """Append output to a terminal of the agent."""
    session.terminals.agent_terminal(update.terminal_id).feed_lines(update.data)


def _set_usage_state(session: Session, update: updates.UsageState) -> None:
    """Set tokens and cost. An absent cost leaves it unchanged."""
    cost = update.cost
    if cost is UNSET:
        cost = session.usage.cost if session.usage else UNSET
    session.usage = schema.UsageUpdate(update.used, update.size, cost)
    session.change("usage")


def _add_notice(session: Session, update: schema.Notice) -> None:
    """Show a notice and queue its event. Ignore one without text.

    A notice about a rate limit during a turn is also shown as a retry.
    """
    levels: dict[str, Literal["info", "warning", "error"]] = {
        "warning": "warning",
        "error": "error",
    }
    texts = [text for text in (update.title, update.description) if text and text.strip()]
    if not texts:
        return
    if session.in_turn and any(map(retries.is_rate_limited, texts)):
        session.set_retry(wording.PART_RATE_LIMITED)
    level = levels.get(update.severity, "info")
    session.transcript.add(Line(level, texts[0], tuple(texts[1:])))
    session.observer.on_change(session)
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


def _update_compaction(session: Session, update: schema.CompactionUpdate) -> None:
    entry = _compaction_of(session, update.compaction_id)
    entry.status = update.status
    if update.summary is not UNSET:
        entry.summary = [part_of_block(block) for block in update.summary or ()]
    if update.error is not UNSET:
        entry.error = _error_text(update.error)
    session.observer.on_change(session)


def _error_text(error: Any) -> str | None:
    return None if error is None else str(getattr(error, "message", error))


def _append_compaction(session: Session, update: schema.CompactionSummaryChunk) -> None:
    add_part(_compaction_of(session, update.compaction_id).summary, part_of_block(update.content))
    session.observer.on_change(session)


def _add_unknown(session: Session, update: Any) -> None:
    if isinstance(update, schema.UnknownUpdate):
        session.transcript.add(Unknown(update.session_update, update.raw))
    else:
        session.transcript.add(Unknown(type(update).__name__, str(update)))
    session.observer.on_change(session)


_HANDLERS: dict[type, Handler] = {
    schema.UserMessageChunk: messages.add_user_chunk,
    schema.AgentMessageChunk: messages.add_agent_chunk,
    schema.AgentThoughtChunk: messages.add_thought_chunk,
    schema.ToolCall: call_updates.upsert,
    schema.ToolCallUpdate: call_updates.upsert,
    schema.Plan: plans.replace,
    schema.AvailableCommandsUpdate: _set_commands,
    schema.CurrentModeUpdate: _set_mode,
    schema.ConfigOptionUpdate: _set_options,
    schema.SessionInfoUpdate: _set_title,
    schema.UsageUpdate: _set_usage,
    schema.Notice: _add_notice,
    schema.CompactionUpdate: _update_compaction,
    schema.CompactionSummaryChunk: _append_compaction,
    schema.PlanUpdate: plans.update,
    schema.PlanRemoved: plans.remove,
    schema.PromptSuggestionsUpdate: _set_suggestions,
    schema.SubagentUpdate: subagents.apply,
    schema.SessionMessage: subagents.update_message,
    schema.SessionMessageChunk: subagents.append_message,
    schema.CursorUpdate: lambda session, update: session.cursors.update(update),
    updates.MessageChunk: messages.append_chunk,
    updates.MessageContent: messages.content,
    updates.MessageUnchanged: messages.on_unchanged,
    updates.CallPatch: call_updates.upsert,
    updates.CallContent: call_updates.append_content,
    updates.Work: agent_work.apply,
    updates.TerminalState: _update_terminal,
    updates.TerminalBytes: _append_terminal_output,
    updates.UsageState: _set_usage_state,
}
