"""The tools of one session, as its MCP server needs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from acp_nvim.session.session import Session
from acp_nvim.tools.list_changes import ListChanges
from acp_nvim.tools.tool import Tool
from acp_nvim.tools.toolbox import Enabled, Outcome, Toolbox


class SessionTools:
    """A toolbox, as far as a session may use it."""

    def __init__(self, toolbox: Toolbox, session: Session, enabled: Enabled) -> None:
        self._toolbox = toolbox
        self._session = session
        self._enabled = enabled
        self._told = self._listing()
        self.changes = ListChanges()

    def offer(self) -> None:
        """Let the session know which there are."""
        tools = self.listed()
        writing = {tool.name for tool in tools if tool.writes}
        self._session.offer_tools([tool.name for tool in tools], writing)

    def refresh(self) -> None:
        """The toolbox has changed: where that shows here, session and clients are told."""
        listing = self._listing()
        if listing != self._told:
            self._told = listing
            self.offer()
            self.changes.tell()

    def listed(self) -> list[Tool[Any]]:
        """Those on offer."""
        return self._toolbox.listed(self._enabled)

    def _listing(self) -> list[tuple[Any, ...]]:
        """What clients are told of the tools. Their functions are new ones each time."""
        return [
            (it.name, it.title, it.description, it.arguments, it.writes, it.schema)
            for it in self.listed()
        ]

    async def call(
        self, name: str, arguments: msgspec.Raw | None, progress: Callable[[str], None]
    ) -> Outcome:
        """Run one. Raises `UnknownTool`."""
        return await self._toolbox.call(
            self._session, name, arguments, enabled=self._enabled, progress=progress
        )
