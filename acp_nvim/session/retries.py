"""Retries of agents, shown beside the session's status until the agent continues.

Agents report them with notifications of their own (`_session/retrying`) or rate limit notices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from acp_nvim import wording
from acp_nvim.patterns import late

METHODS: Final = late(r"_(?:[\w.-]+/)*(?:retrying|retry)\Z")
_LIMITED: Final = late(r"\b429\b|rate[ _-]?limit|too many requests", re.IGNORECASE)
_DEPTH: Final = 3


def is_rate_limited(text: str) -> bool:
    """Return whether a text is about a rate limit: HTTP 429, or in words."""
    return _LIMITED.search(text) is not None


def retry_reason(params: Any) -> str:
    """Return the reason for a retry, for display, from the params of its notification."""
    words = list(_words(params, _DEPTH))
    if any(map(is_rate_limited, words)):
        return wording.PART_RATE_LIMITED
    return wording.PART_RETRYING


def _words(value: Any, depth: int) -> Iterator[str]:
    """Yield the texts and numbers in a value. A status may be a number."""
    if isinstance(value, Mapping) and depth:
        for item in value.values():
            yield from _words(item, depth - 1)
    elif isinstance(value, list) and depth:
        for item in value:
            yield from _words(item, depth - 1)
    elif isinstance(value, str | int):
        yield str(value)
