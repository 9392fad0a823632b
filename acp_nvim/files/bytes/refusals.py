"""Why a file is not served."""

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
    """A file is not served; the text of the error is one line that names the path and says why."""

    def __init__(self, reason: Reason, path: str, why: str) -> None:
        super().__init__(one_line(f"{path}: {why}"))
        self.reason: Reason = reason
        self.path = path
        self.why = one_line(why)


def one_line(text: str) -> str:
    """The text with escapes in place of unprintable characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
