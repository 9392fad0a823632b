"""Secrets recognized by their shape: gitleaks' rules (`gitleaks.toml`) and some additions.

The rules are only read when a log is saved or shown.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Final

SHORTEST_GROUP: Final = 8
"""Minimum length of a group that is the whole secret. A shorter group is only a part of it."""

BATCH: Final = 256 << 10
RULES: Final = Path(__file__).with_name("gitleaks.toml")

_COMMON: Final[dict[str, tuple[str, str]]] = {
    "anthropic": ("sk-ant-", r"sk-ant-[\w-]{16,}"),
    "openai-like": ("sk-", r"(?<![A-Za-z0-9])sk-(?:proj-|svcacct-|admin-|or-v1-)?[\w-]{20,}"),
    "stripe-like": ("_live_", r"(?<![A-Za-z0-9])[spr]k_live_[A-Za-z0-9]{10,}"),
    "stripe-test": ("_test_", r"(?<![A-Za-z0-9])[spr]k_test_[A-Za-z0-9]{10,}"),
    "webhook-secret": ("whsec_", r"whsec_[A-Za-z0-9+/=]{20,}"),
    "google-oauth-token": ("ya29.", r"ya29\.[\w-]{20,}"),
    "google-oauth-secret": ("gocspx-", r"GOCSPX-[\w-]{20,}"),
    "google-api": ("aiza", r"AIza[\w-]{35}"),
    "google-refresh": ("1//", r"(?<![\w/])1//0[\w-]{30,}"),
    "aws-bedrock": ("absk", r"ABSK[A-Za-z0-9+/]{60,}={0,2}"),
    "xai": ("xai-", r"xai-[A-Za-z0-9]{40,}"),
    "groq": ("gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    "replicate": ("r8_", r"(?<![A-Za-z0-9])r8_[A-Za-z0-9]{35,}"),
    "huggingface": ("hf_", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}"),
    "docker": ("dckr_", r"dckr_(?:pat|oat)_[\w-]{20,}"),
    "npm": ("npm_", r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}"),
    "pypi": ("pypi-", r"pypi-[\w-]{40,}"),
    "supabase": ("sbp_", r"sbp_[a-f0-9]{40}"),
    "supabase-secret": ("sb_secret_", r"sb_secret_[\w-]{20,}"),
    "tailscale": ("tskey-", r"tskey-[\w-]{20,}"),
    "langsmith": ("lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9_]{30,}"),
    "nvidia": ("nvapi-", r"nvapi-[\w-]{40,}"),
    "resend": ("re_", r"(?<![A-Za-z0-9])re_[A-Za-z0-9]{6,}_[A-Za-z0-9]{16,}"),
    "mailgun": ("key-", r"(?<![A-Za-z0-9])key-[0-9a-f]{32}"),
    "telegram": (":a", r"(?<!\d)\d{8,10}:A[\w-]{34}"),
    "atlassian": ("atatt", r"ATATT3[\w=-]{50,}"),
    "gitlab": ("gl", r"gl(?:pat|dt|rt|ft|cbt|ptt|soat|oas|agent|imt|ffct)-[\w.-]{16,}"),
    "github": ("gh", r"gh[pousr]_[A-Za-z0-9]{30,}"),
    "github-fine": ("github_pat_", r"github_pat_\w{22,}"),
    "slack": ("xox", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}"),
    "slack-webhook": ("hooks.slack.com", r"hooks\.slack\.com/[a-z]+/([\w/+-]{20,})"),
    "discord-webhook": ("/webhooks/", r"discord(?:app)?\.com/api/webhooks/(\d+/[\w-]{20,})"),
    "jwt": ("eyj", r"(?<![A-Za-z0-9])eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*){0,3}"),
    "linear": ("lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    "figma": ("figd_", r"figd_[\w-]{30,}"),
    "vercel": ("vercel_", r"vercel_[a-z]+_[A-Za-z0-9]{20,}"),
    "cloudflare": ("v1.0-", r"v1\.0-[a-f0-9]{20,}-[a-f0-9]{100,}"),
    "planetscale": ("pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.=-]{30,}"),
    "firebase": ("aaaa", r"(?<!\w)AAAA[\w-]{7}:[\w-]{100,}"),
    "htpasswd": ("$", r"\$(?:apr1|2[aby]|5|6|y)\$[\w./$=]{20,}"),
    "putty": ("private-lines", r"(?i)Private-Lines: \d+\s+((?:[A-Za-z0-9+/=]{20,}\s*)++)"),
    "square": ("sq0", r"(?<![A-Za-z0-9])sq0[a-z]{3}-[\w-]{22,}"),
    "twilio-sid-auth": ("ac", r"(?<![A-Za-z0-9])AC[0-9a-f]{32}:([0-9a-f]{32})"),
}
"""Keyword and expression by name, as in gitleaks. Text without the keyword is not searched."""


class Shape:
    """Shape of a secret. It is only searched for in text with one of its keywords."""

    def __init__(self, regex: str, entropy: float = 0.0) -> None:
        """`entropy` is the minimum entropy of a secret, in bits per character."""
        self.regex = regex
        self.entropy = entropy

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return the compiled pattern. Most are never needed."""
        return re.compile(self.regex)


class Shapes:
    """All shapes by keyword, in lower case."""

    def __init__(self, shapes: dict[str, list[Shape]]) -> None:
        self.by_keyword = shapes
        self.keywords = tuple(shapes)

    def found_in(self, lines: Iterable[bytes]) -> Shapes:
        """Return the shapes whose keywords appear in the lines of a log."""
        missing = {keyword.encode(): keyword for keyword in self.keywords}
        shapes: dict[str, list[Shape]] = {}
        for lowered in _batches(lines):
            if b"\\u00" in lowered or b"\\/" in lowered:  # a keyword may be escaped
                return self
            for keyword in [keyword for keyword in missing if keyword in lowered]:
                name = missing.pop(keyword)
                shapes[name] = self.by_keyword[name]
        return Shapes(shapes)

    def redact(self, text: str, mark: str) -> str:
        """Return `text` with a mark in place of each string that has one of the shapes."""
        lowered = text.lower()
        for keyword in self.keywords:
            if keyword in lowered:
                for shape in self.by_keyword[keyword]:
                    text = shape.pattern.sub(partial(_mark_secret, shape, mark), text)
        return text


def _batches(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines in lower case, many at a time."""
    batch: list[bytes] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line)
        if size > BATCH:
            yield b"\n".join(batch).lower()
            batch, size = [], 0
    yield b"\n".join(batch).lower()


@cache
def common_shapes() -> Shapes:
    """Return the most common shapes."""
    return Shapes({keyword: [Shape(regex)] for keyword, regex in _COMMON.values()})


@cache
def all_shapes() -> Shapes:
    """Return all known shapes."""
    import tomllib

    table: dict[str, dict[str, Any]] = tomllib.loads(RULES.read_text(encoding="utf-8"))
    by_keyword = {keyword: list(shapes) for keyword, shapes in common_shapes().by_keyword.items()}
    for rule in table.values():
        shape = Shape(rule["regex"], rule.get("entropy", 0.0))
        for keyword in rule["keywords"]:
            by_keyword.setdefault(keyword, []).append(shape)
    return Shapes(by_keyword)


def _mark_secret(shape: Shape, mark: str, match: re.Match[str]) -> str:
    """Mark the widest group, or the whole match if that group is too short to be the secret."""
    spans = [match.span(group) for group in range(1, match.re.groups + 1)]
    first, last = max(spans, key=lambda span: span[1] - span[0], default=(0, 0))
    if last - first < SHORTEST_GROUP:
        first, last = match.span()
    secret = match.string[first:last]
    if mark in secret or (shape.entropy and entropy(secret) <= shape.entropy):
        return match.group()
    return match.string[match.start() : first] + mark + match.string[last : match.end()]


def entropy(text: str) -> float:
    """Return the Shannon entropy in bits per character."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)
