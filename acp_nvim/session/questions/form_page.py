"""Form as a page of text for editing, and parsing of the page into values.

A field is a block: its head (`━━ 1. title (required) · its values`), help lines (`│ …`), then the
value. A text is unchanged, on any number of lines. Choices are lines with a box: `(x)` for one of
them, `[x]` for any of them. Lines of a text that look like heads or help are escaped with a
backslash.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from acp_nvim.patterns import late
from acp_nvim.render.text import one_line, visible
from acp_nvim.session.questions.forms import Choice, Field, Problem, describe_accepted

HEAD: Final = "━━ "
HELP: Final = "│ "

_ESCAPED: Final = late(r"\\*[━│]")
_BOX: Final = late(r"\s*[\[(]([^\])]?)[\])]\s?(.*)")


class Page(msgspec.Struct):
    """Contents of a page: values by name, problems, the row of each field's head."""

    values: dict[str, Any] = msgspec.field(default_factory=dict)
    problems: list[Problem] = msgspec.field(default_factory=list)
    rows: dict[str, int] = msgspec.field(default_factory=dict)


def page_lines(form: Sequence[Field], values: Mapping[str, Any], above: Sequence[str]) -> list[str]:
    """Return the page with these values. `above` are its first lines."""
    page = [HELP + line for text in above for line in visible(text).split("\n")]
    for number, field in enumerate(form):
        page += [
            "",
            field_head(number, field),
            *_help(field),
            *_value(field, values.get(field.name)),
        ]
    return page


def first_value(page: Sequence[str]) -> int:
    """Return the 0-based row of the first value."""
    heads = [row for row, line in enumerate(page) if line.startswith(HEAD)]
    below = range(heads[0] + 1, len(page)) if heads else range(0)
    return next((row for row in below if not page[row].startswith(HELP)), 0)


def field_head(number: int, field: Field) -> str:
    """Return a field's head. It begins with the field's number, because two labels may be equal."""
    accepts = describe_accepted(field)
    words = f"{HEAD}{number + 1}. {one_line(field.label, 120)}"
    return f"{words} · {one_line(accepts, 200)}" if accepts else words


def _help(field: Field) -> list[str]:
    described = [HELP + line for line in visible(field.description or "").split("\n") if line]
    if field.kind == "unknown":
        described.append(f"{HELP}It is left out; decline if the agent needs it.")
    return described


def _value(field: Field, value: Any) -> list[str]:
    match field.kind:
        case "boolean":
            return [f"[{_checkbox(value is True)}] yes"]
        case "choice":
            return [
                f"({_checkbox(choice.value == value)}) {_choice_text(choice)}"
                for choice in field.choices
            ]
        case "choices":
            given = value if isinstance(value, list | tuple) else ()
            chosen = {text for text in given if isinstance(text, str)}
            return [
                f"[{_checkbox(choice.value in chosen)}] {_choice_text(choice)}"
                for choice in field.choices
            ]
        case "unknown":
            return []
        case "text":
            return [_escape(line) for line in str(value or "").split("\n")]
        case _:
            return ["" if value is None else str(value)]


def _checkbox(chosen: bool) -> str:
    return "x" if chosen else " "


def _choice_text(choice: Choice) -> str:
    """Return a choice on one line: its title, and its value if that differs."""
    named = (
        choice.title if choice.title in ("", choice.value) else f"{choice.title} · {choice.value}"
    )
    named = named or choice.value
    return one_line(f"{named} — {choice.description}" if choice.description else named, 400)


def _escape(line: str) -> str:
    return "\\" + line if _ESCAPED.match(line) else line


def _unescape(line: str) -> str:
    return line[1:] if line.startswith("\\") and _ESCAPED.match(line) else line


def parse_page(form: Sequence[Field], page: Sequence[str]) -> Page:
    """Parse a page that the user has edited."""
    result = Page()
    blocks = _blocks(form, page, result.rows)
    for field in form:
        body = blocks.get(field.name)
        if body is None:
            if field.kind != "unknown":
                result.problems.append(
                    Problem(field.name, "its block is gone from the form (u undoes)")
                )
            continue
        _parse_value(field, body, result)
    return result


def _blocks(
    form: Sequence[Field], page: Sequence[str], rows: dict[str, int]
) -> dict[str, list[str]]:
    """Return the lines below each head, by name of the field."""
    heads = {field_head(number, field): field.name for number, field in enumerate(form)}
    blocks: dict[str, list[str]] = {}
    body: list[str] = []
    for row, line in enumerate(page):
        name = heads.get(line.rstrip())
        if name is not None:
            body = blocks.setdefault(name, [])
            rows.setdefault(name, row)
        elif not line.startswith(HELP) and line != HELP.rstrip():
            body.append(line)
    return blocks


def _parse_value(field: Field, body: list[str], page: Page) -> None:
    """Parse one value out of its block. An empty block has no value."""
    match field.kind:
        case "boolean":
            page.values[field.name] = any(_ticks(body))
        case "choice" | "choices":
            _parse_choices(field, body, page)
        case "text":
            text = "\n".join(_unescape(line) for line in _trim_blank(body))
            if text:
                page.values[field.name] = text
        case "integer" | "number":
            _parse_number(field, " ".join(body).strip(), page)
        case _:
            return


def _trim_blank(body: list[str]) -> list[str]:
    """Remove the blank lines around a text, which belong to the page."""
    end = len(body)
    while end and not body[end - 1].strip():
        end -= 1
    return body[:end]


def _ticks(body: list[str]) -> list[bool]:
    """Return for each line with a box whether it is ticked."""
    boxes = [_BOX.match(line) for line in body]
    return [box[1].strip() != "" for box in boxes if box is not None]


def _parse_choices(field: Field, body: list[str], page: Page) -> None:
    ticks = _ticks(body)
    if len(ticks) != len(field.choices):
        page.problems.append(Problem(field.name, "its choices were changed (u undoes)"))
        return
    chosen = [choice.value for choice, ticked in zip(field.choices, ticks, strict=True) if ticked]
    if field.kind == "choices":
        if chosen or field.required or field.default is not None:
            page.values[field.name] = chosen
    elif len(chosen) > 1:
        page.problems.append(Problem(field.name, f"one of them, not {len(chosen)}"))
    elif chosen:
        page.values[field.name] = chosen[0]


def _parse_number(field: Field, text: str, page: Page) -> None:
    if not text:
        return
    try:
        page.values[field.name] = int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
    except ValueError:
        kind = "whole number" if field.kind == "integer" else "number"
        page.problems.append(Problem(field.name, f"{text!r} is not a {kind}"))


def summary(form: Sequence[Field], values: Mapping[str, Any]) -> list[str]:
    """Return the values to send, one line per field."""
    return [
        f"{one_line(field.title or field.name, 120)}: "
        + (_value_text(values[field.name]) if field.name in values else "not given")
        for field in form
    ]


def _value_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return one_line(", ".join(str(chosen) for chosen in value), 300) or "none of them"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return one_line(str(value), 300)
