"""Neovim as the host uses it: bridge, screen, questions, options, buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acp_nvim import wording
from acp_nvim.agent.serving.extensions import Context, Extensions
from acp_nvim.agent.transport.base import TransportError
from acp_nvim.nvim.asking import Asking
from acp_nvim.nvim.async_calls import AsyncCalls
from acp_nvim.nvim.bridge import Bridge, NvimError
from acp_nvim.nvim.buffers import NvimBuffers
from acp_nvim.nvim.flow import Flow
from acp_nvim.nvim.frames import Collect, Frames
from acp_nvim.nvim.notices import LimitReports, Notices
from acp_nvim.nvim.pace import Pace
from acp_nvim.nvim.plain import plain
from acp_nvim.nvim.screen import Screen
from acp_nvim.nvim.user_options import UserOptions
from acp_nvim.protocol.errors import INTERNAL_ERROR, RequestError
from acp_nvim.session.session import Session


class Neovim:
    """Bridge to Neovim, and the parts that use it."""

    def __init__(
        self, bridge: Bridge, collect: Collect, current: Callable[[], Session | None]
    ) -> None:
        """`collect` returns the next frame, `current` the session in which warnings are shown."""
        self.bridge = bridge
        self.options = UserOptions()
        self.pace = Pace(bridge.loop.time)
        self.screen = Screen(self.options.settings, self.pace.wake)
        self.notices = Notices(self.screen, current)
        self.limit_reports = LimitReports(self.screen)
        self.flow = Flow(self.screen, self.pace, self.options.settings, self.limit_reports.report)
        self.frames = Frames(bridge, self.pace, collect, self.flow.on_frame, self.notices.problem)
        self.asking = Asking(self.screen.push)
        self.buffers = NvimBuffers(bridge)
        self.async_calls = AsyncCalls(bridge)
        self.extensions = Extensions(
            self.options.extensions, self._ask_extension, self._notify_extension
        )

    # -- the user's functions, called for an agent ------------------------------------------------

    async def via_words(self, agent: str) -> list[str]:
        """Call the user's function `via` of an agent. Return its words, or raise TransportError."""
        try:
            words: list[str] = await self.bridge.call("acp.base.host.via_words", "words", agent)
        except NvimError as error:
            reason = wording.WHY_VIA_FUNCTION.format(reason=error)
            raise TransportError(reason, again=False) from error
        return words

    async def _ask_extension(self, number: int, params: Any, context: Context) -> Any:
        given = plain(params), plain(context)
        try:
            return await self.bridge.call(
                "acp.features.extensions.handlers", "request", number, *given
            )
        except NvimError as error:
            raise RequestError(INTERNAL_ERROR, str(error)) from error

    def _notify_extension(self, params: Any, context: Context) -> None:
        """Queue a frame operation, so that the call follows the text that arrived before it."""
        self.screen.push("extension", plain(params), plain(context))
