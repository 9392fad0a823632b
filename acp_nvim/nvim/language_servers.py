"""Language servers of the user's Neovim, over the bridge: the port `LanguageServers`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec

from acp_nvim.files.bytes.paths import below
from acp_nvim.nvim.bridge import NvimError
from acp_nvim.session.session import Session
from acp_nvim.tools.ports import Answer, Position
from acp_nvim.tools.server.tool import ToolError

MODULE: Final = "acp.buffers.language.lsp"


class Calls(Protocol):
    """Caller of asynchronous functions (`AsyncCalls`)."""

    async def call(self, module: str, function: str, *args: Any) -> Any:
        """Run an asynchronous Lua function."""
        ...


class NvimLanguageServers:
    """Implementation of `LanguageServers` in Lua (`lua/acp/buffers/language/lsp.lua`)."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def ask(
        self,
        session: Session,
        path: str | None,
        method: str,
        params: dict[str, Any],
        *,
        at: Position | tuple[Position, Position] | None = None,
        wait_ms: int = 1500,
        client: int | None = None,
    ) -> Sequence[Answer]:
        """Ask the servers of a file. A file outside of the session's directories is not loaded."""
        question = _request_fields(session, path)
        question |= {"method": method, "params": params, "wait_ms": wait_ms}
        if at is not None:
            places = (at,) if isinstance(at, Position) else at
            question["at"] = [[place.row, place.column] for place in places]
        if client is not None:
            question["client"] = client
        return msgspec.convert(await self._call("ask", question), list[Answer])

    async def resolve(
        self, client: int, path: str, method: str, params: Any, session: Session | None = None
    ) -> Any:
        question = {"path": path} if session is None else _request_fields(session, path)
        question |= {"client": client, "method": method, "params": params}
        return await self._call("resolve", question)

    async def _call(self, function: str, question: dict[str, Any]) -> Any:
        try:
            return await self._calls.call(MODULE, function, question)
        except NvimError as error:
            raise ToolError(str(error)) from error


def _request_fields(session: Session, path: str | None) -> dict[str, Any]:
    """Return the fields of a request for a file, or for the session's directories.

    `session` is present if the file may be loaded, that is, inside the session's directories.
    """
    if path is None:
        return {"roots": [os.path.realpath(root) for root in session.roots]}
    inside = below(path, session.roots) is not None
    return {"path": path, "session": session.n} if inside else {"path": path}
