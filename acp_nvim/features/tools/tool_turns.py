"""The editor's tools around a turn."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from acp_nvim.agent.observers import TurnStart
from acp_nvim.host.editor_tools import EditorTools
from acp_nvim.nvim.tool_editor import ToolEditor
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session


class ToolTurns(Struct, frozen=True, eq=False):
    """Observer of all turns for the editor's tools."""

    tools: EditorTools
    editor: ToolEditor

    async def on_turn_starting(self, turn: TurnStart) -> None:
        """Prepare Neovim, which has time until the agent calls a tool."""
        if turn.session.tools is not None and not turn.is_at_agent:
            asyncio.get_running_loop().call_soon(self.editor.turn_began, turn.session)

    def on_prompt_sent(self, session: Session, prompt: Prompt) -> None:
        self.tools.prompted(session)

    def on_turn_cancelled(self, session: Session) -> None:
        self.tools.cancel(session)

    async def on_turn_ended(self, session: Session) -> None:
        if session.tools is not None:
            self.editor.turn_ended(session)

    def on_agent_left(self, session: Session) -> None:
        """Withdraw the tools from a session that is closed or whose agent has ended."""
        if session.tools is not None:
            self.editor.closed(session)
        self.tools.withdraw(session)
