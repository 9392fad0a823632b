"""The tutor calls the editor's own tools, as any agent does: by the MCP server `neovim` that its
session was opened with (MCP 2025-11-25, stdio).
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any, Final

from acp_nvim.protocol import schema as s

if TYPE_CHECKING:
    from collections.abc import Sequence

SERVER: Final = "neovim"
VERSION: Final = "2025-11-25"
LINE_BYTES: Final = 4 << 20


class NoTools(Exception):
    """The session has none, or they cannot be reached; the text says why."""


class ToolFailed(Exception):
    """What a tool says of why it could not."""


class EditorTools:
    """Calls one tool: the connection lives as long as that."""

    def __init__(self, servers: Sequence[s.McpServer]) -> None:
        self._server = next(
            (it for it in servers if isinstance(it, s.McpServerStdio) and it.name == SERVER), None
        )

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Return the text of its result. NoTools, ToolFailed."""
        if self._server is None:
            raise NoTools("this session has no tools of the editor")
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                self._server.command,
                *self._server.args,
                stdin=pipe,
                stdout=pipe,
                env=os.environ | {it.name: it.value for it in self._server.env},
                limit=LINE_BYTES,
            )
        except OSError as error:
            raise NoTools(str(error)) from error
        try:
            return await _called(process, tool, arguments)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _called(process: asyncio.subprocess.Process, tool: str, arguments: dict[str, Any]) -> str:
    client = {"name": "tutor", "version": "1"}
    hello = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client}
    await _asked(process, 1, "initialize", hello)
    _send(process, method="notifications/initialized")
    result = await _asked(process, 2, "tools/call", {"name": tool, "arguments": arguments})
    text = "\n".join(it.get("text", "") for it in result.get("content", ()))
    if result.get("isError"):
        raise ToolFailed(text)
    return text


def _send(process: asyncio.subprocess.Process, **message: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


async def _asked(
    process: asyncio.subprocess.Process, number: int, method: str, params: dict[str, Any]
) -> dict[str, Any]:
    _send(process, id=number, method=method, params=params)
    assert process.stdout is not None
    while line := await process.stdout.readline():
        message = json.loads(line)
        if message.get("id") != number or "method" in message:
            continue
        if "error" in message:
            raise ToolFailed(str(message["error"].get("message")))
        found: dict[str, Any] = message["result"]
        return found
    raise NoTools("the editor has closed the connection")
