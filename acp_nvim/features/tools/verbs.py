"""Verbs about the editor's tools for agents."""

from __future__ import annotations

from acp_nvim.app import Host
from acp_nvim.features.tools.user_tools import told
from acp_nvim.verbs import Args, verb


@verb("async_reply")
def async_reply(host: Host, args: Args) -> None:
    """Pass on the reply of an asynchronous Lua function."""
    error = args.get("error")
    host.async_calls.replied(args["id"], args.get("value"), None if error is None else str(error))


@verb("user_tools")
def user_tools(host: Host, args: Args) -> None:
    """Replace the list of the user's tools."""
    host.user_tools.replace(told(args.get("tools")))
