"""Tool `nvim_search`: search for lines in the workspace, including unsaved text."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Protocol

import msgspec
from anyio import to_thread
from msgspec import Meta

from acp_nvim.files.bytes.paths import Place, below, is_below, matches
from acp_nvim.session.session import Session
from acp_nvim.tools import files
from acp_nvim.tools.asking.places import count_with_noun, more_line
from acp_nvim.tools.files import Sources, ToolFiles
from acp_nvim.tools.server.fields import Limit
from acp_nvim.tools.server.tool import Call, Tool, ToolError, ToolResult


class SearchArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `nvim_search`."""

    pattern: Annotated[
        str, Meta(min_length=1, description="Text to find; literal unless regex is true")
    ]
    path: Annotated[
        str | None,
        Meta(description='Only files that match this glob, such as "*.py" or "src/**"'),
    ] = None
    regex: Annotated[bool, Meta(description="Read pattern as a regular expression")] = False
    ignore_case: bool = False
    limit: Limit = 100


class Match(msgspec.Struct, frozen=True, array_like=True, order=True):
    """Matching line of a resolved path.

    Lines and columns count from 1. Columns are in characters.
    """

    path: str
    line: int
    column: int
    text: str


class SearchResult(msgspec.Struct):
    """Matches that a search has found so far."""

    matches: list[Match]
    is_complete: bool
    """Whether the search has reached its end."""

    def begin(self) -> None:
        """Mark the result as incomplete until the next search program ends."""
        self.is_complete = False

    def end(self) -> None:
        """Mark the result as complete after the end of a search program."""
        self.is_complete = True


class Query(msgspec.Struct, frozen=True):
    """Query and scope of a search."""

    pattern: str
    regex: bool
    ignore_case: bool
    roots: Sequence[str]
    """Resolved directories."""
    texts: Mapping[str, str]
    """Texts by path that are searched instead of the files."""
    is_searched: Callable[[str], bool]
    """Function that returns whether a path may be searched. Any thread may call it."""

    @property
    def expression(self) -> str:
        """Return the pattern as a Python regular expression."""
        return self.pattern if self.regex else re.escape(self.pattern)


class Searcher(Protocol):
    """Searcher of files and texts, in other processes (`searcher.ProgramSearcher`)."""

    async def search(self, query: Query) -> SearchResult:
        """Return matching lines within a time limit. Raise ToolError."""
        ...


class SearchTool:
    """Search tool for the files of the session's directories."""

    def __init__(self, files: ToolFiles, searcher: Searcher) -> None:
        self._files = files
        self._searcher = searcher

    async def search(self, call: Call, args: SearchArguments) -> ToolResult:
        """Return the lines that contain a string or match a regular expression."""
        session, sources = call.session, self._files.sources(call.session)
        unsaved = await sources.unsaved()
        roots = await to_thread.run_sync(_roots, session)

        def is_searched(path: str) -> bool:
            return self._is_searched(session, path, args.path)

        texts = {path: "\n".join(text.lines) for path, text in unsaved.items() if is_searched(path)}
        query = Query(args.pattern, args.regex, args.ignore_case, roots, texts, is_searched)
        try:
            re.compile(query.expression)
        except re.error as error:
            raise ToolError(f"not a regular expression: {error}") from error
        result = await self._searcher.search(query)
        matches = sorted({match for match in result.matches if is_searched(match.path)})
        return await self._result(session, sources, args, SearchResult(matches, result.is_complete))

    def _is_searched(self, session: Session, real: str, glob: str | None) -> bool:
        inside = below(real, session.roots)
        if inside is None or not self._files.may_list(session, real):
            return False
        return glob is None or matches(Place(real, real), inside, [glob])

    async def _result(
        self, session: Session, sources: Sources, args: SearchArguments, result: SearchResult
    ) -> ToolResult:
        places: list[dict[str, Any]] = []
        examined = 0
        for match in result.matches:
            if len(places) == args.limit:
                break
            examined += 1
            # A file may also be secret because of its content or another name.
            if await sources.text(match.path) is not None:
                places.append(_place_table(session, match))
        more = len(result.matches) - examined
        lines = [
            f"{place['path']}:{place['line']}:{place['column']} {place['text']}" for place in places
        ]
        lines += _last_lines(args, len(places), more, result.is_complete)
        structured = {"places": places, "more": more, "complete": result.is_complete}
        return ToolResult("\n".join(lines), structured, count_with_noun(len(places) + more, "line"))


def _place_table(session: Session, match: Match) -> dict[str, Any]:
    path, text = files.display_path(session, match.path), files.cut_line(match.text)
    return {"path": path, "line": match.line, "column": match.column, "text": text}


def _last_lines(args: SearchArguments, shown: int, more: int, complete: bool) -> list[str]:
    if not complete:
        return [f"… at least {more} more: the search was cut short; narrow it by path"]
    return more_line(more) if shown or more else [f"no line contains {args.pattern!r}"]


def _roots(session: Session) -> list[str]:
    """Return the directories of a session, except those inside another of these directories."""
    real = sorted({os.path.realpath(root) for root in session.roots})
    return [root for root in real if not any(is_below(root, other) for other in real)]


def search_tools(files: ToolFiles, searcher: Searcher) -> list[Tool[Any]]:
    return [
        Tool(
            "nvim_search",
            "Search",
            "Lines of the project that contain a text, including unsaved text in open files, "
            "which grep and rg do not see. Ignored files and secrets are left out. Literal "
            "unless regex is true. "
            'Example: {"pattern": "load_config(", "path": "*.py"}',
            SearchArguments,
            SearchTool(files, searcher).search,
            timeout_s=None,
        )
    ]
