"""Marks of files that changed on disk although their agents did not name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anyio import to_thread

from acp_nvim import wording
from acp_nvim.edits.pending import Pending
from acp_nvim.files.bytes.paths import is_below
from acp_nvim.files.changes.turns import Turn
from acp_nvim.files.checkpoints.store import list_names
from acp_nvim.files.files import Files
from acp_nvim.files.ports import AgentSession


class Naming:
    """Marks on the pending edits and checkpoints of files that their agents did not name."""

    def __init__(self, files: Files) -> None:
        self._files = files

    async def mark_changed(self, turn: Turn, entered: Mapping[str, Pending | None]) -> None:
        """Mark the files that a turn has changed. `entered` has their earlier pending edits."""
        lacking = turn.mentions.unnamed
        named = await to_thread.run_sync(turn.mentions.named_among, entered)
        named |= _own_files(turn.session, entered)
        for path, was in entered.items():
            was_named = was is None or was.is_named or path in lacking
            is_named = path in named
            self._mark(path, is_edit_named=is_named and was_named, is_change_named=is_named)
            if not is_named and was_named:
                lacking.add(path)
            elif is_named:
                lacking.discard(path)

    async def unmark_named(self) -> None:
        """Unmark files that agents have named since their changes were found."""
        for turn in self._files.turns:
            lacking = turn.mentions.unnamed
            if lacking and turn.mentions.has_new_names:
                named = await to_thread.run_sync(turn.mentions.named_among, list(lacking))
                lacking -= named
                for path in named:
                    self._mark(path, is_edit_named=True, is_change_named=True)
                self._files.pending_view.refresh(*named)

    def report(self, turn: Turn) -> None:
        """Name the marked files of a finished turn in the chat."""
        lacking = turn.mentions.unnamed
        unnamed = sorted(path for path in lacking if self._files.ledger.get(path))
        if unnamed:
            files = list_names(unnamed, turn.session.cwd)
            self._files.view.inform(turn.session, wording.UNNAMED.format(files=files))
            lacking.clear()

    def _mark(self, path: str, *, is_edit_named: bool, is_change_named: bool) -> None:
        """Set whether the pending edit of a file and its last change are named."""
        self._files.ledger.set_named(path, is_edit_named)
        self._files.checkpoints.set_named(path, is_change_named)


def _own_files(session: AgentSession, paths: Iterable[str]) -> set[str]:
    """Return the files in the session's own git worktree, where no other agent works."""
    worktree = session.worktree
    return {path for path in paths if worktree and is_below(path, worktree["path"])}
