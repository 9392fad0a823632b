"""Edits from language servers, as changes to files.

A server computes edits for its own copies of the texts. If the user types before the edits arrive,
they are requested again.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from typing import Any, Final

import msgspec

from acp_nvim.edits.hunks import diff
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.writes.change_set import FileChange
from acp_nvim.session.session import Session
from acp_nvim.tools.changing.change_ports import Document, Documents
from acp_nvim.tools.changing.changes import Changes
from acp_nvim.tools.changing.workspace_edit import Result, apply_operations, operations, paths_of
from acp_nvim.tools.files import display_path
from acp_nvim.tools.ports import Encoding
from acp_nvim.tools.server.tool import ToolError

ATTEMPTS: Final = 3
"""Maximum number of requests for an edit if the texts keep changing."""

Loaded = Mapping[str, Document]


class ServerEdit(msgspec.Struct, frozen=True):
    """WorkspaceEdit, with its client and encoding."""

    client: int
    encoding: Encoding
    edit: Any


class ServerEdits:
    """Converter of servers' edits into `FileChange`s."""

    def __init__(self, documents: Documents, changes: Changes) -> None:
        self._documents = documents
        self._changes = changes

    async def changes(
        self, session: Session, ask: Callable[[], Awaitable[ServerEdit]]
    ) -> list[FileChange]:
        """Request an edit and apply it to the texts. Raise ToolError, Refusal."""
        for _ in range(ATTEMPTS):
            before = await self._documents.loaded()
            given = await ask()
            changes = await self.compute_changes(given, before)
            if changes is not None:
                return changes
        raise ToolError("the user is typing in these files, so no edit fits them; try again")

    async def compute_changes(self, given: ServerEdit, before: Loaded) -> list[FileChange] | None:
        """Return the changes of an edit that was requested when the loaded files were `before`.

        Return None if one of its files has changed since then. Raise ToolError, Refusal.
        """
        steps = operations(given.edit, os.path.realpath)
        paths = paths_of(steps)
        now = await self._documents.loaded()
        files: dict[str, Text | None] = {}
        for path in paths:
            is_known = path in now and given.client in now[path].clients
            live = await self._changes.current(path, saved=path in now and not is_known)
            files[path] = live.text
        after = await self._documents.loaded()
        if any(_has_changed(before.get(path), after.get(path)) for path in paths):
            return None
        all_versions = {path: after[path].version for path in paths if path in after}
        versions = {path: version for path, version in all_versions.items() if version is not None}
        return _file_changes(files, apply_operations(steps, files, versions, given.encoding))


def _has_changed(before: Document | None, after: Document | None) -> bool:
    """Return whether the text has changed. Loading or unloading a file does not change it."""
    if before is None or after is None:
        return False
    if before.version is not None and after.version is not None:
        return before.version != after.version
    return before.tick != after.tick


def _file_changes(files: Mapping[str, Text | None], result: Result) -> list[FileChange]:
    origins = set(result.moved.values())
    if any(result.texts.get(path) is not None for path in origins):
        raise ToolError(
            "the edit moves a file and puts another one in its place, which is not supported"
        )
    changes: list[FileChange] = []
    for path, text in result.texts.items():
        if path in result.moved:
            origin = result.moved[path]
            changes.append(FileChange(path, files[origin], text, origin))
        elif path not in origins:
            changes.append(FileChange(path, files[path], text))
    return changes


def places(
    session: Session, changes: Sequence[FileChange], guarded: Container[str] = ()
) -> list[dict[str, Any]]:
    """Return the lines that changes replace, with their texts before and after, for an answer.

    `column` is the beginning of the first word that differs. Lines of `guarded` files have no
    texts.
    """
    rows: list[dict[str, Any]] = []
    for change in changes:
        before, after = change.before or EMPTY, change.after or EMPTY
        is_shown = change.path not in guarded
        for hunk in diff(before.lines, after.lines):
            for row in range(hunk.start, max(hunk.end, hunk.start + 1)):
                new = row - hunk.start
                texts = (
                    before.lines[row] if is_shown and row < hunk.end else "",
                    hunk.lines[new] if is_shown and new < len(hunk.lines) else "",
                )
                rows.append(
                    {
                        "path": display_path(session, change.path),
                        "line": row + 1,
                        "column": 1 + _first_different_word(*texts),
                        "text": texts[0],
                        "new": texts[1],
                    }
                )
    return rows


def _first_different_word(one: str, other: str) -> int:
    """Return the 0-based column of the first word that differs in two lines."""
    pairs = enumerate(zip(one, other, strict=False))
    at = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    while at > 0 and (one[at - 1].isalnum() or one[at - 1] == "_"):
        at -= 1
    return at
