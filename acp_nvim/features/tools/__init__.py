"""The editor's tools for agents: the list, questions before calls, the user's own tools."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from acp_nvim.tools.server.tool import Tool

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add("acp_nvim.features.tools.verbs", "user_tools")
    app.observers.tool_lists.append(partial(_own_tools, app))
    app.observers.on_setup.append(partial(_on_setup, app))


def _own_tools(app: Host) -> Iterable[Tool[Any]]:
    from acp_nvim.features.tools.tool_list import own_tools
    from acp_nvim.features.tools.tool_permissions import permissions

    return own_tools(app, permissions(app))


def _on_setup(app: Host, args: dict[str, Any]) -> None:
    if args.get("user_tools"):
        app.run("user_tools", {"tools": args["user_tools"]})
