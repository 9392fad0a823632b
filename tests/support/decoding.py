"""Messages as the codec decodes them, each with the codec's remarks.

Example:

    found, notes = update(sessionUpdate="plan", entries=[])
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from acp_nvim.protocol import codec
from acp_nvim.protocol.methods import Side


def raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


def update(**fields: Any) -> tuple[Any, list[str]]:
    """Return an update as the client reads it, with the remarks about it."""
    notes: list[str] = []
    params = raw({"sessionId": "s", "update": fields})
    return codec.decode_params("session/update", params, "client", notes).update, notes


def params(method: str, fields: dict[str, Any], side: Side = "client") -> tuple[Any, list[str]]:
    notes: list[str] = []
    return codec.decode_params(method, raw(fields), side, notes), notes


def result(method: str, value: Any) -> tuple[Any, list[str]]:
    notes: list[str] = []
    return codec.decode_result(method, raw(value), notes), notes


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}
