"""What it costs that all is kept: the same turns with the history on and off, in turns."""

from __future__ import annotations

from statistics import median

from bench import process
from bench.results import Budget, Figure
from bench.sides import Side

KEPT_S = 1.5
"""Seconds until what was said in a turn is on disk, and found by a search."""


def cost() -> list[Figure]:
    """CPU of the host until all is written; in place of the floor stands the same without it."""
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
    """CPU seconds of the host for one turn, and for what follows it."""
    before = process.cpu_s(side.host_pid()) if side.host_pid() else 0.0
    side.run(every=0.05)
    side.editor.pump_for(KEPT_S)
    return process.cpu_s(side.host_pid()) - before
