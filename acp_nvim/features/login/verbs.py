"""Verbs for logging in to an agent (v1/authentication)."""

from __future__ import annotations

from functools import partial
from typing import Any

from acp_nvim import wording
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.opening import auth
from acp_nvim.agent.prompts.wait_warnings import OPEN_S
from acp_nvim.app import Host
from acp_nvim.features.login import words
from acp_nvim.features.login.logins import Logins
from acp_nvim.nvim.environment import agent_environment
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import RemoteProtocolError, RequestError
from acp_nvim.session import lists
from acp_nvim.verbs import Args, verb


@verb("login")
async def login(host: Host, args: Args) -> None:
    """Log in to an agent with one of its methods, then resume the sessions that waited for it."""
    connection = await host.agents.get(_agent_name(host, args))
    if not connection.is_alive:
        host.echo("error", connection.error or connection.exit_summary())
        return
    method = await _choose_method(host, connection, args.get("method"))
    if method is None:
        return
    in_terminal = auth.terminal_login(connection.spec, method)
    if in_terminal is not None:
        if in_terminal.agent_env is None or await _may_run(host, connection, in_terminal):
            await _log_in_by_terminal(host, connection, in_terminal)
    elif wanted := auth.missing(method, _configured_env(host, connection)):
        await _log_in_by_env(host, connection, method, wanted)
    else:
        await _log_in_by_agent(host, connection, method)


def _agent_name(host: Host, args: Args) -> str:
    """Return the named agent, else one that requires a login, else the current one."""
    if args.get("agent"):
        return str(args["agent"])
    waiting = (c.name for c in host.agents.connections.values() if c.status == "auth_required")
    return next(waiting, None) or host.sessions.agent_name(args.get("agent"))


async def _choose_method(
    host: Host, connection: Connection, wanted: object
) -> schema.AuthMethod | None:
    """Return the login that the user wants. If there is none, tell the user and return None."""
    methods = auth.usable_methods(connection.spec, connection.agent.auth_methods)
    if not methods:
        text = words.NO_LOGIN_FROM_HERE if connection.spec.url else words.NO_LOGIN
        host.echo("warn", text.format(agent=connection.title))
        return None
    if wanted:
        method = auth.find(methods, str(wanted))
        if method is None:
            names = ", ".join(map(auth.identity, methods))
            text = words.NO_SUCH_LOGIN
            host.echo("error", text.format(agent=connection.title, login=wanted, logins=names))
        return method
    if len(methods) == 1:
        return methods[0]
    at = await host.choose(
        words.LOG_IN_TO.format(agent=connection.title, more=_more_methods(connection)),
        [auth.name(method) for method in methods],
        "login",
    )
    return None if at is None else methods[at]


def _more_methods(connection: Connection) -> str:
    left = connection.agent.methods_left
    return f" ({lists.more(left)})" if left else ""


async def _log_in_by_agent(host: Host, connection: Connection, method: schema.AuthMethod) -> None:
    host.echo("info", words.LOGGING_IN.format(agent=connection.title, login=auth.name(method)))
    try:
        with host.tasks.if_slow(OPEN_S, partial(_warn_slow, host, connection)):
            if not await connection.login.authenticate(auth.identity(method)):
                return
    except (RequestError, RemoteProtocolError) as error:
        host.echo("error", words.LOGIN_FAILED.format(agent=connection.title, reason=error))
        return
    host.echo("info", words.LOGGED_IN.format(agent=connection.title))
    host.parts.get(Logins).on_logged_in(connection)


def _warn_slow(host: Host, connection: Connection) -> None:
    title = words.LOGIN_SILENT.format(agent=connection.title, seconds=OPEN_S)
    host.echo("warn", title)
    host.screen.event("AcpNotice", severity="warning", title=title)


def _configured_env(host: Host, connection: Connection) -> dict[str, str]:
    """Return the environment of an agent without values that the user typed at an earlier login.

    These values may be wrong.
    """
    typed = host.agents.variables.names(connection.name)
    configured = {key: value for key, value in connection.spec.env.items() if key not in typed}
    return {**agent_environment(), **configured}


async def _log_in_by_env(
    host: Host, connection: Connection, method: schema.AuthMethod, wanted: list[schema.AuthEnvVar]
) -> None:
    """Ask for the values of variables and restart the agent with them.

    The values are written to no log and no file.
    """
    name, title, link = connection.name, connection.title, getattr(method, "link", None)
    source = words.PART_VALUE_FROM.format(link=link) if link else ""
    values: dict[str, str] = {}
    for variable in wanted:
        label = f"{variable.label} ({variable.name})" if variable.label else variable.name
        prompt = words.ASK_VALUE.format(variable=label, agent=title, source=source)
        ask = host.ask_text if variable.secret is False else host.nvim.asking.ask_secret
        value = await ask(prompt)
        if not value:
            host.echo("info", words.NO_VALUE.format(variable=variable.name, agent=name))
            return
        values[variable.name] = value
    host.agents.variables.store(name, auth.identity(method), values)
    host.echo("info", words.VALUES_TAKEN.format(agent=title))
    await host.restarts.restart(name)


async def _may_run(host: Host, connection: Connection, run: auth.TerminalLogin) -> bool:
    """Ask the user, and return whether to run a program that the agent names.

    The question shows the whole command.
    """
    prompt = words.LOGIN_RUNS.format(agent=connection.title, command=run.line)
    return await host.choose(prompt, [wording.OPTION_RUN, words.OPTION_DO_NOT_RUN], "login") == 0


async def _log_in_by_terminal(host: Host, connection: Connection, run: auth.TerminalLogin) -> None:
    """Run a login program in a terminal, then restart the agent.

    No `authenticate` request is sent.
    """
    name = connection.name
    if name in host.parts.get(Logins).in_terminal:
        host.echo("info", words.LOGIN_BUSY.format(agent=connection.title))
        return
    host.parts.get(Logins).in_terminal.add(name)
    place = connection.place
    if place is not None and run.env and not place.via.passes_variables:
        names = ", ".join(sorted(run.env))
        line = words.LOGIN_WITHOUT.format(program=place.via.program, names=names)
        host.echo("warn", line)
    try:
        code = await host.nvim.asking.ask("login", _terminal_command(connection, run))
    finally:
        host.parts.get(Logins).in_terminal.discard(name)
    if code != 0:
        host.echo(
            "error",
            words.LOGIN_FAILED.format(
                agent=connection.title, reason=words.WHY_EXIT_CODE.format(code=code)
            ),
        )
        return
    host.echo("info", words.LOGGED_IN.format(agent=connection.title))
    await host.restarts.restart(name)


def _terminal_command(connection: Connection, run: auth.TerminalLogin) -> dict[str, Any]:
    place = connection.place
    if place is None:
        cwd = connection.cwd
        return {"title": run.title, "cmd": run.command, "env": run.env, "cwd": cwd}
    command = place.login(run.command, connection.spec.cwd or "", run.env)
    return {"title": run.title, "cmd": command, "env": run.env, "cwd": "/"}


@verb("login_done")
def login_done(host: Host, args: Args) -> None:
    """Pass on the exit code of the login program."""
    host.nvim.asking.on_answer(args.get("id"), args.get("code"))


@verb("logout")
async def logout(host: Host, args: Args) -> None:
    """Log out of an agent: forget typed values and restart it, or send it a `logout` request."""
    name = host.sessions.agent_name(args.get("agent"))
    connection = host.agents.connections.get(name)
    if host.agents.variables.forget(name) and connection is not None and connection.is_alive:
        host.echo("info", words.LOGGED_OUT.format(agent=connection.title))
        await host.restarts.restart(name)
        return
    if connection is None or not connection.is_alive or not await connection.ready():
        host.echo("info", wording.AGENT_NOT_RUNNING.format(agent=name))
        return
    offered = connection.agent.capabilities.auth
    if not offered or not offered.logout:
        host.echo("warn", words.NO_LOGOUT.format(agent=connection.title))
        return
    await connection.agent.logout()
    await connection.login.ask_state()
    host.echo("info", words.LOGGED_OUT.format(agent=connection.title))
