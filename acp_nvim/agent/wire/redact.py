"""Taking secrets out of logged traffic, so that a log can be attached to a report.

Values are found by where they stand (environments and headers of MCP servers, keys that name a
credential), by how they look (`--token x`, `api_key=x`, `Bearer x`), and by what they are (values
that were configured as secret).
"""

import re
from collections.abc import Iterable
from typing import Any

REDACTED = "«redacted»"
SESSION_TAIL = 8
"""Characters of a session id that stay: enough to tell sessions apart, too few to use one."""
SHORTEST_SECRET = 4
"""Configured values below this length are not searched for in text: they would match everywhere."""

_CONTAINERS = {"env", "headers"}
_CREDENTIAL = re.compile(
    r"(token|api_?key|authorization|password|passwd|secret|credentials?|cookie|private_?key)$"
)
_WORD = r"[\w-]*(?:token|api[-_]?key|authorization|password|passwd|secret)"
_IN_TEXT = re.compile(
    rf"""(?i)((?<![\w-]){_WORD}["']?\s*[=:]\s*["']?(?:bearer\s+|basic\s+)?|\bbearer\s+)"""
    r"""([^\s"'&,;]{4,})"""
)
_FLAG = re.compile(rf"(?i)--?{_WORD}$")
_HINT = re.compile(r"(?i)token|key|auth|passw|secret|bearer|://")
_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"\\]+)"')
_USERINFO = re.compile(r"(?<=://)[^/\s@:]+:[^/\s@]+(?=@)")


class Redactor:
    """Redacts decoded JSON and plain text. Session ids that it meets in JSON are shortened in text
    after that.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
        # The longest first: one may be the beginning of another.
        self._secrets = sorted(known, key=len, reverse=True)
        self._sessions: set[str] = set()

    def learn_sessions(self, lines: Iterable[bytes]) -> None:
        """Find the session ids in messages that are still bytes."""
        for line in lines:
            for found in _SESSION.findall(line):
                self._remember(found.decode("utf-8", "replace"))

    def text(self, text: str) -> str:
        """`text` without what is known or looks like a secret."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        for session in self._sessions:
            text = text.replace(session, _short(session))
        if _HINT.search(text) is None:
            return text
        text = _IN_TEXT.sub(rf"\g<1>{REDACTED}", text)
        return _USERINFO.sub(REDACTED, text)

    def value(self, value: Any) -> Any:
        """A copy of decoded JSON without its secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self._member(key, member) for key, member in value.items()}
        if isinstance(value, list):
            return self._items(value)
        return value

    def _member(self, key: str, member: Any) -> Any:
        name = _snake(key)
        if name in _CONTAINERS or _CREDENTIAL.search(name):
            return _blank(member)
        if name == "session_id" and isinstance(member, str):
            self._remember(member)
        return self.value(member)

    def _remember(self, session: str) -> None:
        if len(session) > SESSION_TAIL:
            self._sessions.add(session)

    def _items(self, items: list[Any]) -> list[Any]:
        redacted = []
        secret = False
        for item in items:
            redacted.append(_blank(item) if secret else self.value(item))
            secret = isinstance(item, str) and _FLAG.match(item) is not None
        return redacted


class SecretsOnly(Redactor):
    """Takes out the values that are known to be secret and nothing else: for a user who wants to
    see the log as it is.
    """

    def text(self, text: str) -> str:
        """`text` without the known secrets."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return text

    def _member(self, key: str, member: Any) -> Any:
        return self.value(member)

    def _items(self, items: list[Any]) -> list[Any]:
        return [self.value(item) for item in items]


def _blank(value: Any) -> Any:
    """The same shape with every string and number replaced; names of variables and headers stay."""
    if isinstance(value, dict):
        return {k: v if k == "name" else _blank(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_blank(item) for item in value]
    return value if value is None or isinstance(value, bool) else REDACTED


def _short(session: str) -> str:
    return "…" + session[-SESSION_TAIL:]


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).replace("-", "_").lower()
