"""Searches in other processes.

Files are searched by ripgrep if it is installed, all else by `search_program`.

The processes do not block the host, and are killed if an expression takes too long.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
from anyio import to_thread

from acp_nvim.files.checkpoints.private_git import environment, list_files
from acp_nvim.files.checkpoints.store import StoreError
from acp_nvim.tools.asking import search_program
from acp_nvim.tools.asking.search import Match, Query, SearchResult

TIME_LIMIT_S: Final = 8.0
MAX_MATCHES: Final = 5000
"""Number of matches after which the search ends."""
MAX_LINE: Final = 32 * 1024 * 1024
"""Maximum number of bytes in one line of a program's output."""


def ripgrep() -> str | None:
    """Return the user's ripgrep, never one in the current directory."""
    return shutil.which("rg", path=environment(os.environ)["PATH"])


class ProgramSearcher:
    """`Searcher` that runs programs."""

    def __init__(
        self, find_ripgrep: Callable[[], str | None] = ripgrep, limit_s: float = TIME_LIMIT_S
    ) -> None:
        self._find_ripgrep = find_ripgrep
        self._limit_s = limit_s

    async def search(self, query: Query) -> SearchResult:
        """Search the unsaved texts, then the disk."""
        result = SearchResult([], is_complete=False)
        with anyio.move_on_after(self._limit_s):
            await self._search(query, result)
        return result

    async def _search(self, query: Query, result: SearchResult) -> None:
        program = self._find_ripgrep()
        if program is None:
            await _search_in_process(query, result, disk=True)
            return
        if query.texts:
            await _search_in_process(query, result, disk=False)
        result.begin()
        await _run_program(_ripgrep(program, query), b"", _parse_ripgrep, result, query)
        if not result.is_complete and len(result.matches) < MAX_MATCHES:
            # ripgrep does not support the expression
            await _search_in_process(query, result, disk=True)


async def _search_in_process(query: Query, result: SearchResult, *, disk: bool) -> None:
    """Search with `search_program`."""
    files, roots = await to_thread.run_sync(_list_with_git, query) if disk else ([], [])
    job: search_program.Job = {
        "pattern": query.expression,
        "ignore_case": query.ignore_case,
        "texts": dict(query.texts),
        "files": files,
        "roots": roots,
    }
    argv = [sys.executable, "-I", "-S", search_program.__file__]
    await _run_program(argv, json.dumps(job).encode() + b"\n", _parse_own, result, query)


def _list_with_git(query: Query) -> tuple[list[str], list[str]]:
    """Return the files that git does not ignore, and the directories without a repository."""
    files: list[str] = []
    roots: list[str] = []
    for root in query.roots:
        try:
            files += filter(query.is_searched, list_files(root, os.environ))
        except StoreError:
            roots.append(root)
    return files, roots


def _ripgrep(program: str, query: Query) -> list[str]:
    flags = ["--json", "--no-config", "--hidden", "--glob", "!.git", "--max-filesize", "8M"]
    flags += [] if query.regex else ["--fixed-strings"]
    flags += ["--ignore-case"] if query.ignore_case else ["--case-sensitive"]
    return [program, *flags, "--regexp", query.pattern, "--", *query.roots]


def _parse_own(line: bytes, result: SearchResult, query: Query) -> None:
    """Parse a line of `search_program`."""
    match = msgspec.json.decode(line, type=Match | None)
    if match is None:
        result.end()
    else:
        result.matches.append(match)


def _parse_ripgrep(line: bytes, result: SearchResult, query: Query) -> None:
    """Parse a line of ripgrep's `--json`. Binary matches have `bytes` in place of `text`."""
    event: dict[str, Any] = msgspec.json.decode(line)
    data = event["data"]
    if event["type"] == "summary":
        result.end()
    elif event["type"] == "match" and "text" in data["path"] and "text" in data["lines"]:
        path, text = data["path"]["text"], data["lines"]["text"].rstrip("\r\n")
        start = data["submatches"][0]["start"] if data["submatches"] else 0
        column = len(text.encode()[:start].decode("utf-8", "replace")) + 1
        if path not in query.texts:
            text = text[: search_program.MAX_LINE]
            result.matches.append(Match(path, data["line_number"], column, text))


async def _run_program(
    argv: Sequence[str],
    job: bytes,
    parse: Callable[[bytes, SearchResult, Query], None],
    result: SearchResult,
    query: Query,
) -> None:
    """Run a program and parse its lines. Kill it on cancellation or after enough matches."""
    pipe, cwd = subprocess.PIPE, str(Path(query.roots[0]))
    async with await anyio.open_process(
        argv, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, cwd=cwd
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            await process.stdin.send(job)  # a program without input may have ended already
            await process.stdin.aclose()
        from anyio.streams.buffered import BufferedByteReceiveStream

        lines = BufferedByteReceiveStream(process.stdout)
        try:
            while len(result.matches) < MAX_MATCHES:
                parse(await lines.receive_until(b"\n", MAX_LINE), result, query)
        except anyio.IncompleteRead:
            return
        finally:
            if process.returncode is None:
                process.kill()
