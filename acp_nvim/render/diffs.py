"""Diffs and patches as rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache

from acp_nvim.edits import hunks
from acp_nvim.edits.patch import FilePatch
from acp_nvim.protocol import schema
from acp_nvim.render.cutting import both_ends, gap_row, more_row
from acp_nvim.render.rows import Row, Target, cut_middle, row, row_of_pieces, width
from acp_nvim.render.text import display_path, visible

HUNK_GAP: Row = row("⋮", "AcpMuted")
"""Row between two hunks of a diff."""

CR = "\r"
_KINDS = {"created": " new", "deleted": " deleted", "copied": " copied"}
_SIGNS = {"+": "AcpAdded", "-": "AcpRemoved", " ": "AcpMuted"}
_LINES = {"+": "AcpDiffAdd", "-": "AcpDiffRemove", " ": "AcpDiffContext"}

CONTEXT = 2
"""Number of unchanged lines shown above and below changed ones."""

MAX_ROWS_FACTOR = 4
"""Maximum number of rows in a diff, as a multiple of the limit of changed lines."""

MAX_COMPARED = 1 << 18
"""Maximum number of characters of an edit whose lines are compared.

A larger edit is drawn as all old lines, then all new ones.
"""


def diff_rows(
    diff: schema.Diff,
    limit: int | None,
    above: int = 0,
    cwd: str = "",
    full_target: Target | int = 0,
    target: Target | None = None,
) -> list[Row]:
    """Return a diff as rows: the path with counts, then at most `limit` changed lines.

    Unchanged lines around them are added, and a row between hunks marks lines left out. `above` is
    the number of lines that the file has above the diff. `full_target` shows the whole diff.
    `target` is the target of each row. Without it, the file is the target of added lines.
    """
    old, _, changed = changes(diff)
    added = sum(len(hunk.lines) for hunk in changed)
    removed = sum(hunk.end - hunk.start for hunk in changed)
    where: Target = {"kind": "file", "path": diff.path} | (
        {"line": above + changed[0].new_start + 1} if changed else {}
    )
    head = row_of_pieces(
        [
            (display_path(diff.path, cwd), "AcpPath"),
            (f" +{added}", "AcpAdded"),
            (f" -{removed}", "AcpRemoved"),
        ],
        where,
    )
    return [head, *cut_rows(_hunk_rows(old, changed, diff.path, above, target), limit, full_target)]


def _hunk_rows(
    old: Sequence[str],
    diff_hunks: Sequence[hunks.Hunk],
    path: str,
    above: int,
    target: Target | None,
) -> list[Row]:
    """Return the rows of all hunks, each with lines of context."""
    body: list[Row] = []
    shown = 0  # number of old lines that are drawn
    for at, hunk in enumerate(diff_hunks):
        first = max(hunk.start - CONTEXT, shown)
        body += [HUNK_GAP] if body and first > shown else []
        for line in old[first : hunk.start]:
            body.append(diff_row(" ", line, path, target))
        for line in old[hunk.start : hunk.end]:
            body.append(diff_row("-", line, path, target))
        for n, line in enumerate(hunk.lines, above + hunk.new_start + 1):
            added_target = target or {"kind": "file", "path": path, "line": n}
            body.append(diff_row("+", line, path, added_target))
        shown = min(
            hunk.end + CONTEXT, diff_hunks[at + 1].start if at + 1 < len(diff_hunks) else len(old)
        )
        for line in old[hunk.end : shown]:
            body.append(diff_row(" ", line, path, target))
    return body


def diff_row(sign: str, line: str, path: str, target: Target | None) -> Row:
    """Return a line of a diff. Its target has the file, which determines the language."""
    text = cut_middle(f"{sign} {line}")
    spans = ((0, width(text), _LINES[sign]), (0, 1, _SIGNS[sign]))
    return text, spans, {"path": path, **(target or {"kind": "none"})}


def changes(diff: schema.Diff) -> tuple[list[str], list[str], list[hunks.Hunk]]:
    """Return the old and the new lines of a diff, and their hunks."""
    return _changes(diff.old_text if isinstance(diff.old_text, str) else "", diff.new_text)


@lru_cache(maxsize=8)
def _changes(old_text: str, new_text: str) -> tuple[list[str], list[str], list[hunks.Hunk]]:
    old, new = _split_lines(old_text), _split_lines(new_text)
    return old, new, hunks.diff(old, new)


def cut_rows(rows: list[Row], limit: int | None, full_target: Target | int) -> list[Row]:
    """Return the first rows of a diff, and a row that counts the rest.

    Neither `limit` nor that row counts rows of context.
    """
    if limit is None or len(rows) <= limit:
        return rows
    count = 0
    for at, diff_row in enumerate(rows):
        count += not _is_context(diff_row)
        if count > limit or at >= MAX_ROWS_FACTOR * limit:
            hidden_count = sum(not _is_context(other) for other in rows[at:])
            while at and _is_context(rows[at - 1]):
                at -= 1
            return [*rows[:at], more_row(hidden_count, full_target)]
    return rows


def _is_context(diff_row: Row) -> bool:
    return diff_row is HUNK_GAP or (bool(diff_row[1]) and diff_row[1][0][2] == _LINES[" "])


def _split_lines(text: str) -> list[str]:
    """Return a text's lines, without an empty one after the final newline."""
    return visible(text).removesuffix("\n").split("\n") if text else []


def edit_rows(path: str, old: str | None, new: str, cwd: str, full_target: Target) -> list[Row]:
    """Return the rows of an edit that an agent describes without a diff."""
    if len(old or "") + len(new) <= MAX_COMPARED:
        return diff_rows(schema.Diff(path, new, old_text=old), None, 0, cwd, full_target)
    rows = [row(display_path(path, cwd), "AcpPath", {"kind": "file", "path": path})]
    for text, sign, group in ((old, "- ", "AcpRemoved"), (new, "+ ", "AcpAdded")):
        rows += text_rows(text.removesuffix("\n"), full_target, sign, group) if text else []
    return rows


def patch_rows(
    files: Sequence[FilePatch], limit: int | None, cwd: str, full_target: Target | int
) -> list[Row]:
    """Return a patch as rows, like `diff_rows`, but with the patch's own context.

    There are at most `limit` rows for each file.
    """
    rows: list[Row] = []
    for file in files:
        rows += [_patch_head(file, cwd), *(row(visible(note), "AcpMuted") for note in file.notes)]
        path = os.path.join(cwd, file.path)  # noqa: PTH118
        rows += cut_rows(
            _patch_body(file, path, _diff_mode_target(full_target)), limit, full_target
        )
    return rows


def _diff_mode_target(full_target: Target | int) -> Target | None:
    """Return the target that opens diff mode, if the patch belongs to a tool call."""
    if not isinstance(full_target, dict) or "call" not in full_target:
        return None
    return {**full_target, "kind": "diff"}


def _patch_head(patch: FilePatch, cwd: str) -> Row:
    path = os.path.join(cwd, patch.path)  # noqa: PTH118
    first = next((hunk.row for hunk in patch.hunks if hunk.row is not None), None)
    where = {"kind": "file", "path": path} | ({} if first is None else {"line": first + 1})
    parts: list[tuple[str, str | None]] = [(display_path(path, cwd), "AcpPath")]
    if patch.origin is not None:
        origin = display_path(os.path.join(cwd, patch.origin), cwd)  # noqa: PTH118
        parts = [(f"{origin} → ", "AcpPath"), *parts]
    if patch.hunks or patch.kind != "deleted":
        parts += [(f" +{patch.count('+')}", "AcpAdded"), (f" -{patch.count('-')}", "AcpRemoved")]
    return row_of_pieces([*parts, (_KINDS.get(patch.kind, ""), "AcpMuted")], where)


def _patch_body(patch: FilePatch, path: str, target: Target | None) -> list[Row]:
    body: list[Row] = []
    growth = 0
    for hunk in patch.hunks:
        if hunk.anchors:
            body += [row(f"@@ {visible(anchor)}", "AcpMuted") for anchor in hunk.anchors]
        elif body:
            body.append(HUNK_GAP)
        line = None if hunk.row is None else hunk.row + growth + 1
        for text in hunk.lines:
            is_located = line is not None and text[0] == "+"
            line_target: Target | None = {"kind": "file", "line": line} if is_located else None
            shown = visible(text[1:].removesuffix(CR))
            body.append(diff_row(text[0], shown, path, target or line_target))
            line = None if line is None else line + (text[0] != "-")
        growth += len(hunk.new) - len(hunk.old)
        if hunk.old_eol != hunk.new_eol:
            words = "added" if hunk.new_eol else "removed"
            body.append(row(f"final newline {words}", "AcpMuted"))
    return body


def raw_patch_rows(patch: str, full_target: Target) -> list[Row]:
    """Return the lines of a patch that cannot be parsed."""
    return [
        (text, spans, target) if spans else row(text, _line_group(text), target)
        for text, spans, target in text_rows(patch.strip("\n"), full_target)
    ]


def _line_group(line: str) -> str | None:
    if line.startswith(("*** ", "diff ", "--- ", "+++ ", "@@")):
        return "AcpPath"
    return {"+": "AcpAdded", "-": "AcpRemoved"}.get(line[:1])


def text_rows(
    text: str,
    full_target: Target,
    prefix: str = "",
    group: str | None = None,
    after: str | None = None,
) -> list[Row]:
    """Return a text as rows, or only the beginning and the end of a long one.

    `after` is the prefix of all lines but the first.
    """
    first, count, last = both_ends(text)
    after = prefix if after is None else after
    rows = [row((after if at else prefix) + line, group) for at, line in enumerate(first)]
    rows += [gap_row(count, full_target)] if count else []
    return rows + [row(after + line, group) for line in last]
