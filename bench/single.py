"""Cases with requests of the agent or the user: files, start, command, idle."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from bench import process
from bench.memory import REST_S
from bench.results import Budget, Figure, percentile
from bench.sides import ROOT, Side
from bench.streaming import WrongText, both
from bench.workloads import source
from tests.support.lua import lua_chunk

STARTS = 30
SLOW_MS = 300
"""Time that the slow agent takes to start, in milliseconds."""
WARM_WRITES, WRITES = 2, 21
"""Numbers of warm-up writes, in which both sides load and compile code, and of measured writes."""

SOURCING = """
local before = vim.uv.hrtime()
vim.cmd.source(...)
return (vim.uv.hrtime() - before) / 1e6
"""

HELD = lua_chunk(__file__, "time_command")


def reads() -> list[Figure]:
    """Measure 1,000 reads, one after another, of a buffer of 1,000 lines with one unsaved line.

    Then measure the same reads with 50 in flight.
    """
    each = _reads("reads")
    together = _reads("flight")
    return [
        Figure("1,000 reads of an open buffer", "wall", "ms", *each, Budget(0.9)),
        Figure("the same, 50 in flight", "wall", "ms", *together, Budget(1.1)),
    ]


def _reads(workload: str) -> tuple[float, float]:
    took: dict[str, list[float]] = {}
    with both(workload, "1000") as sides:
        for side in sides:
            path = _opened(side, source(1000))
            side.editor.request("nvim_buf_set_lines", 0, 0, 1, True, ["unsaved"])
            expected = "unsaved\n" + source(1000).split("\n", 1)[1]
            Path(f"{path}.expected").write_text(expected, encoding="utf-8")
        for _ in range(3):
            for side in sides:
                side.run(f"{side.work}/file.py")
                took.setdefault(side.name, []).append(int(side.chat()[-1]) / 1e6)
    return median(took["product"]), median(took["floor"])


def write() -> list[Figure]:
    """Measure a write of 10,000 lines with 50 hunks to an open buffer, including the save."""
    took: dict[str, list[float]] = {}
    gaps: dict[str, list[float]] = {}
    with both("write", "10000") as sides:
        for side in sides:
            _opened(side, source(10_000))
        for edition in range(WARM_WRITES + WRITES):
            for side in sides:
                seen = side.run(f"{side.work}/file.py {edition}")
                _compare(side, source(10_000, edition, 50))
                if edition >= WARM_WRITES:
                    took.setdefault(side.name, []).append(int(side.chat()[-1]) / 1e6)
                    gaps.setdefault(side.name, []).extend(seen.gaps)
    case = "10,000-line write with 50 hunks"
    return [
        Figure(case, "wall", "ms", median(took["product"]), median(took["floor"]), Budget(1.25)),
        Figure(case, "not answering, worst", "ms", max(gaps["product"]), max(gaps["floor"])),
    ]


def _opened(side: Side, text: str) -> Path:
    path = side.work / "file.py"
    path.write_text(text, encoding="utf-8")
    side.editor.lua("vim.cmd.edit(...)", str(path))
    return path


def _compare(side: Side, expected: str) -> None:
    """Check that buffer and file have the text that was sent."""
    path = side.work / "file.py"
    lines = side.editor.lua(
        "return vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, true)", str(path)
    )
    if "\n".join(lines) + "\n" != expected or path.read_text(encoding="utf-8") != expected:
        raise WrongText(f"{side.name}: the written text is wrong")


def cold() -> list[Figure]:
    """Measure the time from `:AcpPrompt` until the prompt reaches the agent, with no running host.

    Then measure it for an agent that takes 300 ms to start. Also measure how long Neovim is
    blocked.
    """
    took: dict[str, list[float]] = {"floor": [], "product": []}
    slow: dict[str, list[float]] = {"floor": [], "product": []}
    held: list[float] = []
    gaps: list[float] = []
    for _ in range(5):
        _start_cold(took, "0")
        _start_cold(slow, str(SLOW_MS))
        with both("cold") as sides:
            held_, gaps_ = _held(sides[1])
            held.append(held_)
            gaps.append(gaps_)
    case, until = "cold start", "first prompt at the agent"
    first = median(took["product"]), median(took["floor"])
    late = median(slow["product"]), median(slow["floor"])
    return [
        Figure(case, until, "ms", *first, Budget(1.7)),
        Figure(case, ":AcpPrompt holds", "ms", median(held), None, Budget(3, "value")),
        Figure(case, "main loop away", "ms", median(gaps)),
        Figure(f"cold, agent that needs {SLOW_MS} ms", until, "ms", *late, Budget(1)),
    ]


def _start_cold(took: dict[str, list[float]], delay_ms: str) -> None:
    with both("cold", delay_ms) as sides:
        for side in sides:
            began = time.monotonic_ns()
            side.run(new=False)
            took[side.name].append((int(side.chat()[-1]) - began) / 1e6)


def _held(side: Side) -> tuple[float, float]:
    """Return how long the command ran, and how long Neovim answered no ping, in milliseconds."""
    editor = side.editor
    editor.messages.clear()
    editor.lua("vim.schedule(function() " + HELD.replace("return _G.bench_held", "") + " end)")
    seen = editor.watch(lambda: ("done", []) in editor.messages, 0.0005)
    return float(editor.lua("return _G.bench_held")), max(seen.gaps, default=0.0)


def warm() -> list[Figure]:
    """Measure `:AcpPrompt` with a running host, agent and session, in a directory with files.

    Measure the times until the prompt reaches the agent and until the turn of one chunk ends, and
    how long the command blocks Neovim.
    """
    took: dict[str, list[float]] = {"floor": [], "product": []}
    answered: dict[str, list[float]] = {"floor": [], "product": []}
    with both("cold") as sides:
        for side in sides:
            for n in range(300):
                (side.work / f"f{n}").write_text(f"{n}\n", encoding="utf-8")
            for _ in range(3):
                side.run(new=False)
                side.editor.pump_for(0.3)
        for _ in range(25):
            for side in sides:
                answered[side.name].append(side.run(new=False).wall)
                began = side.editor.lua("return _G.bench_started")
                took[side.name].append((int(side.chat()[-1]) - began) / 1e6)
                side.editor.pump_for(0.05)
        found = [_held(sides[1]) for _ in range(20)]
    held = [a for a, _ in found]
    case = "warm :AcpPrompt"
    product, floor = median(took["product"]), median(took["floor"])
    product_end, floor_end = median(answered["product"]), median(answered["floor"])
    return [
        Figure(case, "prompt at the agent", "ms", product, floor, Budget(3)),
        Figure(case, "end of a turn of one chunk", "ms", product_end, floor_end),
        Figure(case, "holds, median", "ms", median(held), None, Budget(0.3, "value")),
        Figure(case, "holds, worst", "ms", max(held)),
        Figure(case, "main loop away, worst", "ms", max(b for _, b in found)),
    ]


def imports() -> list[Figure]:
    """Measure the imports of the host before its first verb."""
    code = "import gc; gc.disable(); import acp_nvim.main"
    argv = [sys.executable, "-X", "importtime", "-c", code]
    times: list[float] = []
    own = others = 0
    for _ in range(5):
        told = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stderr
        lines = [line.split("|") for line in told.splitlines() if "|" in line]
        rows = [(name.strip(), part.split(":")[-1].strip()) for part, _, name in lines]
        found = [(name, int(us)) for name, us in rows if us.isdigit()]
        ours = [us for name, us in found if name.startswith("acp_nvim")]
        own, others = len(ours), len(found) - len(ours)
        times.append(sum(ours) / 1000)
    case = "imports of the host"
    return [
        Figure(case, "modules of ours", "times", own, None, Budget(289, "value")),
        Figure(case, "modules of others", "times", others),
        Figure(case, "ours, by importtime", "ms", median(times)),
    ]


def start() -> list[Figure]:
    """Measure the plugin's part of Neovim's startup: sourcing its one file in `plugin/`."""
    side = Side("product", "cold")
    try:
        found = []
        for _ in range(STARTS):
            side.editor.lua("vim.g.loaded_acp = nil")
            found.append(side.editor.lua(SOURCING, str(ROOT / "plugin/acp.lua")))
    finally:
        side.close()
    case = "Neovim's start"
    return [
        Figure(case, "plugin sourced, median", "ms", median(found), None, Budget(1, "value")),
        Figure(case, "plugin sourced, p90", "ms", percentile(found, 90)),
    ]


def rest() -> list[Figure]:
    """Count the wakeups of the host in two idle seconds, after all work of a turn has ended."""
    with both("burst", "1000") as sides:
        found: dict[str, int] = {}
        for side in sides:
            side.run()
            side.editor.pump_for(REST_S)
            before = process.wakeups(side.host_pid())
            side.editor.pump_for(2)
            found[side.name] = process.wakeups(side.host_pid()) - before
    product, floor = found["product"], found["floor"]
    return [Figure("idle, 2 s", "wakeups of the host", "times", product, floor, Budget(0, "value"))]
