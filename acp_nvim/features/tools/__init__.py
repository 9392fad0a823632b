"""The editor's and the user's tools for agents, and permissions for their calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from acp_nvim.agent.observers import TurnStart
from acp_nvim.host.editor_tools import EditorTools
from acp_nvim.nvim.tool_editor import ToolEditor
from acp_nvim.session.session import Session
from acp_nvim.tools.server.tool import Tool
from acp_nvim.tools.server.toolbox import ToolList

if TYPE_CHECKING:
    from acp_nvim.app import Host

WRITES: Final = {
    "nvim_diagnostics": False,
    "nvim_symbols": False,
    "nvim_definition": False,
    "nvim_references": False,
    "nvim_hover": False,
    "nvim_calls": False,
    "nvim_buffers": False,
    "nvim_search": False,
    "nvim_quickfix": False,
    "nvim_show": False,
    "nvim_edit": True,
    "nvim_rename": True,
    "nvim_code_actions": False,
    "nvim_apply_code_action": True,
    "nvim_format": True,
    "nvim_read": False,
}
"""Names of the tools in the order of `tool_list.own_tools`, and whether each changes files."""


class ToolTurns(Struct, frozen=True, eq=False):
    """Observer of all turns for the editor's tools."""

    tools: EditorTools
    editor: ToolEditor

    async def on_turn_starting(self, turn: TurnStart) -> None:
        """Announce the turn to Neovim, which can then prepare before the agent calls a tool."""
        if turn.session.tools is not None and not turn.is_at_agent:
            asyncio.get_running_loop().call_soon(self.editor.turn_began, turn.session)

    async def on_turn_ended(self, session: Session) -> None:
        if session.tools is not None:
            self.editor.turn_ended(session)

    def on_agent_left(self, session: Session) -> None:
        """Withdraw the tools from a session that is closed or whose agent has ended."""
        if session.tools is not None:
            self.editor.on_session_closed(session)
        self.tools.withdraw(session)


def install(app: Host) -> None:
    editor = ToolEditor(app.nvim.bridge, app.nvim.async_calls)
    turns = ToolTurns(app.tools, editor)
    observers = app.conversation_observers
    observers.on_turn_starting.append(turns.on_turn_starting)
    observers.on_prompt_sent.append(app.tools.on_prompt_sent)
    observers.on_turn_cancelled.append(app.toolbox.cancel)
    observers.on_turn_ended.append(turns.on_turn_ended)
    observers.on_agent_left.append(turns.on_agent_left)
    app.verbs.add("acp_nvim.features.tools.verbs", "user_tools")
    app.observers.tool_lists.append(ToolList(WRITES, partial(_own_tools, app, editor)))
    app.observers.on_setup.append(partial(_on_setup, app))


def _own_tools(app: Host, editor: ToolEditor) -> Iterable[Tool[Any]]:
    from acp_nvim.features.tools.tool_list import own_tools
    from acp_nvim.features.tools.tool_permissions import permissions

    return own_tools(app, permissions(app), editor)


def _on_setup(app: Host, args: dict[str, Any]) -> None:
    if args.get("user_tools"):
        app.run("user_tools", {"tools": args["user_tools"]})
