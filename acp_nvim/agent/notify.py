"""Calls of observers, which are plain lists of functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import ParamSpec

P = ParamSpec("P")


def notify(observers: Iterable[Callable[P, None]], /, *args: P.args, **kwargs: P.kwargs) -> None:
    """Call observers in order."""
    for observer in observers:
        observer(*args, **kwargs)


async def notify_in_turn(
    observers: Iterable[Callable[P, Awaitable[None]]], /, *args: P.args, **kwargs: P.kwargs
) -> None:
    """Call observers in order, and wait for each."""
    for observer in observers:
        await observer(*args, **kwargs)
