"""All tools that change files, and the one that lists what can be applied."""

from __future__ import annotations

from typing import Any

from acp_nvim.tools.action_tools import CodeActions, action_tools
from acp_nvim.tools.change_ports import Documents
from acp_nvim.tools.changes import Changes
from acp_nvim.tools.edit_tool import edit_tool
from acp_nvim.tools.format_tool import format_tool
from acp_nvim.tools.ports import LanguageServers
from acp_nvim.tools.rename_tool import rename_tool
from acp_nvim.tools.server_edits import ServerEdits
from acp_nvim.tools.tool import Tool


def writing_tools(
    servers: LanguageServers, documents: Documents, changes: Changes
) -> list[Tool[Any]]:
    """They share one way of making changes."""
    edits = ServerEdits(documents, changes)
    return [
        edit_tool(changes),
        rename_tool(servers, edits, changes),
        *action_tools(CodeActions(servers, documents, edits, changes)),
        format_tool(servers, documents, changes),
    ]
