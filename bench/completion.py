"""Case of completions in a composer, in a directory with many files."""

from __future__ import annotations

from statistics import median

from bench.calls import ASK
from bench.results import Budget, Figure
from bench.sides import Side

FOLDERS, FILES = 100, 100
RUNS, LISTS = 3, 30
WORD = "@d7/f"
"""Text that matches a hundred paths. `time_requests.lua` completes at its end."""

OPEN = """
local before = vim.uv.hrtime()
vim.cmd.AcpPrompt()
return (vim.uv.hrtime() - before) / 1e6
"""
READY = """
local files = require('acp.features.prompts.composer.files')
local _, is_listed = files.list(vim.fn.getcwd())
return is_listed and #vim.lsp.get_clients({ name = 'acp' }) == 1
"""
TYPE = "vim.api.nvim_buf_set_lines(0, 0, -1, false, { ... })"


def completion() -> list[Figure]:
    """Measure the first composer of a Neovim, then completion lists by the server `acp`."""
    held: list[float] = []
    took: list[float] = []
    gaps: list[float] = []
    for _ in range(RUNS):
        opened, lists, away = _run()
        held.append(opened)
        took += lists
        gaps += away
    case = f"completions, {FOLDERS * FILES:,} files"
    return [
        Figure(case, "first composer holds", "ms", median(held)),
        Figure(case, "a list, median", "ms", median(took), None, Budget(50, "value")),
        Figure(case, "not answering, worst", "ms", max(gaps), None, Budget(16, "value")),
    ]


def _run() -> tuple[float, list[float], list[float]]:
    """Return times in milliseconds: of the first composer, of the lists, and of pings."""
    side = Side("product", "cold")
    editor = side.editor
    try:
        for folder in range(FOLDERS):
            path = side.work / f"d{folder}"
            path.mkdir()
            for n in range(FILES):
                (path / f"file_{n}.py").touch()
        side.run(new=False)
        editor.pump_for(0.3)
        held = editor.lua(OPEN)
        editor.wait(lambda: bool(editor.lua(READY)))
        editor.lua(TYPE, WORD)
        editor.messages.clear()
        editor.lua(ASK, "textDocument/completion", 0, LISTS)
        seen = editor.watch(lambda: ("asked", []) in editor.messages, 0.002)
        return held, editor.lua("return _G.bench_took"), seen.gaps
    finally:
        side.close()
