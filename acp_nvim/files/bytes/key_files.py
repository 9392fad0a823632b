"""Private keys and passwords, recognized by the content of a file."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Final

from acp_nvim.edits.text import Text
from acp_nvim.files.bytes.paths import Place
from acp_nvim.patterns import late

HEAD: Final = 16 * 1024
"""Characters at the start of a file that are always searched, whichever lines are requested."""
_WHOLE: Final = 4 * 1024
"""Number of characters at the start of a key file that contain the marker of a key."""
_PEM: Final = "PRIVATE KEY"
_HINTS: Final = (
    *("PuTTY-User-Key-File-", "AGE-SECRET-KEY-1", "AGE-PLUGIN-"),
    *("PrivateKey", '"kty"', "secret key"),
)
"""Strings, at least one of which is in every key.

Searching for them first is much cheaper than the pattern.
"""
_BASE64: Final = r"[A-Za-z0-9+/]{40}"
_BREAK: Final = r"(?:\\[nr]|[\s\"'+,>|-])*"
_KEY: Final = late(
    # A PEM header with a body; the header alone appears in many programs.
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    rf"{_BREAK}(?:[A-Za-z-]+: [^\n\\]*{_BREAK})*{_BASE64}"
    r"|---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----"
    r"|^PuTTY-User-Key-File-\d:"
    r"|\bAGE-SECRET-KEY-1[A-Z0-9]{40}|\bAGE-PLUGIN-[A-Z0-9-]+-1[A-Z0-9]{20}"
    r"|^\s*PrivateKey\s*=\s*[A-Za-z0-9+/]{43}="
    r"|^untrusted comment: [^\n]*secret key\b"
    r'|"kty"\s*:[^{}]*"d"\s*:\s*"[\w-]{20}|"d"\s*:\s*"[\w-]{20}[^{}]*"kty"\s*:',
    re.MULTILINE,
)
_LOGIN: Final = late(
    r"://[^/\s:@]*:[^/\s@]+@|://[^/\s@]{20,}@|^[^\S\n]*extraheader\s*=.*authorization",
    re.MULTILINE | re.IGNORECASE,
)
_GIT_CONFIGS: Final = ("/config", "/config.worktree", "/.gitconfig", "/.gitmodules")


def is_secret(where: Place, text: Text, served: str, *, whole: bool = False) -> bool:
    """Return whether a text contains a private key, or the password of a git remote.

    `served` are the lines that an agent requests. With `whole`, they are all of the file.
    """
    parts = [served] if whole else [_head(text), served]
    if any(holds_key(part) for part in parts):
        return True
    return _is_git_config(where.real) and any(_LOGIN.search(part) for part in parts)


def holds_key(content: str) -> bool:
    if _PEM in content and _KEY.search(content):
        return True
    head = content[:_WHOLE]
    return any(hint in head for hint in _HINTS) and _KEY.search(content) is not None


def _head(text: Text) -> str:
    lines, size = [], 0
    for line in text.lines:
        lines.append(line)
        size += len(line) + 1
        if size > HEAD:
            break
    return "\n".join(lines)


def _is_git_config(path: str) -> bool:
    """Return whether git reads addresses of remotes from this file."""
    if not path.endswith(_GIT_CONFIGS):
        return False
    *folders, name = PurePath(path).parts
    return name.startswith(".git") or any(folder.endswith(".git") for folder in folders)
