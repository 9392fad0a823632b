"""Regular expressions that are compiled on first use.

Compiling a hundred of them takes a tenth of the host's start-up time, and few are needed before the
first prompt.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


def late(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return an object with the attributes of `re.compile(pattern, flags)`."""
    return cast("re.Pattern[AnyStr]", _Late(pattern, flags))


class _Late:
    """Pattern that is compiled when an attribute is first read. Attributes are cached."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(re.compile(*self._source), name)
        setattr(self, name, attribute)
        return attribute
