"""Container of the parts of `acp_nvim.files`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acp_nvim.edits.agent_bases import AgentBases
from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.buffer_cache import BufferCache
from acp_nvim.files.buffers.tracked_file import TrackedFiles
from acp_nvim.files.bytes import roots
from acp_nvim.files.changes.git_tree import GitTrees
from acp_nvim.files.changes.save_notes import SaveNotes
from acp_nvim.files.changes.turns import Turns
from acp_nvim.files.checkpoints.checkpoints import Checkpoints
from acp_nvim.files.checkpoints.snapshots import Snapshots
from acp_nvim.files.ports import AgentSession, Authorship, Buffers, FileOptions, PromptName, View
from acp_nvim.files.review.pending_view import PendingView
from acp_nvim.files.review.user_edits import UserEdits
from acp_nvim.tasks import Trigger

if TYPE_CHECKING:
    from acp_nvim.edits.titles import TitledText

OnWritten = Callable[[AgentSession, str, Text | None, Text, Text], None]


class Files:
    """State of all files that agents and the user share, and the ports to editor and screen.

    It contains no logic. An object that needs one part gets only that part.
    """

    def __init__(
        self,
        buffers: Buffers,
        view: View,
        options: Callable[[], FileOptions],
        sessions: Callable[[], Iterable[AgentSession]],
    ) -> None:
        self.options, self.sessions, self.view = options, sessions, view
        self.tracked = TrackedFiles()
        self.ledger = Ledger()
        """Pending edits by real path."""
        self.titles: dict[str, TitledText] = {}
        """Titles of agents' changes, by real path."""
        self.bases = AgentBases()
        self.trees = GitTrees()
        self.turns = Turns(buffers.announce)
        self.save_notes = SaveNotes()
        self.journal_due = Trigger()
        """Trigger set when the journal has to be written."""
        self.pending_view = PendingView(
            self.ledger, self.tracked, self.trees, view, sessions, self.journal_due
        )
        self.user_edits = UserEdits(
            self.tracked, self.ledger, self.bases, self.turns, self.trees, self.pending_view
        )
        self.buffers = BufferCache(buffers, self.tracked, self.user_edits.on_buffer_news)
        self.authors = Authors(options)
        self.home = CheckpointHome()
        self.snapshots = Snapshots(self.home.folder, view.notice)
        self.checkpoints = Checkpoints(self.snapshots)


class CheckpointHome:
    """Directory of all checkpoints."""

    def __init__(self) -> None:
        self._data: Path | None = None

    def set_data(self, data: Path | None) -> None:
        """Set the directory `stdpath('data')/acp`, below which checkpoints are stored."""
        self._data = data

    def folder(self, root: str) -> Path:
        """Return the directory of a session directory's checkpoints, shared by all Neovims."""
        return self.all() / roots.name(root)

    def all(self) -> Path:
        """Return the directory of the checkpoints of all session directories."""
        cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
        return (self._data or cache / "acp") / "checkpoints"


class Authors:
    """Recorders of authors of lines, which are called only if option `blame` is on."""

    def __init__(self, options: Callable[[], FileOptions]) -> None:
        self.recorders: list[Authorship] = []
        self.on_written: list[OnWritten] = []
        """Observers of all writes, with the arguments of `Authorship.on_write`."""
        self._options = options

    def _active(self) -> Sequence[Authorship]:
        return self.recorders if self._options().blame else ()

    def on_write(
        self,
        session: AgentSession,
        path: str,
        before: Text | None,
        agents_text: Text,
        after: Text,
    ) -> None:
        for observer in self.on_written:
            observer(session, path, before, agents_text, after)
        for recorder in self._active():
            recorder.on_write(session, path, before, agents_text, after)

    def on_move(self, session: AgentSession, old: str, new: str) -> None:
        for recorder in self._active():
            recorder.on_move(session, old, new)

    def prompt(self, session: AgentSession) -> PromptName | None:
        return next(filter(None, (recorder.prompt(session) for recorder in self._active())), None)

    def on_adopt(self, prompt: PromptName, path: str, before: Text | None, after: Text) -> None:
        for recorder in self._active():
            recorder.on_adopt(prompt, path, before, after)
