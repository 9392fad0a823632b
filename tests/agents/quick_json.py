"""JSON by the encoder and the scanner of `json`, without its imports.

These import `re` and `enum`, which would take half of the start of an agent.
"""

from __future__ import annotations

from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SPACE = " \t\n\r"


class _Options:
    """Options of the scanner, which are those of `json.loads`."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


_scan = make_scanner(_Options)  # type: ignore[arg-type]


def loads(text: str | bytes) -> Any:
    """Return the value of a text, or raise ValueError."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogatepass")
    text = text.strip(SPACE)
    try:
        value, end = _scan(text, 0)
    except StopIteration as error:
        raise ValueError(f"not JSON: {text[:80]!r}") from error
    if end != len(text):
        raise ValueError(f"more than one JSON value: {text[:80]!r}")
    return value


def dumps(value: Any, *, ensure_ascii: bool = True) -> str:
    """Return the text of a value."""
    encode = encode_basestring_ascii if ensure_ascii else encode_basestring
    encoder = make_encoder({}, _refuse, encode, None, ": ", ", ", False, False, True)
    return "".join(encoder(value, 0))


def _refuse(value: object) -> None:
    raise TypeError(f"not a JSON type: {value!r}")
