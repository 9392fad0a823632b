"""List of the editor's tools. Only this module imports them, once an agent has started."""

from __future__ import annotations

from typing import Any

from acp_nvim.app import Host
from acp_nvim.nvim.language_servers import NvimDocuments, NvimLanguageServers
from acp_nvim.nvim.tool_editor import ToolEditor
from acp_nvim.tools.asking.read_file import read_tool
from acp_nvim.tools.asking.searcher import ProgramSearcher
from acp_nvim.tools.changing.change_ports import Permissions
from acp_nvim.tools.changing.changes import Changes
from acp_nvim.tools.files import ToolFiles
from acp_nvim.tools.own_tools import reading_tools, writing_tools
from acp_nvim.tools.server.tool import Tool


def own_tools(host: Host, permissions: Permissions, editor: ToolEditor) -> list[Tool[Any]]:
    """Return the editor's tools in the order of the list."""
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
