"""Addresses of remote agents: checks, parts for display, secrets, and request headers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from acp_nvim import wording
from acp_nvim.agent.opening.shown_values import PLACEHOLDER
from acp_nvim.agent.transport.base import TransportError

_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
"""Characters allowed in a header (RFC 9110, field values)."""
_LOOPBACK: Final = re.compile(r"localhost|127(?:\.\d+){3}|::1")
_PORTS: Final = {"http": 80, "ws": 80, "https": 443, "wss": 443}


def display_address(url: str) -> str:
    """Return an address without user, password, query and fragment, for display."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def scheme_of(url: str) -> str:
    """Return the scheme of an address in lower case, or an empty string."""
    return url.partition("://")[0].lower() if "://" in url else ""


def origin(url: str) -> tuple[str, str, int | None]:
    """Return the scheme, host and port. Raise ValueError."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme)


def is_loopback(url: str) -> bool:
    """Return whether the address is a loopback address."""
    try:
        return _LOOPBACK.fullmatch(urlsplit(url).hostname or "") is not None
    except ValueError:
        return False


def check_address(url: str) -> str:
    """Return an address unchanged. Raise TransportError if it is invalid."""
    try:
        _, host, _ = origin(url)
    except ValueError as error:
        raise TransportError(wording.WHY_URL.format(reason=error), again=False) from error
    if not host:
        raise TransportError(wording.WHY_URL.format(reason="no host"), again=False)
    return url


def secrets(url: str) -> Iterator[str]:
    """Yield the values in an address that must not be logged: the password and the query values."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    if parts.password:
        yield parts.password
        yield unquote(parts.password)
    for part in parts.query.split("&"):
        yield from filter(None, (part.partition("=")[2],))
    yield from (value for _, value in parse_qsl(parts.query) if value)


def expand_headers(
    headers: Mapping[str, str], env: Mapping[str, str]
) -> tuple[dict[str, str], set[str]]:
    """Return the headers with `$ENV{NAME}` expanded, and all values that must not be logged.

    Raise a TransportError that names the header and the variable, but contains no value.
    """
    filled: dict[str, str] = {}
    hidden: set[str] = set()
    for header, text in headers.items():
        names = [match["lua"] or match["json"] for match in PLACEHOLDER.finditer(text)]
        hidden |= {env[name] for name in names if name in env}
        value = PLACEHOLDER.sub(partial(_placeholder_value, header, env), text).strip()
        if not _VALUE.fullmatch(value):
            raise TransportError(wording.WHY_HEADER_VALUE.format(header=header), again=False)
        filled[header] = value
        # An agent may repeat the token without the scheme before it.
        hidden |= {value, value.rpartition(" ")[2]}
    return filled, {value for value in hidden if value}


def _placeholder_value(header: str, env: Mapping[str, str], match: re.Match[str]) -> str:
    name = match["lua"] or match["json"]
    if name in env:
        return env[name]
    if match["default"] is None:
        missing = wording.WHY_HEADER_VARIABLE.format(header=header, name=name)
        raise TransportError(missing, again=False)
    return match["default"]
