"""Diffs and patches as rows."""

from __future__ import annotations

from acp_nvim.edits import hunks
from acp_nvim.protocol import schema
from acp_nvim.render.cutting import between, both_ends, more
from acp_nvim.render.rows import Row, Target, pieces, row
from acp_nvim.render.text import shown_path, visible

BETWEEN: Row = row("⋮", "AcpMuted")
"""Between two hunks of a diff."""

LARGEST = 1 << 18
"""Characters of an edit whose lines are compared; a larger one is all old lines, then all new."""


def diff_rows(
    diff: schema.Diff, limit: int | None, above: int = 0, cwd: str = "", whole: Target | int = 0
) -> list[Row]:
    """Return a diff as rows: the path with counts, then removed and added lines, at most
    `limit`; a row between hunks says that lines are left out there.

    `above` is the number of the file's lines above those that the diff shows, `whole` what shows
    all of it.
    """
    old = _lines(diff.old_text) if isinstance(diff.old_text, str) else []
    new = _lines(diff.new_text)
    changes = hunks.diff(old, new)
    added = sum(len(hunk.lines) for hunk in changes)
    removed = sum(hunk.end - hunk.start for hunk in changes)
    where = {"kind": "file", "path": diff.path} | (
        {"line": above + changes[0].new_start + 1} if changes else {}
    )
    head = pieces(
        [
            (shown_path(diff.path, cwd), "AcpPath"),
            (f" +{added}", "AcpAdded"),
            (f" -{removed}", "AcpRemoved"),
        ],
        where,
    )
    body: list[Row] = []
    for hunk in changes:
        body += [BETWEEN] if body else []
        body += [row("- " + line, "AcpRemoved") for line in old[hunk.start : hunk.end]]
        body += [
            row(
                "+ " + line,
                "AcpAdded",
                {"kind": "file", "path": diff.path, "line": above + hunk.new_start + at + 1},
            )
            for at, line in enumerate(hunk.lines)
        ]
    return [head, *cut(body, limit, whole)]


def cut(rows: list[Row], limit: int | None, whole: Target | int) -> list[Row]:
    """Return the first rows and how many lines there are more."""
    if limit is None or len(rows) <= limit:
        return rows
    left = sum(row is not BETWEEN for row in rows[limit:])
    return [*rows[:limit], more(left, whole)]


def _lines(text: str) -> list[str]:
    """The lines of a file's text; the newline at its end begins none."""
    return visible(text).removesuffix("\n").split("\n") if text else []


def edit_rows(path: str, old: str | None, new: str, cwd: str, whole: Target) -> list[Row]:
    """Return an edit that an agent describes without a diff."""
    if len(old or "") + len(new) <= LARGEST:
        return diff_rows(schema.Diff(path, new, old_text=old), None, 0, cwd, whole)
    rows = [row(shown_path(path, cwd), "AcpPath", {"kind": "file", "path": path})]
    for text, sign, group in ((old, "- ", "AcpRemoved"), (new, "+ ", "AcpAdded")):
        rows += text_rows(text.removesuffix("\n"), whole, sign, group) if text else []
    return rows


def patch_rows(patch: str, whole: Target) -> list[Row]:
    """Return a patch line by line."""
    return [
        (text, spans, target) if spans else row(text, _group(text), target)
        for text, spans, target in text_rows(patch.strip("\n"), whole)
    ]


def _group(line: str) -> str | None:
    if line.startswith(("*** ", "diff ", "--- ", "+++ ", "@@")):
        return "AcpPath"
    return {"+": "AcpAdded", "-": "AcpRemoved"}.get(line[:1])


def text_rows(
    text: str, whole: Target, prefix: str = "", group: str | None = None, after: str | None = None
) -> list[Row]:
    """Return a text as rows, beginning and end where it is long; `after` is the prefix of all
    lines after the first.
    """
    first, count, last = both_ends(text)
    after = prefix if after is None else after
    rows = [row((after if at else prefix) + line, group) for at, line in enumerate(first)]
    rows += [between(count, whole)] if count else []
    return rows + [row(after + line, group) for line in last]
