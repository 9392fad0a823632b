"""Meanings of agents' errors, in the wording of agents and their services."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.rate_limit import rate_limit
from acp_nvim.protocol.refusals import is_session_lost, needs_login

NOW = 1_790_000_000.0


def limit(message: str, data: Any = UNSET, code: int = -32000) -> float | str | None:
    """Return the seconds to wait, `unknown`, or None if it is not a limit."""
    found = rate_limit(RequestError(code, message, data), NOW)
    return None if found is None else found.seconds or "unknown"


@pytest.mark.parametrize(
    ("message", "data", "seconds"),
    [
        ("slow down", {"retryAfter": 12}, 12),
        ("slow down", {"retry_after": "12"}, 12),
        ("slow down", {"retry-after": "1m30s"}, 90),
        ("slow down", {"retryAfterMs": 1500}, 1.5),
        ("slow down", {"retryDelay": "27s"}, 27),
        ("slow down", {"headers": {"Retry-After": "7"}}, 7),
        ("slow down", {"error": {"details": [{"retryDelay": "27.5s"}]}}, 27.5),
        ("slow down", {"headers": {"Retry-After": "Mon, 21 Sep 2026 14:14:20 GMT"}}, 60),
        ("slow down", {"resetsAt": NOW + 60}, 60),
        ("slow down", {"reset_at": (NOW + 60) * 1000}, 60),
        ("slow down", {"resetAt": "2026-09-21T14:14:20Z"}, 60),
        ("slow down", {"status": 429}, "unknown"),
        ("slow down", {"type": "error", "error": {"type": "rate_limit_error"}}, "unknown"),
        ("429 Too Many Requests", UNSET, "unknown"),
        ("HTTP 429", UNSET, "unknown"),
        ("API error (status code: 429): try again in 20s", UNSET, 20),
        ("Rate limit reached. Please retry after 30 seconds.", UNSET, 30),
        ("Rate limit exceeded, please try again in 1 minute 5 seconds", UNSET, 65),
        ("RESOURCE_EXHAUSTED: quota exceeded. Please retry in 59.2s.", UNSET, 59.2),
        ("rate limited", "retry-after: 33", 33),
        ("Usage limit reached, resets in 3 hours", UNSET, 10800),
        ("rate limit", {"retryAfter": -3}, "unknown"),
        ("rate limit", {"retryAfter": 1e12}, "unknown"),
        ("rate limit", {"retryAfter": True}, "unknown"),
        ("rate limit", {"retryAfter": None}, "unknown"),
        ("rate limit", {"retryAfter": 10**400, "resetAt": 10**5000, "code": 10**5000}, "unknown"),
        ("rate limit", {"resetAt": f"Mon, 21 Sep {10**30} 14:14:20 GMT"}, "unknown"),
        ("rate limit", {"retryAfter": "0" * 1_000_000 + "x"}, "unknown"),
    ],
)
def test_a_limit_and_its_wait(message: str, data: Any, seconds: float | str) -> None:
    found = limit(message, data)
    assert found == (seconds if isinstance(seconds, str) else pytest.approx(seconds))
    assert limit(message, data, -32603) == found, "whatever the code"
    assert not needs_login(RequestError(-32000, message, data))


@pytest.mark.parametrize(
    ("message", "data"),
    [
        ("Authentication required", UNSET),
        ("Please log in again", {"reason": "the token expired 30 minutes ago"}),
        ("auth_required", {"methods": ["api-key"], "code": 401}),
        ("cannot read line 429", UNSET),
        ("the build failed, try again", {"exitCode": 429}),
    ],
)
def test_other_errors_are_not_a_limit(message: str, data: Any) -> None:
    assert limit(message, data) is None
    assert needs_login(RequestError(-32000, message, data))
    assert not needs_login(RequestError(-32603, message, data))


def test_a_wrong_request_is_not_a_limit() -> None:
    assert limit("no method about/rate_limit", code=-32601) is None
    assert limit("slow down", code=429) == "unknown"


def test_the_search_of_error_data_is_bounded() -> None:
    assert limit("x", [{"a": [i]} for i in range(100_000)]) is None


@pytest.mark.parametrize(
    ("code", "data", "lost"),
    [
        (-32002, UNSET, True),
        (-32002, {"sessionId": "s1"}, True),
        (-32002, {"sessionId": "s1", "path": "/store/s1.json"}, True),
        (-32002, "no such session", True),
        (-32002, {"uri": "file:///gone.txt"}, False),
        (-32002, {"path": "/gone.txt"}, False),
        (-32603, {"sessionId": "s1"}, False),
    ],
)
def test_a_lost_session_is_not_a_missing_file(code: int, data: Any, lost: bool) -> None:
    assert is_session_lost(RequestError(code, "Resource not found", data)) is lost
    assert not is_session_lost(ValueError("x"))
