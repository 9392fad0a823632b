"""Tool `nvim_read`: the live text of a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from acp_nvim.files.writes.agent_files import AgentFiles
from acp_nvim.session.session import Session
from acp_nvim.tools.server import fields
from acp_nvim.tools.server.tool import Call, Tool, ToolResult

DESCRIPTION: Final = (
    "Read a file as the user sees it in the editor, including unsaved changes. Prefer this to "
    "reading from disk, where the file may be older. A later nvim_edit of the file starts from "
    "this text. "
    'Example: {"path": "src/app.py", "line": 40, "limit": 80}'
)


class ReadArguments(Struct, frozen=True):
    """Arguments of `nvim_read`."""

    path: fields.Path
    line: Annotated[int, Meta(ge=1, description="First line, 1-based (default: 1)")] | None = None
    limit: (
        Annotated[int, Meta(ge=1, description="Maximum number of lines (default: all)")] | None
    ) = None


def read_tool(
    files: AgentFiles[Session], on_read: Callable[[Session, str], None] = lambda session, path: None
) -> Tool[Any]:
    """Return the tool, which uses the same guard as `fs/read_text_file`.

    `on_read` is called with each file that is read.
    """

    async def run(call: Call, given: ReadArguments) -> ToolResult:
        path = str(Path(call.session.cwd, given.path))
        on_read(call.session, path)
        text = await files.read(call.session, path, given.line, given.limit)
        structured = {"path": path, "line": given.line or 1, "text": text}
        return ToolResult(text, structured, Path(path).name)

    # Without a limit, because the guard may ask the user.
    return Tool("nvim_read", "Read", DESCRIPTION, ReadArguments, run, timeout_s=None)
