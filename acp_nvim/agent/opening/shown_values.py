"""Values of variables and headers as a question shows them: in full unless secret."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from acp_nvim.agent.wire.redact import REDACTED, Redactor
from acp_nvim.patterns import late

HIDDEN: Final = "****"
PLACEHOLDER: Final = late(
    r"\$ENV\{(?P<lua>\w+)\}|\$\{(?:env:)?(?P<json>\w+)(?::-(?P<default>[^}]*))?\}"
)
"""Placeholder for an environment variable, expanded when a server is passed on."""

_SECRETS: Final = frozenset(
    ("key", "keys", "pass", "auth", "cookie", "private", "dsn", "pat", "pwd", "session", "bearer")
)
_ENDINGS: Final = (
    *("token", "tokens", "secret", "secrets", "password", "passwd", "passphrase", "apikey"),
    *("credential", "credentials", "authorization"),
)
_SCHEME: Final = late(r"(?i)\s*(?:bearer|basic|token|digest)?\s*")
_PROGRAM: Final = late(r"--?\w|\.{0,2}/|~|(?!(?i:bearer|basic|token|digest)\s)\w+\s")
"""Beginning of an option, a path or a command. Such a value is never secret."""


@cache
def _redactor() -> Redactor:
    return Redactor(is_quick=True)


def shown_value(name: str, value: str) -> str:
    """Return a value as a question shows it to the user.

    A value that is secret by its name or form is replaced by its length. Placeholders are kept.
    """
    if not _is_secret_name(name):
        return shown_text(value)
    is_placeholder = _SCHEME.fullmatch(PLACEHOLDER.sub("", value)) is not None
    return value if is_placeholder or _PROGRAM.match(value) else _mask(value)


def shown_text(text: str) -> str:
    """Return a string, such as an argument or an address, without the secrets in it."""
    return _redactor().text(text).replace(REDACTED, HIDDEN)


def shown_words(words: list[str]) -> list[str]:
    """Return the words of a command without secrets. A secret may follow its option."""
    return [word.replace(REDACTED, HIDDEN) for word in _redactor().value(words)]


def names_of_variables(text: str) -> list[str]:
    return list(
        dict.fromkeys(match["lua"] or match["json"] for match in PLACEHOLDER.finditer(text))
    )


def _is_secret_name(name: str) -> bool:
    """Return whether a name contains a word for a secret.

    `KEY` in the name of a git setting is not such a word.
    """
    if name.upper().startswith("GIT_CONFIG_"):
        return False
    words = re.split(r"[\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
    if any(word in _SECRETS or word.endswith(_ENDINGS) for word in words):
        return True
    return bool(_redactor().value({name: "x"}) != {name: "x"})


def _mask(value: str) -> str:
    """Return the length of a value's literal text, followed by its placeholders."""
    placeholders = "".join(match.group() for match in PLACEHOLDER.finditer(value))
    count = len(PLACEHOLDER.sub("", value))
    hidden = f"{HIDDEN} ({count} character{'' if count == 1 else 's'})"
    return f"{hidden} {placeholders}" if placeholders else hidden
