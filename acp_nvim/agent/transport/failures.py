"""Errors for failed requests: a line for users, and whether a retry may help."""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies

from acp_nvim import wording
from acp_nvim.agent.transport.addresses import display_address, origin
from acp_nvim.agent.transport.base import TransportError

RETRY_STATUSES: Final = (404, 408, 409, 425, 429)
"""Statuses below 500 after which a retry may help.

A proxy sends 404 while the server behind it starts.
"""
MAX_PAUSE_S: Final = 300.0
"""The longest pause that a server may request, in seconds."""
BUSY_STATUSES: Final = (429, 502, 503, 504)
"""Statuses of a server or proxy that is briefly busy."""
REDIRECTS: Final = (301, 302, 307, 308)


def status_error(url: str, status: int, headers: Mapping[str, str]) -> TransportError:
    """Return the error for a response with this status."""
    where = display_address(url)
    if status == 401:
        return TransportError(wording.WHY_NOT_ADMITTED.format(url=where), again=False)
    if status == 403:
        return TransportError(wording.WHY_FORBIDDEN.format(url=where), again=False)
    text, after = wording.WHY_HTTP_STATUS.format(url=where, status=status), retry_after(headers)
    if after:
        text += wording.PART_RETRY_AFTER.format(seconds=after)
    can_retry = status in RETRY_STATUSES or status >= 500
    return TransportError(text, again=can_retry, after=after, soon=status in BUSY_STATUSES)


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the pause that the server requests, in seconds, or 0."""
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value), MAX_PAUSE_S)
    with contextlib.suppress(ValueError, TypeError):
        when = parsedate_to_datetime(value)
        seconds = (when - datetime.now(when.tzinfo or UTC)).total_seconds()
        return min(max(seconds, 0.0), MAX_PAUSE_S)
    return 0.0


def unreachable(url: str, error: BaseException) -> TransportError:
    """Return the error for a failed connection."""
    certificate = _cause(error, ssl.SSLCertVerificationError)
    if certificate is not None:
        reason = getattr(certificate, "verify_message", "") or str(certificate)
        text = wording.WHY_CERTIFICATE.format(url=display_address(url), reason=reason)
        return TransportError(text, again=False)
    if _cause(error, TimeoutError) is not None:
        return TransportError(wording.WHY_NO_ANSWER.format(url=display_address(url)))
    reason = next(filter(None, map(_system_text, _causes(error))), "") or str(error)
    reason = reason or type(error).__name__
    is_starting = _cause(error, ConnectionRefusedError) is not None  # nothing listens there yet
    return TransportError(
        wording.WHY_UNREACHABLE.format(url=display_address(url), reason=reason), soon=is_starting
    )


def check_proxies() -> None:
    """Raise TransportError if a proxy in the environment is not a valid address."""
    for name, proxy in getproxies().items():
        try:
            _ = name == "no" or urlsplit(proxy).port
        except ValueError as error:
            raise unusable_proxy(error) from error


def unusable_proxy(error: Exception) -> TransportError:
    """Return the error for a proxy in the environment that a library cannot use.

    The library's own text may contain the password, or advice about packages.
    """
    is_socks = isinstance(error, ImportError)
    return TransportError(wording.WHY_SOCKS if is_socks else wording.WHY_PROXY, again=False)


def _system_text(error: BaseException) -> str:
    """Return the system's text for an error. asyncio replaces this text with the address."""
    if not isinstance(error, OSError) or error.errno is None:
        return ""
    return os.strerror(error.errno) if error.errno > 0 else str(error.strerror)


def _cause(error: BaseException, kind: type[BaseException]) -> BaseException | None:
    """Return the first error of this kind in the chain of causes."""
    return next((cause for cause in _causes(error) if isinstance(cause, kind)), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes. In a group, follow the first error."""
    for _ in range(10):
        if error is None:
            return
        yield error
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        else:
            error = error.__cause__ or error.__context__


def redirect_target(url: str, location: str) -> str:
    """Return the target of a redirect within the same origin.

    Raise TransportError for another origin: headers and prompts are only sent there if the user
    configures it.
    """
    scheme = url.partition(":")[0]
    web = url.replace("ws", "http", 1) if scheme in ("ws", "wss") else url
    other = urljoin(web, location)
    if web != url and other.startswith("http"):
        other = other.replace("http", "ws", 1)
    try:
        is_same = origin(other) == origin(url)
    except ValueError:
        is_same = False
    if not is_same:
        text = wording.WHY_REDIRECTED.format(url=display_address(url), other=display_address(other))
        raise TransportError(text, again=False)
    return other
