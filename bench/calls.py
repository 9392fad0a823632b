"""Cases in which the agent calls the editor's own tools.

The floor has no tools. The other column is the same typing, or the same request, without an agent.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.editor import LETTERS, Watched
from bench.results import Budget, Figure, percentile
from bench.sides import ROOT, Side
from bench.streaming import WrongText
from tests.support.lua import lua_chunk

FILE = "words.txt"

SERVE = lua_chunk(__file__, "start_server")
SAY = lua_chunk(__file__, "set_diagnostics")
OPEN = "vim.cmd.edit(...) vim.wo.wrap = false"
ATTACHED = "return #vim.lsp.get_clients({ bufnr = 0 }) == 1"
TYPED = "return vim.api.nvim_buf_get_lines(vim.fn.bufnr((...)), -2, -1, true)[1]"

ASK = lua_chunk(__file__, "time_requests")


@contextmanager
def served(words: int) -> Iterator[Side]:
    """Yield the product, warmed up, with an open file and a language server attached to it.

    The file defines and uses this number of words.
    """
    side = Side("product", "calls")
    try:
        argv = [sys.executable, "-m", "tests.support.language_server", json.dumps({})]
        side.editor.lua(SERVE, argv, str(ROOT))
        path = side.work / FILE
        lines = (f"def word{n}\nuse word{n}\n" for n in range(words))
        path.write_text("".join(lines) + "error: no such word\n", encoding="utf-8")
        side.editor.lua(OPEN, str(path))
        side.editor.wait(lambda: side.editor.lua(ATTACHED))
        called(side, "nvim_read", 1, path=FILE)
        yield side
    finally:
        side.close()


def called(side: Side, tool: str, count: int, *, keys: bool = False, **given: object) -> Watched:
    """Run one turn in which the agent calls a tool this number of times."""
    return side.run(f"{tool} {count} {json.dumps(given)}", every=0.02, keys=keys)


def took(side: Side) -> tuple[float, float]:
    """Return the median and the worst time of a call in the last turn, in milliseconds."""
    middle, worst = side.chat()[-1].split()
    return int(middle) / 1e6, int(worst) / 1e6


def calls() -> list[Figure]:
    """Measure calls while the user types in their file."""
    figures: list[Figure] = []
    for tool, count in (("nvim_read", 1000), ("nvim_diagnostics", 100)):
        with served(500) as side:
            side.editor.lua("vim.cmd('normal! Go') vim.cmd.startinsert()")
            # Neovim sends nothing to servers before the first pause after the first change.
            side.editor.pump_for(0.3)
            alone = _typing(side, 2)
            seen = called(side, tool, count, keys=True, path=FILE)
            _nothing_lost(side, [alone, seen])
            middle, worst = took(side)
        case = f"{count:,} {tool.removeprefix('nvim_')} while one types"
        most, high = Budget(16, "value"), Budget(8, "value")
        quiet, busy = alone.keys, seen.keys
        figures += [
            Figure(case, "key, p99", "ms", percentile(busy, 99), percentile(quiet, 99), high),
            Figure(case, "key, worst", "ms", max(busy), max(quiet), most),
            Figure(case, "not answering, worst", "ms", max(seen.gaps), max(alone.gaps)),
            Figure(case, "a call, median", "ms", middle),
            Figure(case, "a call, worst", "ms", worst),
        ]
    return figures


def _typing(side: Side, seconds: float) -> Watched:
    end = time.monotonic() + seconds
    return side.editor.watch(lambda: time.monotonic() > end, 0.02, keys=True)


def _nothing_lost(side: Side, runs: list[Watched]) -> None:
    """Check that the file has all keys in order. The last key of a run may be missing."""
    side.editor.pump_for(0.2)
    typed = side.editor.lua(TYPED, str(Path(side.work) / FILE))
    sent = [_letters(len(run.keys)) + f"{_letters(len(run.keys) + 1)[-1]}?" for run in runs]
    if not re.fullmatch("".join(sent), typed):
        raise WrongText(f"not the keys that were sent: {typed!r}")


def _letters(count: int) -> str:
    return "".join(LETTERS[n % len(LETTERS)] for n in range(count))


def many() -> list[Figure]:
    """Measure calls while the user types in a file with 10,000 diagnostics."""
    with served(10_000) as side:
        side.editor.lua(SAY)
        side.editor.lua("vim.cmd('normal! Go') vim.cmd.startinsert()")
        side.editor.pump_for(1)
        alone = _typing(side, 2)
        seen = called(side, "nvim_diagnostics", 20, keys=True, path=FILE, wait_ms=1)
        _nothing_lost(side, [alone, seen])
    case = "20 diagnostics of 10,000 while one types"
    most = Budget(16, "value")
    return [
        Figure(case, "key, p99", "ms", percentile(seen.keys, 99), percentile(alone.keys, 99), most),
        Figure(case, "not answering, worst", "ms", max(seen.gaps), max(alone.gaps)),
    ]


def overhead() -> list[Figure]:
    """Measure the time that a call adds to a direct request of Neovim to the language server."""
    figures: list[Figure] = []
    with served(20) as side:
        for tool, method in (
            ("nvim_hover", "textDocument/hover"),
            ("nvim_definition", "textDocument/definition"),
        ):
            pairs = [_both_ways(side, tool, method, 100) for _ in range(7)]
            by_agent, by_neovim = (median(times) for times in zip(*pairs, strict=True))
            added = median(ours - own for ours, own in pairs)
            case = f"700 x {tool}, one by one"
            figures += [
                Figure(case, "a call, median", "ms", by_agent, by_neovim),
                Figure(case, "over the server's own", "ms", added, None, Budget(2, "value")),
            ]
    return figures


def _both_ways(side: Side, tool: str, method: str, count: int) -> tuple[float, float]:
    """Return the median times, in milliseconds, of the agent's calls and Neovim's requests."""
    side.editor.messages.clear()
    side.editor.lua(ASK, method, 1, count)
    side.editor.wait(lambda: ("asked", []) in side.editor.messages)
    own = median(side.editor.lua("return _G.bench_took"))
    called(side, tool, count, path=FILE, line=2, symbol="word0")
    return took(side)[0], own
