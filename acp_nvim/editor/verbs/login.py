"""Verbs about the login to an agent (v1/authentication)."""

from __future__ import annotations

from acp_nvim.agent import auth
from acp_nvim.agent.connection import Connection
from acp_nvim.editor.environment import agent_environment
from acp_nvim.editor.host import Host
from acp_nvim.editor.verbs.agents import agent_name
from acp_nvim.editor.verbs.table import Args, verb
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import RemoteProtocolError, RequestError
from acp_nvim.session import lists

AGAIN = ":Acp login tries again"


@verb("login")
async def login(host: Host, args: Args) -> None:
    """Log in to an agent by one of its methods; afterwards goes on what waited for it."""
    connection = await host.agents.get(_agent(host, args))
    if not connection.alive:
        host.echo("error", connection.error or connection.exit_summary())
        return
    method = await _method(host, connection, args.get("method"))
    if method is None:
        return
    in_terminal = auth.terminal_login(connection.spec, method)
    if in_terminal is not None:
        if in_terminal.foreign is None or await _may_run(host, connection, in_terminal):
            await _by_terminal(host, connection, in_terminal)
    elif wanted := auth.missing(method, {**agent_environment(), **connection.spec.env}):
        names = " and ".join(wanted)
        host.echo(
            "warn",
            f"set {names} in the option agents.{connection.name}.env, or before Neovim starts; "
            "then :Acp restart",
        )
    else:
        await _by_agent(host, connection, method)


def _agent(host: Host, args: Args) -> str:
    """The agent that was named, else the one that asks for a login, else the current one."""
    if args.get("agent"):
        return str(args["agent"])
    waiting = (c.name for c in host.agents.connections.values() if c.status == "auth_required")
    return next(waiting, None) or agent_name(host, args)


async def _method(host: Host, connection: Connection, wanted: object) -> schema.AuthMethod | None:
    methods = connection.agent.auth_methods
    names = ", ".join(auth.identity(method) for method in methods)
    if not methods:
        host.echo(
            "warn",
            f"{connection.title} has no login command. Log in with its own tool, then :Acp restart",
        )
        return None
    if wanted:
        method = auth.find(methods, str(wanted))
        if method is None:
            host.echo("error", f"{connection.title} has no login {wanted}; there are: {names}")
        return method
    if len(methods) == 1:
        return methods[0]
    at = await host.choose(
        f"Log in to {connection.title}{_left(connection)}",
        [auth.name(method) for method in methods],
        "login",
    )
    return None if at is None else methods[at]


def _left(connection: Connection) -> str:
    left = connection.agent.methods_left
    return f" ({lists.more(left)})" if left else ""


async def _by_agent(host: Host, connection: Connection, method: schema.AuthMethod) -> None:
    host.echo("info", f"logging in to {connection.title}: {auth.name(method)}")
    try:
        await connection.agent.authenticate(auth.identity(method))
    except (RequestError, RemoteProtocolError) as error:
        host.echo("error", f"login to {connection.title} failed: {error}; {AGAIN}")
        return
    host.echo("info", f"logged in to {connection.title}")
    host.logged_in(connection)


async def _may_run(host: Host, connection: Connection, run: auth.TerminalLogin) -> bool:
    """Whether the user lets a program run that the agent names; they see all of it first."""
    prompt = f"{connection.title} wants to run this to log in: {run.line}"
    return await host.choose(prompt, ["Run it", "Leave it"], "login") == 0


async def _by_terminal(host: Host, connection: Connection, run: auth.TerminalLogin) -> None:
    """The program talks to the user in a terminal; the agent then starts afresh, and is told
    nothing of it.
    """
    name = connection.name
    if name in host.logins:
        host.echo("info", f"a login to {connection.title} is under way")
        return
    host.logins.add(name)
    try:
        code = await host.asking.ask(
            "login", {"title": run.title, "cmd": run.command, "env": run.env, "cwd": connection.cwd}
        )
    finally:
        host.logins.discard(name)
    if code != 0:
        host.echo("error", f"login to {connection.title} failed: exit code {code}; {AGAIN}")
        return
    host.echo("info", f"logged in to {connection.title}")
    await host.restart(name)


@verb("login_done")
def login_done(host: Host, args: Args) -> None:
    """The login program has ended."""
    host.asking.answered(args.get("id"), args.get("code"))


@verb("logout")
async def logout(host: Host, args: Args) -> None:
    """Log out of an agent; what is asked of it afterwards may need a login again."""
    name = agent_name(host, args)
    connection = host.agents.connections.get(name)
    if connection is None or not connection.alive or not await connection.ready():
        host.echo("info", f"{name} does not run")
        return
    offered = connection.agent.capabilities.auth
    if not offered or not offered.logout:
        host.echo("warn", f"{connection.title} offers no logout")
        return
    await connection.agent.logout()
    await connection.ask_auth_status()
    host.echo("info", f"logged out of {connection.title}; :Acp login logs in again")
