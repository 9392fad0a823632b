"""Entries of a chat in full, as Markdown and as plain lines: nothing folded or cut."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from acp_nvim.protocol import schema
from acp_nvim.protocol.fence import fence_text
from acp_nvim.render.calls.tools import UNCUT, Style, draw
from acp_nvim.render.content import draw_block
from acp_nvim.render.entry_rows import draw_entry, notice_details
from acp_nvim.render.text import one_line, visible
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.transcript.entries import Entry, Line, Message, Part, TerminalEntry, ToolEntry


def markdown_of(entries: Iterable[Entry]) -> list[str]:
    """Return entries of a transcript as Markdown."""
    lines: list[str] = []
    for entry in entries:
        if isinstance(entry, Message):
            lines += [*_message_lines(entry), ""]
        elif isinstance(entry, ToolEntry):
            head, *body = texts(draw(entry, Style(tool_lines=UNCUT)))
            lines += [f"### {head}", "", *_fenced_lines(body)]
        elif isinstance(entry, Line):
            lines += [f"— {one_line(entry.title, 4000)}", *notice_details(entry), ""]
        elif isinstance(entry, TerminalEntry):
            lines += _fenced_lines(texts(draw_entry(entry)))
        else:
            lines += [*texts(draw_entry(entry)), ""]
    return lines


def _fenced_lines(rows: list[str]) -> list[str]:
    """Return rows of the chat in a fence that is longer than any run of backticks in them."""
    if not rows:
        return []
    ticks = (len(run) for row in rows for run in re.findall("`+", row))
    fence = "`" * max(3, 1 + max(ticks, default=0))
    return [fence, *(row.removeprefix("  ") for row in rows), fence, ""]


def _message_lines(message: Message) -> list[str]:
    text = "".join(_part_text(part) for part in message.parts)
    body = visible(text).split("\n")
    if message.role == "user":
        return ["## You", "", *body]
    if message.role == "thought":
        return ["> " + line for line in body]
    return body


def _part_text(part: Part) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, schema.ResourceLink):
        return f"\n[{one_line(part.title or part.name)}]({one_line(part.uri)})\n"
    if isinstance(part, schema.EmbeddedResource):
        resource: Any = part.resource
        if isinstance(resource, schema.TextResourceContents):
            return f"\n{fence_text(resource.uri, resource.text)}\n"
    return "\n" + "\n".join(texts(draw_block(part, None))) + "\n"


def question_in_full(decision: Decision) -> list[str]:
    """Return a question and its options in full."""
    lines = visible(decision.title).split("\n")
    for detail in decision.details:
        lines += visible(detail).split("\n")
    options = enumerate(decision.options, 1)
    return [*lines, "", *(f"{at}. {one_line(option.name, 4000)}" for at, option in options)]


def call_in_full(entry: ToolEntry) -> list[str]:
    """Return a tool call in full: its content, then its raw input and output."""
    call = entry.call
    lines = texts(draw(entry, Style(tool_lines=UNCUT)))
    tool = f", tool {one_line(call.name)}" if call.name else ""
    lines.insert(1, f"  id {one_line(call.id)}{tool}")
    raw = (("raw input", call.raw_input), ("raw output", call.raw_output), ("_meta", call.meta))
    for name, value in raw:
        if value is not None:
            lines += ["", f"### {name}", *_value_lines(value)]
    return lines


def _value_lines(value: Any) -> list[str]:
    """Return a value in full. Texts of several lines in a table follow below their keys."""
    row_texts = value.values() if isinstance(value, dict) else ()
    if not any(isinstance(text, str) and "\n" in text for text in row_texts):
        return visible(value if isinstance(value, str) else _pretty(value)).split("\n")
    lines: list[str] = []
    for key, member in value.items():
        if isinstance(member, str) and "\n" in member:
            lines += [f"{visible(_pretty(key))}:", *("│ " + line for line in _value_lines(member))]
        else:
            lines += visible(f"{_pretty(key)}: {_pretty(member)}").split("\n")
    return lines


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def texts(rows: list[Any]) -> list[str]:
    """Return the text of rows, without their highlights."""
    return [text for text, _, _ in rows]
