"""History of steps that removed pending lines from a text, for undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_nvim.edits.hunks import diff
from acp_nvim.edits.text import keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acp_nvim.edits.hunks import Hunk
    from acp_nvim.edits.pending import Pending
    from acp_nvim.edits.text import Text

MAX_UNDONE = 50
"""Maximum number of remembered steps."""
MAX_TOGETHER = 9
"""Maximum number of latest entries of a file that are remembered with a step."""
MAX_RECENT = 50
"""Maximum number of latest entries of a file that only this process remembers."""
MAX_LINES = 200_000
"""Maximum number of lines of these entries together, if there are more than `MAX_TOGETHER`."""
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
        self._expected = set[str]()
        """Files with an undo or redo that has not been recorded yet."""

    def expect(self, path: str) -> None:
        """Expect that the next recorded change of a file by the user includes an undo or redo."""
        self._expected.add(path)

    def take_expected(self, path: str) -> bool:
        """Return whether an undo or redo of a file is expected, and end that."""
        is_expected = path in self._expected
        self._expected.discard(path)
        return is_expected

    def replace_file(self, path: str, entries: Sequence[Pending]) -> None:
        others = [entry for entry in self.entries if entry.path != path]
        self.entries = [*others, *entries][-MAX_UNDONE:]
        self._recent.pop(path, None)

    def record_write(self, entry: Pending, written: Pending) -> None:
        """Record a change by an agent from an entry to `written`."""
        self.add_if_reduced(entry, written.pending_lines)
        self.record_change(entry)

    def record_change(self, entry: Pending) -> None:
        """Remember the entry from before a change."""
        if entry.base is None or entry.live is None:
            return
        recent = [*self._recent.pop(entry.path, ()), entry]
        self._recent[entry.path] = recent[-_max_entries(entry.live) :]
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
        for before in self._recent.get(path, [])[-MAX_TOGETHER:]:
            if id(before) not in remembered:
                self.add(before)

    def record_user_edit(self, entry: Pending, edited: Pending, *, is_known: bool) -> None:
        """Remember a change by the user from an entry to `edited`.

        If the text `is_known`, the change is an undo or a redo, after which Neovim may return to
        the entry.
        """
        self.record_change(entry)
        if is_known or edited.pending_lines < entry.pending_lines:
            self._add_recent(entry.path)

    def add(self, entry: Pending) -> None:
        """Remember an entry whose text may return, unless the file was created or deleted."""
        if entry.base is not None and entry.live is not None:
            self.entries = [*self.entries, entry][-MAX_UNDONE:]

    def paths(self) -> set[str]:
        """Return the files that the history contains."""
        return {before.path for before in self.entries}

    def entries_of(self, path: str) -> list[Pending]:
        """Return all known entries of a file, the most recent ones last."""
        return [*(step for step in self.entries if step.path == path), *self._recent.get(path, ())]

    def entry_with_text(self, path: str, after: Text) -> Pending | None:
        """Return the latest entry of a file with this live text."""
        same = (entry for entry in reversed(self.entries_of(path)) if entry.live == after)
        return next(same, None)

    def entry_after_undo(self, entry: Pending, after: Text) -> Pending:
        """Return the entry of a file after an undo or redo to a text.

        If no entry has this text, it results from a change that Neovim did not report. Use the
        nearest of the latest entries.
        """
        earlier = self.entry_with_text(entry.path, after)
        if earlier is not None:
            return entry.returned_to(earlier)
        entries = [entry, *reversed(self.entries_of(entry.path))][: _max_entries(after)]
        nearest = min(entries, key=lambda known: _distance(known, after))
        return entry.returned_to(nearest).undone(after, entries)

    def forget_accepted(self, entry: Pending, remaining: Pending | None) -> None:
        """Forget accepted hunks: hunks in `entry` that are not in `remaining`.

        An undo does not make them pending again.
        """
        self.record_change(entry)
        changes = _changes(entry) - (_changes(remaining) if remaining else set())
        accepted = {
            id(step): step.accepted(hunks)
            for step in self.entries_of(entry.path)
            if (hunks := _select(step, changes))
        }
        self.entries = [accepted.get(id(step), step) for step in self.entries]
        if recent := self._recent.get(entry.path):
            self._recent[entry.path] = [accepted.get(id(step), step) for step in recent]


def _max_entries(text: Text) -> int:
    """Return the number of entries to remember, and to compare, of a file with this text."""
    return max(MAX_TOGETHER, min(MAX_RECENT, MAX_LINES // max(1, len(text.lines))))


def _select(entry: Pending, changes: set[Change]) -> list[Hunk]:
    """Return the hunks of an entry that make one of these changes."""
    return [hunk for hunk in entry.hunks if (entry.removed_lines(hunk), hunk.lines) in changes]


def _distance(entry: Pending, after: Text) -> tuple[int, int]:
    """Return the number of lines that differ from an entry, then of pending ones."""
    hunks = diff(keys(entry.live), keys(after))
    return sum(hunk.end - hunk.start + len(hunk.lines) for hunk in hunks), entry.pending_lines


def _changes(entry: Pending) -> set[Change]:
    return {(entry.removed_lines(hunk), hunk.lines) for hunk in entry.hunks}
