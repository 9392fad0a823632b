"""Code in the content of a tool call: fenced, or from a file that was read.

The targets of its rows have the language or the file, for Neovim to highlight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from acp_nvim.patterns import late
from acp_nvim.render.markdown import groups_of
from acp_nvim.render.rows import Row, Target, width
from acp_nvim.session.calls.tool_calls import ToolCall

_GUTTER = late(r"\s*\d+(?:→|\t)")
"""Line numbers that agents add to the lines of a file: `     1→import os`."""
_FENCE = late(r"`{3,}|~{3,}")
_FENCE_LANGUAGE = late(r"[`~]+\s*([\w+#.-]*)")


def may_hold_code(text: str, call: ToolCall) -> bool:
    """Return whether a text of a call may contain code. The test is cheap."""
    return "```" in text or "~~~" in text or (call.kind == "read" and len(call.locations) == 1)


def is_one_block(text: str) -> bool:
    """Return whether a text is a single fenced block.

    The fences of such a text are not drawn. If the closing one were cut off, Markdown would render
    everything below as code.
    """
    opening = _FENCE.match(text)
    if opening is None or text.count("\n") < 2:
        return False
    mark = opening[0]
    return text[text.rfind("\n") + 1 :].rstrip() == mark and text.count("\n" + mark) == 1


def code_rows(lines: Sequence[str], call: ToolCall) -> list[Row]:
    """Return the rows of a text's first lines. `<CR>` on a line of a file opens it at that line."""
    groups = groups_of(lines)
    has_fences = "AcpFence" in groups
    path = call.locations[0].path if call.kind == "read" and len(call.locations) == 1 else None
    rows, language, number = list[Row](), "", _first_line(call)
    for line, group in zip(lines, groups, strict=True):
        if group == "AcpFence":
            language = "" if language else (_language(line) or " ")
            rows.append((line, ((0, width(line), group),), None))
        elif group == "AcpCodeBlock" or (path is not None and not has_fences):
            number = _number_before(line) or number
            rows.append(_row(line, group, call, path, language.strip(), number))
            number += 1
        else:
            rows.append((line, (), None))
    return rows


def _first_line(call: ToolCall) -> int:
    """Return the 1-based line at which a call started to read the file."""
    line = call.locations[0].line if len(call.locations) == 1 else UNSET
    return line if isinstance(line, int) and line > 0 else 1


def _language(fence: str) -> str:
    match = _FENCE_LANGUAGE.search(fence)
    return match[1] if match else ""


def _number_before(line: str) -> int:
    """Return the line number that the agent has put before a line, or 0."""
    match = _GUTTER.match(line)
    return int(match[0].strip().removesuffix("→")) if match else 0


def _row(
    line: str, group: str, call: ToolCall, path: str | None, language: str, number: int
) -> Row:
    spans = tuple(_spans(line, group or "AcpToolCode"))
    if path is not None:
        return line, spans, {"kind": "file", "path": path, "line": number}
    target: Target = {"kind": "tool", "call": call.index}
    return line, spans, target | ({"language": language} if language else {})


def _spans(line: str, group: str) -> Iterator[tuple[int, int, str]]:
    match = _GUTTER.match(line)
    gutter = width(match[0]) if match else 0
    if gutter:
        yield 0, gutter, "AcpMuted"
    yield gutter, width(line), group
