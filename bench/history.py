"""Costs of the history.

The same turns run alternately with and without it. Searches and starts have much stored data.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench import kept, process
from bench.results import Budget, Figure
from bench.sides import Side, environment, nvim
from bench.workloads import source
from tests.support.lua import lua_chunk

KEPT_S = 1.5
"""Seconds until the text of a turn has been written and can be found by a search."""
MEGABYTES, FILES, HUNKS = 200, 300, 5_000
STARTS, SEARCHES = 15, 9

SEARCH = lua_chunk(__file__, "search_history")


def cost() -> list[Figure]:
    """Measure the CPU time of the host until everything is written.

    The floor is the product without a history.
    """
    figures: list[Figure] = []
    for workload, what, count, times, budget in (
        ("burst", "chunks", 100_000, 5, 1.1),
        ("tools", "tool calls", 10_000, 3, 2.0),
    ):
        sides = [Side("product", workload, str(count), history=kept) for kept in (True, False)]
        try:
            spent = [[_spent(side) for side in sides] for _ in range(times + 1)][1:]
        finally:
            for side in sides:
                side.close()
        on, off = (median(run[at] for run in spent) * 1000 for at in (0, 1))
        case = f"history of {count:,} {what} (own without)"
        figures.append(Figure(case, "CPU of the host", "ms", on, off, Budget(budget)))
    return figures


def _spent(side: Side) -> float:
    """Return the CPU seconds of the host for one turn and its later work."""
    before = process.cpu_s(side.host_pid()) if side.host_pid() else 0.0
    side.run(every=0.05)
    side.editor.pump_for(KEPT_S)
    return process.cpu_s(side.host_pid()) - before


# -- much stored data -----------------------------------------------------------------------------


def kept_much() -> list[Figure]:
    """Compare a history of 200 MB and 5,000 pending hunks in 300 files with no stored data."""
    with _homes() as homes:
        return [*_searches(homes[0]), *_starts(homes), *_first_prompts(homes)]


@contextmanager
def _homes() -> Iterator[list[Path]]:
    """Yield a home with much stored data, and one without."""
    with tempfile.TemporaryDirectory(prefix="acp-bench-", ignore_cleanup_errors=True) as place:
        homes = [Path(place, name) for name in ("much", "nothing")]
        for home in homes:
            (home / "work").mkdir(parents=True)
            for n in range(FILES):
                (home / f"work/file{n}.py").write_text(source(200), encoding="utf-8")
        Side("product", "cold", home=homes[1]).close()
        kept.history(homes[0] / "nvim/acp/history.db", MEGABYTES)
        side = Side("product", "grow", home=homes[0])
        try:
            side.run(f"files {FILES} {homes[0]}/work {-(-HUNKS // FILES)}", every=0.05)
            side.editor.pump_for(KEPT_S)
        finally:
            side.close()
        yield homes


def _searches(home: Path) -> list[Figure]:
    """Measure the time from the command to the list, with a running host."""
    figures: list[Figure] = []
    side = Side("product", "cold", home=home)
    try:
        for word, what in (("zebra", "a rare word"), (kept.common(), "the commonest word")):
            took = [side.measure(SEARCH, word).wall for _ in range(SEARCHES)][1:]
            if not side.editor.lua("return _G.bench_found"):
                raise AssertionError(f"nothing found for {word}")
            case = f":Acp history word, {MEGABYTES} MB"
            figures.append(Figure(case, what, "ms", median(took), None, Budget(100, "value")))
    finally:
        side.close()
    return figures


def _starts(homes: list[Path]) -> list[Figure]:
    """Measure the startup of `nvim file` by `--startuptime`."""
    took: list[list[float]] = [[], []]
    for _ in range(STARTS):
        for home, found in zip(homes, took, strict=True):
            log = home / "startuptime"
            log.unlink(missing_ok=True)
            argv = [nvim(), "--headless", "-n", "-i", "NONE", "-u", str(home / "init.lua")]
            argv += ["--startuptime", str(log), str(home / "work/file1.py"), "+qa!"]
            subprocess.run(argv, cwd=home / "work", env=environment(home), check=True)
            started = [line for line in log.read_text().splitlines() if "NVIM STARTED" in line]
            found.append(float(started[-1].split()[0]))
    much, nothing = map(median, took)
    case = f"start, {HUNKS:,} hunks in {FILES} files"
    return [Figure(case, "Neovim with a file of them", "ms", much, nothing, Budget(1.1))]


def _first_prompts(homes: list[Path]) -> list[Figure]:
    """Measure the time from `:AcpPrompt` to the arrival of the prompt, with no running host."""
    took: list[list[float]] = [[], []]
    for _ in range(STARTS):
        for home, found in zip(homes, took, strict=True):
            side = Side("product", "cold", home=home)
            try:
                began = time.monotonic_ns()
                side.run(new=False)
                found.append((int(side.chat()[-1]) - began) / 1e6)
            finally:
                side.close()
    much, nothing = map(median, took)
    case = f"start, {HUNKS:,} hunks in {FILES} files"
    return [Figure(case, "first prompt at the agent", "ms", much, nothing, Budget(1.1))]
