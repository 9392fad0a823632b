"""Lua handlers for extension requests and notifications from agents (`acp.features.extensions`)."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from acp_nvim.agent.serving.extensions import Context, Extensions
from acp_nvim.nvim.bridge import Bridge, NvimError
from acp_nvim.nvim.plain import plain
from acp_nvim.protocol.errors import INTERNAL_ERROR, RequestError


def lua_extensions(
    bridge: Bridge, push: Callable[..., None], names: Callable[[], Container[str]]
) -> Extensions:
    """Return extensions whose handlers are in Lua.

    Notifications are frame operations, queued by `push`, so that they follow the text that arrived
    before them.
    """

    async def ask(number: int, params: Any, context: Context) -> Any:
        given = plain(params), plain(context)
        try:
            return await bridge.call("acp.features.extensions.handlers", "request", number, *given)
        except NvimError as error:
            raise RequestError(INTERNAL_ERROR, str(error)) from error

    def notify(params: Any, context: Context) -> None:
        push("extension", plain(params), plain(context))

    return Extensions(names, ask, notify)
