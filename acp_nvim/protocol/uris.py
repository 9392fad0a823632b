"""Parts of URIs that agents and language servers send."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit

from acp_nvim.patterns import late

_INVALID: Final = SplitResult("", "", "", "", "")
_FILE: Final = late(r"(?i:file):(?://[^/?#]*)?+(/[^?#]*)")


def file_path(text: str) -> str | None:
    """Return the path of a `file:` URI with any host, or None for other text."""
    uri = _FILE.match(text)
    return None if uri is None else unquote_path(uri[1])


def unquote_path(path: str) -> str:
    """Return the path of a URI as a file name. Bytes that are not UTF-8 become surrogates.

    `os.fsdecode` does the same.
    """
    return unquote(path, errors="surrogateescape")


def quote_path(path: str) -> str:
    """Return a file name as the path of a URI: the opposite of `unquote_path`."""
    return quote(path, errors="surrogateescape")


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
