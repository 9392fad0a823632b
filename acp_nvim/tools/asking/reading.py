"""List of the tools that read data of the editor and its language servers."""

from __future__ import annotations

from typing import Any

from acp_nvim.tools.asking.diagnostics import diagnostics_tools
from acp_nvim.tools.asking.navigation import navigation_tools
from acp_nvim.tools.asking.search import Searcher, search_tools
from acp_nvim.tools.asking.symbols import symbol_tools
from acp_nvim.tools.asking.views import view_tools
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
