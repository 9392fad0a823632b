"""Environment variables that do not change which programs a command runs.

`PATH`, `LD_PRELOAD`, `BASH_ENV`, `MAKEFLAGS`, `GIT_SSH_COMMAND`, `NODE_OPTIONS` and many others do.
So only harmless ones are listed, with their harmless values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from acp_nvim.patterns import late

_WORD: Final = late(r"[A-Za-z0-9_.,:@+-]*")
_NUMBER: Final = late(r"[0-9]{0,9}|true|false|yes|no|on|off")
_ZONE: Final = late(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z][A-Za-z0-9_+-]*)*|")
_SHELL: Final = late(r"(?:/usr(?:/local)?)?/bin/(?:sh|bash|dash|zsh|ksh|fish)")
_CAT: Final = late(r"cat|")

_LOCALE: Final = (
    *("LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY"),
    *("LC_NUMERIC", "LC_TIME"),
)
_TERMINAL: Final = ("TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION")
_SWITCHES: Final = (
    *("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"),
    *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8"),
    *("GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "CLAUDECODE", "GEMINI_CLI"),
)
_HARMLESS: Final = {
    **dict.fromkeys((*_LOCALE, *_TERMINAL), _WORD),
    **dict.fromkeys(_SWITCHES, _NUMBER),
    **dict.fromkeys(("PAGER", "GIT_PAGER", "MANPAGER"), _CAT),
    "CARGO_TERM_COLOR": _WORD,
    "DEBIAN_FRONTEND": _WORD,
    "TZ": _ZONE,
    "SHELL": _SHELL,
}


def are_harmless(added: Sequence[tuple[str, str]]) -> bool:
    """Return whether all of these variables are harmless."""
    return all(
        name in _HARMLESS and _HARMLESS[name].fullmatch(value) is not None for name, value in added
    )
