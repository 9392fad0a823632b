"""When Python looks for reference cycles: when nobody waits for it, and never for long.

By itself Python looks in the middle of a flood, through all objects that there are: 200 ms where a
session holds a million of them. Hardly any object of the host is part of a cycle, so of a large
heap the objects that have survived two looks are put aside (`gc.freeze`). They are looked at again
when a session is closed, which is when many of them go.
"""

from __future__ import annotations

import gc
from typing import Final

YOUNG: Final = 10_000
"""New objects, less than which are not worth a look."""
MANY: Final = 200_000
"""Objects that are looked through in some 30 ms."""


def look() -> None:
    """Nothing is to be done at the moment."""
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


def look_again() -> None:
    """A session is closed: the next looks go through all objects."""
    gc.unfreeze()
