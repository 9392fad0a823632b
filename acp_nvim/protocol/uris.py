"""Parts of URIs that agents and language servers send."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from acp_nvim.patterns import late

_INVALID: Final = SplitResult("", "", "", "", "")
_FILE: Final = late(r"(?i:file):(?://[^/?#]*)?+(/[^?#]*)")


def file_path(text: str) -> str | None:
    """Return the path of a `file:` URI with any host, or None for other text."""
    uri = _FILE.match(text)
    return None if uri is None else unquote(uri[1])


def file_suffix(uri: str) -> str:
    """Return the query and fragment of a `file:` URI."""
    path = _FILE.match(uri)
    return uri[path.end() :] if path is not None else ""


def split_uri(uri: str) -> SplitResult:
    """Return the parts of a URI. All are empty if it is invalid, such as `http://[x`."""
    try:
        return urlsplit(uri)
    except ValueError:
        return _INVALID
