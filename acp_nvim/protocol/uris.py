"""Parts of URIs that agents and language servers send."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, urlsplit

_INVALID: Final = SplitResult("", "", "", "", "")


def split_uri(uri: str) -> SplitResult:
    """Return the parts of a URI. All are empty if it is invalid, such as `http://[x`."""
    try:
        return urlsplit(uri)
    except ValueError:
        return _INVALID
