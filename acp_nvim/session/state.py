"""Changed values of a session for `require('acp').state()`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from acp_nvim.session import index, lists, options, snapshot
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.session import Session

ALL: Final = sys.maxsize
"""Value of `drawn` for all changes, whether their text is drawn or not."""


def take_changes(session: Session, drawn: int = ALL) -> list[tuple[list[str | int], Any]]:
    """Return the changes within the drawn text as `(path below the session, value)`.

    None means absent. `take_calls` returns the tool calls.
    """
    values: list[tuple[list[str | int], Any]] = []
    changes, shown = session.changes, _listed_calls(session)
    if shown and shown.start != session.left_out_counts.get("tool_calls", 0):
        session.left_out_counts["tool_calls"] = shown.start
        changes.change(["more"], 0)
    names = changes.take_names(drawn)
    if "options" in names:
        names.append("model")
    if "status" in names:
        names.append("since")
    if "tool_calls" in names:
        names.remove("tool_calls")
        values.append((["tool_calls"], []))
        changes.change_calls(shown)
    return values + [([name], _value(session, name)) for name in names]


def take_calls(session: Session, drawn: int = ALL) -> tuple[int, list[tuple[int, ToolCall]]]:
    """Return the number of old tool calls no longer in the state, and the changed ones.

    The changed ones are those within the drawn text, each with its position, from 1.
    """
    shown, changed = _listed_calls(session), session.changes.take_calls(drawn)
    at = session.tool_calls.at
    return shown.start, [(index + 1, at(index)) for index in changed if index in shown]


def _listed_calls(session: Session) -> range:
    """Return the positions of the tool calls in the state, from 0: the newest ones.

    A closed session has none.
    """
    count = len(session.tool_calls)
    return range(count if session.status == "closed" else lists.count_dropped(count), count)


def _value(session: Session, name: str) -> Any:
    shown = _COMPUTED.get(name)
    return getattr(session, name) if shown is None else shown(session)


def _count_left_out(session: Session) -> dict[str, int] | None:
    """Return the number of items left out of each list, by its name."""
    waiting = session.decisions.unlisted if session.root is session else {}
    terminals = max(len(session.terminals) - lists.NEWEST, 0)
    links = max(len(session.reported.links) - lists.NEWEST, 0)
    left = {**session.left_out_counts, **waiting, "terminals": terminals, "subagents": links}
    return {name: count for name, count in left.items() if count} or None


def _subagents(session: Session) -> list[dict[str, Any]]:
    """Return the newest subagents, in order."""
    newest = islice(reversed(session.reported.links.values()), lists.NEWEST)
    return [snapshot.subagent(link) for link in newest][::-1]


def _pending(session: Session, name: str) -> list[dict[str, Any]]:
    """Return the questions of a list. The topmost session lists the questions of its subagents."""
    if session.root is not session:
        return []
    shown = snapshot.elicitation if name == "elicitations" else snapshot.permission
    listed = [decision for decision in session.decisions.listed if decision.listed == name]
    for decision in listed:
        decision.is_published = True
    return [shown(decision) for decision in listed]


_COMPUTED: Final[dict[str, Callable[[Session], Any]]] = {
    "id": lambda session: session.id or None,
    "topic": lambda session: index.title(session.topic) or None,
    "queue": lambda session: [prompt.label for prompt in (*session.at_agent, *session.queue)],
    "plan": lambda session: snapshot.plan(session.plan),
    "modes": lambda session: snapshot.modes(options.modes(session)),
    "options": lambda session: options.to_wire(options.available(session)),
    "commands": lambda session: snapshot.commands(session.commands),
    "subagents": _subagents,
    "terminals": lambda session: [t.snapshot() for t in session.terminals.newest(lists.NEWEST)],
    "tools": lambda session: snapshot.tools(session.tools),
    "usage": lambda session: snapshot.usage(session.usage),
    "turn_usage": lambda session: snapshot.turn_usage(session.turn_usage),
    "model": options.model_value,
    "more": _count_left_out,
    "permissions": lambda session: _pending(session, "permissions"),
    "elicitations": lambda session: _pending(session, "elicitations"),
    "questions": lambda session: _pending(session, "questions"),
}
"""Functions for values that are not plain attributes of the session."""
