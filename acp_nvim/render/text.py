"""Escaping of deceptive and disruptive characters in agents' text.

Control characters become caret notation (`^[`), bidirectional and invisible ones their code point
(`<U+202E>`).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from acp_nvim.patterns import late

_FAR = late(r"/[^/]+:/")
_UNSAFE = late(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_PLAIN = bytes([0x09, 0x0A, *range(0x20, 0x7F)])
"""ASCII characters that are not escaped."""
_MAX_READ = 1 << 16
"""Maximum number of characters that `one_line` reads of a text, which may have millions."""
_JOINERS = frozenset("\u200c\u200d" + "".join(map(chr, range(0xFE00, 0xFE10))))
"""Joiners, which change adjacent letters and signs of other scripts but not ASCII characters."""
_KEYCAPS = frozenset("0123456789#*")
"""Characters of keycap emoji, each followed by U+FE0F and U+20E3."""


def _affects_neighbours(text: str, at: int) -> bool:
    """Return whether the joiner at an offset has an effect on its neighbours."""
    joiner, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if joiner == "\ufe0f" and before in _KEYCAPS:
        return after == "\u20e3"
    if joiner < "\ufe00" and before >= "\ufe00" and before in _JOINERS:
        return _is_letter(after) and _affects_neighbours(text, at - 1)
    return _is_letter(before) and (joiner >= "\ufe00" or _is_letter(after))


def _is_letter(character: str) -> bool:
    return not character.isascii() and _UNSAFE.match(character) is None


def _visible(match: re.Match[str]) -> str:
    if match.group() in _JOINERS and _affects_neighbours(match.string, match.start()):
        return match.group()
    code = ord(match.group())
    if code < 0x20:
        return "^" + chr(code + 0x40)
    if code == 0x7F:
        return "^?"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"<U+{code:04X}>"


def _is_safe(text: str) -> bool:
    """Return whether no character of a text has to be escaped."""
    if text.isascii():  # ten times faster than a search
        return not text.encode().translate(None, _PLAIN)
    return _UNSAFE.search(text) is None


def visible(text: str) -> str:
    """Return `text` with LF line endings. Escape unsafe characters except tabs and newlines."""
    if _is_safe(text):
        return text
    return _UNSAFE.sub(_visible, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 200) -> str:
    """Return `text` as a single visible line of at most `limit` characters."""
    if len(text) <= limit and text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    line = " ".join(visible(text[:_MAX_READ]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def readable_word(word: str) -> str:
    """Return a word that the protocol does not define, such as a status or kind, for the user.

    Words of extensions begin with an underscore (v2/extensibility).
    """
    return one_line(word.lstrip("_"), 40)


def path_line(path: str) -> str:
    """Return a whole path on one line, with line breaks and tabs escaped."""
    if path.isascii() and path.isprintable():
        return path
    return visible(path).replace("\n", "^J").replace("\t", "^I")


def remote_path(path: str) -> str | None:
    """Return a path of another machine as `name:/path`, or None for other paths.

    Inside the host it is absolute, with `name:` as its first part. It is therefore outside of all
    directories on this machine, and no file here has that path.
    """
    match = _FAR.match(path)
    return path[1:] if match else None


def home_path(path: str) -> str:
    """Return a path on one line, with `~` for the home directory."""
    if (remote := remote_path(path)) is not None:
        return path_line(remote)
    home = str(Path.home())
    shown = "~" + path[len(home) :] if path.startswith(home + os.sep) else path
    return path_line(shown)


def relative_path(path: str, cwd: str) -> str | None:
    """Return a path below `cwd` relative to it, on one line, or None for other paths."""
    inside = cwd.rstrip("/") + "/"
    if len(path) > len(inside) > 1 and path.startswith(inside):
        return path_line(path[len(inside) :])
    return None


def display_path(path: str, cwd: str) -> str:
    """Return a path on one line, relative to the session's directory or as `home_path`."""
    below = relative_path(path, cwd)
    return home_path(path) if below is None else below


def format_size(count: int) -> str:
    """Format a number of bytes: `512 B`, `12 KiB`, `3.4 MiB`."""
    if count < 1024:
        return f"{count} B"
    if count < 1024 * 1024:
        return f"{count / 1024:.0f} KiB"
    return f"{count / (1024 * 1024):.1f} MiB"
