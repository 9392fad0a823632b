"""Names of secrets, such as JSON members, environment variables, headers and URL parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal

from acp_nvim.patterns import late

Strength = Literal["strong", "weak"] | None
"""Class of a name. Strong: any value is secret. Weak: only a value that looks secret is."""

_CONTAINERS: Final = {"env", "environment", "environment_variables", "env_vars", "envs", "headers"}
HARMLESS: Final = {
    # environment variables
    *("path", "home", "user", "logname", "shell", "pwd", "oldpwd", "lang", "language", "tz"),
    *("term", "colorterm", "tmpdir", "editor", "visual", "pager", "git_pager", "display", "ci"),
    *("node_env", "debug", "rust_log", "rust_backtrace", "pythonpath", "virtual_env", "no_color"),
    *("columns", "lines", "shlvl", "hostname", "pythonunbuffered", "force_color", "acp_child"),
    # headers
    *("accept", "accept_encoding", "accept_language", "content_type", "content_length"),
    *("user_agent", "host", "date", "cache_control", "connection", "mcp_protocol_version"),
}

_STRONG: Final = {
    *("password", "passwords", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets"),
    *("credential", "credentials", "creds", "apikey", "apikeys", "privatekey", "secretkey"),
    *("accesskey", "authtoken", "accesstoken", "pgpassword"),
}
"""Words that make a name secret in any position."""
_STRONG_LAST: Final = {
    *("token", "authorization", "cookie", "cookies", "jwt", "bearer", "pass", "dsn", "pat"),
    *("passkey", "otp", "totp", "userpwd"),
}
_WEAK_LAST: Final = {"auth", "tokens", "sig", "signature", "session", "userinfo", "webhook"}
_KEY_OF: Final = {
    *("api", "access", "private", "secret", "signing", "encryption", "master", "service"),
    *("account", "auth", "client", "ssh", "deploy", "license", "subscription", "shared", "rsa"),
    *("storage", "app", "application", "webhook", "session", "cookie", "consumer", "admin"),
    *("write", "server", "functions", "instrumentation", "integration", "ingest", "personal"),
    *("hmac", "aes", "ed25519", "ecdsa", "decryption", "service_role", "role", "anon", "base"),
    *("host", "device", "developer", "dev", "live", "test", "prod", "user", "root", "team"),
}
_KEY_NOT_OF: Final = {
    *("public", "primary", "foreign", "sort", "partition", "cache", "hot", "map", "group"),
    *("unique", "index", "row", "column", "object", "registry", "host", "dict", "lookup", "pub"),
    *("idempotency", "translation", "i18n", "message", "route", "query", "composite", "natural"),
}
_ENDINGS: Final = late(
    r"(?:token|secret|password|passwd|passphrase|apikey|privatekey|accesskey|secretkey"
    r"|accountkey|credentials?|authkey|cookie)$"
)
"""Endings of names written as one word."""
_SUFFIXES: Final = {
    *("value", "b64", "base64", "raw", "plain", "old", "new", "current", "next", "prod", "dev"),
    *("test", "live", "staging", "hash", "key", "base", "string", "text", "data", "header"),
}
_DESCRIPTIVE: Final = {
    *("file", "files", "path", "dir", "name", "names", "type", "kind", "count", "length", "len"),
    *("size", "limit", "field", "fields", "policy", "hint", "label", "format", "expires"),
    *("expiry", "expiration", "at", "ttl", "manager", "strength", "required", "enabled"),
    *("visible", "prompt", "placeholder", "store", "provider", "helper", "method", "methods"),
    *("scheme", "mode", "index", "version", "regex", "pattern", "rules", "usage", "budget"),
    *("url", "uri", "endpoint", "scope", "scopes", "lifetime", "timeout", "env", "var", "sock"),
    *("kinds", "detected", "found", "supported", "capabilities", "status", "in", "out", "id"),
    *("input", "output", "max", "min", "total", "used", "per", "ref", "arn", "santa", "rotation"),
}
"""Endings of names that describe a secret without containing it."""
_HUMP: Final = late(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MAX_LENGTH: Final = 100


def is_container(name: str) -> bool:
    """Return whether a member maps names to values that are secret unless the name is harmless."""
    plain = snake(name)
    return plain in _CONTAINERS or plain.endswith("_headers")


def snake(name: str) -> str:
    """Convert `apiKey`, `API-Key` and `api.key` to `api_key`."""
    return re.sub(r"[^A-Za-z0-9]+", "_", _HUMP.sub("_", name)).strip("_").lower()


@lru_cache(maxsize=8192)
def strength(name: str) -> Strength:
    """Classify a name. Return None if its values are not secret."""
    if len(name) > _MAX_LENGTH:
        return None
    words = [word.rstrip("0123456789") or word for word in snake(name).split("_") if word]
    if not words or (words[-1] in _DESCRIPTIVE and words[-2:] != ["key", "id"]):
        return None
    if words[-2:] == ["key", "id"]:  # secret for an access key, but a mere name for a private key
        return "strong" if words[-3:-2] == ["access"] else None
    if words[-2:] in (["connection", "string"], ["connection", "str"], ["conn", "str"]):
        return "strong"
    if _STRONG.intersection(words) or _ENDINGS.search(words[-1]):
        return "strong"
    if "private" in words and "key" in words:
        return "strong"
    return _strength_of_last(name, words)


def _strength_of_last(name: str, words: list[str]) -> Strength:
    while len(words) > 1 and words[-1] in _SUFFIXES and words[-1] != "key":
        words = words[:-1]
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _STRONG_LAST:
        return "strong"
    if last in ("key", "keys") and before:
        if before in _KEY_OF and not (before == "host" or (name.islower() and before == "test")):
            return "strong"
        if name.isupper() and before not in _KEY_NOT_OF:
            return "strong"
        return None
    return "weak" if last in _WEAK_LAST else None


def is_secret(text: str) -> bool:
    """Return whether a string looks like a secret: one word that is long or has a digit."""
    if len(text) < 8 or any(char.isspace() for char in text):
        return False
    return any(char.isdigit() for char in text) or len(text) >= 20


_PLAIN_VALUES: Final = {"", "true", "false", "yes", "no", "none", "null", "auto", "default"}


def secret_values(env: Mapping[str, str]) -> list[str]:
    """Return the values in an environment that must not be logged, because of their names."""
    return [
        value
        for name, value in env.items()
        if (level := strength(name)) is not None  # the only test whose results are cached
        and (level == "strong" or is_secret(value))
        and value.lower() not in _PLAIN_VALUES
        and snake(name) not in HARMLESS
    ]
