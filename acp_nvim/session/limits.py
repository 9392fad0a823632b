"""Bounds on what one tool call may show (option `limits.tool_output_bytes`)."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from acp_nvim.protocol import schema

Update = TypeVar("Update", schema.ToolCall, schema.ToolCallUpdate)


def fit(update: Update, limit: int) -> tuple[Update, int]:
    """Return the update with at most `limit` bytes of text in its content and of raw output, and
    how many bytes it brought where that was more, else 0.

    The beginning is kept, so that output that grows stays what it was. Diffs are never cut: they
    are decided on.
    """
    changes: dict[str, Any] = {}
    content, brought = _content(update.content, limit)
    if brought > limit:
        changes["content"] = content
    raw = 0 if update.raw_output in (UNSET, None) else len(msgspec.json.encode(update.raw_output))
    if raw > limit:
        changes["raw_output"] = f"left out: {raw} bytes"
    if not changes:
        return update, 0
    return msgspec.structs.replace(update, **changes), max(brought, raw)


def _content(content: Any, limit: int) -> tuple[list[Any], int]:
    """The items with their texts cut to `limit` bytes in all, and how many they were."""
    kept: list[Any] = []
    brought = 0
    for item in content if isinstance(content, list) else ():
        block = item.content if isinstance(item, schema.Content) else None
        if not isinstance(block, schema.TextContent):
            kept.append(item)
            continue
        data = block.text.encode("utf-8", "surrogatepass")
        room = max(limit - brought, 0)
        brought += len(data)
        if len(data) > room:
            text = data[:room].decode("utf-8", "ignore")
            block = msgspec.structs.replace(block, text=text)
            item = msgspec.structs.replace(item, content=block)
        kept.append(item)
    return kept, brought
