"""List of the editor's tools. Only this module imports them, after the agent was started."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acp_nvim.files.ports import FileOptions
from acp_nvim.files.workspace import Workspace
from acp_nvim.nvim.async_calls import AsyncCalls
from acp_nvim.nvim.bridge import Bridge
from acp_nvim.nvim.documents import NvimDocuments
from acp_nvim.nvim.language_servers import NvimLanguageServers
from acp_nvim.nvim.tool_editor import ToolEditor
from acp_nvim.session.session import Session
from acp_nvim.tools.asking.read_file import read_tool
from acp_nvim.tools.asking.reading import reading_tools
from acp_nvim.tools.asking.searcher import ProgramSearcher
from acp_nvim.tools.changing.change_ports import Permissions
from acp_nvim.tools.changing.changes import Changes
from acp_nvim.tools.changing.writing import writing_tools
from acp_nvim.tools.files import ToolFiles
from acp_nvim.tools.server.tool import Tool


def own_tools(
    bridge: Bridge,
    calls: AsyncCalls,
    editor: ToolEditor,
    workspace: Workspace[Session],
    options: Callable[[], FileOptions],
    permissions: Permissions,
    on_read: Callable[[Session, str], None],
) -> list[Tool[Any]]:
    """Return the editor's tools in the order of the list.

    ``on_read`` is called for each file that an agent reads by one of them.
    """
    files = workspace.files
    seen = ToolFiles(files, workspace.edits.buffers, options)
    servers = NvimLanguageServers(calls)
    documents = NvimDocuments(bridge, calls)
    changes = Changes(files, workspace.change_sets, permissions)
    return [
        *reading_tools(servers, editor, seen, ProgramSearcher()),
        *writing_tools(servers, documents, changes),
        read_tool(files, on_read),
    ]
