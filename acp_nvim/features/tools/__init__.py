"""Tools of the editor and of the user for agents, and permissions for their calls."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

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


def install(app: Host) -> None:
    app.verbs.add("acp_nvim.features.tools.verbs", "user_tools")
    app.observers.tool_lists.append(ToolList(WRITES, partial(_own_tools, app)))
    app.observers.on_setup.append(partial(_on_setup, app))


def _own_tools(app: Host) -> Iterable[Tool[Any]]:
    from acp_nvim.features.tools.tool_list import own_tools
    from acp_nvim.features.tools.tool_permissions import permissions

    return own_tools(app, permissions(app))


def _on_setup(app: Host, args: dict[str, Any]) -> None:
    if args.get("user_tools"):
        app.run("user_tools", {"tools": args["user_tools"]})
