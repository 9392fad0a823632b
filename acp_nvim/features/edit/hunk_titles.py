"""Instructions of inline edits as titles of the hunks that they made."""

from __future__ import annotations

from collections.abc import Sequence

from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text, rows
from acp_nvim.edits.titles import TitledText
from acp_nvim.files.ports import AgentSession


class HunkTitles:
    """Titles of all hunks.

    The user's own changes are not stored, so that an undo by the user restores a title.
    """

    def __init__(self, files: dict[str, TitledText]) -> None:
        """`files` are the titled texts by path. The journal stores them with the edits."""
        self._running: dict[int, str] = {}
        """Instructions of the running edits by session."""
        self._files = files

    def begin(self, session: int, title: str) -> None:
        """Use a title for the writes of a session until `end` is called."""
        self._running[session] = title

    def end(self, session: int) -> None:
        self._running.pop(session, None)

    def on_write(
        self,
        session: AgentSession,
        path: str,
        before: Text | None,
        agents_text: Text,
        after: Text,
    ) -> None:
        """Record a write. Differences between `agents_text` and `after` are the user's."""
        title = self._running.get(session.n)
        known = self._files.get(path)
        if known is None and title is None:
            return
        lines = () if before is None else rows(before)
        known = (known or TitledText(lines)).after_change(lines)
        known = known.after_change(rows(agents_text), title or "")
        self._files[path] = known.after_change(rows(after))

    def of(self, entry: Pending) -> Sequence[str]:
        """Return the titles of a file's pending hunks, or no titles if no hunk can have one."""
        known = self._files.get(entry.path)
        if known is None or entry.live is None:
            return ()
        now = known.after_change(rows(entry.live))
        return [now.title(hunk) for hunk in entry.hunks]
