"""Headers that say again what is in a message (MCP 2026-07-28, basic/transports)."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

from acp_nvim.protocol import errors
from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.jsonrpc import Request
from acp_nvim.tools import mcp_methods
from acp_nvim.tools import mcp_types as mcp
from acp_nvim.tools.http_wire import Head

VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
HEADER_MISMATCH: Final = -32020

_WRAPPED: Final = "=?base64?", "?="


def is_modern(head: Head) -> bool:
    """Whether a message is of the era without a handshake: it says so, or names a version that
    nobody knows. Those before 2025-06-18 say nothing.
    """
    return VERSION in head.headers and head.one(VERSION) not in mcp.HANDSHAKE_VERSIONS


def check_headers(head: Head, request: Request) -> None:
    """Raise RequestError where the headers of a request say something else than its body."""
    params: dict[str, Any] = mcp_methods.read(dict[str, Any], request.params)
    meta = params.get("_meta")
    version = meta.get(mcp.VERSION_KEY) if isinstance(meta, dict) else None
    if version is None:
        text = f"params._meta: {mcp.VERSION_KEY} is needed"
        raise RequestError(errors.INVALID_PARAMS, text)
    expected: dict[str, Any] = {VERSION: version, METHOD: request.method}
    if request.method == "tools/call":
        expected[NAME] = params.get("name")
    for name, value in expected.items():
        if _unwrapped(head.one(name)) != value:
            text = f"header {name} is missing, or is not what the body says"
            raise RequestError(HEADER_MISMATCH, text)


def _unwrapped(value: str | None) -> str | None:
    """A header's value, which is wrapped where HTTP could not carry it; None where it is broken."""
    before, after = _WRAPPED
    if value is None or not (value.startswith(before) and value.endswith(after)):
        return value
    try:
        return base64.b64decode(value[len(before) : -len(after)], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
