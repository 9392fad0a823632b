"""Files attached to a prompt: as text, image, audio or link, by type and size (v1/content)."""

from __future__ import annotations

import base64
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from acp_nvim import wording
from acp_nvim.files.bytes.file_format import BinaryError, decode
from acp_nvim.patterns import late
from acp_nvim.render.text import format_size as readable
from acp_nvim.session.prompts import Attachment, Excerpt, FileLink, Media

TEXT_BYTES: Final = 256 << 10
"""Maximum size of an attached text. A larger one becomes a link, which agents read in parts."""
IMAGE_BYTES: Final = 5 << 20
"""Maximum size of an attached image. A larger one, which models refuse, becomes a link."""
AUDIO_BYTES: Final = 20 << 20

_HEAD_BYTES: Final = 8192
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"%PDF-", "application/pdf"),
)
_RIFF: Final = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Types that models read as images. Others (SVG, TIFF, icons) are sent as text or links."""

_SOURCES: Final = {
    "c": "text/x-c",
    "h": "text/x-c",
    "cc": "text/x-c++",
    "cpp": "text/x-c++",
    "cxx": "text/x-c++",
    "hh": "text/x-c++",
    "hpp": "text/x-c++",
    "cs": "text/x-csharp",
    "clj": "text/x-clojure",
    "cts": "text/x-typescript",
    "d": "text/x-d",
    "dart": "text/x-dart",
    "el": "text/x-elisp",
    "erl": "text/x-erlang",
    "ex": "text/x-elixir",
    "exs": "text/x-elixir",
    "fs": "text/x-fsharp",
    "go": "text/x-go",
    "hs": "text/x-haskell",
    "java": "text/x-java",
    "jl": "text/x-julia",
    "js": "text/javascript",
    "jsx": "text/jsx",
    "kt": "text/x-kotlin",
    "lua": "text/x-lua",
    "m": "text/x-objective-c",
    "md": "text/markdown",
    "mjs": "text/javascript",
    "ml": "text/x-ocaml",
    "mts": "text/x-typescript",
    "nim": "text/x-nim",
    "nix": "text/x-nix",
    "p": "text/x-pascal",
    "php": "text/x-php",
    "pl": "text/x-perl",
    "ps1": "text/x-powershell",
    "py": "text/x-python",
    "pyi": "text/x-python",
    "r": "text/x-r",
    "rb": "text/x-ruby",
    "rs": "text/x-rust",
    "scala": "text/x-scala",
    "sh": "text/x-sh",
    "sql": "application/sql",
    "svelte": "text/x-svelte",
    "swift": "text/x-swift",
    "tex": "text/x-tex",
    "toml": "application/toml",
    "ts": "text/x-typescript",
    "tsx": "text/tsx",
    "v": "text/x-verilog",
    "vim": "text/x-vim",
    "vue": "text/x-vue",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "zig": "text/x-zig",
}
"""MIME types of source files by suffix.

The system's tables map some of these suffixes to other types.
"""

_TEXTUAL: Final = late(r"[/+](json|xml|yaml|toml|sql|javascript|x-sh|x-\w*script)$")

Report = Callable[[str], None]


def attachment(path: str, live: str | None = None, report: Report = lambda _: None) -> Attachment:
    """Return the attachment for a file. `live` is its text in an editor with unsaved changes.

    Images and audio are read whole, texts up to `TEXT_BYTES`. All other files, and unreadable ones,
    are attached as links. `report` is called with one line if that may surprise the user.
    """
    file = Path(path)
    if live is not None:
        return _text(path, live, mime_of(path, b""), report)
    try:
        info = file.stat()
        if not stat.S_ISREG(info.st_mode):
            return FileLink(path, None, "inode/directory" if file.is_dir() else None)
        with file.open("rb") as stream:
            mime = mime_of(path, stream.read(_HEAD_BYTES))
    except OSError as error:
        report(wording.ATTACHED_AS_LINK.format(file=file.name, reason=error.strerror or error))
        return FileLink(path)
    kind = media_kind(mime)
    if kind is not None:
        return _media(path, kind, str(mime), info.st_size, report)
    return _file(path, mime, info.st_size, report)


def media_kind(mime: str | None) -> Literal["image", "audio"] | None:
    """Return the kind of content block for a MIME type, or None if there is none."""
    if mime in _PICTURES:
        return "image"
    return "audio" if mime is not None and mime.startswith("audio/") else None


def mime_of(path: str, head: bytes) -> str | None:
    """Return the MIME type that the first bytes show if they are distinctive, else the name."""
    mime_by_head = next((mime for magic, mime in _MAGIC if head.startswith(magic)), None)
    if head.startswith(b"RIFF"):
        mime_by_head = _RIFF.get(head[8:12])
    # Two letters are not distinctive: a text may begin with them.
    if mime_by_head and (mime_by_head != "image/bmp" or path.lower().endswith(".bmp")):
        return mime_by_head
    if source := _SOURCES.get(Path(path).suffix[1:].lower()):
        return source
    import mimetypes  # slow: it reads the system's tables

    named, encoding = mimetypes.guess_type(path)
    return None if encoding else named


def _media(
    path: str, kind: Literal["image", "audio"], mime: str, size: int, report: Report
) -> Attachment:
    limit = IMAGE_BYTES if kind == "image" else AUDIO_BYTES
    if _is_too_large(path, size, limit, report):
        return FileLink(path, size, mime)
    data = base64.b64encode(Path(path).read_bytes()).decode()
    return Media(kind, path, data, mime, size)


def _file(path: str, mime: str | None, size: int, report: Report) -> Attachment:
    if _is_too_large(path, size, TEXT_BYTES, report):
        return FileLink(path, size, mime)
    try:
        text = str(decode(Path(path).read_bytes()).text)
    except BinaryError:
        return FileLink(path, size, mime or "application/octet-stream")
    return Excerpt(path, text, mime_type=_text_type(mime))


def _text(path: str, text: str, mime: str | None, report: Report) -> Attachment:
    size = len(text.encode("utf-8", "replace"))
    if _is_too_large(path, size, TEXT_BYTES, report):
        return FileLink(path, None, mime)
    return Excerpt(path, text, mime_type=_text_type(mime))


def _is_too_large(path: str, size: int, limit: int, report: Report) -> bool:
    if size > limit:
        sizes = wording.WHY_OVER_LIMIT.format(size=readable(size), limit=readable(limit))
        report(wording.ATTACHED_AS_LINK.format(file=Path(path).name, reason=sizes))
    return size > limit


def _text_type(mime: str | None) -> str:
    """Return the given MIME type if it is a text type, else `text/plain`.

    For example, `.ts` is also a suffix of videos.
    """
    kind = mime or ""
    return kind if kind.startswith("text/") or _TEXTUAL.search(kind) else "text/plain"
