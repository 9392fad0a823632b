"""Regular expressions that are compiled when they are first used.

A hundred of them take as long as a tenth of the host's start, and few are needed before the first
prompt.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


def late(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return `re.compile(pattern, flags)`, as far as one calls its methods."""
    return cast("re.Pattern[AnyStr]", _Late(pattern, flags))


class _Late:
    """Each attribute is found once, and is its own from then on."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._source), name)
        setattr(self, name, found)
        return found
