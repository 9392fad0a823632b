"""Memory in use after a burst, and memory that each turn adds to a long session.

`Pss` is used for sums of two processes: each process counts its part of a shared page, such as
those of a program file. The memory of a turn is measured by `Anonymous`, the pages without a file.
"""

from __future__ import annotations

from collections.abc import Callable

from bench import process
from bench.results import Budget, Figure
from bench.sides import Side
from bench.streaming import both

REST_S = 3.0
"""Seconds after which all work of a turn has ended."""
TURNS, FIRST = 1000, 200
"""Total number of turns, and number of turns before the first measurement."""
CHUNKS = 35
"""Number of chunks in a turn, which make 20 rows in the chat."""


def burst() -> list[Figure]:
    """Measure the memory after a first turn and after a burst, when all work has ended.

    A burst of 100,000 chunks is measured in separate processes.
    """
    figures: list[Figure] = []
    with both("grow") as sides:
        for case, prompt in (
            ("idle after a turn of 20 lines", f"say {CHUNKS}"),
            ("after a burst of 10,000 chunks", "say 10000"),
        ):
            figures += _after(case, sides, prompt)
    with both("burst", "100000") as sides:
        budget = Budget(45, "value")
        figures += _after("after a burst of 100,000 chunks", sides, "go", budget)
    return figures


def _after(case: str, sides: list[Side], prompt: str, budget: Budget | None = None) -> list[Figure]:
    """Run a turn on each side and measure the memory afterwards."""
    floor, product = sides
    for side in sides:
        side.run(prompt, every=0.05)
        side.editor.pump_for(REST_S)

    def figure(what: str, of: Callable[[Side], float], budget: Budget | None = None) -> Figure:
        return Figure(case, what, "MB", of(product), of(floor), budget)

    return [
        figure("memory of both, PSS", lambda s: sum(_kept(s, "Pss")), budget),
        figure("of it Neovim", lambda s: _kept(s, "Pss")[0]),
        figure("of it host", lambda s: _kept(s, "Pss")[1]),
        figure("memory of both, RSS", lambda s: sum(_kept(s, "Rss"))),
    ]


def turns() -> list[Figure]:
    """Measure the memory that a turn adds, as the mean of many turns in one session."""
    side = Side("product", "grow")
    try:
        _say(side, FIRST)
        before = _kept(side, "Anonymous")
        _say(side, TURNS - FIRST)
        after = _kept(side, "Anonymous")
    finally:
        side.close()
    kept = [(b - a) * 1024 / (TURNS - FIRST) for a, b in zip(before, after, strict=True)]
    case = f"a turn of 20 lines, of {TURNS:,}"
    names = ("memory of Neovim", "memory of host")
    return [
        Figure(case, what, "KB", kb, None, Budget(10, "value"))
        for what, kb in zip(names, kept, strict=True)
    ]


def _say(side: Side, count: int) -> None:
    editor = side.editor
    for _ in range(count):
        editor.messages.clear()
        editor.lua("require('acp').prompt(...)", f"say {CHUNKS}")
        editor.wait(lambda: ("done", []) in editor.messages)
    editor.pump_for(REST_S)


def _kept(side: Side, name: str) -> tuple[float, float]:
    """Return the memory of Neovim and host, in MB."""
    return process.kept_mb(side.editor.server, name), process.kept_mb(side.host_pid(), name)
