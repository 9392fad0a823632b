"""Language of words for scripted language servers, as pure functions of texts.

`def NAME` at the start of a line (perhaps indented) defines a word, `class NAME` a class. The same
word anywhere else is a use of it. A line with `error: TEXT`, `warning: TEXT` or `hint: TEXT` in it
has that diagnostic. Columns in results are counted in the server's encoding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Texts = Mapping[str, str]
"""Texts by URI."""

DEFINED = re.compile(r"^\s*(def|class) (\w+)")
SAID = re.compile(r"(error|warning|hint): (.*)")
SEVERITIES = {"error": 1, "warning": 2, "hint": 4}
KINDS = {"def": 12, "class": 5}


def width(text: str, encoding: str) -> int:
    """Return the length of a text as a server counts it."""
    if encoding == "utf-32":
        return len(text)
    return len(text.encode("utf-16-le")) // 2 if encoding == "utf-16" else len(text.encode())


def span(row: int, line: str, first: int, last: int, encoding: str) -> dict[str, Any]:
    """Return a range within one line; ``first`` and ``last`` count characters."""
    start, end = width(line[:first], encoding), width(line[:last], encoding)
    return {"start": {"line": row, "character": start}, "end": {"line": row, "character": end}}


def word_at(text: str, position: Mapping[str, int], encoding: str) -> str | None:
    """Return the word at a position, or None between words."""
    lines = text.split("\n")
    line = lines[position["line"]] if position["line"] < len(lines) else ""
    for match in re.finditer(r"\w+", line):
        start, end = (width(line[:at], encoding) for at in match.span())
        if start <= position["character"] < end:
            return match.group()
    return None


def uses(texts: Texts, word: str, encoding: str) -> Iterator[dict[str, Any]]:
    """Return every place of a word as `Location`."""
    for uri, text in sorted(texts.items()):
        for row, line in enumerate(text.split("\n")):
            for match in re.finditer(rf"\b{re.escape(word)}\b", line):
                yield {"uri": uri, "range": span(row, line, *match.span(), encoding)}


def defined(texts: Texts, encoding: str) -> Iterator[dict[str, Any]]:
    """Return every definition as `SymbolInformation`."""
    for uri, text in sorted(texts.items()):
        for row, line in enumerate(text.split("\n")):
            match = DEFINED.match(line)
            if match:
                where = {"uri": uri, "range": span(row, line, *match.span(2), encoding)}
                kind = KINDS[match.group(1)]
                yield {"name": match.group(2), "kind": kind, "location": where}


def outline(text: str, encoding: str) -> list[dict[str, Any]]:
    """Return the definitions of a text as `DocumentSymbol`s; indented ones belong to the one
    above.
    """
    found: list[dict[str, Any]] = []
    for row, line in enumerate(text.split("\n")):
        match = DEFINED.match(line)
        if not match:
            continue
        symbol: dict[str, Any] = {
            "name": match.group(2),
            "kind": KINDS[match.group(1)],
            "range": span(row, line, 0, len(line), encoding),
            "selectionRange": span(row, line, *match.span(2), encoding),
            "children": [],
        }
        inner = line[:1].isspace() and found
        (found[-1]["children"] if inner else found).append(symbol)
    return found


def diagnostics(text: str, source: str, encoding: str) -> list[dict[str, Any]]:
    """Return the diagnostics in the lines of a text."""
    found = []
    for row, line in enumerate(text.split("\n")):
        match = SAID.search(line)
        if match:
            found.append(
                {
                    "range": span(row, line, *match.span(), encoding),
                    "severity": SEVERITIES[match.group(1)],
                    "message": match.group(2),
                    "source": source,
                    "code": match.group(1)[0].upper() + "1",
                }
            )
    return found


def trimmed(text: str, encoding: str) -> list[dict[str, Any]]:
    """Return edits that remove spaces at the ends of lines."""
    return [
        {"range": span(row, line, len(line.rstrip()), len(line), encoding), "newText": ""}
        for row, line in enumerate(text.split("\n"))
        if line != line.rstrip()
    ]
