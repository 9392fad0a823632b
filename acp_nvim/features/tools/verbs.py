"""Verb of the user's tools for agents, and the functions of these tools."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import msgspec

from acp_nvim.app import Host
from acp_nvim.features.tools.tool_permissions import permissions
from acp_nvim.nvim.async_calls import AsyncCalls, CallError
from acp_nvim.session.session import Session
from acp_nvim.tools.server.tool import ToolError
from acp_nvim.tools.server.user_tools import Answer, UserTool, UserTools
from acp_nvim.verbs import Args, verb

MODULE: Final = "acp.features.tools.user_tools"


@verb("user_tools")
def user_tools(host: Host, args: Args) -> None:
    """Replace the list of the user's tools."""
    host.parts.get(UserTools, partial(_new, host)).replace(_decode_tools(args.get("tools")))


def _new(host: Host) -> UserTools:
    runner = _NvimUserTools(host.nvim.async_calls)
    return UserTools(host.toolbox, runner, partial(permissions, host), host.tools.refresh)


def _decode_tools(tools: Any) -> list[UserTool]:
    """Decode the list of tools from Lua. Raise `msgspec.ValidationError`."""
    return msgspec.convert(tools or [], list[UserTool])


class _NvimUserTools:
    """Functions of the user's tools, which run in Neovim (port `Runner`)."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def run(self, session: Session, name: str, arguments: str) -> Answer:
        context = {"session": session.n, "cwd": session.cwd, "agent": session.agent}
        try:
            result = await self._calls.call(MODULE, "run", name, arguments, context)
        except CallError as error:
            raise ToolError(str(error)) from error
        return msgspec.convert(result, Answer)
