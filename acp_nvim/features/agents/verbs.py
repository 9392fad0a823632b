"""Verbs about agents: choose the agent for new sessions, restart, stop."""

from __future__ import annotations

from acp_nvim import wording
from acp_nvim.agent.agents import UnknownAgent
from acp_nvim.app import Host
from acp_nvim.features.agents import words
from acp_nvim.verbs import Args, verb


@verb("agent")
def agent(host: Host, args: Args) -> None:
    """Choose the agent for new sessions."""
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
    empty = current is not None and not current.session.topic and current.session.agent != name
    host.echo(
        "info",
        words.NEW_SESSIONS_USE.format(agent=name) + (words.PART_PROMPT_OPENS if empty else ""),
    )


@verb("restart")
async def restart(host: Host, args: Args) -> None:
    """End an agent's process tree, start it again and reopen its sessions."""
    await host.restart(host.sessions.agent_name(args.get("agent")))


@verb("stop")
async def stop(host: Host, args: Args) -> None:
    """End an agent's process tree."""
    name = host.sessions.agent_name(args.get("agent"))
    stopped = await host.restarts.stop(name)
    host.echo(
        "info",
        wording.AGENT_STOPPED.format(agent=name)
        if stopped
        else wording.AGENT_NOT_RUNNING.format(agent=name),
    )
