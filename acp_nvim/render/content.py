"""Content blocks other than text as rows that can be opened (v1/content)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from msgspec import UNSET

from acp_nvim.patterns import late
from acp_nvim.protocol import schema
from acp_nvim.protocol.uris import split_uri, unquote_path
from acp_nvim.render.rows import Row, Target, indent, row, row_of_pieces
from acp_nvim.render.text import format_size, one_line, relative_path, visible

MAX_LINES = 8
"""Maximum number of lines drawn of an embedded text."""

BlockPosition = Mapping[str, Any] | None
"""Position of a block to open (`contents.py`): `{message, part}`, `{call, item}`, `{compaction,
part}`, `{session_message, part}`.
"""

_LINE_FRAGMENT = late(r"^[lL]?(\d{1,9})")
_RANGE_FRAGMENT = late(r"^L(\d+)(?:-L?(\d+))?$")
_CONTEXT = "nvim://context/"


def draw_block(block: Any, where: BlockPosition, cwd: str = "") -> list[Row]:
    """Return the rows of a content block. All but the first fold below it.

    Files below `cwd`, the session's directory, are named relative to it.
    """
    match block:
        case schema.ImageContent() | schema.AudioContent():
            return [_media_row(block, where)]
        case schema.ResourceLink():
            return [_link_row(block, where, cwd)]
        case schema.EmbeddedResource():
            return _resource_rows(block, where, cwd)
        case schema.TextContent():
            return _text_rows(block)
        case _:
            return [row(f"[{_type_name(block)}]", "AcpAttachment", _target_of_content(where))]


def is_aside(block: Any) -> bool:
    """Return whether a text is only for the model (v1/content#annotations)."""
    annotations = block.annotations
    return bool(annotations) and annotations.audience == ["assistant"]


def local_path(uri: str) -> str | None:
    """Return the path of a `file:` URI or an absolute path, or None for anything else."""
    parts = split_uri(uri)
    if parts.scheme == "file":
        return unquote_path(parts.path)
    return uri if uri.startswith("/") else None


def line_of(uri: str) -> int | None:
    """Return the first line in a URI (`#L10-L20`, `#10`, `?line=10`), 1-based."""
    parts = split_uri(uri)
    named = _LINE_FRAGMENT.match(parts.fragment) or _LINE_FRAGMENT.match(
        parse_qs(parts.query).get("line", [""])[0]
    )
    return max(int(named[1]), 1) if named else None


def display_uri(uri: str, cwd: str) -> str:
    """Return a URI for the user.

    A file below `cwd` is shown by path and lines (`src/a.py:2-5`, `src/a.py:2`), a
    prompt's variable by name (`{this}`), anything else unchanged.
    """
    if uri.startswith(_CONTEXT):
        return f"{{{one_line(uri[len(_CONTEXT) :])}}}"
    path = relative_path(local_path(uri) or "", cwd)
    if path is None:
        return one_line(uri)
    lines = _RANGE_FRAGMENT.match(split_uri(uri).fragment)
    if lines is None:
        return path
    first, last = lines.groups()
    return f"{path}:{first}" if last in (None, first) else f"{path}:{first}-{last}"


def link_target(uri: str) -> Target:
    """Return the target of a link: the file, or the web address.

    Other URIs are never passed to the system, which might run a program.
    """
    path = local_path(uri)
    if path is None:
        is_web = split_uri(uri).scheme in ("http", "https")
        return {"kind": "url", "url": uri} if is_web else {"kind": "address", "uri": uri}
    line = line_of(uri)
    return {"kind": "file", "path": path} | ({"line": line} if line else {})


def _target_of_content(where: BlockPosition) -> Target | None:
    return None if where is None else {"kind": "content", "where": dict(where)}


def _target_of_data(where: BlockPosition, mime: str) -> Target | None:
    """Return the target of data.

    The target of an image is marked, because the image is drawn below the row.
    """
    target = _target_of_content(where)
    if target is None or not mime.startswith("image/"):
        return target
    return target | {"picture": True}


def _target_of_uri(uri: str, where: BlockPosition) -> Target | None:
    """Return the target of a file or web address, or else of the block itself."""
    target = link_target(uri)
    return _target_of_content(where) or target if target["kind"] == "address" else target


def _annotation_pieces(block: Any) -> list[tuple[str, str | None]]:
    """Return the annotations as muted text: audience, priority, age."""
    annotations = block.annotations
    if not annotations:
        return []
    marks: list[str] = []
    if annotations.audience == ["assistant"]:
        marks.append("for the agent")
    elif annotations.audience == ["user"]:
        marks.append("for you")
    if annotations.priority is not UNSET and annotations.priority is not None:
        marks.append(f"priority {annotations.priority:g}")
    if annotations.last_modified:
        marks.append(one_line(annotations.last_modified, 40))
    return [(" · " + ", ".join(marks), "AcpMuted")] if marks else []


def with_annotations(block: schema.TextContent) -> list[Row]:
    """Return the row with the visible annotations of a text, if any."""
    marks = _annotation_pieces(block)
    return [row_of_pieces([("text", "AcpMuted"), *marks])] if marks else []


def _media_row(block: schema.ImageContent | schema.AudioContent, where: BlockPosition) -> Row:
    kind = "image" if isinstance(block, schema.ImageContent) else "audio"
    uri = block.uri if isinstance(block, schema.ImageContent) else None
    path = local_path(uri) if uri else None
    name = f"{one_line(path.rpartition('/')[2], 60)}, " if path else ""
    mime, size = one_line(block.mime_type, 60), format_size(_decoded_size(block.data))
    text = f"[{kind} {name}{mime}, {size}]"
    return row_of_pieces(
        [(text, "AcpAttachment"), *_annotation_pieces(block)],
        _target_of_data(where, block.mime_type),
    )


def _decoded_size(base64: str) -> int:
    return len(base64) * 3 // 4 - base64[-2:].count("=")


def _link_row(block: schema.ResourceLink, where: BlockPosition, cwd: str) -> Row:
    title = one_line(block.title or block.name or block.uri)
    parts: list[tuple[str, str | None]] = [("→ ", "AcpMuted"), (title, "AcpLink")]
    if (uri := display_uri(block.uri, cwd)) != title:
        parts.append((f" ({uri})", "AcpMuted"))
    if block.description:
        parts.append((f" {one_line(block.description)}", "AcpMuted"))
    if block.size:
        parts.append((f", {format_size(block.size)}", "AcpMuted"))
    return row_of_pieces([*parts, *_annotation_pieces(block)], _target_of_uri(block.uri, where))


def _resource_rows(block: schema.EmbeddedResource, where: BlockPosition, cwd: str) -> list[Row]:
    resource: Any = block.resource
    uri = display_uri(resource.uri, cwd)
    if not isinstance(resource, schema.TextResourceContents):
        text = f"[resource {uri}, {format_size(_decoded_size(resource.blob))}]"
        target = _target_of_data(where, resource.mime_type or "")
        return [row_of_pieces([(text, "AcpAttachment"), *_annotation_pieces(block)], target)]
    text = resource.text.rstrip("\n")
    count = text.count("\n") + 1
    named = _RANGE_FRAGMENT.match(split_uri(resource.uri).fragment)
    size = "" if named and named[2] else f", {count} line{'s' if count > 1 else ''}"
    head = row_of_pieces(
        [
            ("→ ", "AcpMuted"),
            (uri, "AcpLink"),
            (size, "AcpMuted"),  # a range already implies the size
            *_annotation_pieces(block),
        ],
        _target_of_uri(resource.uri, where),
    )
    lines = visible("\n".join(text.split("\n", MAX_LINES)[:MAX_LINES])).split("\n")
    rows = [head, *(row("  " + line, "AcpResource", _target_of_content(where)) for line in lines)]
    if count > MAX_LINES:
        more = count - MAX_LINES
        text = f"  … +{more} line{'s' if more > 1 else ''}"
        rows.append(row(text, "AcpMuted", _target_of_content(where)))
    return rows


def _text_rows(block: schema.TextContent) -> list[Row]:
    lines = visible(block.text.rstrip("\n")).split("\n")
    head = with_annotations(block)
    if not is_aside(block):
        return head + [row(line) for line in lines if line or not head]
    return head + indent([row(line, "AcpMuted") for line in lines], "  ")


def _type_name(block: Any) -> str:
    return one_line(str(getattr(block, "type", None) or type(block).__name__), 40)
