"""Places in files: from agents' arguments and language servers' answers, and as lists of text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec

from acp_nvim.edits.text import Text
from acp_nvim.protocol.uris import unquote_path
from acp_nvim.session.session import Session
from acp_nvim.tools import files
from acp_nvim.tools.asking.positions import to_column
from acp_nvim.tools.files import Sources
from acp_nvim.tools.ports import Answer, Encoding, Position
from acp_nvim.tools.server.tool import ToolError, ToolResult


class Spot(msgspec.Struct, frozen=True):
    """Place in a language server's coordinates.

    `path` is a resolved path, or a URI with a scheme other than `file:`.
    """

    path: str
    row: int
    character: int
    encoding: Encoding
    note: str = ""
    """Text before the line's text: the kind and name of a symbol."""
    extra: tuple[tuple[str, Any], ...] = ()
    """Additional keys and values for the structured result."""


# -- arguments of agents --------------------------------------------------------------------------


def position(text: Text, name: str, line: int, symbol: str | None, column: int | None) -> Position:
    """Return the position of a symbol or column on a 1-based line.

    Raise a ToolError that quotes the line if the symbol or column is not on it.
    """
    if line > len(text.lines):
        raise ToolError(f"{name} has {len(text.lines)} lines; there is no line {line}")
    content = text.lines[line - 1]
    if symbol is not None and symbol.strip():
        return Position(line - 1, _symbol_column(text, name, line, symbol.strip()))
    if column is None:
        raise ToolError(
            f"give `symbol` (text on line {line}) or `column`: {_line_quote(name, line, content)}"
        )
    if column > len(content) + 1:
        raise ToolError(f"column {column} is past the end: {_line_quote(name, line, content)}")
    return Position(line - 1, column - 1)


def _symbol_column(text: Text, name: str, line: int, symbol: str) -> int:
    column = _find_symbol(text.lines[line - 1], symbol)
    if column is not None:
        return column
    rows = [row for row, line in enumerate(text.lines) if _find_symbol(line, symbol) is not None]
    nearest = min(rows, key=lambda row: abs(row - line + 1), default=None)
    other = "" if nearest is None else f" ({symbol!r} is on line {nearest + 1})"
    raise ToolError(
        f"{symbol!r} is not on that line: {_line_quote(name, line, text.lines[line - 1])}{other}"
    )


def _line_quote(name: str, line: int, content: str) -> str:
    cut = files.cut_line(content)
    return f"{name}:{line} is {cut!r}" if cut else f"{name}:{line} is empty"


def _find_symbol(content: str, symbol: str) -> int | None:
    """Return the 0-based column of a symbol's last word. Prefer a match of whole words."""
    whole = re.search(rf"(?<!\w){re.escape(symbol)}(?!\w)", content)
    start = whole.start() if whole else content.find(symbol)
    if start < 0:
        return None
    words = list(re.finditer(r"\w+", symbol))
    return start + (words[-1].start() if words else 0)


# -- answers from servers -------------------------------------------------------------------------


def path_of(uri: str) -> str:
    """Return the resolved path of a file URI, or any other URI unchanged.

    Raise ValueError for an invalid one.
    """
    parts = urlsplit(uri)
    return os.path.realpath(unquote_path(parts.path)) if parts.scheme == "file" else uri


def spot(uri: str, span: Any, encoding: Encoding, note: str = "", **extra: Any) -> Spot:
    """Return the start of an LSP range in a document."""
    start = span["start"]
    place = path_of(uri), int(start["line"]), int(start["character"])
    return Spot(*place, encoding, note, tuple(extra.items()))


def locations(answers: Sequence[Answer]) -> list[Spot]:
    """Return the distinct places in answers of type Location, Location[] or LocationLink[]."""
    spots: dict[Spot, None] = {}
    for answer in answers:
        results = answer.result if isinstance(answer.result, list) else [answer.result]
        for location in filter(None, results):
            with checked_answer(answer.name):
                span = (
                    location.get("targetSelectionRange")
                    or location.get("targetRange")
                    or location["range"]
                )
                uri = location.get("targetUri") or location["uri"]
                spots[spot(uri, span, answer.encoding)] = None
    return list(spots)


@contextmanager
def checked_answer(server: str) -> Iterator[None]:
    """Raise ToolError if an answer from a server does not have the form that LSP requires."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ToolError(f"the answer from {server} is not valid") from error


# -- as text --------------------------------------------------------------------------------------


class Listing(msgspec.Struct, frozen=True):
    """Places as text and as data. `more` is the number of places left out."""

    lines: list[str]
    places: list[dict[str, Any]]
    more: int


async def listing(session: Session, sources: Sources, spots: Iterable[Spot], limit: int) -> Listing:
    """Return the first places with the text of their lines, as `path:line:column text`."""
    lines: list[str] = []
    places: list[dict[str, Any]] = []
    seen, more = set(), 0
    for spot in spots:
        if len(places) >= limit:
            more += 1
            continue
        place = await _place_table(session, sources, spot)
        key = place["path"], place["line"], place["column"], spot.note
        if key not in seen:
            seen.add(key)
            places.append(place)
            content = " ".join(filter(None, (spot.note, place["text"])))
            lines.append(f"{place['path']}:{place['line']}:{place['column']} {content}".rstrip())
    return Listing(lines, places, more)


async def _place_table(session: Session, sources: Sources, spot: Spot) -> dict[str, Any]:
    is_path = os.path.isabs(spot.path)  # noqa: PTH117
    line = await sources.line(spot.path, spot.row) if is_path else None
    column = spot.character if line is None else to_column(line, spot.character, spot.encoding)
    return {
        "path": files.display_path(session, spot.path) if is_path else spot.path,
        "line": spot.row + 1,
        "column": column + 1,
        "text": "" if line is None else files.cut_line(line),
        **dict(spot.extra),
    }


def more_line(more: int) -> list[str]:
    """Return a line with the number of items left out, or no line if there are none."""
    return [f"… {more} more"] if more else []


def count_with_noun(count: int, noun: str) -> str:
    """Return a count with its noun: "1 place", "3 places"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def result(
    listing: Listing, empty_text: str, noun: str, about: str = "", **shown: Any
) -> ToolResult:
    """Return a list of places as the result of a call.

    `empty_text` is the text for an empty list. `shown` are further fields of `ToolResult`.
    """
    total = len(listing.places) + listing.more
    text = "\n".join([*listing.lines, *more_line(listing.more)]) or empty_text
    structured = {"places": listing.places, "more": listing.more}
    summary = count_with_noun(total, noun) + (f" of {about}" if about else "")
    return ToolResult(text, structured, summary, **shown)
