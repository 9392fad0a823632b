"""Conversions of agents' texts and buffers: excerpts, line endings, bytes that are not text."""

from __future__ import annotations

from collections.abc import Sequence

from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.text import Text
from acp_nvim.files.bytes.file_format import codec_of


def excerpt(text: Text, line: int | None, limit: int | None) -> str:
    """Return `limit` lines of a text from the 1-based `line` on, each with its end."""
    first = max(line or 1, 1) - 1
    if first == 0 and limit is None:
        return str(text)
    count = len(text.lines)
    end = count if limit is None else min(count, first + limit)
    if first >= end:
        return ""
    content = "\n".join(text.lines[first:end])
    return content + "\n" if end < count or text.eol else content


def fit_text(agents_text: Text, base: Text, dos: bool, bomb: bool) -> Text:
    """Convert an agent's text to the form of the buffer: without BOM and CRs of line endings.

    If some lines of the file contain a CR as text, CRs in the agent's text are text too, unless all
    of its lines end in one.
    """
    lines = agents_text.lines
    if bomb and lines[0].startswith("\ufeff"):
        lines = (lines[0][1:], *lines[1:])
    ended = sum(line.endswith("\r") for line in lines) if dos else 0
    if ended and (ended == len(lines) or not any(line.endswith("\r") for line in base.lines)):
        lines = tuple(line.removesuffix("\r") for line in lines)
    return agents_text if lines is agents_text.lines else Text(lines, agents_text.eol)


def with_returns(text: Text, live: Text) -> Text:
    """Add the carriage returns of a file that is open as binary, where each line ends in one.

    An agent that read the file before it was opened as binary has lines without them.
    """
    if not all(line.endswith("\r") for line in live.lines):
        return text
    if any(line.endswith("\r") for line in text.lines):
        return text
    return Text(tuple(line + "\r" for line in text.lines), text.eol)


def restore_raw(raw: Sequence[str], clean: Sequence[str], hunks: Sequence[Hunk]) -> list[Hunk]:
    """Convert hunks for the clean lines to hunks for the raw lines, which have lone surrogates.

    The unchanged part of such a line keeps its bytes.
    """
    if raw is clean:
        return list(hunks)
    return [_restore_hunk(raw, clean, hunk) for hunk in hunks]


def _restore_hunk(raw: Sequence[str], clean: Sequence[str], hunk: Hunk) -> Hunk:
    if hunk.growth:
        return hunk
    rows = range(hunk.start, hunk.end)
    lines = tuple(
        new if raw[row] == clean[row] else _patch_line(raw[row], clean[row], new)
        for row, new in zip(rows, hunk.lines, strict=True)
    )
    return Hunk(hunk.start, hunk.end, lines, hunk.new_start)


def _patch_line(raw: str, clean: str, new: str) -> str:
    """Return the raw line with the change from the clean line to the new one."""
    head = tail = 0
    shorter = min(len(clean), len(new))
    while head < shorter and clean[head] == new[head]:
        head += 1
    while tail < shorter - head and clean[-1 - tail] == new[-1 - tail]:
        tail += 1
    return raw[:head] + new[head : len(new) - tail] + raw[len(raw) - tail :]


def unencodable(hunks: Sequence[Hunk], encoding: str) -> str:
    """Explain why the lines cannot be written in a 'fileencoding', or return an empty string."""
    codec = codec_of(encoding)
    if codec is None or codec == "utf-8":
        return ""
    for hunk in hunks:
        for row, line in enumerate(hunk.lines, hunk.new_start + 1):
            try:
                line.encode(codec, "surrogatepass" if codec.startswith("utf") else "strict")
            except UnicodeEncodeError as error:
                return f"line {row}: {line[error.start]!r} cannot be written in {encoding}"
    return ""
