"""Changes to tool calls during a permission request.

The user answers the text of a card. If the agent changes the call while the question is open, the
question gets a new id. An answer to the old text then has no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from acp_nvim.protocol import schema
from acp_nvim.protocol.updates import CallPatch
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions import requests
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import ToolEntry


def renew_if_changed(
    session: Session, entry: ToolEntry, update: schema.ToolCall | schema.ToolCallUpdate
) -> None:
    """Renew the pending permissions of an updated call whose cards would differ now."""
    call = entry.call
    is_streamed = update.__class__ is CallPatch and bool(call.streamed)
    if not is_streamed and not _has_more_than_status(update):
        return
    for decision in entry.decisions:
        about: ToolCall | None = decision.shown_call
        if decision.outcome is not None or about is None:
            continue
        if is_streamed or fingerprint(about) != fingerprint(call):
            decision.shown_call = call.copy()
            _renew(session, decision, call)


def renew_if_covered_changed(session: Session) -> None:
    """Renew the pending permissions whose cards would show other open calls now."""
    root = session.root
    for decision in root.decisions.front:
        if decision.outcome is not None or (decision.asker or root) is not session:
            continue
        if _shown_fields(decision.covered_now()) != _shown_fields(decision.covers):
            session.renew(decision)
            decision.redraw()


def _shown_fields(calls: Sequence[ToolCall]) -> list[tuple[Any, ...]]:
    return [(call.index, *fingerprint(call)) for call in calls]


def fingerprint(call: ToolCall) -> tuple[Any, ...]:
    """Return the parts of a call that a card shows, without status and output."""
    content = tuple(_item(call, item) for item in call.content)
    places = tuple((location.path, location.line) for location in call.locations)
    shown = (call.title, call.name, call.kind, call.raw_input)
    return (*shown, content, places, _commands_of_meta(call))


def _commands_of_meta(call: ToolCall) -> Sequence[Any]:
    """Return the commands in the metadata only, because searching a large input is slow."""
    if not call.meta:
        return ()
    return requests.commands(msgspec.structs.replace(call, raw_input=None, content=()))


def _item(call: ToolCall, item: Any) -> Any:
    """Return a part of the content. The old text of a diff counts only if it is the agent's."""
    if isinstance(item, schema.Diff):
        added = (call.old_texts or {}).get(item.path)
        old = item.old_text if isinstance(item.old_text, str) else None
        return item.path, item.new_text, None if old == added else old
    return item


def _has_more_than_status(update: schema.ToolCall | schema.ToolCallUpdate) -> bool:
    given = (update.title, update.name, update.kind, update.content, update.locations)
    values = (*given, update.raw_input, update.meta)
    return any(value is not UNSET and value is not None for value in values)


def _renew(session: Session, decision: Decision, call: ToolCall) -> None:
    decision.kind = call.kind
    if isinstance(decision.request, schema.RequestPermissionRequest) and not decision.has_choices:
        title = call.title or call.name or call.id
        is_by_child = decision.asker is not None
        decision.title = f"{decision.agent} › {title}" if is_by_child else title
    decision.effects, decision.problems = (), []
    session.renew(decision)
