"""Protocol errors, and the codes of the spec (v1/overview#error-handling)."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000
RESOURCE_NOT_FOUND: Final = -32002
UNSUPPORTED_VERSION: Final = -32022

DETAIL_CHARACTERS: Final = 100_000
DETAIL_LINES: Final = 2000
DETAIL_COLUMNS: Final = 100


class ProtocolError(Exception):
    """Base of the two kinds of protocol violation."""


class LocalProtocolError(ProtocolError):
    """Violation by this client, such as an answer to a request that is not open."""


class RemoteProtocolError(ProtocolError):
    """Violation by the peer. The text is one line and can be sent back."""


class DecodeError(RemoteProtocolError):
    """Message whose params or result cannot be decoded, even tolerantly.

    `code` is the error code for the answer to a request: INVALID_PARAMS or METHOD_NOT_FOUND.
    """

    def __init__(self, message: str, code: int = INVALID_PARAMS) -> None:
        super().__init__(message)
        self.code = code


class RequestError(Exception):
    """Error response, received from a peer or raised by a handler to be sent."""

    def __init__(self, code: int, message: str, data: Any = UNSET) -> None:
        super().__init__(message or f"error {code}")
        self.code = code
        self.message = message
        self.data = data

    def __repr__(self) -> str:
        return f"RequestError({self.code}, {self.message!r}, {self.data!r})"


def details(error: Exception) -> list[str]:
    """Return the lines of an error's `data`.

    A string is split into lines, and any other value into its members. A short value becomes one
    line of JSON. A single word is preceded by its name, which explains it.
    """
    data, name = getattr(error, "data", None), "data"
    if isinstance(data, dict) and len(data) == 1:
        [(name, data)] = data.items()
    if not data or data == str(error):
        return []
    word = data if isinstance(data, str) else msgspec.json.encode(data).decode()
    if not isinstance(data, dict | list) and len(word.split()) == 1:
        data = f"{name}: {word.strip()}"
    lines = _members(data) if isinstance(data, dict) else _lines(data)
    return lines[:DETAIL_LINES]


def _members(data: dict[str, Any]) -> list[str]:
    compact = msgspec.json.encode(data).decode()
    texts = (value for value in data.values() if isinstance(value, str))
    if len(compact) <= DETAIL_COLUMNS and not any("\n" in text for text in texts):
        return [compact]
    lines: list[str] = []
    for name, value in data.items():
        first, *rest = _lines(value) or [""]
        lines += (
            [f"{name}:", *(f"  {line}" for line in (first, *rest))]
            if rest
            else [f"{name}: {first}"]
        )
    return lines


def _lines(value: Any) -> list[str]:
    if isinstance(value, str):
        return value[:DETAIL_CHARACTERS].splitlines()
    compact = msgspec.json.encode(value)
    if len(compact) <= DETAIL_COLUMNS:
        return [compact.decode()]
    return msgspec.json.format(compact, indent=2).decode()[:DETAIL_CHARACTERS].splitlines()
