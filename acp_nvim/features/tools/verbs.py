"""Verbs about the editor's tools for agents."""

from __future__ import annotations

from functools import partial

from acp_nvim.app import Host
from acp_nvim.features.tools.tool_permissions import permissions
from acp_nvim.features.tools.user_tools import NvimUserTools, decode_tools
from acp_nvim.tools.server.user_tools import UserTools
from acp_nvim.verbs import Args, verb


@verb("user_tools")
def user_tools(host: Host, args: Args) -> None:
    """Replace the list of the user's tools."""
    host.part(UserTools, partial(_new, host)).replace(decode_tools(args.get("tools")))


def _new(host: Host) -> UserTools:
    runner = NvimUserTools(host.async_calls)
    return UserTools(host.toolbox, runner, partial(permissions, host), host.tools.refresh)
