"""Code in the content of a tool call: fenced, or a file that was read. Its rows say which language
or file they are of, so that the front colours them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from acp_nvim.patterns import late
from acp_nvim.render.markdown import groups_of
from acp_nvim.render.rows import Row, Target, width
from acp_nvim.session.calls.tool_calls import ToolCall

_GUTTER = late(r"\s*\d+(?:→|\t)")
"""Agents number the lines of a file that they have read: `     1→import os`."""
_MARK = late(r"`{3,}|~{3,}")
_WORD = late(r"[`~]+\s*([\w+#.-]*)")


def may_hold_code(text: str, call: ToolCall) -> bool:
    """Whether a text of a call is to be drawn by `code_rows`: cheap, and seldom wrong."""
    return "```" in text or "~~~" in text or (call.kind == "read" and len(call.locations) == 1)


def is_one_block(text: str) -> bool:
    """Whether a text is one fenced block and nothing else. Its fences say nothing to the user, and
    without the closing one, which may be cut off, all that follows would be code in Markdown.
    """
    opening = _MARK.match(text)
    if opening is None or text.count("\n") < 2:
        return False
    mark = opening[0]
    return text[text.rfind("\n") + 1 :].rstrip() == mark and text.count("\n" + mark) == 1


def code_rows(lines: Sequence[str], call: ToolCall) -> list[Row]:
    """Return the rows of a text's first lines; `<CR>` on one of a file leads to its line."""
    groups = groups_of(lines)
    fences = "AcpFence" in groups
    path = call.locations[0].path if call.kind == "read" and len(call.locations) == 1 else None
    rows, word, number = list[Row](), "", _first(call)
    for line, group in zip(lines, groups, strict=True):
        if group == "AcpFence":
            word = "" if word else (_language(line) or " ")
            rows.append((line, ((0, width(line), group),), None))
        elif group == "AcpCodeBlock" or (path is not None and not fences):
            number = _numbered(line) or number
            rows.append(_row(line, group, call, path, word.strip(), number))
            number += 1
        else:
            rows.append((line, (), None))
    return rows


def _first(call: ToolCall) -> int:
    """The 1-based line of the file that a call has read from."""
    line = call.locations[0].line if len(call.locations) == 1 else UNSET
    return line if isinstance(line, int) and line > 0 else 1


def _language(fence: str) -> str:
    found = _WORD.search(fence)
    return found[1] if found else ""


def _numbered(line: str) -> int:
    """Return the number that the agent has put before a line, or 0."""
    found = _GUTTER.match(line)
    return int(found[0].strip().removesuffix("→")) if found else 0


def _row(line: str, group: str, call: ToolCall, path: str | None, word: str, number: int) -> Row:
    spans = tuple(_spans(line, group or "AcpToolCode"))
    if path is not None:
        return line, spans, {"kind": "file", "path": path, "line": number}
    target: Target = {"kind": "tool", "call": call.index}
    return line, spans, target | ({"language": word} if word else {})


def _spans(line: str, group: str) -> Iterator[tuple[int, int, str]]:
    found = _GUTTER.match(line)
    gutter = width(found[0]) if found else 0
    if gutter:
        yield 0, gutter, "AcpMuted"
    yield gutter, width(line), group
