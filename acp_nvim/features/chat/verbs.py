"""Verbs for the chat and reports: open, compare, export, `:Acp info`, `:Acp log`."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from anyio import to_thread

from acp_nvim import wording
from acp_nvim.agent.wire.traffic import Recorded
from acp_nvim.app import Host
from acp_nvim.features.chat import contents, reports, words
from acp_nvim.host.exports import write_lines
from acp_nvim.nvim.plain import plain
from acp_nvim.protocol import schema
from acp_nvim.render.diffs import changes
from acp_nvim.render.rows import Target
from acp_nvim.render.text import one_line, path_line
from acp_nvim.session import content_blocks, snapshot, subagents
from acp_nvim.session.questions.patches import patches_of
from acp_nvim.session.session import Session
from acp_nvim.verbs import Args, verb


@verb("tool_calls")
def tool_calls(host: Host, args: Args) -> None:
    """Reply with all tool calls of a session. `state()` has only the newest."""
    session = host.screen.sessions.get(int(args["session"]))
    calls = session.tool_calls if session is not None else ()
    host.screen.push("reply", args["id"], [plain(snapshot.tool_call(call)) for call in calls])


@verb("redraw")
def redraw(host: Host, args: Args) -> None:
    host.screen.redraw(int(args["session"]))


@verb("info")
def info(host: Host, args: Args) -> None:
    host.screen.push("show", "acp://info", "acpinfo", reports.info(host, str(args["version"])))


@verb("log")
async def log(host: Host, args: Args) -> None:
    """Show the traffic of an agent."""
    name = host.sessions.agent_name(args.get("agent"))
    connection = host.agents.connections.get(name)
    if connection is None:
        host.echo("info", words.NO_TRAFFIC.format(agent=name))
        return
    recorded, redact = connection.traffic.copy(), host.settings().log.redact
    lines = await to_thread.run_sync(lambda: list(recorded.lines(redact=redact)))
    if not lines:
        host.echo("info", words.TRAFFIC_OFF.format(level=host.settings().log.level))
        return
    host.screen.push("show", f"acp://log/{name}", "acplog", lines)


@verb("log_save")
async def log_save(host: Host, args: Args) -> None:
    """Write the traffic of all agents to a file, redacted."""
    path = Path(str(args["file"]))
    logs = {name: agent.traffic.copy() for name, agent in host.agents.connections.items()}
    try:
        count = await to_thread.run_sync(save_log, path, logs)
    except OSError as error:
        host.echo("error", wording.CANNOT_WRITE.format(path=path, reason=error.strerror or error))
    else:
        host.echo("info", words.TRAFFIC_SAVED.format(count=count, path=path))


def save_log(path: Path, logs: Mapping[str, Recorded]) -> int:
    """Write redacted logs by agent to a file that only the user can read.

    Return the number of lines. This takes seconds for a long log. Raise OSError.
    """
    count = 0
    with open(path, "w", encoding="utf-8", opener=_open_private) as file:
        for name, recorded in logs.items():
            for line in chain([f"# {name}"], recorded.redacted()):
                file.write(line + "\n")
                count += 1
    return count


def _open_private(path: str, flags: int) -> int:
    """Open a file for the builtin `open`, readable only by its owner even if it exists."""
    handle = os.open(path, flags, 0o600)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        os.fchmod(handle, 0o600)
    return handle


@verb("export")
def export(host: Host, args: Args) -> None:
    """Write the chat as Markdown to a file, or show it in a window."""
    conversation = host.sessions.conversation(args.get("session"))
    if conversation is None:
        host.echo("info", wording.NO_SESSION)
        return
    connection = host.agents.connections.get(conversation.session.agent)
    known = connection.traffic.secrets if connection is not None else ()
    lines = reports.markdown(conversation.session, known)
    if args.get("file"):
        path = Path(str(args["file"]))
        if write_lines(host, path, lines):
            host.echo("info", wording.EXPORTED.format(path=path))
    else:
        host.screen.push("show", f"acp://export/{conversation.session.n}", "markdown", lines)


async def _open_child(host: Host, session: Session, session_id: str) -> None:
    """Open the chat of a subagent."""
    stored = host.transcripts.stored_of(session)
    if stored is not None:
        await host.transcripts.open_child(stored, session_id)
        return
    child = subagents.shown_child(session, session_id)
    if child is None:
        host.echo("info", wording.SUBAGENT_UNKNOWN)
    else:
        host.screen.push("open_chat", child.n)


@verb("permissions")
def permissions(host: Host, args: Args) -> None:
    host.screen.push("show", "acp://permissions", "acpinfo", reports.permissions(host))


async def _compare(host: Host, session: Session, call: int) -> None:
    """Show the diffs of a tool call in diff mode, or the lines of its patches.

    While the call waits for permission, show the files as the edits would leave them.
    """
    entry = session.entries.get(session.tool_calls.at(call))
    if entry is None:
        return
    if entry.open_question is not None:
        host.run("propose", {"id": entry.open_question.id})
        return
    files: dict[str, dict[str, Any]] = {}
    for item in entry.call.content:
        if isinstance(item, schema.Diff):
            path = path_line(str(Path(session.cwd, item.path)))
            base, after, _ = changes(item)
            file = files.setdefault(path, {"path": path, "base": [], "after": []})
            file["base"] += base
            file["after"] += after
    for patch in patches_of(entry.call) if not files else ():
        path = path_line(str(Path(session.cwd, patch.path)))
        file = files.setdefault(path, {"path": path, "base": [], "after": []})
        for hunk in patch.hunks:
            file["base"] += hunk.old
            file["after"] += hunk.new
    host.screen.push("compare", list(files.values()))


@verb("open")
async def open_target(host: Host, args: Args) -> None:
    """Open the item under the cursor of the chat in full (`<CR>`)."""
    conversation = host.sessions.conversation(args.get("session"))
    target = args.get("target") or {}
    if conversation is None:
        return
    session = host.subagents.get(args.get("session")) or conversation.session
    match target.get("kind"):
        case None if "decision" in target:
            host.run("open_decision", {"id": target["decision"]})
        case "diff":
            await _compare(host, session, int(target["call"]))
        case "session":
            await _open_child(host, session, str(target["id"]))
        case "terminal":
            host.run("terminal_open", {"session": session.n, "id": target["id"]})
        case "address":
            host.echo("warn", words.NOT_OPENED.format(address=one_line(target["uri"])))
        case "content" if (block := content_blocks.find(session, target.get("where"))) is not None:
            contents.open_block(host, session, block)
        case _:
            _show_in_full(host, session, target)


def _show_in_full(host: Host, session: Session, target: Target) -> None:
    lines = reports.full_lines(session, target)
    lines = lines or [words.NOTHING_MORE]
    host.screen.push("show", f"acp://content/{session.n}", "markdown", lines)
