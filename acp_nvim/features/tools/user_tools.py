"""Functions of the user's tools, which run in Neovim (port `Runner`)."""

from __future__ import annotations

from typing import Any, Final, Protocol

import msgspec

from acp_nvim.nvim.async_calls import CallError
from acp_nvim.session.session import Session
from acp_nvim.tools.server.tool import ToolError
from acp_nvim.tools.server.user_tools import Answer, UserTool

MODULE: Final = "acp.features.tools.user_tools"


def decode_tools(tools: Any) -> list[UserTool]:
    """Decode the list of tools from Lua. Raise `msgspec.ValidationError`."""
    return msgspec.convert(tools or [], list[UserTool])


class Calls(Protocol):
    """Caller of asynchronous functions (`AsyncCalls`)."""

    async def call(self, module: str, function: str, *args: Any) -> Any:
        """Run an asynchronous Lua function."""
        ...


class NvimUserTools:
    """Implementation of `Runner` in Lua."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def run(self, session: Session, name: str, arguments: str) -> Answer:
        context = {"session": session.n, "cwd": session.cwd, "agent": session.agent}
        try:
            found = await self._calls.call(MODULE, "run", name, arguments, context)
        except CallError as error:
            raise ToolError(str(error)) from error
        return msgspec.convert(found, Answer)
