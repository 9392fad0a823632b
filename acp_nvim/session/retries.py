"""An agent says that it tries again: notifications of the agents' own (`_session/retrying`), and
notices about rate limits. What they have in common is said beside what the session does, until it
goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from acp_nvim import wording

METHODS: Final = re.compile(r"_(?:[\w.-]+/)*(?:retrying|retry)\Z")
_LIMITED: Final = re.compile(r"\b429\b|rate[ _-]?limit|too many requests", re.IGNORECASE)
_DEPTH: Final = 3


def rate_limited(text: str) -> bool:
    """Whether a text is about a rate limit: HTTP 429, or in words."""
    return _LIMITED.search(text) is not None


def said(params: Any) -> str:
    """Return why an agent tries again, in words for people, by the params of its notification."""
    words = list(_words(params, _DEPTH))
    if any(map(rate_limited, words)):
        return wording.PART_RATE_LIMITED
    return wording.PART_RETRYING


def _words(value: Any, depth: int) -> Iterator[str]:
    """The texts and numbers in a value: a status may be a number."""
    if isinstance(value, Mapping) and depth:
        for item in value.values():
            yield from _words(item, depth - 1)
    elif isinstance(value, list) and depth:
        for item in value:
            yield from _words(item, depth - 1)
    elif isinstance(value, str | int):
        yield str(value)
