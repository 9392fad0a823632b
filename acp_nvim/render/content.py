"""Content blocks that are no text, as rows one can open."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import UNSET

from acp_nvim.protocol import schema
from acp_nvim.render.rows import Row, Target, pieces, row
from acp_nvim.render.text import one_line, size, visible

SHOWN = 8
"""Lines of an embedded text that are drawn."""


def describe(block: Any, where: object) -> list[Row]:
    """Return the rows of a content block (v1/content); `where` finds it again when it is to be opened."""
    match block:
        case schema.ImageContent() | schema.AudioContent():
            return [_media(block, where)]
        case schema.ResourceLink():
            return [_link(block)]
        case schema.EmbeddedResource():
            return _resource(block.resource, where)
        case schema.TextContent():
            return [row(line) for line in visible(block.text).split("\n")]
        case _:
            return [row(f"[{_tag(block)}]", "AcpAttachment", {"kind": "content", "where": where})]


def local_path(uri: str) -> str | None:
    """Return the path of a `file:` URI (or of a plain absolute path), None for anything else."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return unquote(parts.path)
    return uri if uri.startswith("/") else None


def link_target(uri: str, line: int | None = None) -> Target:
    """Return what `<CR>` does on a link: open the file, or the address outside."""
    path = local_path(uri)
    if path is None:
        return {"kind": "url", "url": uri}
    return {"kind": "file", "path": path} | ({"line": line} if line else {})


def _media(block: Any, where: object) -> Row:
    kind = "image" if isinstance(block, schema.ImageContent) else "audio"
    bytes_ = len(block.data) * 3 // 4
    text = f"[{kind} {one_line(block.mime_type, 60)}, {size(bytes_)}]"
    return row(text, "AcpAttachment", {"kind": "content", "where": where})


def _link(block: schema.ResourceLink) -> Row:
    title = one_line(block.title or block.name or block.uri)
    parts: list[tuple[str, str | None]] = [("→ ", "AcpMuted"), (title, "AcpLink")]
    if one_line(block.uri) != title:
        parts.append((f" ({one_line(block.uri)})", "AcpMuted"))
    if block.description is not UNSET and block.description:
        parts.append((f" {one_line(block.description)}", "AcpMuted"))
    return pieces(parts, link_target(block.uri))


def _resource(resource: Any, where: object) -> list[Row]:
    if not isinstance(resource, schema.TextResourceContents):
        data = getattr(resource, "blob", "")
        text = f"[resource {one_line(resource.uri)}, {size(len(data) * 3 // 4)}]"
        return [row(text, "AcpAttachment", {"kind": "content", "where": where})]
    lines = visible(resource.text).split("\n")
    head = pieces([("→ ", "AcpMuted"), (one_line(resource.uri), "AcpLink")], link_target(resource.uri))
    rows = [head, *(row("  " + line, "AcpResource") for line in lines[:SHOWN])]
    if len(lines) > SHOWN:
        rows.append(row(f"  … +{len(lines) - SHOWN} lines", "AcpMuted", {"kind": "content", "where": where}))
    return rows


def _tag(block: Any) -> str:
    return one_line(str(getattr(block, "type", None) or type(block).__name__), 40)
