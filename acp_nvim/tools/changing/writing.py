"""List of the tools that change files, with the one that lists code actions."""

from __future__ import annotations

from typing import Any

from acp_nvim.tools.changing.action_tools import CodeActions, action_tools
from acp_nvim.tools.changing.change_ports import Documents
from acp_nvim.tools.changing.changes import Changes
from acp_nvim.tools.changing.edit_tool import edit_tool
from acp_nvim.tools.changing.format_tool import format_tool
from acp_nvim.tools.changing.rename_tool import rename_tool
from acp_nvim.tools.changing.server_edits import ServerEdits
from acp_nvim.tools.ports import LanguageServers
from acp_nvim.tools.server.tool import Tool


def writing_tools(
    servers: LanguageServers, documents: Documents, changes: Changes
) -> list[Tool[Any]]:
    """Return the tools in the order of the list."""
    edits = ServerEdits(documents, changes)
    return [
        edit_tool(changes),
        rename_tool(servers, edits, changes),
        *action_tools(CodeActions(servers, documents, edits, changes)),
        format_tool(servers, documents, changes),
    ]
