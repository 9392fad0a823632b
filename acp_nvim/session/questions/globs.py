"""Globs of paths as users write them, including `{a,b}`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from acp_nvim.patterns import late

MAX_ALTERNATIVES: Final = 256
"""Maximum number of alternatives of one glob. A glob with more is taken literally."""

_BRACES: Final = late(r"\{([^{}]*,[^{}]*)\}")


@lru_cache(maxsize=256)
def alternatives(glob: str) -> Sequence[str]:
    """Return the glob itself and the globs that its braces expand to.

    The glob itself is included because braces may be literal.
    """
    waiting, plain = [glob], [glob]
    while waiting:
        pattern = waiting.pop()
        braces = _BRACES.search(pattern)
        if braces is None:
            plain.append(pattern)
        else:
            before, after = pattern[: braces.start()], pattern[braces.end() :]
            waiting += [f"{before}{word}{after}" for word in braces[1].split(",")]
        if len(waiting) + len(plain) > MAX_ALTERNATIVES:
            return [glob]
    return list(dict.fromkeys(plain))
