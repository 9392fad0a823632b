"""Session state for `require('acp').state()`: plain values, None for absent ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import UNSET

from acp_nvim.protocol import schema
from acp_nvim.render.text import remote_path
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.calls.tool_use import ToolUse
from acp_nvim.session.lists import ITEMS, OPTIONS
from acp_nvim.session.questions.decisions import Decision, Option
from acp_nvim.session.transcript.entries import Subagent


def present(value: Any) -> Any:
    """Return None for absent fields: absent and null are both nil in Lua."""
    return None if value is UNSET else value


def compact(**fields: Any) -> dict[str, Any]:
    """Return the fields that are present."""
    return {key: value for key, value in fields.items() if value is not None and value is not UNSET}


def tool_call(call: ToolCall) -> dict[str, Any]:
    """Return `{id, title, kind, status, locations}`. The title may be the name of the tool."""
    return {
        "id": call.id,
        "title": call.title or call.name or "",
        "kind": call.kind,
        "status": call.status,
        "locations": locations(call),
    }


def locations(call: ToolCall) -> list[dict[str, Any]]:
    """Return `{path, line}` of the first `ITEMS` locations of a tool call."""
    return [
        compact(path=remote_path(at.path) or at.path, line=at.line) for at in call.locations[:ITEMS]
    ]


def plan(entries: Iterable[schema.PlanEntry]) -> list[dict[str, Any]]:
    """Return `{content, priority, status}` of each entry."""
    return [{"content": e.content, "priority": e.priority, "status": e.status} for e in entries]


def commands(available: Iterable[schema.AvailableCommand]) -> list[dict[str, Any]]:
    """Return `{name, description, hint}` of each command."""
    return [
        compact(name=c.name, description=c.description, hint=getattr(c.input, "hint", None))
        for c in available
    ]


def modes(state: schema.SessionModeState | None) -> dict[str, Any] | None:
    """Return `{current, available}`, or None if the session has no modes."""
    if state is None:
        return None
    available = [
        compact(id=m.id, name=m.name, description=m.description) for m in state.available_modes
    ]
    return {"current": state.current_mode_id, "available": available}


def usage(update: schema.UsageUpdate | None) -> dict[str, Any] | None:
    """Return `{used, size, cost = {amount, currency}}`."""
    if update is None:
        return None
    cost = update.cost
    price = (
        compact(amount=cost.amount, currency=cost.currency)
        if isinstance(cost, schema.Cost)
        else None
    )
    return compact(used=update.used, size=update.size, cost=price)


def turn_usage(usage: schema.Usage | None) -> dict[str, Any] | None:
    """Return a turn's tokens: `{total, input, output, thought, cached_read, cached_write}`."""
    if usage is None:
        return None
    return compact(
        total=usage.total_tokens,
        input=usage.input_tokens,
        output=usage.output_tokens,
        thought=usage.thought_tokens,
        cached_read=usage.cached_read_tokens,
        cached_write=usage.cached_write_tokens,
    )


def permission(decision: Decision) -> dict[str, Any]:
    """Return `{id, tool_call, title, kind, since, options}` of a pending question with options.

    If a child session asks, `subagent` is `{session, id, title}`. `may_allow` has the ids of the
    open tool calls that a question without a subject may allow.
    """
    asker = decision.asker
    return compact(
        subagent=compact(session=asker.n, id=asker.id, title=asker.title) if asker else None,
        id=decision.id,
        tool_call=decision.tool_call_id,
        title=decision.title,
        kind=decision.strictest_kind,
        since=decision.since,
        may_allow=[call.id for call in decision.covers] or None,
        options=options(decision.options),
        more_options=max(len(decision.options) - OPTIONS, 0) or None,
    )


def options(offered: Sequence[Option]) -> list[dict[str, Any]]:
    """Return `{id, name, kind}` of the first `OPTIONS` options."""
    return [{"id": o.id, "name": o.name, "kind": o.kind} for o in offered[:OPTIONS]]


def elicitation(decision: Decision) -> dict[str, Any]:
    """Return `{id, mode, message, since}`, for mode url also `url`."""
    asked = decision.request
    message = asked.message if asked is not None else decision.title
    url = getattr(asked, "url", None)
    return compact(
        id=decision.id,
        mode=decision.kind or "form",
        message=message,
        url=url,
        since=decision.since,
    )


def tools(use: ToolUse | None) -> dict[str, Any] | None:
    """Return `{names, connected, calls, failed, slowest_ms}`."""
    if use is None:
        return None
    counts = {name: getattr(use, name) for name in ("connected", "calls", "failed", "slowest_ms")}
    return {"names": list(use.offered().names), **counts}


def subagent(link: Subagent) -> dict[str, Any]:
    """Return `{id, session, title, description, state, stop_reason, error}` of a subagent."""
    return compact(
        id=link.id,
        session=link.n,
        title=link.title,
        description=link.description,
        state=link.state,
        stop_reason=link.stop_reason,
        error=link.error,
    )
