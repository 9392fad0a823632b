"""Texts of the history's lists."""

from __future__ import annotations

from acp_nvim.features.history.statistics import statistics
from acp_nvim.history.search import DailyUsage


def table(*used: DailyUsage) -> list[list[str]]:
    return [line.split() for line in statistics(used)]


def test_the_usage_of_an_agent_on_a_day_is_one_line() -> None:
    rows = table(
        DailyUsage("2026-11-25", "aud", "", 1, 0, 0.0),
        DailyUsage("2026-11-25", "aud", "USD", 2, 1500, 0.25),
        DailyUsage("2026-11-24", "aud", "", 3, 20, 0.0),
    )
    assert rows == [
        ["day", "agent", "prompts", "tokens", "cost"],
        ["2026-11-25", "aud", "3", "1,500", "0.25", "USD"],
        ["2026-11-24", "aud", "3", "20"],
        ["all", "aud", "6", "1,520", "0.25", "USD"],
    ]


def test_currencies_are_never_added_up() -> None:
    rows = table(
        DailyUsage("2026-11-25", "aud", "", 1, 0, 0.0),
        DailyUsage("2026-11-25", "aud", "EUR", 1, 100, 1.0),
        DailyUsage("2026-11-25", "aud", "USD", 1, 200, 2.0),
    )
    assert rows[1:] == [
        ["2026-11-25", "aud", "2", "100", "1.00", "EUR"],
        ["2026-11-25", "aud", "1", "200", "2.00", "USD"],
        ["all", "aud", "2", "100", "1.00", "EUR"],
        ["all", "aud", "1", "200", "2.00", "USD"],
    ]
