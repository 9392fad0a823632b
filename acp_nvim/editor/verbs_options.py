"""Verbs about what an agent lets one choose in a session: its mode, its config options."""

from __future__ import annotations

from acp_nvim.agent import choices
from acp_nvim.agent.conversation import Conversation
from acp_nvim.editor.host import Host
from acp_nvim.editor.verbs import Args, verb


@verb("mode")
async def mode(host: Host, args: Args) -> None:
    """Switch the session's mode: shown at once, taken back in one line when the agent refuses."""
    conversation = _open(host, args)
    if conversation is not None and conversation.connection is not None:
        agent = conversation.connection.agent
        await choices.set_mode(conversation.session, agent, str(args["id"]))


@verb("option")
async def option(host: Host, args: Args) -> None:
    """Set a config option: shown at once, taken back in one line when the agent refuses."""
    conversation = _open(host, args)
    if conversation is not None and conversation.connection is not None:
        agent = conversation.connection.agent
        await choices.set_option(conversation.session, agent, str(args["id"]), args["value"])


def _open(host: Host, args: Args) -> Conversation | None:
    """The session at its agent, or a word why not."""
    conversation = host.conversation(args.get("session"))
    if conversation is None or not conversation.session.id:
        host.echo("warn", "no session is open")
        return None
    if conversation.connection is None or not conversation.connection.alive:
        host.echo("warn", f"{conversation.session.agent} does not run; the next prompt starts it")
        return None
    return conversation
