"""Verbs for extension methods, which agents and the user call beyond the protocol."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from acp_nvim.agent.agents import UnknownAgent
from acp_nvim.agent.wire.endpoint import ConnectionClosed
from acp_nvim.app import Host
from acp_nvim.nvim.plain import plain
from acp_nvim.protocol.errors import INTERNAL_ERROR, ProtocolError, RequestError
from acp_nvim.verbs import Args, verb


@verb("extensions")
def extensions(host: Host, args: Args) -> None:
    """Set the names of extension methods that the user handles."""
    host.options.set_extensions(list(args.get("names") or ()))


@verb("extension_reply")
def extension_reply(host: Host, args: Args) -> None:
    """Pass on the reply of an asynchronous handler."""
    host.nvim.extensions.reply(int(args["id"]), args)


@verb("extension_request")
async def extension_request(host: Host, args: Args) -> None:
    """Send an extension request from the user to an agent, and its outcome to Lua exactly once."""
    try:
        outcome = plain({"result": await _send(host, args)})
    except RequestError as error:
        data = None if error.data is UNSET else error.data
        outcome = {"error": plain({"code": error.code, "message": error.message, "data": data})}
    except (ConnectionClosed, ProtocolError, UnknownAgent, msgspec.DecodeError) as error:
        outcome = {"error": {"code": INTERNAL_ERROR, "message": str(error)}}
    host.screen.push("extension_answer", int(args["id"]), outcome)


async def _send(host: Host, args: Args) -> Any:
    conversation = host.sessions.conversation(args.get("session"))
    name = args.get("agent") or (conversation and conversation.session.agent)
    connection = await host.agents.get(str(name or host.settings().agent))
    if not connection.is_alive:
        raise ConnectionClosed(connection.error or connection.exit_summary())
    return await connection.agent.extension(str(args["method"]), args["params"])
