"""Verbs about what an agent lets one choose in a session: its mode, its config options."""

from __future__ import annotations

from acp_nvim.agent.conversation import Conversation
from acp_nvim.editor.host import Host
from acp_nvim.editor.verbs import Args, verb


@verb("mode")
async def mode(host: Host, args: Args) -> None:
    """Switch the session's mode; the answer is trusted, whether or not an update follows."""
    conversation = _open(host, args)
    if conversation is None or conversation.connection is None:
        return
    session = conversation.session
    before, session.mode = session.mode, str(args["id"])
    session.change("modes")
    try:
        await conversation.connection.agent.set_mode(session.id, str(args["id"]))
    except Exception:
        session.mode = before
        session.change("modes")
        raise


@verb("option")
async def option(host: Host, args: Args) -> None:
    """Set a config option; the agent's answer is the new list."""
    conversation = _open(host, args)
    if conversation is None or conversation.connection is None:
        return
    session = conversation.session
    agent_ = conversation.connection.agent
    session.options = await agent_.set_config_option(session.id, str(args["id"]), args["value"])
    session.change("options")


def _open(host: Host, args: Args) -> Conversation | None:
    """The session at its agent, or a word why not."""
    conversation = host.conversation(args.get("session"))
    if conversation is None or not conversation.session.id:
        host.echo("warn", "no session is open")
        return None
    return conversation
