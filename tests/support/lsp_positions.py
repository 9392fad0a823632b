"""Positions as language servers count them, computed with Python's codecs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from acp_nvim.tools.ports import Encoding

UNIT: Final = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
"""Bytes of a code unit."""


def to_character(line: str, column: int, encoding: Encoding) -> int:
    """Return a column of ``line`` (in characters from 0) as a server counts it."""
    codec = encoding if encoding == "utf-8" else f"{encoding}-le"
    return len(line[:column].encode(codec, "surrogatepass")) // UNIT[encoding]
