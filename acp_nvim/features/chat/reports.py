"""Lines of `:Acp info`, `:Acp permissions` and `:Acp export`, and of items shown in full."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from acp_nvim.agent import agent_state
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.opening.mcp import ServerOutcome
from acp_nvim.agent.wire.redact import SecretsOnly
from acp_nvim.features.chat import words
from acp_nvim.protocol import schema
from acp_nvim.render.calls.tools import call_of_question, float_rows
from acp_nvim.render.cards import card
from acp_nvim.render.entry_rows import notice_details
from acp_nvim.render.in_full import call_in_full, markdown_of, texts
from acp_nvim.render.rows import Target
from acp_nvim.render.text import format_size, visible
from acp_nvim.session import snapshot
from acp_nvim.session.calls.tool_use import ToolUse
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Line

if TYPE_CHECKING:
    from acp_nvim.app import Host

MAX_VALUE_CHARACTERS: Final = 4000
"""Maximum number of characters in one value in `:Acp info`."""


def info(host: Host, version: str) -> list[str]:
    """Return the lines of `:Acp info`: versions, agents, sessions, limits, internal errors.

    `version` is the plugin's version, with its commit in a clone.
    """
    editor, python = host.settings().neovim, platform.python_version()
    lines = [
        f"acp.nvim {version}, Neovim {editor}, Python {python}",
        f"  interpreter: {sys.executable}",
        "",
    ]
    for connection in host.agents.connections.values():
        lines += [*_agent_lines(connection), ""]
    for conversation in host.sessions.conversations.values():
        lines += [*_session_lines(conversation.session), *_server_lines(conversation.servers), ""]
    lines += [*host.nvim.limit_reports.lines(), *host.tools.lines(), ""]
    if host.nvim.notices.problems:
        lines += [
            "problems",
            *("  " + visible(line).replace("\n", " ") for line in host.nvim.notices.problems),
        ]
    if not host.agents.connections and not host.sessions.conversations:
        lines.append(words.NO_AGENT_YET)
    return lines


def _agent_lines(connection: Connection) -> list[str]:
    known = agent_state.snapshot(connection)
    lines = [
        f"agent {connection.name}: {connection.status}"
        + (f" ({connection.error})" if connection.error else "")
    ]
    if connection.spec.url:
        lines.append(f"  headers: {', '.join(connection.spec.headers) or 'none'}")
    else:
        if connection.place is not None:
            lines.append(f"  via: {connection.place.via}")
        lines.append(f"  command: {' '.join(connection.spec.command)}")
    names = ("url", "pid", "protocol", "dialect")
    lines += [f"  {key}: {known[key]}" for key in names if known[key] is not None]
    known["capabilities"] = connection.capabilities or known["capabilities"]
    lines += [
        f"  {key}: {msgspec.json.encode(known[key]).decode()[:MAX_VALUE_CHARACTERS]}"
        for key in ("info", "capabilities", "auth_methods", "auth")
        if known[key]
    ]
    lines.append(f"  traffic kept: {format_size(connection.traffic.size)}")
    warnings = connection.warnings.lines()
    lines.append("  protocol violations and oddities: " + ("none" if not warnings else ""))
    lines += ["    " + line for line in warnings]
    if not connection.is_alive and (last_words := connection.last_words()):
        lines += ["  last words:", *("    " + line for line in last_words)]
    return [visible(line) for line in lines]


def _session_lines(session: Session) -> list[str]:
    preset = f", preset {session.preset}" if session.preset else ""
    lines = [
        f"session {session.n}: {session.status}, agent {session.agent}{preset}",
        f"  id: {session.id or 'none yet'}",
        f"  title: {session.title or 'none yet'}",
        f"  cwd: {session.cwd}",
        f"  context: {_usage_text(session)}",
        *_turn_usage_lines(session),
        f"  entries: {len(session.transcript.entries)}, tool calls: {len(session.tool_calls)}",
        f"  queue: {len(session.queue)}",
        *_tool_lines(session.tools),
    ]
    return [visible(line) for line in lines]


def _server_lines(outcomes: Sequence[ServerOutcome]) -> list[str]:
    """Return the MCP servers of a session, and whether each was passed to the agent."""
    if not outcomes:
        return []
    return [
        "  MCP servers:",
        *(visible(f"    {outcome.name}: {_server_status(outcome)}") for outcome in outcomes),
    ]


def _server_status(outcome: ServerOutcome) -> str:
    if outcome.left_out:
        return f"left out, {outcome.left_out}"
    filled = f", {', '.join(outcome.variables)} filled in" if outcome.variables else ""
    missing = f", program {outcome.missing} not found" if outcome.missing else ""
    return f"passed ({outcome.transport}){filled}{missing}"


def _tool_lines(use: ToolUse | None) -> list[str]:
    """Return the use of the editor's tools, if the session has them."""
    if use is None:
        return []
    if not use.connected and not use.calls:
        return ["  tools: not connected"]
    slowest = f", {use.failed} failed, slowest {use.slowest_ms} ms" if use.calls else ""
    noun = "connection" if use.connected == 1 else "connections"
    calls = "call" if use.calls == 1 else "calls"
    return [f"  tools: {use.connected} {noun}, {use.calls} {calls}{slowest}"]


def _usage_text(session: Session) -> str:
    """Return the tokens and the cost so far, as counted by the agent."""
    usage = session.usage
    if usage is None:
        return "unknown"
    cost = schema.given(usage.cost)
    price = "" if cost is None else f", {cost.amount:g} {cost.currency} so far"
    return f"{usage.used} of {usage.size} tokens{price}"


def _turn_usage_lines(session: Session) -> list[str]:
    """Return the tokens of the last turn, if the agent reported them."""
    tokens = snapshot.turn_usage(session.turn_usage)
    if tokens is None:
        return []
    named = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in tokens.items())
    return [f"  tokens of the last turn: {named}"]


def permissions(host: Host) -> list[str]:
    """Return the lines of all pending decisions, with their options."""
    lines: list[str] = []
    for conversation in host.sessions.conversations.values():
        session = conversation.session
        for decision in session.decisions:
            rows = float_rows(call_of_question(decision, session), decision, session.cwd)
            lines += [f"session {session.n}, {decision.id}", *texts(rows), ""]
    for decision in host.unscoped_questions.decisions:
        lines += [f"no session, {decision.id}", *texts(card(decision)), ""]
    return lines or [words.NOTHING_PENDING]


def markdown(session: Session, secrets: Sequence[str] = ()) -> list[str]:
    """Return the whole transcript as Markdown, unfolded and uncut, with `secrets` redacted."""
    lines = markdown_of(session.transcript.entries)
    return SecretsOnly(secrets).text("\n".join(lines)).split("\n") if secrets else lines


def full_lines(session: Session, target: Target) -> list[str]:
    """Return the notice or the tool call of a row's `target` in full, or no lines.

    A notice is named by `number`. A call is named by `call`, or by `where.call` for a content
    block. Raw input and output follow the content of a call.
    """
    if target.get("kind") == "notice":
        return _full_notice(session, target.get("number"))
    index = target.get("call")
    if index is None and isinstance(target.get("where"), dict):
        index = target["where"].get("call")
    call = next((call for call in session.tool_calls if call.index == index), None)
    return [] if call is None else call_in_full(session.entries[call])


def _full_notice(session: Session, number: object) -> list[str]:
    entries = session.transcript.entries
    for entry in entries:
        if isinstance(entry, Line) and entry.number == number:
            return [*visible(entry.title).split("\n"), "", *notice_details(entry)]
    return []
