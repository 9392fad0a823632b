"""Embedded resources in a replayed prompt. Some agents return them as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from acp_nvim.patterns import late
from acp_nvim.protocol import schema

_CONTEXT = late(r'\n?<context ref="([^"\n]+)">\n(.*?)\n</context>(?:\n|\Z)', re.DOTALL)


def restore_blocks(content: schema.TextContent) -> Iterator[Any]:
    """Yield the blocks of a replayed prompt, each `<context ref=…>` as an embedded resource."""
    text, at = content.text, 0
    for found in _CONTEXT.finditer(text):
        if before := text[at : found.start()]:
            yield schema.TextContent(before, content.annotations)
        yield schema.EmbeddedResource(schema.TextResourceContents(found[2], found[1]))
        at = found.end()
    if at < len(text):
        yield schema.TextContent(text[at:], content.annotations)
