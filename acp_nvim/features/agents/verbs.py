"""Verbs for agents: choose the agent for new sessions, restart, stop."""

from __future__ import annotations

from acp_nvim import wording
from acp_nvim.agent.agents import UnknownAgent
from acp_nvim.app import Host
from acp_nvim.features.agents import words
from acp_nvim.verbs import Args, verb


@verb("agent")
def agent(host: Host, args: Args) -> None:
    """Choose the agent for new sessions.

    If the current session has failed with another agent, its next prompt opens a new session.
    """
    name = str(args["name"])
    try:
        problem = None if host.options.spec(name) else wording.NO_SUCH_AGENT.format(agent=name)
    except UnknownAgent as error:
        problem = str(error)
    if problem is not None:
        host.echo("error", problem)
        return
    host.options.choose_agent(name)
    current = host.sessions.conversation(None)
    text = words.NEW_SESSIONS_USE.format(agent=name)
    if current is not None and current.session.agent != name:
        if current.session.status == "failed":
            text += words.PART_NEXT_PROMPT_OPENS
            current.session.is_given_up = True
        elif not current.session.topic:
            text += words.PART_PROMPT_OPENS
    host.echo("info", text)


@verb("restart")
async def restart(host: Host, args: Args) -> None:
    """End an agent's process tree, start it again and reopen its sessions."""
    await host.restarts.restart(host.sessions.agent_name(args.get("agent")))


@verb("stop")
async def stop(host: Host, args: Args) -> None:
    """End an agent's process tree."""
    name = host.sessions.agent_name(args.get("agent"))
    was_running = await host.restarts.stop(name)
    text = wording.AGENT_STOPPED if was_running else wording.AGENT_NOT_RUNNING
    host.echo("info", text.format(agent=name))
