"""Kinds of refusals: login required, rate limit, unknown session (v1/overview#error-handling)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_nvim.protocol.errors import AUTH_REQUIRED, RESOURCE_NOT_FOUND, RequestError

if TYPE_CHECKING:
    from acp_nvim.protocol.rate_limit import RateLimit


def needs_login(error: Exception) -> bool:
    """Return whether an agent refuses a request until the user logs in."""
    return (
        isinstance(error, RequestError)
        and error.code == AUTH_REQUIRED
        and rate_limit(error) is None
    )


def is_session_lost(error: Exception) -> bool:
    """Return whether an error says that the session of the request is unknown.

    Agents use the same code for a missing file, but name the file.
    """
    if not isinstance(error, RequestError) or error.code != RESOURCE_NOT_FOUND:
        return False
    data = error.data if isinstance(error.data, dict) else {}
    return "sessionId" in data or not (data.keys() & {"uri", "path", "file"})


def rate_limit(error: Exception) -> RateLimit | None:
    """Return the rate limit that an error reports, or None.

    Some agents report it with the code that requires a login.
    """
    from acp_nvim.protocol import rate_limit as limits

    return limits.rate_limit(error)
