"""Tool `nvim_symbols`: the outline of a file, or the symbols of the workspace by name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from acp_nvim.session.session import Session
from acp_nvim.tools.asking.places import Spot, checked_answer, listing, result, spot
from acp_nvim.tools.files import ToolFiles
from acp_nvim.tools.ports import Answer, Encoding, LanguageServers
from acp_nvim.tools.server.fields import Limit, Path
from acp_nvim.tools.server.tool import Call, Tool, ToolError, ToolResult

KINDS = (
    *("file", "module", "namespace", "package", "class", "method", "property", "field"),
    *("constructor", "enum", "interface", "function", "variable", "constant", "string", "number"),
    *("boolean", "array", "object", "key", "null", "enum_member", "struct", "event", "operator"),
    "type_parameter",
)
"""Names of LSP's SymbolKind values, which count from 1."""


class SymbolsArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `nvim_symbols`."""

    path: Annotated[Path | None, Meta(description="File to outline")] = None
    query: Annotated[
        str | None, Meta(description="Or part of a name to find in the whole workspace")
    ] = None
    kinds: Annotated[
        list[str], Meta(description='Only these, such as ["class", "function", "method"]')
    ] = []
    limit: Limit = 100


class SymbolTools:
    """Tool for the symbols of files and of the workspace."""

    def __init__(self, servers: LanguageServers, files: ToolFiles) -> None:
        self._servers = servers
        self._files = files

    async def symbols(self, call: Call, args: SymbolsArguments) -> ToolResult:
        """Return the outline of a file. With a query, return matching symbols of the workspace."""
        kinds = _kinds(args.kinds)
        if args.query is not None:
            return await self._workspace(call.session, args, kinds)
        if args.path is None:
            raise ToolError("give `path` for the outline of a file, or `query` for a name")
        return await self._outline(call.session, args.path, args, kinds)

    async def _outline(
        self, session: Session, path: str, args: SymbolsArguments, kinds: Collection[int]
    ) -> ToolResult:
        where = await self._files.allow(session, path)
        answers = await self._servers.ask(session, where.real, "textDocument/documentSymbol", {})
        best = max(answers, key=lambda answer: len(answer.result or ()))
        with checked_answer(best.name):
            walked = list(_walk(best.result or (), where.real, best.encoding))
        spots = [spot for kind, spot in walked if kind in kinds]
        return await self._list_symbols(
            session, args, spots, f"{path} has no such symbols", where.real
        )

    async def _workspace(
        self, session: Session, args: SymbolsArguments, kinds: Collection[int]
    ) -> ToolResult:
        where = None if args.path is None else await self._files.allow(session, args.path)
        real = None if where is None else where.real
        query = {"query": args.query}
        answers = await self._servers.ask(session, real, "workspace/symbol", query)
        spots = [spot for kind, spot in _workspace_symbols(answers) if kind in kinds]
        empty_text = f"no symbol with {args.query!r} in its name"
        return await self._list_symbols(session, args, spots, empty_text, real)

    async def _list_symbols(
        self,
        session: Session,
        args: SymbolsArguments,
        spots: Sequence[Spot],
        empty_text: str,
        real: str | None,
    ) -> ToolResult:
        rows = await listing(session, self._files.sources(session), spots, args.limit)
        about = args.path or args.query or ""
        return result(rows, empty_text, "symbol", about, path=real)


def _kinds(names: Sequence[str]) -> Collection[int]:
    unknown = [name for name in names if name.lower() not in KINDS]
    if unknown:
        raise ToolError(f"unknown kind {unknown[0]!r}. Known: {', '.join(KINDS)}")
    wanted = {name.lower() for name in names} or set(KINDS)
    return {number for number, name in enumerate(KINDS, 1) if name in wanted}


def _kind(number: Any) -> str:
    return KINDS[number - 1] if isinstance(number, int) and 0 < number <= len(KINDS) else "symbol"


def _spot(
    symbol: dict[str, Any], uri: str, span: Any, encoding: Encoding, container: str
) -> tuple[int, Spot]:
    kind, name = _kind(symbol.get("kind")), symbol["name"]
    of = f" of {container}" if container else ""
    extra = {"name": name, "kind": kind, **({"container": container} if container else {})}
    return symbol.get("kind", 0), spot(uri, span, encoding, f"{kind} {name}{of}:", **extra)


def _walk(
    symbols: Sequence[dict[str, Any]], real: str, encoding: Encoding, container: str = ""
) -> Iterator[tuple[int, Spot]]:
    """Yield DocumentSymbols with their children, or SymbolInformation, with the kind of each."""
    for symbol in symbols:
        if "location" in symbol:
            span, inside = symbol["location"]["range"], symbol.get("containerName") or ""
        else:
            span, inside = symbol.get("selectionRange") or symbol["range"], container
        kind, spot = _spot(symbol, "", span, encoding, inside)
        yield kind, msgspec.structs.replace(spot, path=real)
        yield from _walk(symbol.get("children") or (), real, encoding, symbol["name"])


def _workspace_symbols(answers: Sequence[Answer]) -> Iterator[tuple[int, Spot]]:
    """Yield SymbolInformation or WorkspaceSymbol. The location may lack a range."""
    start = {"start": {"line": 0, "character": 0}}
    for answer in answers:
        for symbol in answer.result or ():
            with checked_answer(answer.name):
                where = symbol["location"]
                span, container = where.get("range", start), symbol.get("containerName") or ""
                place = _spot(symbol, where["uri"], span, answer.encoding, container)
            yield place


def symbol_tools(servers: LanguageServers, files: ToolFiles) -> list[Tool[Any]]:
    return [
        Tool(
            "nvim_symbols",
            "Symbols",
            "Outline of a file (classes, functions, methods with their lines), or symbols of "
            "the whole workspace by name. Prefer this to reading a long file or grepping for "
            "`def`. "
            'Examples: {"path": "app.py"} or {"query": "Config", "kinds": ["class"]}',
            SymbolsArguments,
            SymbolTools(servers, files).symbols,
            timeout_s=None,
        )
    ]
