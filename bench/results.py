"""Figures, budgets and the table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Budget:
    """At most `most` times the floor (`ratio`), or at most `most` units of the figure (`value`)."""

    most: float
    of: Literal["ratio", "value"] = "ratio"

    def __str__(self) -> str:
        return f"{self.most:g}x" if self.of == "ratio" else f"{self.most:g}"


@dataclass(frozen=True)
class Figure:
    """One line of the table. `floor` is the value to compare with, if there is one."""

    case: str
    what: str
    unit: str
    product: float
    floor: float | None = None
    budget: Budget | None = None

    @property
    def ratio(self) -> float | None:
        return self.product / self.floor if self.floor else None

    @property
    def passed(self) -> bool | None:
        """Return whether the budget is met, or None without a budget."""
        if self.budget is None:
            return None
        found = self.product if self.budget.of == "value" else self.ratio
        return found is not None and found <= self.budget.most


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile by the nearest rank, or 0 if there are no values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else 0.0


def table(figures: Sequence[Figure]) -> str:
    """Return all figures, one per line."""
    lines = [f"{'case':<34}{'figure':<26}{'product':>11}{'floor':>11}{'ratio':>8}{'budget':>8}"]
    before = ""
    for figure in figures:
        if figure.case != before and before:
            lines.append("")
        lines.append(_line(figure, figure.case if figure.case != before else ""))
        before = figure.case
    return "\n".join(lines)


def _line(figure: Figure, case: str) -> str:
    name = f"{figure.what}, {figure.unit}"
    floor = "" if figure.floor is None else f"{figure.floor:.1f}"
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
    verdict = {None: "", True: "  ok", False: "  MISSED"}[figure.passed]
    line = f"{case:<34}{name:<26}{figure.product:>11.2f}{floor:>11}{ratio:>8}"
    budget = "" if figure.budget is None else str(figure.budget)
    return f"{line}{budget:>8}{verdict}".rstrip()


def write(path: Path, figures: Sequence[Figure], about: dict[str, str]) -> None:
    """Write the figures as JSON."""
    rows = [asdict(f) | {"ratio": f.ratio, "passed": f.passed} for f in figures]
    text = json.dumps({"about": about, "figures": rows}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
