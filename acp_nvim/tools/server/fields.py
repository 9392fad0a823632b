"""Arguments shared by several tools, with their descriptions for models."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

PATH_FORMS: Final = "absolute, `~/...`, a `file:` URI, or relative to the session's directory"
Path = Annotated[str, Meta(min_length=1, description=f"File: {PATH_FORMS}")]
Line = Annotated[int, Meta(ge=1, description="Line, from 1")]
Symbol = Annotated[
    str | None,
    Meta(description="Text on that line, such as a name; or give column"),
]
Column = Annotated[
    Annotated[int, Meta(ge=1)] | None,
    Meta(description="Column, from 1, in characters; only if symbol is ambiguous"),
]
Limit = Annotated[
    int, Meta(ge=1, le=1000, description="Maximum number of results; the rest is only counted")
]
WaitMs = Annotated[
    int, Meta(ge=0, le=30_000, description="How long to wait for the language servers")
]


class PositionArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Place in a file."""

    path: Path
    line: Line
    symbol: Symbol = None
    column: Column = None


class PlaceListArguments(PositionArguments, kw_only=True, forbid_unknown_fields=True):
    """Place in a file, and the maximum number of results."""

    limit: Limit = 100
