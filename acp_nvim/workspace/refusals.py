"""Why a file is not served: reasons with the codes the contract gives them."""

from __future__ import annotations

from typing import Final, Literal

from acp_nvim.protocol.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    RequestError,
)

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
    "failed",
]

CODES: Final[dict[Reason, int]] = {
    "missing": RESOURCE_NOT_FOUND,
    "relative": INVALID_PARAMS,
    "directory": INVALID_PARAMS,
    "binary": INVALID_PARAMS,
    "too_large": INVALID_PARAMS,
    "outside": INVALID_PARAMS,
    "denied": INVALID_PARAMS,
    "conflict": INTERNAL_ERROR,
    "readonly": INTERNAL_ERROR,
    "failed": INTERNAL_ERROR,
}
"""The code of the JSON-RPC error for each reason."""


WORDS: Final[dict[Reason, str]] = {"missing": "Resource not found: "}
"""How the official SDKs begin the message: some agents know the error by these words alone, and
write no new file when they are missing.
"""


def refusal(reason: Reason, path: str, why: str) -> RequestError:
    """The error that answers a refused request: one line, and `data = {path, reason}`."""
    words = WORDS.get(reason, "")
    message = one_line(f"{words}{path}: {why}")
    return RequestError(CODES[reason], message, {"path": path, "reason": reason})


def why(error: RequestError) -> str:
    """The reason of a refusal without the path, for who knows that."""
    path = error.data.get("path") if isinstance(error.data, dict) else None
    if path is None:
        return str(error)
    return str(error).removeprefix(WORDS["missing"]).removeprefix(one_line(f"{path}: "))


def one_line(text: str) -> str:
    """The text with everything that is no printable character shown as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
