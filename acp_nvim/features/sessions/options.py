"""Verbs for the mode and the config options of a session."""

from __future__ import annotations

from collections.abc import Awaitable

from acp_nvim import wording
from acp_nvim.agent import choices
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.notify import notify
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.app import Host
from acp_nvim.features.sessions import words
from acp_nvim.host.current_session import uncertainty
from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.refusals import needs_login
from acp_nvim.session import options
from acp_nvim.session.options import NoSuchChoice
from acp_nvim.verbs import Args, verb


@verb("mode")
async def mode(host: Host, args: Args) -> None:
    """Set the session's mode.

    The new mode is shown at once. A message confirms it, or says that the agent refused it.
    """
    conversation = _open_conversation(host, args)
    if conversation is not None and conversation.connection is not None:
        mode_id, session = str(args["id"]), conversation.session
        change = conversation.call(lambda agent: choices.set_mode(session, agent, mode_id))
        if await _await_change(host, conversation.connection, "mode", args, change):
            _show_message(host, options.mode_text(conversation.session))


@verb("next_mode")
async def next_mode(host: Host, args: Args) -> None:
    """Switch to the mode after the current one. Tell the user if there is no other."""
    conversation = _open_conversation(host, args)
    if conversation is None:
        return
    known = options.modes(conversation.session)
    ids = [mode.id for mode in known.available_modes] if known is not None else []
    if known is None or len(ids) < 2:
        host.echo("info", words.NO_OTHER_MODE)
        return
    at = ids.index(known.current_mode_id) if known.current_mode_id in ids else -1
    await mode(host, {**args, "id": ids[(at + 1) % len(ids)]})


@verb("option")
async def option(host: Host, args: Args) -> None:
    """Set a config option. It is shown and confirmed like a mode."""
    conversation = _open_conversation(host, args)
    if conversation is not None and conversation.connection is not None:
        option_id, value, session = str(args["id"]), args["value"], conversation.session
        change = conversation.call(
            lambda agent: choices.set_option(session, agent, option_id, value)
        )
        if await _await_change(host, conversation.connection, "option", args, change):
            _show_message(host, options.describe_option(conversation.session, str(args["id"])))


def _show_message(host: Host, what: str | None) -> None:
    if what is not None:
        host.echo("info", what)


async def _await_change(
    host: Host, connection: Connection, name: str, args: Args, change: Awaitable[object]
) -> bool:
    """Await a change. Return whether it was made.

    If the agent requires a login, run the verb again after the login.
    """
    try:
        await change
        return True
    except NoSuchChoice as error:
        host.echo("error", wording.FAILED.format(what=name, reason=error))
    except RequestError as error:
        if not needs_login(error):
            raise
        notify(host.observers.on_login_needed, connection, lambda: host.run(name, args))
    return False


def _open_conversation(host: Host, args: Args) -> Conversation | None:
    """Return the session, if it is clear which one is meant and it is open at its agent.

    Otherwise tell the user why not.
    """
    if (problem := uncertainty(host, args)) is not None:
        host.echo("warn", problem)
        return None
    conversation = host.sessions.conversation(args.get("session"))
    if conversation is None or not conversation.session.id:
        host.echo("warn", wording.NO_SESSION)
        return None
    if conversation.connection is None or not conversation.connection.is_alive:
        host.echo("warn", wording.AGENT_NOT_RUNNING.format(agent=conversation.session.agent))
        return None
    return conversation
