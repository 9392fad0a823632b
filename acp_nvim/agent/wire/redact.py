"""Redaction of secrets in logged traffic, for logs that are attached to reports.

Secrets are configured values, values in environments and headers, and values found by their name
(`secret_names`), the text around them (`secret_text`) or their shape (`secret_shapes`). JSON inside
strings is treated like any other.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote, urlsplit

import msgspec

from acp_nvim.agent.wire import secret_shapes, secret_text
from acp_nvim.agent.wire.secret_names import (
    HARMLESS,
    is_container,
    is_secret,
    snake,
    strength,
)
from acp_nvim.patterns import late

REDACTED = "«redacted»"
SESSION_TAIL = 8
"""Number of characters shown of a session id: enough to tell sessions apart, too few to use one."""
SHORTEST_SECRET = 4
"""Minimum length of a value that is searched for in text. Shorter ones would match everywhere."""
MAX_DEPTH: Final = 8
"""Maximum depth of JSON inside strings. Deeper levels are redacted as a whole."""
FEW_SESSIONS: Final = 20
SHORT_TEXT: Final = 40
SHORT_TEXTS: Final = 5000

_FLAG = late(r"--?[\w-]+$")
_USER_FLAGS = {"-u", "--user", "--proxy-user", "-U"}
_SESSION = late(rb'"sessionId"\s*:\s*"([^"\\]+)"')
_WORD = late(r"[\w-]{9,}")
_ASSIGNED = late(r"([\w.-]{1,100})(\s?[=:]\s?)(.+)", re.DOTALL)
_OPENS, _CLOSES = ('{"', '["', "[{", '"{', '"[', '"\\"', "{ ", "{\n", "[\n", "[ "), ("}", "]", '"')
_BASE64_LINE = late(r"\s*(?:[A-Za-z0-9+/=]+|[\w-]+: .*)?\s*")
_LAST_WORD = late(r"(?<!\S)\S++(?=(?: …\[\d+ bytes\])?\Z)")


class Redactor:
    """Redactor of decoded JSON and plain text.

    Session ids found in JSON are also shortened in later text.
    """

    def __init__(self, secrets: Iterable[str] = (), *, is_quick: bool = False) -> None:
        """With `is_quick`, only find the most common shapes, which are not read from a file."""
        self._secrets = variants(secrets)
        self._sessions: set[str] = set()
        """Session ids found in JSON."""
        self._shapes = secret_shapes.common_shapes() if is_quick else secret_shapes.all_shapes()
        self._depth = 0
        """Depth of JSON texts inside JSON texts."""
        self._short_texts: dict[str, str] = {}
        """Results for short texts, most of which recur, such as the names of members."""
        self._in_key: set[str] = set()
        """Streams whose next line may be in a private key."""

    def scan(self, lines: Iterable[bytes]) -> None:
        """Scan a whole log before it is redacted.

        Session ids are then also found in earlier lines, and shapes without a keyword in the log
        are skipped.
        """
        self._shapes = self._shapes.found_in(self._found_sessions(lines))

    def _found_sessions(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            for session_id in _SESSION.findall(line):
                self._add_session(session_id.decode("utf-8", "replace"))
            yield line

    def _add_session(self, session: str) -> None:
        if len(session) > SESSION_TAIL and session not in self._sessions:
            self._sessions.add(session)
            self._short_texts.clear()

    def text(self, text: str) -> str:
        """Return `text` without known secrets and strings that look like secrets."""
        if len(text) > SHORT_TEXT:
            return self._redact_long_text(text)
        redacted = self._short_texts.get(text)
        if redacted is None:
            if len(self._short_texts) > SHORT_TEXTS:
                self._short_texts.clear()
            redacted = self._short_texts[text] = self._redact_long_text(text)
        return redacted

    def _redact_long_text(self, text: str) -> str:
        if len(text) < SHORTEST_SECRET:
            return text
        if _is_json(text):
            redacted = self._redact_json(text)
            if redacted is not None:
                return redacted
        elif "\n" in text and '{"' in text:
            parts = text.split("\n")
            text = "\n".join(
                (self._redact_json(part) or part) if _is_json(part) else part for part in parts
            )
        return self._redact_plain(text)

    def _redact_plain(self, text: str) -> str:
        text = self._replace_known_secrets(text)
        if self._sessions:
            text = self._shorten_session_ids(text)
        text = secret_text.redact(text, REDACTED)
        return self._shapes.redact(text, REDACTED)

    def _replace_known_secrets(self, text: str) -> str:
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, REDACTED)
        return text

    def _shorten_session_ids(self, text: str) -> str:
        if len(self._sessions) > FEW_SESSIONS:
            return _WORD.sub(lambda m: _shorten(m[0]) if m[0] in self._sessions else m[0], text)
        for session in self._sessions:
            text = text.replace(session, _shorten(session))
        return text

    def line(self, text: str, stream: str, is_whole: bool = True) -> str:
        """Redact a line of a stream that is not JSON.

        A private key spans several lines. The last word of an incomplete line may be part of a
        secret.
        """
        if stream in self._in_key:
            if "-----END" not in text and _BASE64_LINE.fullmatch(text):
                return REDACTED
            self._in_key.discard(stream)
        if "PRIVATE KEY" in text and "BEGIN" in text and "END" not in text:
            self._in_key.add(stream)
        if not is_whole:
            text = _LAST_WORD.sub(REDACTED, text)
        return self.text(text)

    def _redact_json(self, text: str) -> str | None:
        """Return JSON text without its secrets, or None if the text is not JSON."""
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None
        if not isinstance(value, dict | list | str):
            return None
        if self._depth >= MAX_DEPTH:
            return REDACTED
        self._depth += 1
        try:
            redacted = self.value(value)
        except RecursionError:
            return REDACTED
        finally:
            self._depth -= 1
        return text if redacted == value else msgspec.json.encode(redacted).decode()

    def value(self, value: Any) -> Any:
        """Return a copy of decoded JSON without its secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return self._redact_members(value)
        if isinstance(value, list):
            return self._redact_items(value)
        return value

    def _redact_members(self, members: dict[str, Any]) -> dict[str, Any]:
        name = members.get("name", members.get("key"))
        redacted = {
            self.text(key): self._redact_member(key, member) for key, member in members.items()
        }
        if isinstance(name, str) and isinstance(members.get("value"), str) and strength(name):
            redacted["value"] = self._redact_by_name(name, members["value"])
        program, arguments = members.get("command"), members.get("args")
        if isinstance(program, str) and isinstance(arguments, list):
            redacted[self.text("args")] = self._redact_items(arguments, program)
        return redacted

    def _redact_member(self, key: str, member: Any) -> Any:
        name = snake(key)
        if is_container(key):
            return self._redact_values(member)
        if name == "session_id" and isinstance(member, str):
            self._add_session(member)
        return self._redact_by_name(key, member)

    def _redact_by_name(self, name: str, value: Any) -> Any:
        level = strength(name)
        if level == "strong" and not _is_count(name, value):
            return redact_all(value)
        if level == "weak" and isinstance(value, str) and is_secret(value):
            return REDACTED
        if level == "weak" and isinstance(value, list):
            return [self._redact_by_name(name, item) for item in value]
        return self.value(value)

    def _redact_values(self, value: Any) -> Any:
        """Redact the values of an environment or of headers, in any form."""
        if isinstance(value, dict):
            return {
                key: self.value(member) if _is_harmless(key, member) else redact_all(member)
                for key, member in value.items()
            }
        if isinstance(value, list):
            return [self._redact_variable(item) for item in value]
        return redact_all(value)

    def _redact_variable(self, item: Any) -> Any:
        if isinstance(item, dict):
            name = item.get("name", item.get("key"))
            if isinstance(name, str) and _is_harmless(name, item.get("value")):
                return self._redact_members(item)
        elif isinstance(item, str) and (assigned := _ASSIGNED.fullmatch(item)):
            name, sep, value = assigned.groups()
            return name + sep + (self.text(value) if _is_harmless(name, value) else REDACTED)
        return redact_all(item)

    def _redact_items(self, items: list[Any], program: str = "") -> list[Any]:
        redacted = []
        before: Any = None
        for item in items:
            if _is_secret_of(before, item):
                redacted.append(redact_all(item))
            elif isinstance(item, str) and secret_text.is_password_option(program, item):
                redacted.append(item[:2] + REDACTED)
            else:
                redacted.append(self.value(item))
            if isinstance(item, str) and secret_text.has_password_option(item):
                program = item
            before = item
        return redacted


class SecretsOnly(Redactor):
    """Redactor of known secret values only, for a user who wants to see the whole log."""

    def text(self, text: str) -> str:
        return self._replace_known_secrets(text)

    def line(self, text: str, stream: str, is_whole: bool = True) -> str:
        return self._replace_known_secrets(text)

    def _redact_members(self, members: dict[str, Any]) -> dict[str, Any]:
        return {
            self._replace_known_secrets(key): self.value(member) for key, member in members.items()
        }

    def _redact_items(self, items: list[Any], program: str = "") -> list[Any]:
        return [self.value(item) for item in items]


def variants(secrets: Iterable[str]) -> list[str]:
    """Return the spellings in which secret values can appear in a log.

    A value may be unchanged, escaped once or twice in JSON, in a URL, in base64, or split into
    lines. The password of a URL may appear alone.
    """
    every = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
    every |= {password for secret in every if (password := _password(secret)) is not None}
    every |= {
        line
        for secret in every
        if "\n" in secret
        for line in secret.splitlines()
        if len(line) >= 16
    }
    spelled = set(every)
    for secret in every:
        spelled |= _escaped_forms(secret)
        raw = secret.encode("utf-8", "surrogateescape")
        spelled |= {quote(raw, safe=""), quote(raw)}
        if len(raw) >= 8:
            spelled.add(b64encode(raw).decode().rstrip("="))
    # The longest first, since one may be a prefix of another.
    return sorted(spelled, key=len, reverse=True)


def _escaped_forms(secret: str) -> set[str]:
    if secret.isascii() and secret.isprintable() and not {'"', "\\"}.intersection(secret):
        return {secret}
    import json

    once = json.dumps(secret)[1:-1]
    return {once, json.dumps(once)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}


def _password(url: str) -> str | None:
    if "://" not in url or "@" not in url:
        return None
    try:
        password = urlsplit(url).password
    except ValueError:
        return None
    return password if password and len(password) >= SHORTEST_SECRET else None


def _is_json(text: str) -> bool:
    start = text.lstrip()[:2] if text[:1].isspace() else text[:2]
    return start in _OPENS and text.rstrip()[-1:] in _CLOSES


def _is_harmless(name: str, value: Any) -> bool:
    plain = snake(name)
    is_harmless = plain in HARMLESS or plain.startswith(("lc_", "xdg_"))
    return is_harmless or isinstance(value, bool | None)


def _is_count(name: str, value: Any) -> bool:
    """Return whether the value is a count of tokens or a flag about a password."""
    if isinstance(value, bool | None):
        return True
    return isinstance(value, int | float) and "token" in name.lower()


def _is_secret_of(option: Any, item: Any) -> bool:
    """Return whether an argument is the secret value of the option before it."""
    if not isinstance(option, str) or not isinstance(item, str):
        return False
    if option in _USER_FLAGS:
        return ":" in item and not item.replace(":", "").isdigit()
    return _FLAG.match(option) is not None and strength(option.lstrip("-")) == "strong"


def redact_all(value: Any) -> Any:
    """Replace every string and number in a value, except names of variables and headers."""
    if isinstance(value, dict):
        return {
            k: v if k in ("name", "key") and isinstance(v, str) else redact_all(v)
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [redact_all(item) for item in value]
    is_shown = value is None or isinstance(value, bool)
    is_shown = is_shown or (isinstance(value, str) and secret_text.is_reference(value))
    return value if is_shown else REDACTED


def _shorten(session: str) -> str:
    return "…" + session[-SESSION_TAIL:]
