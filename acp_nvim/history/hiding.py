"""Values that must not be kept: those of environment variables that are secret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

MARK: Final = "«redacted»"
_STRUCTURE: Final = frozenset({"type", "mode", "kind", "status"})
"""Members whose values say what the others mean."""
_PLAIN: Final = 20
"""A key of at most so many letters names a member, and is no secret."""


class Hidden:
    """Takes secrets out of texts and records; `secrets` are in all spellings, the longest first."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self._secrets = secrets
        self._bytes = [secret.encode("utf-8", "surrogatepass") for secret in secrets]

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MARK)
        return text

    def data(self, data: bytes) -> bytes:
        """Return JSON without secrets in its texts; its structure stays."""
        for secret in self._bytes:
            if secret in data:
                break
        else:
            return data
        return msgspec.json.encode(self._value(msgspec.json.decode(data)))

    def held(self, text: str) -> int:
        """Return how many characters at the end of a text that goes on may be the beginning of a
        secret.
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
            return self.text(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if isinstance(value, dict):
            return {self._key(key): self._member(key, item) for key, item in value.items()}
        return value

    def _key(self, key: str) -> str:
        return key if key.isalpha() and len(key) <= _PLAIN else self.text(key)

    def _member(self, key: str, value: Any) -> Any:
        return value if key in _STRUCTURE and isinstance(value, str) else self._value(value)
