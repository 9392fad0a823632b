"""Values of variables and headers as a question shows them: in full, unless they are secret."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from acp_nvim.agent.wire.redact import REDACTED, Redactor
from acp_nvim.patterns import late

HIDDEN: Final = "****"
PLACEHOLDER: Final = late(
    r"\$ENV\{(?P<ours>\w+)\}|\$\{(?:env:)?(?P<theirs>\w+)(?::-(?P<default>[^}]*))?\}"
)
"""A placeholder for a variable of the environment, filled in when a server is passed on."""

_SECRETS: Final = frozenset(
    ("key", "keys", "pass", "auth", "cookie", "private", "dsn", "pat", "pwd", "session", "bearer")
)
_ENDINGS: Final = (
    *("token", "tokens", "secret", "secrets", "password", "passwd", "passphrase", "apikey"),
    *("credential", "credentials", "authorization"),
)
_SCHEME: Final = late(r"(?i)\s*(?:bearer|basic|token|digest)?\s*")
_PROGRAM: Final = late(r"--?\w|\.{0,2}/|~|(?!(?i:bearer|basic|token|digest)\s)\w+\s")
"""What begins like an option, a path or a command is no secret, whatever its name says."""


@cache
def _redactor() -> Redactor:
    return Redactor(quick=True)


def shown_value(name: str, value: str) -> str:
    """Return a value as the user may see it before they agree. One that is secret, by its name or
    by how it looks, is shown as its length; placeholders are shown as they are.
    """
    if not _is_secret_name(name):
        return shown_text(value)
    nothing_else = _SCHEME.fullmatch(PLACEHOLDER.sub("", value)) is not None
    return value if nothing_else or _PROGRAM.match(value) else _masked(value)


def shown_text(text: str) -> str:
    """Return a text, an argument or an address say, without what looks like a secret in it."""
    return _redactor().text(text).replace(REDACTED, HIDDEN)


def shown_words(words: list[str]) -> list[str]:
    """Return the words of a command so; a secret may stand behind its option."""
    return [word.replace(REDACTED, HIDDEN) for word in _redactor().value(words)]


def filled_in(*texts: str) -> list[str]:
    """Return the names that are filled in from the environment, in order."""
    found = (match for text in texts for match in PLACEHOLDER.finditer(text))
    return list(dict.fromkeys(match["ours"] or match["theirs"] for match in found))


def _is_secret_name(name: str) -> bool:
    """By the words in it. Settings of git are named by keys, which are no secrets."""
    if name.upper().startswith("GIT_CONFIG_"):
        return False
    words = re.split(r"[\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
    if any(word in _SECRETS or word.endswith(_ENDINGS) for word in words):
        return True
    return bool(_redactor().value({name: "x"}) != {name: "x"})


def _masked(value: str) -> str:
    """Only what stands in the text itself is hidden: names of variables are none."""
    kept = "".join(match.group() for match in PLACEHOLDER.finditer(value))
    count = len(PLACEHOLDER.sub("", value))
    hidden = f"{HIDDEN} ({count} character{'' if count == 1 else 's'})"
    return f"{hidden} {kept}" if kept else hidden
