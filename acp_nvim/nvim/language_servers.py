"""Implementations of the ports `LanguageServers` and `Documents`, over the bridge.

They call functions in `lua/acp/buffers/language/`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final

import msgspec

from acp_nvim.files.bytes.paths import below
from acp_nvim.files.changes.turns import real_roots
from acp_nvim.nvim.async_calls import AsyncCalls
from acp_nvim.nvim.bridge import Bridge, NvimError
from acp_nvim.session.session import Session
from acp_nvim.tools.changing.change_ports import Document, FormattedText, Formatters
from acp_nvim.tools.ports import Answer, Position
from acp_nvim.tools.server.tool import ToolError

SERVERS: Final = "acp.buffers.language.lsp"
DOCUMENTS: Final = "acp.buffers.language.documents"
COMMANDS: Final = "acp.buffers.language.commands"
FORMATTING: Final = "acp.buffers.language.formatting"


class NvimLanguageServers:
    """Language servers of the user's Neovim."""

    def __init__(self, calls: AsyncCalls) -> None:
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
        """Return the answers of a file's servers.

        A file outside of the session's directories is not loaded.
        """
        question = _request_fields(session, path)
        question |= {"method": method, "params": params, "wait_ms": wait_ms}
        if at is not None:
            places = (at,) if isinstance(at, Position) else at
            question["at"] = [[place.row, place.column] for place in places]
        if client is not None:
            question["client"] = client
        answers = await _result(self._calls.call(SERVERS, "ask", question))
        return msgspec.convert(answers, list[Answer])

    async def resolve(
        self, client: int, path: str, method: str, params: Any, session: Session | None = None
    ) -> Any:
        question = {"path": path} if session is None else _request_fields(session, path)
        question |= {"client": client, "method": method, "params": params}
        return await _result(self._calls.call(SERVERS, "resolve", question))


class NvimDocuments:
    """Loaded files of the user's Neovim."""

    def __init__(self, bridge: Bridge, calls: AsyncCalls) -> None:
        self._bridge = bridge
        self._calls = calls

    async def loaded(self) -> Mapping[str, Document]:
        documents = await _result(self._bridge.call(DOCUMENTS, "loaded"))
        return msgspec.convert(documents, dict[str, Document])

    async def diagnostics(self, path: str, first: int, last: int) -> Sequence[Any]:
        request = self._bridge.call(DOCUMENTS, "diagnostics", path, first, last)
        diagnostics: list[Any] = await _result(request)
        return diagnostics

    async def formatters(self, session: Session, path: str) -> Formatters:
        request = self._calls.call(DOCUMENTS, "formatters", _request_fields(session, path))
        return msgspec.convert(await _result(request), Formatters)

    async def format(
        self, session: Session, path: str, lines: Sequence[str], rows: tuple[int, int] | None
    ) -> FormattedText:
        question = _to_format(session, path, lines, rows)
        formatted = await _result(self._calls.call(DOCUMENTS, "format", question))
        return msgspec.convert(formatted, FormattedText)

    async def format_by_options(
        self, session: Session, path: str, lines: Sequence[str], rows: tuple[int, int] | None
    ) -> FormattedText:
        question = _to_format(session, path, lines, rows)
        formatted = await _result(self._calls.call(FORMATTING, "by_options", question))
        return msgspec.convert(formatted, FormattedText)

    async def run(
        self, session: Session, client: int, path: str, command: Mapping[str, Any]
    ) -> Sequence[Any]:
        question = _request_fields(session, path) | {"client": client, "command": dict(command)}
        edits: list[Any] = await _result(self._calls.call(COMMANDS, "run", question))
        return edits


async def _result(request: Awaitable[Any]) -> Any:
    """Return an answer from Neovim. Raise ToolError with its message if it is an error."""
    try:
        return await request
    except NvimError as error:
        raise ToolError(str(error)) from error


def _request_fields(session: Session, path: str | None) -> dict[str, Any]:
    """Return the fields of a request for a file, or for the session's directories.

    `session` is present if the file may be loaded, that is, inside the session's directories.
    """
    if path is None:
        return {"roots": real_roots(session)}
    is_inside = below(path, session.roots) is not None
    return {"path": path, "session": session.n} if is_inside else {"path": path}


def _to_format(
    session: Session, path: str, lines: Sequence[str], rows: tuple[int, int] | None
) -> dict[str, Any]:
    question = _request_fields(session, path) | {"lines": list(lines)}
    return question if rows is None else question | {"range": list(rows)}
