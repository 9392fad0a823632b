"""Loaded files of the user's Neovim, over the bridge: the port `Documents`."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from acp_nvim.files.bytes.paths import below
from acp_nvim.nvim.bridge import NvimError
from acp_nvim.session.session import Session
from acp_nvim.tools.changing.change_ports import Document, Formatted, Formatters
from acp_nvim.tools.server.tool import ToolError

MODULE: Final = "acp.buffers.language.documents"
COMMANDS: Final = "acp.buffers.language.commands"
FORMATTING: Final = "acp.buffers.language.formatting"


class Caller(Protocol):
    """Bridge, or `AsyncCalls`."""

    def call(self, module: str, function: str, *args: Any) -> Awaitable[Any]:
        """Run a function of Lua."""
        ...


class NvimDocuments:
    """Implementation of `Documents` in Lua (`lua/acp/tools/`)."""

    def __init__(self, bridge: Caller, later: Caller) -> None:
        """``later`` calls asynchronous functions."""
        self._bridge = bridge
        self._later = later

    async def loaded(self) -> Mapping[str, Document]:
        found = await _result(self._bridge.call(MODULE, "loaded"))
        return msgspec.convert(found, dict[str, Document])

    async def diagnostics(self, path: str, first: int, last: int) -> Sequence[Any]:
        asked = self._bridge.call(MODULE, "diagnostics", path, first, last)
        found: list[Any] = await _result(asked)
        return found

    async def formatters(self, session: Session, path: str) -> Formatters:
        found = await self._ask(MODULE, "formatters", _request_fields(session, path))
        return msgspec.convert(found, Formatters)

    async def format(
        self, session: Session, path: str, lines: Sequence[str], rows: tuple[int, int] | None
    ) -> Formatted:
        question = _request_fields(session, path) | {"lines": list(lines)}
        if rows is not None:
            question["range"] = list(rows)
        return msgspec.convert(await self._ask(MODULE, "format", question), Formatted)

    async def format_by_options(
        self, session: Session, path: str, lines: Sequence[str], rows: tuple[int, int] | None
    ) -> Formatted:
        question = _request_fields(session, path) | {"lines": list(lines)}
        if rows is not None:
            question["range"] = list(rows)
        return msgspec.convert(await self._ask(FORMATTING, "by_options", question), Formatted)

    async def run(
        self, session: Session, client: int, path: str, command: Mapping[str, Any]
    ) -> Sequence[Any]:
        question = _request_fields(session, path) | {"client": client, "command": dict(command)}
        found: list[Any] = await self._ask(COMMANDS, "run", question)
        return found

    async def _ask(self, module: str, function: str, question: dict[str, Any]) -> Any:
        return await _result(self._later.call(module, function, question))


async def _result(asked: Awaitable[Any]) -> Any:
    """Return an answer of Neovim. Raise ToolError with its message if it is an error."""
    try:
        return await asked
    except NvimError as error:
        raise ToolError(str(error)) from error


def _request_fields(session: Session, path: str) -> dict[str, Any]:
    """Return the fields of a request for a file.

    `session` is present if the file may be loaded for it, that is, inside its directories.
    """
    inside = below(path, session.roots) is not None
    return {"path": path, "session": session.n} if inside else {"path": path}
