"""Content blocks of a session, opened in full.

Text is shown in a window. Images, sounds, videos and PDFs are opened in the system's default
application.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import mimetypes
from pathlib import Path
from typing import Any

import msgspec

from acp_nvim.app import Host
from acp_nvim.features.chat import words
from acp_nvim.files.bytes import private_files
from acp_nvim.protocol import schema
from acp_nvim.protocol.uris import split_uri
from acp_nvim.render.text import format_size, home_path, one_line, visible
from acp_nvim.session.session import Session

_SAFE = ("image/", "audio/", "video/", "application/pdf")
"""Prefixes of MIME types that are opened in the system's default application.

Other types are not, because it might execute them.
"""
_TEXT = ("image/svg+xml",)
_SUFFIXES = {
    "audio/wav": ".wav",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
    "audio/flac": ".flac",
    "image/webp": ".webp",
}
"""File suffixes of types that are missing from the MIME tables of some systems."""


def open_block(host: Host, session: Session, block: Any) -> None:
    """Open a content block in full (v1/content)."""
    match block:
        case schema.ImageContent() | schema.AudioContent():
            _open_data(host, block.data, block.mime_type, "")
        case schema.EmbeddedResource():
            resource: Any = block.resource
            if isinstance(resource, schema.TextResourceContents):
                _show_text(host, session, resource.text, _filetype(resource))
            else:
                _open_data(host, resource.blob, resource.mime_type or "", resource.uri)
        case schema.TextContent():
            _show_text(host, session, block.text, "markdown")
        case _:
            raw = getattr(block, "raw", block)
            text = msgspec.json.format(msgspec.json.encode(raw), indent=2).decode()
            _show_text(host, session, text, "json")


def _show_text(host: Host, session: Session, text: str, filetype: str) -> None:
    lines = visible(text.removesuffix("\n")).split("\n")
    host.screen.push("show", f"acp://content/{session.n}", filetype, lines)


def _filetype(resource: schema.TextResourceContents) -> str:
    """Return the filetype for the suffix of a resource, "text" for an unknown one."""
    suffix = Path(split_uri(resource.uri).path).suffix.lstrip(".").lower()
    known = {"py": "python", "md": "markdown", "js": "javascript", "ts": "typescript", "rs": "rust"}
    plain = ("c", "cpp", "css", "go", "html", "java", "json", "lua", "sh", "toml", "vim", "yaml")
    return known.get(suffix, suffix if suffix in plain else "text")


def _open_data(host: Host, data: str, mime: str, name: str) -> None:
    """Write base64 data to a file in the cache and open it."""
    try:
        content = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        host.echo("error", words.NO_BASE64.format(reason=error))
        return
    mime = mime.partition(";")[0].strip().lower()
    path = _content_file(host, content, mime, name)
    if not path.exists():
        private_files.write(path, content, sync=False)
    if mime.startswith(_SAFE) and mime not in _TEXT:
        host.screen.push("open_file", str(path))
    else:
        what = one_line(f"{format_size(len(content))} of {mime or 'data'}")
        host.echo("info", words.WRITTEN_TO.format(path=home_path(str(path)), what=what))


def _content_file(host: Host, content: bytes, mime: str, name: str) -> Path:
    """Return the path of the file for some content. Equal contents have the same path.

    The suffix depends only on the type, not on the name that the agent gave.
    """
    known = _SUFFIXES.get(mime) or mimetypes.guess_extension(mime)
    suffix = known if mime.startswith(_SAFE) else None
    digest = hashlib.blake2s(content, digest_size=8).hexdigest()
    return host.options.cache("content") / (digest + (suffix or ".bin"))
