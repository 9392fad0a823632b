"""What a failed request to a server means: one line for users, and whether to try again."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urljoin

from acp_nvim import wording
from acp_nvim.agent.transport.addresses import origin, shown
from acp_nvim.agent.transport.base import TransportError

LATER: Final = (404, 408, 409, 425, 429)
"""Statuses that may be others soon, beside those of 500 and more. 404 is what a proxy says while
the server behind it starts.
"""
LONGEST_S: Final = 300.0
"""The longest pause that a server may ask for, in seconds."""
REDIRECTS: Final = (301, 302, 307, 308)


def refused(url: str, status: int, headers: Mapping[str, str]) -> TransportError:
    """The server answers with that status."""
    where = shown(url)
    if status in (401, 403):
        text = wording.WHY_NOT_ADMITTED.format(url=where, status=status)
        return TransportError(text, again=False)
    text = wording.WHY_HTTP_STATUS.format(url=where, status=status)
    return TransportError(text, again=status in LATER or status >= 500, after=retry_after(headers))


def retry_after(headers: Mapping[str, str]) -> float:
    """The pause that the server asks for, in seconds; 0 where it asks for none."""
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value), LONGEST_S)
    with contextlib.suppress(ValueError, TypeError):
        when = parsedate_to_datetime(value)
        seconds = (when - datetime.now(when.tzinfo or UTC)).total_seconds()
        return min(max(seconds, 0.0), LONGEST_S)
    return 0.0


def unreachable(url: str, error: BaseException) -> TransportError:
    """No connection could be made."""
    certificate = _cause(error, ssl.SSLCertVerificationError)
    if certificate is not None:
        reason = getattr(certificate, "verify_message", "") or str(certificate)
        text = wording.WHY_CERTIFICATE.format(url=shown(url), reason=reason)
        return TransportError(text, again=False)
    if _cause(error, TimeoutError) is not None:
        return TransportError(wording.WHY_NO_ANSWER.format(url=shown(url)))
    cause = _cause(error, OSError)
    reason = str(getattr(cause, "strerror", None) or cause or error) or type(error).__name__
    return TransportError(wording.WHY_UNREACHABLE.format(url=shown(url), reason=reason))


def _cause(error: BaseException | None, kind: type[BaseException]) -> BaseException | None:
    """The first error of that kind in the chain of causes."""
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, kind):
            return error
        if isinstance(error, BaseExceptionGroup) and error.exceptions:
            error = error.exceptions[0]
        else:
            error = error.__cause__ or error.__context__
        seen += 1
    return None


def redirected(url: str, location: str) -> str:
    """Return where a server redirects to, where that is itself. Raises TransportError for another
    origin: neither headers nor prompts go there unless the user says so.
    """
    scheme = url.partition(":")[0]
    web = url.replace("ws", "http", 1) if scheme in ("ws", "wss") else url
    other = urljoin(web, location)
    if web != url and other.startswith("http"):
        other = other.replace("http", "ws", 1)
    try:
        same = origin(other) == origin(url)
    except ValueError:
        same = False
    if not same:
        text = wording.WHY_REDIRECTED.format(url=shown(url), other=shown(other))
        raise TransportError(text, again=False)
    return other
