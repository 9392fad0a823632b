"""History of steps that removed pending lines from a text, for undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        self._user_edits: dict[str, list[Pending]] = {}
        """Entries of each file from before its latest changes, if these are all the user's."""
        self._after: dict[str, Pending] = {}
        """Entry of each file after the changes of `_user_edits`."""

    def replace_file(self, path: str, entries: Sequence[Pending]) -> None:
        others = [entry for entry in self.entries if entry.path != path]
        self.entries = [*others, *entries][-MAX_UNDONE:]
        self._recent.pop(path, None)

    def record_write(self, entry: Pending, written: Pending) -> None:
        """Record a change by an agent from an entry to `written`."""
        self.add_if_reduced(entry, written.pending_lines)
        if not entry.is_settled:
            self._record_change(entry)

    def _record_change(self, entry: Pending) -> None:
        recent = [*self._recent.pop(entry.path, ()), entry]
        self._recent[entry.path] = recent[-MAX_TOGETHER - 1 :]
        for oldest in [*self._recent][:-MAX_RUNS]:
            del self._recent[oldest]

    def add_if_reduced(self, entry: Pending, remaining_lines: int) -> None:
        """Remember a step that reduces the number of pending lines to `remaining_lines`."""
        if (
            entry.base is not None
            and entry.live is not None
            and remaining_lines < entry.pending_lines
        ):
            self._add_recent(entry.path)
            self.add(entry)

    def _add_recent(self, path: str) -> None:
        """Remember the entries from before the latest changes, which Neovim may redo one by one."""
        remembered = set(map(id, self.entries))
        for before in self._recent.get(path, ()):
            if id(before) not in remembered:
                self.add(before)

    def record_user_edit(self, entry: Pending, edited: Pending) -> None:
        """Remember a change by the user from an entry to `edited`."""
        run = self._user_edits.pop(entry.path, []) if self._is_latest(entry) else []
        self._user_edits[entry.path] = [*run, entry][-MAX_UNDONE:]
        self._record_change(entry)
        if (
            entry.base is not None
            and entry.live is not None
            and edited.pending_lines < entry.pending_lines
        ):
            self._add_recent(entry.path)

    def record_result(self, path: str, after: Pending | None) -> None:
        """Record the entry of a file after the change of `record_user_edit`."""
        self._after.pop(path, None)
        if after is not None:
            self._after[path] = after
        for oldest in [*self._user_edits][:-MAX_RUNS]:
            del self._user_edits[oldest]
            self._after.pop(oldest, None)

    def has_only_user_edits_since(self, entry: Pending, before: Pending) -> bool:
        """Return whether all changes between two entries of a file are the user's."""
        run = self._user_edits.get(entry.path, ())
        return self._is_latest(entry) and any(known is before for known in run)

    def _is_latest(self, entry: Pending) -> bool:
        return self._after.get(entry.path) is entry

    def add(self, entry: Pending) -> None:
        """Remember an entry whose text may return."""
        self.entries = [*self.entries, entry][-MAX_UNDONE:]

    def paths(self) -> set[str]:
        """Return the files that the history contains."""
        return {before.path for before in self.entries}

    def entry_with_text(self, path: str, after: Text) -> Pending | None:
        """Return the latest entry of a file with this live text; an undo has returned to it."""
        for before in reversed(self.entries):
            if before.path == path and before.live == after:
                return before
        return None

    def forget_accepted(self, entry: Pending, remaining: Pending | None) -> None:
        """Forget accepted hunks: hunks in `entry` that are not in `remaining`.

        An undo does not make them pending again.
        """
        self._recent.pop(entry.path, None)
        steps = [at for at, before in enumerate(self.entries) if before.path == entry.path]
        if not steps:
            return
        accepted = _changes(entry) - (_changes(remaining) if remaining else set())
        for at in steps:
            before = self.entries[at]
            hunks = [h for h in before.hunks if (before.removed_lines(h), h.lines) in accepted]
            self.entries[at] = before.accepted(hunks)


def _changes(entry: Pending) -> set[Change]:
    return {(entry.removed_lines(hunk), hunk.lines) for hunk in entry.hunks}
