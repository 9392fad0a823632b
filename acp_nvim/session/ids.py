"""Ids of decisions and terminals.

They differ from the ids of an earlier host process, whose chats and buffers Neovim still shows.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import count

_runs: list[int] = []
_numbers: defaultdict[str, count[int]] = defaultdict(lambda: count(1))


def begin(run: int) -> None:
    """Set the number of this host process in its Neovim, from 1."""
    _runs[:] = [run] if run > 1 else []


def new(kind: str) -> str:
    """Return an id that begins with `kind`: `d1`, `d2`, … or `d2.1`, … in the second process."""
    return kind + ".".join(map(str, [*_runs, next(_numbers[kind])]))
