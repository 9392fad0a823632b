"""Verbs for the agents' terminals: list them, open them, send output and keys."""

from __future__ import annotations

from typing import Any

from acp_nvim.agent.serving.terminals import AgentTerminals
from acp_nvim.app import Host
from acp_nvim.features.terminals import words
from acp_nvim.features.terminals.live_terminals import TerminalViews
from acp_nvim.render.text import one_line
from acp_nvim.session.output.terminal import Terminal
from acp_nvim.session.session import Session
from acp_nvim.verbs import Args, verb


@verb("terminals")
def terminals(host: Host, args: Args) -> None:
    """Let the user choose a terminal. Terminals of the current session come first, newest first."""
    sessions = sorted(
        host.screen.sessions.values(), key=lambda s: (s.n != host.sessions.current, s.n)
    )
    items = [
        _item(session, terminal, more=len(sessions) > 1)
        for session in sessions
        for terminal in reversed(list(session.terminals))
    ]
    if items:
        host.screen.push("terminals", items)
    else:
        host.echo("info", words.NO_TERMINALS)


def _item(session: Session, terminal: Terminal, *, more: bool) -> dict[str, Any]:
    status = "running" if terminal.running else terminal.ended or "ended"
    where = f" · session {session.n}" if more else ""
    return {
        "session": session.n,
        "id": terminal.id,
        "label": f"{one_line(terminal.launch.command, 80)} · {status}{where}",
    }


@verb("terminal_open")
def terminal_open(host: Host, args: Args) -> None:
    """Open a terminal's buffer."""
    n, id = int(args["session"]), str(args["id"])
    terminal = host.screen.terminal(n, id)
    if terminal is not None:
        host.screen.push("terminal_open", n, id, terminal.is_hosted)
    elif n in host.screen.sessions:
        host.echo("info", words.TERMINAL_UNKNOWN.format(terminal=one_line(id, 60)))


@verb("terminal_view")
def terminal_view(host: Host, args: Args) -> None:
    """Handle a terminal's buffer that is shown, hidden or deleted. `fresh` means a new buffer."""
    n, id = int(args["session"]), str(args["id"])
    match args["what"]:
        case "shown":
            if host.parts.get(TerminalViews).show(n, id, fresh=bool(args.get("fresh"))):
                host.nvim.pace.wake()
        case "hidden":
            host.parts.get(TerminalViews).hide(n, id)
        case _:
            host.parts.get(TerminalViews).forget(n, id)


@verb("terminal_input")
def terminal_input(host: Host, args: Args) -> None:
    """Send keys that the user typed in Terminal mode to a terminal."""
    terminals = _agent_terminals(host, args)
    if terminals is not None:
        terminals.write(str(args["id"]), str(args["keys"]).encode("utf-8", "surrogateescape"))


def _agent_terminals(host: Host, args: Args) -> AgentTerminals | None:
    conversation = host.sessions.conversation(int(args["session"]))
    if conversation is None or conversation.connection is None:
        return None
    return conversation.connection.terminals
