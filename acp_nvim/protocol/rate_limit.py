"""Errors that report a rate limit.

Agents report it with a code in the server range, with status 429 of their service, with a key in
`data`, or only in the text. This module is imported on the first error, because compiling the
patterns takes time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from acp_nvim.protocol.errors import RequestError

MAX_WAIT_S: Final = 7 * 24 * 3600.0
"""Maximum plausible wait, in seconds."""
_MEMBERS: Final = 500
"""Maximum number of members of `data` that are examined."""
_CHARACTERS: Final = 4000
"""Maximum number of characters of a string that are examined."""

_TOO_MANY: Final = 429
_NO_LIMIT: Final = (-32700, -32600, -32601)
"""Codes for an invalid request, which never report a limit."""

_SAYS_LIMIT: Final = re.compile(
    r"(?i)\brate.?limit|too many requests|quota.{0,20}(?:exceeded|exhausted)|resource.?exhausted"
    r"|usage.?limit|(?:http|status|code|error)\W{0,3}(?:code\W{0,3})?429\b|^\W*429\b"
)
_UNIT: Final = r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)(?![a-z])"
_LENGTH: Final = re.compile(rf"(?i)(?<!\d)(\d+(?:\.\d+)?)\s*({_UNIT})")
_SAYS_WAIT: Final = re.compile(
    rf"(?i)(?:retry|again|wait|reset\w*|available)\b[^\d\n]{{0,40}}?"
    rf"((?:\d+(?:\.\d+)?\s*{_UNIT}[\s,]*)+)"
)
_HEADER: Final = re.compile(r"(?i)retry.?after\W{1,4}(\d+(?:\.\d+)?)\b")
_SECONDS: Final = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

_DURATIONS: Final = {
    "retryafter": 1.0,
    "retryafterseconds": 1.0,
    "retryaftersecs": 1.0,
    "retryafters": 1.0,
    "retryinseconds": 1.0,
    "retrydelay": 1.0,
    "retrydelayseconds": 1.0,
    "retryafterms": 0.001,
    "retryaftermillis": 0.001,
    "retryaftermilliseconds": 0.001,
    "retrydelayms": 0.001,
}
"""Names of durations, lower case without separators, and their unit in seconds."""
_TIMES: Final = frozenset({"resetat", "resetsat", "retryat", "ratelimitreset", "ratelimitresetat"})
"""Names of points in time."""
_STATUS: Final = frozenset({"status", "statuscode", "httpstatus", "httpstatuscode", "code"})


class RateLimit(Struct, frozen=True):
    """Limit reported by an agent. `seconds` is the wait, if the agent reports one."""

    seconds: float | None = None


def rate_limit(error: Exception, now: float | None = None) -> RateLimit | None:
    """Return the limit that an error reports, or None. `now` is in seconds since 1970."""
    if not isinstance(error, RequestError) or error.code in _NO_LIMIT:
        return None
    now = time.time() if now is None else now
    members = list(_members(error.data))
    texts = [error.message, *(value for _, value in members if isinstance(value, str))]
    texts = [text[:_CHARACTERS] for text in texts]
    waits = [wait for name, value in members if (wait := _wait(name, value, now)) is not None]
    is_limit = error.code == _TOO_MANY or any(_is_429(name, value) for name, value in members)
    if not (is_limit or waits or any(_SAYS_LIMIT.search(text) for text in texts)):
        return None
    waits += [wait for text in texts if (wait := _wait_in_text(text)) is not None]
    return RateLimit(next((wait for wait in waits if 0 < wait <= MAX_WAIT_S), None))


def _members(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield the members of `data` at any depth. Their names are reduced to lower-case letters."""
    waiting: list[tuple[str, Any]] = [("", data)]
    for _ in range(_MEMBERS):
        if not waiting:
            return
        name, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [
                (re.sub(r"[^a-z]", "", str(key).lower()), inner) for key, inner in value.items()
            ]
        elif isinstance(value, list):
            waiting += [(name, item) for item in value]
        else:
            yield name.removeprefix("x"), value


def _is_429(name: str, value: Any) -> bool:
    return name in _STATUS and value in (_TOO_MANY, str(_TOO_MANY))


def _wait(name: str, value: Any, now: float) -> float | None:
    """Return the wait in a member, in seconds, or None."""
    if isinstance(value, str):
        value = value[:_CHARACTERS]
    try:
        if name in _DURATIONS:
            return _seconds_of(value, _DURATIONS[name], now)
        return _seconds_until(value, now) if name in _TIMES else None
    except OverflowError:  # an integer that no float or year can hold
        return None


def _seconds_of(value: Any, unit: float, now: float) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value * unit
    if not isinstance(value, str):
        return None
    try:
        return float(value) * unit
    except ValueError:
        return _total_seconds(value) if _LENGTH.search(value) else _date(value, now)


def _seconds_until(value: Any, now: float) -> float | None:
    """Return the seconds until a time given in seconds or milliseconds since 1970, or as a date."""
    try:
        moment = float(value)
    except (TypeError, ValueError):
        return _date(value, now) if isinstance(value, str) else None
    moment = moment / 1000 if moment > 1e11 else moment
    return moment - now if moment > 1e9 else moment


def _date(text: str, now: float) -> float | None:
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            date = read(text)
        except (TypeError, ValueError):
            continue
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now
    return None


def _wait_in_text(text: str) -> float | None:
    """Return the wait that a message mentions: `try again in 1m30s`, `Retry-After: 30`."""
    if match := _SAYS_WAIT.search(text):
        return _total_seconds(match[1])
    return float(match[1]) if (match := _HEADER.search(text)) else None


def _total_seconds(text: str) -> float:
    return sum(float(count) * _unit(unit.lower()) for count, unit in _LENGTH.findall(text))


def _unit(name: str) -> float:
    return next(_SECONDS[key] for key in ("ms", "milli", "s", "m", "h") if name.startswith(key))
