"""Implementation of the tools' port `Editor`, over the bridge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from acp_nvim.files.bytes.paths import below
from acp_nvim.files.changes.turns import real_roots
from acp_nvim.nvim.async_calls import AsyncCalls
from acp_nvim.nvim.bridge import Bridge, NvimError
from acp_nvim.session.session import Session
from acp_nvim.tools.server.tool import ToolError

if TYPE_CHECKING:
    from acp_nvim.tools.ports import Diagnostics, OpenBuffer, Quickfix, QuickfixItem

MODULE_PREFIX: Final = "acp.features.tools."
DIAGNOSTICS: Final = "acp.buffers.language.diagnostics"


class ToolEditor:
    """Editor whose functions are in Lua (`lua/acp/features/tools/`)."""

    def __init__(self, bridge: Bridge, calls: AsyncCalls) -> None:
        self._bridge = bridge
        self._calls = calls

    # -- turns ------------------------------------------------------------------------------------

    def turn_began(self, session: Session) -> None:
        """Announce the start of a turn, before its prompt is sent."""
        self._bridge.call_nowait(MODULE_PREFIX + "turns", "on_began", session.n)

    def turn_ended(self, session: Session) -> None:
        """Announce the end of a turn, so that files loaded for it are unloaded."""
        self._bridge.call_nowait(MODULE_PREFIX + "turns", "on_ended", session.n)

    def on_session_closed(self, session: Session) -> None:
        """Announce that a session is closed or its agent has exited."""
        self._bridge.call_nowait(MODULE_PREFIX + "turns", "on_closed", session.n)

    # -- the port ---------------------------------------------------------------------------------

    async def diagnostics(
        self,
        session: Session,
        path: str | None,
        *,
        severity: int,
        turn: bool,
        wait_ms: int,
        limit: int,
    ) -> Diagnostics:
        question: dict[str, Any] = {
            "session": session.n,
            "roots": real_roots(session),
            "severity": severity,
            "turn": turn,
            "wait_ms": wait_ms,
            "limit": limit,
        }
        if path is not None:
            question |= {"path": path, "load": below(path, session.roots) is not None}
        try:
            answer = await self._calls.call(DIAGNOSTICS, "read", question)
        except NvimError as error:
            raise ToolError(str(error)) from error
        from acp_nvim.tools.ports import Diagnostics

        return msgspec.convert(answer, Diagnostics)

    async def buffers(self) -> list[OpenBuffer]:
        from acp_nvim.tools.ports import OpenBuffer

        return msgspec.convert(await self._call("open_buffers", "list"), list[OpenBuffer])

    async def quickfix(self) -> Quickfix:
        from acp_nvim.tools.ports import Quickfix

        return msgspec.convert(await self._call("quickfix", "read"), Quickfix)

    async def set_quickfix(self, items: Sequence[QuickfixItem], title: str) -> None:
        listed = [_without_none(msgspec.structs.asdict(item)) for item in items]
        await self._call("quickfix", "set", listed, title)

    async def show(self, session: Session, path: str, first: int, last: int, text: str) -> None:
        mark = {"session": session.n, "path": path, "first": first, "last": last, "text": text}
        await self._call("show", "show", mark)

    async def _call(self, module: str, function: str, *args: Any) -> Any:
        try:
            return await self._bridge.call(MODULE_PREFIX + module, function, *args)
        except NvimError as error:
            raise ToolError(str(error)) from error


def _without_none(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table without items that are None, because Lua would get `vim.NIL` for them."""
    return {key: value for key, value in table.items() if value is not None}
