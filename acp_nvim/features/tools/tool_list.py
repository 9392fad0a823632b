"""List of the editor's tools. Only this module imports the tools, once an agent has started."""

from __future__ import annotations

from typing import Any

from acp_nvim.app import Host
from acp_nvim.nvim.language_servers import NvimDocuments, NvimLanguageServers
from acp_nvim.nvim.tool_editor import ToolEditor
from acp_nvim.tools.asking.diagnostics import diagnostics_tools
from acp_nvim.tools.asking.navigation import navigation_tools
from acp_nvim.tools.asking.read_file import read_tool
from acp_nvim.tools.asking.search import Searcher, search_tools
from acp_nvim.tools.asking.searcher import ProgramSearcher
from acp_nvim.tools.asking.symbols import symbol_tools
from acp_nvim.tools.asking.views import view_tools
from acp_nvim.tools.changing.action_tools import CodeActions, action_tools
from acp_nvim.tools.changing.change_ports import Documents, Permissions
from acp_nvim.tools.changing.changes import Changes
from acp_nvim.tools.changing.edit_tool import edit_tool
from acp_nvim.tools.changing.format_tool import format_tool
from acp_nvim.tools.changing.rename_tool import rename_tool
from acp_nvim.tools.changing.server_edits import ServerEdits
from acp_nvim.tools.files import ToolFiles
from acp_nvim.tools.ports import Editor, LanguageServers
from acp_nvim.tools.server.tool import Tool


def own_tools(host: Host, permissions: Permissions, editor: ToolEditor) -> list[Tool[Any]]:
    """Return the editor's tools in the order in which agents see them."""
    files, calls = host.workspace.agent_files, host.nvim.async_calls
    tool_files = ToolFiles(files, host.workspace.files.buffers, host.options.files)
    servers = NvimLanguageServers(calls)
    documents = NvimDocuments(host.nvim.bridge, calls)
    changes = Changes(files, host.workspace.change_sets, permissions)
    return [
        *reading_tools(servers, editor, tool_files, ProgramSearcher()),
        *writing_tools(servers, documents, changes),
        read_tool(files, host.observers.file_read),
    ]


def reading_tools(
    servers: LanguageServers, editor: Editor, files: ToolFiles, searcher: Searcher
) -> list[Tool[Any]]:
    """Return the tools that change no files, in the order in which agents see them."""
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
    """Return the tools that change files, and the one that lists code actions."""
    edits = ServerEdits(documents, changes)
    return [
        edit_tool(changes),
        rename_tool(servers, edits, changes),
        *action_tools(CodeActions(servers, documents, edits, changes)),
        format_tool(servers, documents, changes),
    ]
