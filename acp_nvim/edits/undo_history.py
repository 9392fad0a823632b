"""Steps that removed pending lines from a text and that the user may undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acp_nvim.edits.pending import Pending
    from acp_nvim.edits.text import Text

MAX_UNDONE = 50
"""Limit of remembered steps."""
MAX_TOGETHER = 8
"""Limit of changes before such a step that Neovim may undo together with it."""
MAX_RUNS = 16
"""Limit of files whose latest changes are remembered."""

Change = tuple[tuple[str, ...], tuple[str, ...]]


class UndoHistory:
    """Entries from before such steps."""

    def __init__(self) -> None:
        self.before: list[Pending] = []
        """Entries, the latest step last."""
        self._typed: dict[str, list[Pending]] = {}
        """Entries of each file from before its latest changes, all by the user."""
        self._after: dict[str, Pending] = {}
        """Entries after these changes."""

    def take_file(self, path: str, before: Sequence[Pending]) -> None:
        """Continue with another history of this file."""
        others = [entry for entry in self.before if entry.path != path]
        self.before = [*others, *before][-MAX_UNDONE:]

    def note(self, entry: Pending, weight: int) -> None:
        """Remember a step if it decreases the number of pending lines (``weight``)."""
        if entry.base is not None and entry.live is not None and weight < entry.weight:
            self.add(entry)

    def typed(self, entry: Pending, edited: Pending) -> None:
        """Remember a change by the user from an entry to ``edited``."""
        run = self._typed.pop(entry.path, []) if self._is_latest(entry) else []
        self._typed[entry.path] = run = [*run, entry][-MAX_UNDONE:]
        if entry.base is None or entry.live is None or edited.weight >= entry.weight:
            return
        known = set(map(id, self.before))
        for before in run[-MAX_TOGETHER - 1 :]:
            if id(before) not in known:
                self.add(before)

    def led_to(self, path: str, after: Pending | None) -> None:
        """Record the entry of a file after that change."""
        self._after.pop(path, None)
        if after is not None:
            self._after[path] = after
        for oldest in [*self._typed][:-MAX_RUNS]:
            del self._typed[oldest]
            self._after.pop(oldest, None)

    def only_typed_since(self, entry: Pending, before: Pending) -> bool:
        """Return whether all changes between two entries of a file are the user's."""
        run = self._typed.get(entry.path, ())
        return self._is_latest(entry) and any(one is before for one in run)

    def _is_latest(self, entry: Pending) -> bool:
        return self._after.get(entry.path) is entry

    def add(self, entry: Pending) -> None:
        """Remember an entry whose text may return."""
        self.before = [*self.before, entry][-MAX_UNDONE:]

    def paths(self) -> set[str]:
        """Return the files of these steps."""
        return {before.path for before in self.before}

    def brought_back(self, path: str, after: Text) -> Pending | None:
        """Return the entry from before the steps that this text undoes."""
        for before in reversed(self.before):
            if before.path == path and before.live == after:
                return before
        return None

    def accepted(self, entry: Pending, left: Pending | None) -> None:
        """Forget accepted hunks, those in ``entry`` and not in ``left``.

        An undo does not make them pending again.
        """
        kept = _changes(entry) - (_changes(left) if left else set())
        for at, before in enumerate(self.before):
            if before.path == entry.path:
                chosen = [h for h in before.hunks if (before.removed_lines(h), h.lines) in kept]
                self.before[at] = before.accepted(chosen)


def _changes(entry: Pending) -> set[Change]:
    return {(entry.removed_lines(hunk), hunk.lines) for hunk in entry.hunks}
