"""Addresses that an agent asks to open, with warnings for the user (v1/elicitation#url-mode)."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from acp_nvim import wording
from acp_nvim.patterns import late
from acp_nvim.render.text import visible

_LOOPBACK: Final = late(r"(?i)(.+\.)?localhost|127(\.\d+){3}|::1")
_PARAMETERS: Final = 100
"""Maximum number of parameters of an address that are examined."""
_LONGEST_HOST: Final = 1000
"""Maximum number of characters of a host with its user name. A name in DNS has at most 253."""


def describe_address(url: str) -> list[str]:
    """Return lines with the whole address, its host, and warnings."""
    parts = _split(url)
    lines = [visible(url)]
    if parts is None or not parts.hostname:
        return [*lines, wording.ADDRESS_WITHOUT_HOST]
    back = _loopback(parts)
    return [
        *lines,
        wording.ADDRESS_HOST.format(host=visible(_host(parts))),
        *([wording.ADDRESS_REDIRECTS_HERE.format(host=visible(back))] if back else []),
        *(f"⚠ {warning}" for warning in warnings(url)),
    ]


def _loopback(parts: SplitResult) -> str:
    """Return the loopback host in the query to which the page finally redirects, if any.

    A browser on another machine cannot reach it (RFC 8252).
    """
    for _, value in parse_qsl(parts.query)[:_PARAMETERS]:
        target = _split(value)
        if target is not None and target.scheme in ("http", "https"):
            name = (target.hostname or "").rstrip(".")
            if _LOOPBACK.fullmatch(name):
                return _host(target)
    return ""


def is_safe(url: str) -> bool:
    """Return whether an address may be opened in a browser: a visible web address with a host."""
    parts = _split(url)
    return (
        parts is not None
        and parts.scheme in ("https", "http")
        and bool(parts.hostname)
        and visible(url) == url
        and "\\" not in url  # browsers read it as a slash, which changes the host
        and not any(character.isspace() for character in url)
    )


def warnings(url: str) -> list[str]:
    """Return warnings about an address: other scripts, punycode, a user name, no TLS."""
    parts = _split(url)
    if parts is None:
        return []
    host = _host(parts)
    lines: list[str] = []
    if not host.isascii():
        lines.append(wording.HOST_NOT_ASCII.format(host=_ascii(host)))
    if any(label.startswith("xn--") for label in host.lower().split(".")):
        lines.append(wording.HOST_PUNYCODE.format(host=_unicode(host)))
    if parts.username is not None:
        lines.append(wording.HOST_AFTER_NAME.format(host=host))
    if parts.scheme == "http":
        lines.append(wording.NOT_ENCRYPTED)
    elif parts.scheme != "https":
        lines.append(wording.NO_WEB_ADDRESS.format(scheme=parts.scheme or "no scheme"))
    if not is_safe(url) and parts.scheme in ("http", "https"):
        what = "a backslash" if "\\" in url else "invisible characters"
        lines.append(wording.ADDRESS_CONTAINS.format(what=what))
    return lines


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for an invalid port
    except ValueError:
        return None
    return parts if len(parts.netloc) <= _LONGEST_HOST else None


def _host(parts: SplitResult) -> str:
    """Return host and port as written, without the user name before them."""
    return parts.netloc.rpartition("@")[2]


def _ascii(host: str) -> str:
    """Return the host name in ASCII, label by label, as in DNS."""
    return ".".join(_encode_label(label) for label in host.split("."))


def _encode_label(label: str) -> str:
    try:
        return label.encode("idna").decode()
    except UnicodeError:
        return "?"


def _unicode(host: str) -> str:
    return visible(".".join(_decode_label(label) for label in host.split(".")))


def _decode_label(label: str) -> str:
    name, colon, port = label.partition(":")
    if not name.lower().startswith("xn--"):
        return label
    try:
        return name[4:].encode().decode("punycode") + colon + port
    except UnicodeError:
        return label
