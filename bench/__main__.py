"""`python -m bench [CASE…]`: run the cases, print the table, write `bench/results.json`."""

from __future__ import annotations

import compileall
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench import calls, completion, history, memory, single, streaming
from bench.results import Figure, table, write
from bench.sides import ROOT, nvim_version

CASES: dict[str, Callable[[], list[Figure]]] = {
    "burst": lambda: streaming.burst(10_000, 5) + streaming.burst(100_000, 3),
    "trickle": streaming.trickle,
    "colours": streaming.colours,
    "updates": streaming.updates,
    "message": streaming.message,
    "line": streaming.line,
    "tools": streaming.tools,
    "permissions": streaming.permissions,
    "reads": single.reads,
    "write": single.write,
    "calls": calls.calls,
    "many": calls.many,
    "overhead": calls.overhead,
    "completion": completion.completion,
    "cold": single.cold,
    "imports": single.imports,
    "warm": single.warm,
    "start": single.start,
    "rest": single.rest,
    "history": lambda: history.cost() + history.kept_much(),
    "memory": lambda: memory.burst() + memory.turns(),
}


def main(names: list[str]) -> int:
    """Run the named cases and print the table. Without names, run all and write `results.json`.

    Return 1 if a budget is missed, or 2 if a case does not exist.
    """
    unknown = [name for name in names if name not in CASES]
    if unknown:
        print(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}", file=sys.stderr)
        return 2
    figures: list[Figure] = []
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        print(
            f"load {load:.1f} on {cores} cores: worst times are not to be trusted", file=sys.stderr
        )
    # Measure with compiled modules, even if PYTHONDONTWRITEBYTECODE is set.
    compileall.compile_dir(ROOT / "acp_nvim", quiet=1)
    began = time.monotonic()
    for name in names or CASES:
        print(f"{name}…", file=sys.stderr, flush=True)
        figures += CASES[name]()
    print(table(figures))
    missed = sum(figure.passed is False for figure in figures)
    print(f"\n{missed} of {sum(f.budget is not None for f in figures)} budgets missed, ", end="")
    print(f"{time.monotonic() - began:.0f} s")
    if not names:
        about = {"neovim": nvim_version(), "python": platform.python_version()}
        about |= {"machine": f"{platform.system()} {platform.machine()}, {cores} cores"}
        about |= {"load before": f"{load:.2f}"}
        write(Path(__file__).parent / "results.json", figures, about)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
