"""Verb `report`: a report about the plugin and its agents, without secrets."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from functools import partial

import msgspec
from anyio import to_thread

from acp_nvim.agent import agent_state
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.wire.redact import Redactor
from acp_nvim.app import Host
from acp_nvim.features.report import redaction
from acp_nvim.features.report.outline import outline
from acp_nvim.nvim.environment import agent_environment
from acp_nvim.session.session import Session
from acp_nvim.verbs import Args, verb


@verb("report")
async def report(host: Host, args: Args) -> None:
    """Add the host's part to a report, redact all of it, and show it."""
    connections = list(host.agents.connections.values())
    logs = {connection.name: connection.traffic.copy() for connection in connections}
    secrets = redaction.known_secrets(host.settings().agents.values(), agent_environment())
    redactor = Redactor(
        [*secrets, *(secret for connection in connections for secret in connection.traffic.secrets)]
    )
    parts = {
        "Host": [f"Python {platform.python_version()}", *host.nvim.notices.problems],
        "Agents": [
            line for connection in connections for line in _agent_lines(connection, redactor)
        ],
        "Sessions": [
            _session_line(conversation.session)
            for conversation in host.sessions.conversations.values()
        ],
    }
    for name, log in logs.items():
        sections = await to_thread.run_sync(partial(outline, log.messages(), redactor.text))
        parts[f"Last turn with {name}"] = sections
    lines = [*map(str, args["lines"]), *_with_titles(parts)]
    host.screen.push("report", redaction.redact(lines, redactor))


def _agent_lines(connection: Connection, redactor: Redactor) -> Iterator[str]:
    """Yield the state of an agent without its command, whose arguments may be private."""
    known = agent_state.snapshot(connection)
    yield f"{connection.name}: {connection.status}"
    if connection.error:
        yield f"  error: {connection.error}"
    for key in ("protocol", "dialect", "info", "capabilities"):
        if known[key] is not None:
            yield f"  {key}: {msgspec.json.encode(known[key]).decode()}"
    yield from (f"  {line}" for line in connection.warnings.lines(redactor.text))


def _session_line(session: Session) -> str:
    counts = {
        "entries": len(session.transcript.entries),
        "tool calls": len(session.tool_calls),
        "queued": len(session.queue),
    }
    parts = (f"{count} {name}" for name, count in counts.items())
    return f"session {session.n}: {session.agent}, {session.status}, {', '.join(parts)}"


def _with_titles(parts: dict[str, list[str]]) -> Iterator[str]:
    for title, lines in parts.items():
        yield from ("", f"## {title}", "", "```", *(lines or ["none"]), "```")
