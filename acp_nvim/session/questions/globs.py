"""Globs of paths as users write them, `{a,b}` included."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

MOST: Final = 256
"""Alternatives of one glob; one that has more is taken as it is."""

_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")


@lru_cache(maxsize=256)
def alternatives(glob: str) -> Sequence[str]:
    """Return the globs that a glob with braces stands for, after itself: braces may be meant."""
    waiting, plain = [glob], [glob]
    while waiting:
        one = waiting.pop()
        braces = _BRACES.search(one)
        if braces is None:
            plain.append(one)
        else:
            before, after = one[: braces.start()], one[braces.end() :]
            waiting += [f"{before}{word}{after}" for word in braces[1].split(",")]
        if len(waiting) + len(plain) > MOST:
            return [glob]
    return list(dict.fromkeys(plain))
