"""Statistics of the history: tokens and cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp_nvim.history.search import DailyUsage


def statistics(usage: Sequence[DailyUsage]) -> list[str]:
    """Return the table of tokens and cost by day and agent, newest first, then sums by agent."""
    rows = [("day", "agent", "prompts", "tokens", "cost")]
    for day, agent in dict.fromkeys((record.day, record.agent) for record in usage):
        of_day = [record for record in usage if (record.day, record.agent) == (day, agent)]
        rows += [(day, agent, *sums) for sums in _sums_by_currency(of_day)]
    for agent in sorted({record.agent for record in usage}):
        of_agent = [record for record in usage if record.agent == agent]
        rows += [("all", agent, *sums) for sums in _sums_by_currency(of_agent)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return ["  ".join(_cells(row, widths)).rstrip() for row in rows]


def _cells(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Left-align texts and right-align numbers."""
    aligned = zip(row, widths, strict=True)
    return [
        cell.ljust(width) if at < 2 else cell.rjust(width)
        for at, (cell, width) in enumerate(aligned)
    ]


def _sums_by_currency(usage: Sequence[DailyUsage]) -> list[tuple[str, str, str]]:
    """Return the sums for each currency. Usage without a cost is added to the first one."""
    currencies = sorted({record.currency for record in usage} - {""}) or [""]
    parts = [[record for record in usage if record.currency == currency] for currency in currencies]
    if currencies[0]:
        parts[0] += [record for record in usage if not record.currency]
    return [_sums(part, currency) for part, currency in zip(parts, currencies, strict=True)]


def _sums(usage: Sequence[DailyUsage], currency: str) -> tuple[str, str, str]:
    cost = sum(record.cost for record in usage)
    price = f"{cost:.2f} {currency}" if currency else ""
    tokens = sum(record.tokens for record in usage)
    return f"{sum(record.prompts for record in usage):,}", f"{tokens:,}" if tokens else "", price
