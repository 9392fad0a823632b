"""Waiting for conditions: the only way in which tests outside of Neovim wait.

Example:

    until(lambda: path.exists())
    await eventually(lambda: len(received) == 2)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event
from typing import TypeVar

from acp_nvim.tasks import true_within

T = TypeVar("T")

PATIENCE_S = 30.0
"""Seconds that a test waits for an expected state. A busy machine needs far less."""


def until(condition: Callable[[], T], timeout: float = PATIENCE_S, what: str = "") -> T:
    """Return the first truthy value of `condition()`. Raise AssertionError after `timeout`
    seconds.
    """
    pause = Event()
    end = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout} s: {what or condition}")
        pause.wait(0.005)
    return value


async def eventually(condition: Callable[[], object], what: str = "") -> None:
    """Wait for a condition in async tests."""
    assert await true_within(lambda: bool(condition()), PATIENCE_S), what or condition
