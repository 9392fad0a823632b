"""Agents whose sessions or prompts fail because of the editor's tools."""

from __future__ import annotations

from tests.agents.agent import Agent, Frame
from tests.agents.loop import handshake, new_session, run_turn, script, whole_life

OPENING = ("session/new", "session/load", "session/resume")


def _ours(frame: Frame) -> list[str]:
    """Return the names of the editor's servers in a request."""
    servers = frame["params"].get("mcpServers") or ()
    return [one["name"] for one in servers if one["name"].startswith("neovim")]


@whole_life
def one_name_one_server(agent: Agent) -> None:
    """Accept each server name only once per process, as fast-agent does."""
    agent.capabilities = {"loadSession": True}
    handshake(agent)
    used: set[str] = set()
    while True:
        frame = agent.next()
        if frame["method"] in OPENING:
            twice = [name for name in _ours(frame) if name in used]
            if twice:
                message = f"Runtime MCP server '{twice[0]}' is already registered"
                agent.refuse(frame, -32603, "Internal error", {"details": message})
                continue
            used |= set(_ours(frame))
        _serve(agent, frame)


@whole_life
def refuses_tools(agent: Agent, code: str = "-32603") -> None:
    """Refuse sessions with the editor's server under any name."""
    handshake(agent)
    while True:
        frame = agent.next()
        if frame["method"] in OPENING and _ours(frame):
            agent.refuse(
                frame, int(code), "Internal error", {"details": "MCP server: no such tool"}
            )
        else:
            _serve(agent, frame)


@whole_life
def refuses_all_sessions(agent: Agent) -> None:
    """Refuse all sessions, and count the attempts."""
    handshake(agent)
    attempts = 0
    while True:
        frame = agent.next()
        if frame["method"] == "session/new":
            attempts += 1
            agent.refuse(frame, -32603, f"no room: {attempts}")
        else:
            _serve(agent, frame)


@whole_life
def breaks_on_tools(agent: Agent, details: str = "") -> None:
    """Answer each prompt of a session that has the editor's server with an error, like
    OpenHands.
    """
    handshake(agent)
    ours = False
    while True:
        frame = agent.next()
        if frame["method"] in OPENING:
            ours = bool(_ours(frame))
        if frame["method"] == "session/prompt" and ours:
            agent.refuse(frame, -32603, "Internal error", {"details": details} if details else None)
        else:
            _serve(agent, frame)


def _serve(agent: Agent, frame: Frame) -> None:
    match frame["method"]:
        case "session/new":
            new_session(agent, frame)
        case "session/load":
            agent.session = frame["params"]["sessionId"]
            agent.reply(frame, {})
        case "session/prompt":
            agent.session = frame["params"]["sessionId"]
            run_turn(agent, frame, script, [])
        case method if "id" in frame:
            agent.refuse(frame, -32601, f"no method {method}")
