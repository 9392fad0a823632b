"""Lists of the editor's tools: tools that read, and tools that change files."""

from __future__ import annotations

from typing import Any

from acp_nvim.tools.asking.diagnostics import diagnostics_tools
from acp_nvim.tools.asking.navigation import navigation_tools
from acp_nvim.tools.asking.search import Searcher, search_tools
from acp_nvim.tools.asking.symbols import symbol_tools
from acp_nvim.tools.asking.views import view_tools
from acp_nvim.tools.changing.action_tools import CodeActions, action_tools
from acp_nvim.tools.changing.change_ports import Documents
from acp_nvim.tools.changing.changes import Changes
from acp_nvim.tools.changing.edit_tool import edit_tool
from acp_nvim.tools.changing.format_tool import format_tool
from acp_nvim.tools.changing.rename_tool import rename_tool
from acp_nvim.tools.changing.server_edits import ServerEdits
from acp_nvim.tools.files import ToolFiles
from acp_nvim.tools.ports import Editor, LanguageServers
from acp_nvim.tools.server.tool import Tool


def reading_tools(
    servers: LanguageServers, editor: Editor, files: ToolFiles, searcher: Searcher
) -> list[Tool[Any]]:
    """Return the tools in the order of the list."""
    buffers, quickfix, show = view_tools(editor, files)
    return [
        *diagnostics_tools(editor, files),
        *symbol_tools(servers, files),
        *navigation_tools(servers, files),
        buffers,
        *search_tools(files, searcher),
        quickfix,
        show,
    ]


def writing_tools(
    servers: LanguageServers, documents: Documents, changes: Changes
) -> list[Tool[Any]]:
    """Return the tools in the order of the list, with the one that lists code actions."""
    edits = ServerEdits(documents, changes)
    return [
        edit_tool(changes),
        rename_tool(servers, edits, changes),
        *action_tools(CodeActions(servers, documents, edits, changes)),
        format_tool(servers, documents, changes),
    ]
