"""Removal of secrets (values of secret environment variables) from stored data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

MARK: Final = "«redacted»"
_STRUCTURE: Final = frozenset({"type", "mode", "kind", "status"})
"""Members whose values determine the structure."""
_MAX_NAME: Final = 20
"""Maximum length of a key that is a plain member name, not a secret."""


class SecretFilter:
    """Filter that replaces secrets in texts and records with a mark.

    `secrets` has all spellings of the secrets, the longest first.
    """

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self._secrets = secrets
        self._bytes = [secret.encode("utf-8", "surrogatepass") for secret in secrets]

    def filter_text(self, text: str) -> str:
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MARK)
        return text

    def filter_json(self, data: bytes) -> bytes:
        """Remove secrets from the texts in JSON without changing its structure."""
        for secret in self._bytes:
            if secret in data:
                break
        else:
            return data
        return msgspec.json.encode(self._value(msgspec.json.decode(data)))

    def open_secret_length(self, text: str) -> int:
        """Return the number of characters at the end of `text` that may begin a secret.

        The rest of such a secret would follow in a later part of the text.
        """
        longest = 0
        for secret in self._secrets:
            for count in range(min(len(secret) - 1, len(text)), longest, -1):
                if text.endswith(secret[:count]):
                    longest = count
                    break
        return longest

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.filter_text(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if isinstance(value, dict):
            return {self._key(key): self._member(key, item) for key, item in value.items()}
        return value

    def _key(self, key: str) -> str:
        return key if key.isalpha() and len(key) <= _MAX_NAME else self.filter_text(key)

    def _member(self, key: str, value: Any) -> Any:
        return value if key in _STRUCTURE and isinstance(value, str) else self._value(value)
