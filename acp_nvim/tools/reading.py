"""The tools that read: what the editor and its language servers know."""

from __future__ import annotations

from typing import Any

from acp_nvim.tools.diagnostics import diagnostics_tools
from acp_nvim.tools.files import ToolFiles
from acp_nvim.tools.navigation import navigation_tools
from acp_nvim.tools.ports import Editor, LanguageServers
from acp_nvim.tools.search import Searcher, search_tools
from acp_nvim.tools.symbols import symbol_tools
from acp_nvim.tools.tool import Tool
from acp_nvim.tools.views import view_tools


def reading_tools(
    servers: LanguageServers, editor: Editor, files: ToolFiles, searcher: Searcher
) -> list[Tool[Any]]:
    """All of them, in the order in which agents list them."""
    return [
        *diagnostics_tools(editor, files),
        *symbol_tools(servers, files),
        *navigation_tools(servers, files),
        *view_tools(editor, files)[:1],
        *search_tools(files, searcher),
        *view_tools(editor, files)[1:],
    ]
