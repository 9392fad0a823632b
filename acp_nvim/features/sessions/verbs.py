"""Verbs for sessions: create one, make one current, pick open and stored ones."""

from __future__ import annotations

import msgspec

from acp_nvim.agent.notify import notify
from acp_nvim.agent.opening.stored import Stored
from acp_nvim.app import Host
from acp_nvim.features.sessions import session_picker, words
from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.refusals import needs_login
from acp_nvim.verbs import Args, verb


@verb("new")
def new(host: Host, args: Args) -> None:
    """Open a new session of an agent or preset. Its chat replaces the chat of session `instead`."""
    conversation = host.sessions.new_named(args["cwd"], args.get("name"))
    host.screen.push("open_chat", conversation.session.n, args.get("instead"))
    conversation.open()


@verb("current")
def current(host: Host, args: Args) -> None:
    """Make a session current after the user entered its chat or composer."""
    n = int(args["session"])
    if n in host.sessions.conversations and n != host.sessions.current:
        host.sessions.make_current(n)


@verb("sessions")
async def sessions(host: Host, args: Args) -> None:
    """Let the user pick a session and, without `action`, an action."""
    cwd = str(args["cwd"])
    host.session_list.work_in(cwd)
    entries: list[session_picker.Entry] = [*session_picker.open_conversations(host)]
    entries += await session_picker.stored_sessions(host, cwd)
    if not entries:
        if not session_picker.waits_for_login(host):
            host.echo("info", words.NONE_TO_CHOOSE)
            return
        agent = host.sessions.agent_name(None)
        notify(host.observers.on_login_awaited, agent, lambda: host.run("sessions", args))
        return
    at = await host.choose(
        "Sessions", [session_picker.label(entry, cwd) for entry in entries], "session"
    )
    if at is not None:
        await _run_or_ask(host, entries[at], cwd, args.get("action"))


@verb("close")
async def close(host: Host, args: Args) -> None:
    """Close a session of this Neovim."""
    conversation = host.sessions.conversations.get(int(args["session"]))
    if conversation is not None and conversation.session.status != "closed":
        await _run_with_login(host, conversation, "close")


@verb("reopen")
async def reopen(host: Host, args: Args) -> None:
    """Load or resume a session from an earlier Neovim. If it is open here, show it."""
    keys = host.workspace.persistence.keys
    info = keys.infos.get(keys.key(int(args["session"])))
    if info is None or not info.id:
        host.echo("warn", words.SESSION_NOT_REOPENED)
        return
    opened = session_picker.open_conversations(host)
    same = (c for c in opened if (c.session.agent, c.session.id) == (info.agent, info.id))
    conversation = next(same, None)
    entry = conversation or Stored(info.agent, info.id, info.cwd, info.title)
    await _run_or_ask(host, entry, info.cwd, "open")


async def _run_or_ask(
    host: Host, entry: session_picker.Entry, cwd: str, action: str | None
) -> None:
    """Run an action on a session, or ask for one.

    The action `open` loads or resumes a stored session.
    """
    if isinstance(entry, Stored):
        entry = msgspec.structs.replace(entry, cwd=entry.cwd or cwd)
    actions = await session_picker.actions(host, entry)
    if not actions:
        host.echo(
            "warn",
            words.SESSION_WITHOUT_ACTIONS.format(session=session_picker.display_title(entry)),
        )
        return
    if action is not None:
        wanted = actions[0] if action == "open" else action
        if wanted in actions:
            await _run_with_login(host, entry, wanted)
        else:
            can = ", ".join(actions)
            host.echo(
                "warn",
                words.SESSION_ACTIONS.format(
                    session=session_picker.display_title(entry), action=wanted, actions=can
                ),
            )
        return
    status = await session_picker.status(host, entry)
    prompt = session_picker.display_title(entry) + (f" ({status})" if status else "")
    at = await host.choose(prompt, actions, "session_action")
    if at is not None:
        await _run_with_login(host, entry, actions[at])


async def _run_with_login(host: Host, entry: session_picker.Entry, action: str) -> None:
    """Run an action. If the agent requires a login, run the action after the login."""
    try:
        await session_picker.run_action(host, entry, action)
    except RequestError as error:
        agent = entry.agent if isinstance(entry, Stored) else entry.session.agent
        connection = host.agents.connections.get(agent)
        if not needs_login(error) or connection is None:
            raise
        notify(
            host.observers.on_login_needed,
            connection,
            lambda: host.verbs.spawn("sessions", session_picker.run_action(host, entry, action)),
        )
