"""Tools of one session, for its MCP server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from acp_nvim.session.calls.tool_use import Offered
from acp_nvim.session.session import Session
from acp_nvim.tools.server.list_changes import ListChanges
from acp_nvim.tools.server.tool import Tool
from acp_nvim.tools.server.toolbox import Enabled, Outcome, Toolbox

_Listing = list[tuple[Any, ...]]


class SessionTools:
    """Tools of the toolbox that a session may use."""

    def __init__(self, toolbox: Toolbox, session: Session, enabled: Enabled) -> None:
        self._toolbox = toolbox
        self._session = session
        self._enabled = enabled
        self._sent: _Listing | None = None
        """Last listing that was sent, or None if none has been requested since the last change."""
        self.changes = ListChanges()

    def has_any(self) -> bool:
        return bool(self._offered().names)

    def offer(self) -> None:
        """Register the tools in the session."""
        self._session.offer_tools(self._offered)

    def _offered(self) -> Offered:
        return self._toolbox.offered(self._enabled)

    def refresh(self) -> None:
        """Notify the session and its clients if a toolbox change affects this listing."""
        sent, self._sent = self._sent, None
        if sent is None or _listing(self.list_tools()) != sent:
            self._session.change("tools")
            self.changes.count_change()

    def list_tools(self) -> list[Tool[Any]]:
        """Return the offered tools. Store their listing for the comparison in `refresh`."""
        tools = self._toolbox.list_tools(self._enabled)
        if self._sent is None:
            self._sent = _listing(tools)
        return tools

    async def call(
        self, name: str, arguments: msgspec.Raw | None, progress: Callable[[str], None]
    ) -> Outcome:
        """Run a tool. Raise `UnknownTool`."""
        return await self._toolbox.call(
            self._session, name, arguments, enabled=self._enabled, progress=progress
        )


def _listing(tools: Sequence[Tool[Any]]) -> _Listing:
    """Return the parts of the tools that clients see, to compare two listings."""
    return [
        (tool.name, tool.title, tool.description, tool.arguments, tool.writes, tool.schema)
        for tool in tools
    ]
