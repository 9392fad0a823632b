"""Text of an agent is data: what could deceive or disturb a screen is made visible.

Control characters become caret notation (`^[`), bidirectional and invisible ones their code point
(`<U+202E>`).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return "^" + chr(code + 0x40)
    if code == 0x7F:
        return "^?"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"<U+{code:04X}>"


def visible(text: str) -> str:
    """Return `text` with CRLF as LF and every unsafe character spelled out; tabs and newlines
    stay.
    """
    if _UNSAFE.search(text) is None:
        return text
    return _UNSAFE.sub(_visible, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 200) -> str:
    """Return `text` on a single visible line of at most `limit` characters, for titles and
    messages.
    """
    if len(text) <= limit and text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    line = " ".join(visible(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def home_path(path: str) -> str:
    """Return a path on one line; below the home directory it starts with `~`."""
    home = str(Path.home())
    shown = "~" + path[len(home) :] if path.startswith(home + os.sep) else path
    return one_line(shown)


def relative(path: str, cwd: str) -> str | None:
    """Return a path below `cwd` relative to it, on one line; None for others."""
    inside = cwd.rstrip("/") + "/"
    if len(path) > len(inside) > 1 and path.startswith(inside):
        return one_line(path[len(inside) :])
    return None


def shown_path(path: str, cwd: str) -> str:
    """Return a path on one line: below the session's directory relative to it, else as
    `home_path`.
    """
    below = relative(path, cwd)
    return home_path(path) if below is None else below


def size(count: int) -> str:
    """Bytes as people read them: `512 B`, `12 KiB`, `3.4 MiB`."""
    if count < 1024:
        return f"{count} B"
    if count < 1024 * 1024:
        return f"{count / 1024:.0f} KiB"
    return f"{count / (1024 * 1024):.1f} MiB"
