"""Cookies of a WebSocket handshake, in the jar that HTTP requests use too."""

from __future__ import annotations

from collections.abc import Iterable
from email.message import Message
from http.cookiejar import CookieJar
from typing import Any, cast
from urllib.request import Request


def header(jar: CookieJar, url: str) -> str | None:
    """Return the value of the header `Cookie` for a handshake, or None without cookies."""
    request = _request(url)
    jar.add_cookie_header(request)
    return request.get_header("Cookie")


def keep(jar: CookieJar, url: str, values: Iterable[str]) -> None:
    """Store the cookies of the received `Set-Cookie` headers."""
    jar.extract_cookies(cast("Any", _Answer(values)), _request(url))


def _request(url: str) -> Request:
    return Request("http" + url[2:])  # ws -> http, wss -> https


class _Answer:
    """The part of a response that a cookie jar reads."""

    def __init__(self, values: Iterable[str]) -> None:
        self._message = Message()
        for value in values:
            self._message["Set-Cookie"] = value

    def info(self) -> Message:
        return self._message
