"""Garbage collection while the host is idle, in short steps.

By default Python collects during a flood and visits all objects, which takes 200 ms if a session
has a million of them. Hardly any object of the host is part of a cycle. Therefore, in a large heap,
objects that have survived two collections are frozen (`gc.freeze`). When a session is closed, many
objects are freed, so all are visited again.
"""

from __future__ import annotations

import gc
from typing import Final

YOUNG: Final = 10_000
"""Number of new objects from which a collection is worthwhile."""
MANY: Final = 200_000
"""Number of objects that can be visited in about 30 ms."""


def collect() -> None:
    """Collect garbage while the host is idle, if there are enough new objects."""
    young, middle, old = gc.get_count()
    if young <= YOUNG:
        return
    if old <= 10:
        gc.collect(1 if middle > 10 else 0)
    elif len(gc.get_objects(2)) <= MANY:
        gc.collect(2)
    else:
        gc.collect(1)
        gc.freeze()


def unfreeze() -> None:
    """Visit all objects in the next collections, after a session was closed."""
    gc.unfreeze()
