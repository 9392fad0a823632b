"""Reasons for not serving a file."""

from __future__ import annotations

from typing import Literal

Reason = Literal[
    "missing",
    "relative",
    "directory",
    "binary",
    "too_large",
    "outside",
    "denied",
    "conflict",
    "readonly",
    "busy",
    "failed",
]


class Refusal(Exception):
    """An access to a file is refused. The message is one line with the path and the reason."""

    def __init__(self, reason: Reason, path: str, why: str) -> None:
        super().__init__(one_line(f"{path}: {why}"))
        self.reason: Reason = reason
        self.path = path
        self.why = one_line(why)


def one_line(text: str) -> str:
    """Escape unprintable characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
