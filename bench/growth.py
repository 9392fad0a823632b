"""`python -m bench.growth [LINE…]`: how the cost of fixed work grows with the existing data.

Each cost is the median of several runs at each of four sizes. The slope is that of the regression
line. The table is in `bench/README.md`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import linear_regression, median

from bench.agents.fast import SOURCE
from bench.sides import Side
from bench.workloads import source

README = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- growth -->\n", "<!-- end of growth -->"
RUNS = 7
FLAT = 0.25
"""A cost that grows by less than this fraction over all sizes is flat. Runs differ by as much."""


@dataclass
class Line:
    """Costs in milliseconds by size."""

    what: str
    work: str
    costs: dict[int, float]

    @property
    def slope(self) -> float:
        """Return the added milliseconds per thousand items."""
        return linear_regression(list(self.costs), list(self.costs.values())).slope * 1000

    @property
    def verdict(self) -> str:
        sizes = sorted(self.costs)
        first, last = self.costs[sizes[0]], self.costs[sizes[-1]]
        if last - first < FLAT * first:
            return "flat"
        # More than linear: twice the cost that the earlier sizes extrapolate to.
        inner, outer = sizes[-2], sizes[-1]
        straight = first + (self.costs[inner] - first) * (outer - sizes[0]) / (inner - sizes[0])
        return "linear" if last < 2 * max(straight, first) else "MORE"

    def row(self) -> str:
        costs = ", ".join(f"{size:,}: {cost:.2f}" for size, cost in self.costs.items())
        return f"| {self.what} | {self.work} | {costs} | {self.slope:+.3f} | {self.verdict} |"


@contextmanager
def product(prepare: Callable[[Path], None] = lambda work: None) -> Iterator[Side]:
    """Yield the product, warmed up, in a directory that `prepare` has filled."""
    side = Side("product", "grow")
    try:
        prepare(side.work)
        side.run("say 10", new=False)
        yield side
    finally:
        side.close()


def cpu(side: Side, prompt: str) -> float:
    """Return the median CPU time of Neovim and host in a turn, in milliseconds."""
    found = []
    for _ in range(RUNS):
        seen = side.run(prompt, every=0.05, new=False)
        side.editor.pump_for(0.1)
        found.append((seen.cpu_host + seen.cpu_nvim) * 1000)
    return median(found)


def grown(what: str, work: str, sizes: list[int], kind: str) -> Line:
    """Fill a session up to each size with items of a kind. Measure turns with 200 more."""
    costs: dict[int, float] = {}
    with product() as side:
        there = 0
        for size in sizes:
            while there < size:
                step = min(size - there, 20_000)
                side.run(f"{kind} {step}", every=0.05, new=False)
                there += step
            costs[size] = cpu(side, f"{kind} 200")
            there += 200 * RUNS
    return Line(what, work, costs)


def chat() -> Line:
    sizes = [0, 5_000, 20_000, 80_000]
    return grown("chunks in the chat", "a turn of 200 chunks, CPU", sizes, "say")


def calls() -> Line:
    sizes = [0, 1_000, 4_000, 16_000]
    return grown("tool calls in the session", "a turn of 200 calls, CPU", sizes, "calls")


def sessions() -> Line:
    costs: dict[int, float] = {}
    with product() as side:
        there = 1
        for size in (1, 10, 40, 120):
            for _ in range(size - there):
                side.run("say 1", every=0.05)
            there = size
            costs[size] = cpu(side, "say 200")
    return Line("sessions that are open", "a turn of 200 chunks in one, CPU", costs)


def hunks() -> Line:
    costs: dict[int, float] = {}
    for size in (1, 50, 200, 800):
        with product() as side:
            path = side.work / "file.py"
            path.write_text(source(SOURCE), encoding="utf-8")
            side.editor.lua("vim.cmd.edit(...)", str(path))
            found = []
            for n in range(RUNS + 1):
                seen = side.run(f"write {size} {path} {n}", every=0.05, new=False)
                side.editor.pump_for(0.2)
                found.append((seen.cpu_host + seen.cpu_nvim) * 1000)
            costs[size] = median(found[1:])
    return Line("pending hunks in a file", f"a write of {SOURCE:,} lines with one more, CPU", costs)


def writes() -> Line:
    """Measure ten more writes to each of five open files, after many writes by the session."""
    costs: dict[int, float] = {}
    with product() as side:
        paths = [side.work / f"file{n}.py" for n in range(5)]
        for path in paths:
            path.write_text(source(500), encoding="utf-8")
            side.editor.lua("vim.cmd.edit(...)", str(path))
        there = 0
        for size in (0, 250, 1_000, 4_000):
            while there < size:
                step = min(size - there, 250)
                side.run(f"rewrites {step} {' '.join(map(str, paths))}", every=0.05, new=False)
                there += step
            costs[size] = cpu(side, f"rewrites 50 {' '.join(map(str, paths))}")
            there += 50 * RUNS
    return Line("writes to five files in the session", "a turn of 50 more, CPU", costs)


def files() -> Line:
    costs: dict[int, float] = {}
    for size in (100, 1_000, 4_000, 16_000):
        with product(partial(_work_tree, size)) as side:
            for _ in range(4):  # the first scans of many files take long
                _turn(side)
                side.editor.pump_for(0.5)
            costs[size] = median(_turn(side) for _ in range(RUNS))
    return Line("files in the git work tree", "a warm turn of one chunk, wall", costs)


def _work_tree(size: int, work: Path) -> None:
    for n in range(size):
        folder = work / f"d{n // 50}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{n}").write_text(f"{n}\n", encoding="utf-8")
    for command in (["git", "init", "-q"], ["git", "add", "-A"]):
        subprocess.run(command, cwd=work, check=True)


AT_WORK = "return require('acp.buffers.watch').at_work(vim.uv.fs_realpath('.') .. '/x')"


def _turn(side: Side) -> float:
    """Measure the time from the prompt to the end of its turn, then wait for the last scan."""
    seen = side.run("say 1", every=0.05, new=False)
    side.editor.wait(lambda: not side.editor.lua(AT_WORK))
    side.editor.pump_for(0.1)
    return seen.wall


LINES: dict[str, Callable[[], Line]] = {
    "chat": chat,
    "sessions": sessions,
    "hunks": hunks,
    "writes": writes,
    "files": files,
    "calls": calls,
}


def main(names: list[str]) -> int:
    """Measure the named lines. Without names, measure all and update the README.

    Return 1 if a cost grows faster than the data.
    """
    found = []
    for name in names or LINES:
        print(f"{name}…", file=sys.stderr, flush=True)
        found.append(LINES[name]())
        print(found[-1].row(), flush=True)
    if not names:
        heads = ("size of", "cost of", "milliseconds by size", "for 1,000 more", "")
        head = f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n"
        text = README.read_text(encoding="utf-8")
        before, rest = text.split(BEGIN)
        table = head + "".join(f"{line.row()}\n" for line in found)
        README.write_text(f"{before}{BEGIN}{table}{END}{rest.split(END)[1]}", encoding="utf-8")
    return 1 if any(line.verdict == "MORE" for line in found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
