"""Verbs that stop a terminal or a tool call of an agent (v2/tool-calls)."""

from __future__ import annotations

from collections.abc import Awaitable

from acp_nvim.agent.agent import Agent
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.agent.wire.endpoint import ConnectionClosed
from acp_nvim.app import Host
from acp_nvim.features.agents import words
from acp_nvim.protocol.errors import RemoteProtocolError, RequestError
from acp_nvim.render.rows import Target
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.output.terminal import Terminal
from acp_nvim.session.session import Session
from acp_nvim.verbs import Args, verb


@verb("terminal_stop")
async def terminal_stop(host: Host, args: Args) -> None:
    """Stop the command of a terminal. If the agent runs it, ask the agent to stop it."""
    conversation = host.sessions.conversation(int(args["session"]))
    session = host.screen.sessions.get(int(args["session"]))
    terminal = session.terminals.get(str(args["id"])) if session is not None else None
    if conversation is None or session is None or terminal is None:
        host.echo("info", words.TERMINAL_IDLE)
    else:
        await _stop_terminal(host, conversation, session, terminal)


@verb("stop_target")
async def stop_target(host: Host, args: Args) -> None:
    """Stop the tool call or the terminal under the cursor of a chat."""
    conversation = host.sessions.conversation(args.get("session"))
    session = host.screen.sessions.get(int(args["session"]))
    if conversation is None or session is None:
        return
    target: Target = args.get("target") or {}
    terminal = session.terminals.get(str(target.get("id"))) if "id" in target else None
    number = target.get("call")
    call = session.tool_calls.at(int(number)) if number is not None else None
    if terminal is None and call is not None and not call.cancellable:
        terminal = _running_terminal(session, call)
    if terminal is not None:
        await _stop_terminal(host, conversation, session, terminal)
    elif call is None or call.is_finished:
        host.echo("info", words.NOTHING_TO_STOP)
    elif not call.cancellable:
        host.echo("info", words.CALL_NOT_STOPPABLE)
    else:
        agent = _live_agent(conversation)
        request = agent.cancel_call(session.id, call.id) if agent is not None else None
        await _request_stop(host, request)


def _running_terminal(session: Session, call: ToolCall) -> Terminal | None:
    terminals = session.entries[call].terminals.values()
    return next((terminal for terminal in terminals if terminal.running), None)


async def _stop_terminal(
    host: Host, conversation: Conversation, session: Session, terminal: Terminal
) -> None:
    connection = conversation.connection
    if terminal.is_hosted:
        is_known = connection is not None and await connection.terminals.stop(terminal.id)
        if not (is_known or (terminal.running and host.observers.stop_work(session))):
            host.echo("info", words.TERMINAL_IDLE)
    elif not terminal.running:
        host.echo("info", words.TERMINAL_IDLE)
    elif not terminal.cancellable:
        host.echo("info", words.TERMINAL_NOT_STOPPABLE)
    else:
        agent = _live_agent(conversation)
        request = agent.cancel_terminal(session.id, terminal.id) if agent is not None else None
        await _request_stop(host, request)


def _live_agent(conversation: Conversation) -> Agent | None:
    connection = conversation.connection
    return connection.agent if connection is not None and connection.is_alive else None


async def _request_stop(host: Host, request: Awaitable[None] | None) -> None:
    """Wait for the agent's response and report an error.

    The end itself arrives as an update of the call or the terminal.
    """
    if request is None:
        host.echo("info", words.NOTHING_TO_STOP)
        return
    try:
        await request
    except (RequestError, RemoteProtocolError, ConnectionClosed) as error:
        host.echo("warn", words.NOT_STOPPED.format(reason=error))
