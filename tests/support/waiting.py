"""Waiting for a condition, the one way tests outside Neovim wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event
from typing import TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T], timeout: float = 10.0, what: str = "") -> T:
    """Return the first truthy value of `condition()`; AssertionError after `timeout` seconds."""
    pause = Event()
    end = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout} s: {what or condition}")
        pause.wait(0.005)
    return value
