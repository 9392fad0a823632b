"""History of steps that removed pending lines from a text, for undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acp_nvim.edits.hunks import Hunk
    from acp_nvim.edits.pending import Pending
    from acp_nvim.edits.text import Text

MAX_UNDONE = 50
"""Maximum number of remembered steps."""
MAX_TOGETHER = 8
"""Maximum number of changes that Neovim may undo together with the step that follows them."""
MAX_RUNS = 16
"""Maximum number of files whose latest changes are remembered."""

Change = tuple[tuple[str, ...], tuple[str, ...]]


class UndoHistory:
    """Entries from before steps that the user may undo."""

    def __init__(self) -> None:
        self.entries: list[Pending] = []
        """Entries, the latest step last."""
        self._recent: dict[str, list[Pending]] = {}
        """Entries of each file from before its latest changes, by agents and the user."""

    def replace_file(self, path: str, entries: Sequence[Pending]) -> None:
        others = [entry for entry in self.entries if entry.path != path]
        self.entries = [*others, *entries][-MAX_UNDONE:]
        self._recent.pop(path, None)

    def record_write(self, entry: Pending, written: Pending) -> None:
        """Record a change by an agent from an entry to `written`."""
        self.add_if_reduced(entry, written.pending_lines)
        self._record_change(entry)

    def _record_change(self, entry: Pending) -> None:
        if entry.base is None or entry.live is None:
            return
        recent = [*self._recent.pop(entry.path, ()), entry]
        self._recent[entry.path] = recent[-MAX_TOGETHER - 1 :]
        for oldest in [*self._recent][:-MAX_RUNS]:
            del self._recent[oldest]

    def add_if_reduced(self, entry: Pending, remaining_lines: int) -> None:
        """Remember a step that reduces the number of pending lines to `remaining_lines`."""
        if remaining_lines < entry.pending_lines:
            self._add_recent(entry.path)
            self.add(entry)

    def _add_recent(self, path: str) -> None:
        """Remember the entries from before the latest changes, which Neovim may redo one by one."""
        remembered = set(map(id, self.entries))
        for before in self._recent.get(path, ()):
            if id(before) not in remembered:
                self.add(before)

    def record_user_edit(self, entry: Pending, edited: Pending, *, is_known: bool) -> None:
        """Remember a change by the user from an entry to `edited`.

        If the text `is_known`, the change is an undo or a redo, after which Neovim may return to
        the entry.
        """
        self._record_change(entry)
        if is_known or edited.pending_lines < entry.pending_lines:
            self._add_recent(entry.path)

    def add(self, entry: Pending) -> None:
        """Remember an entry whose text may return, unless the file was created or deleted."""
        if entry.base is not None and entry.live is not None:
            self.entries = [*self.entries, entry][-MAX_UNDONE:]

    def paths(self) -> set[str]:
        """Return the files that the history contains."""
        return {before.path for before in self.entries}

    def entry_with_text(self, path: str, after: Text) -> Pending | None:
        """Return the latest entry of a file with this live text; an undo has returned to it."""
        recent = self._recent.get(path, [])
        for before in (*reversed(recent), *reversed(self.entries)):
            if before.path == path and before.live == after:
                return before
        return None

    def forget_accepted(self, entry: Pending, remaining: Pending | None) -> None:
        """Forget accepted hunks: hunks in `entry` that are not in `remaining`.

        An undo does not make them pending again.
        """
        self._record_change(entry)
        changes = _changes(entry) - (_changes(remaining) if remaining else set())
        recent = self._recent.get(entry.path, [])
        steps = [*recent, *(step for step in self.entries if step.path == entry.path)]
        accepted = {id(step): step.accepted(_select(step, changes)) for step in steps}
        self.entries = [accepted.get(id(step), step) for step in self.entries]
        if recent:
            self._recent[entry.path] = [accepted[id(step)] for step in recent]


def _select(entry: Pending, changes: set[Change]) -> list[Hunk]:
    """Return the hunks of an entry that make one of these changes."""
    return [hunk for hunk in entry.hunks if (entry.removed_lines(hunk), hunk.lines) in changes]


def _changes(entry: Pending) -> set[Change]:
    return {(entry.removed_lines(hunk), hunk.lines) for hunk in entry.hunks}
