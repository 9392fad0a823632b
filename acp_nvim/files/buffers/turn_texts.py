"""Texts of files from before the changes in a running turn.

`ReadTexts` records the texts that agents read through the editor. `UnreadFiles` has the bases for
writes to files that an agent has not read. Such an agent knows at most the text at the start of its
turn, so the user's later saves are merged with its write.
"""

from __future__ import annotations

from anyio import to_thread
from msgspec import UNSET, UnsetType

from acp_nvim.edits.agent_bases import Stale
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.buffers.tracked_file import ContentKnown, Stored
from acp_nvim.files.bytes.file_format import BinaryError, Format, text_of
from acp_nvim.files.changes.turns import Turns
from acp_nvim.files.checkpoints.snapshots import Snapshots
from acp_nvim.files.checkpoints.store import Unstored
from acp_nvim.files.files import Files
from acp_nvim.files.ports import AgentSession
from acp_nvim.tasks import Tasks

UNKNOWN = Stale("the user has saved it in this turn, and its earlier text is not known")


class UnreadFiles:
    """Earlier texts of files that the user has saved during a running turn."""

    def __init__(self, turns: Turns, snapshots: Snapshots) -> None:
        self._turns = turns
        self._snapshots = snapshots

    async def wait_ready(self, path: str) -> None:
        """Wait for the first scans of all turns in which the user has saved this file."""
        for turn in self._turns:
            if path in turn.user_saves:
                await turn.ready.wait()

    async def base(
        self, session: AgentSession, path: str, file_format: Format
    ) -> Text | Stale | None:
        """Return the base of a write, or None if the user has not saved the file in this turn."""
        turn = self._turns.get(session)
        if turn is None or path not in turn.user_saves:
            return None
        await self.find_saved_text(session, path, file_format)
        saved = turn.user_saves.get(path)
        if isinstance(saved, UnsetType):
            return UNKNOWN
        return EMPTY if saved is None else saved

    async def find_saved_text(self, session: AgentSession, path: str, file_format: Format) -> None:
        """Look up the text before the user's save, if it is unknown and the first scan is done."""
        turn = self._turns.get(session)
        if turn is not None and turn.ready.is_set() and turn.user_saves.get(path) is UNSET:
            stored = await self._stored_text(turn.trees, path, file_format)
            if turn.user_saves.get(path) is UNSET:
                turn.user_saves[path] = stored

    async def _stored_text(
        self, trees: dict[str, str], path: str, file_format: Format
    ) -> Text | UnsetType | None:
        """Return the text of a file in these trees, or UNSET if no store has it."""
        data = await self._snapshots.content(trees, path)
        if isinstance(data, Unstored):
            return UNSET
        try:
            return await to_thread.run_sync(text_of, data, file_format)
        except BinaryError:
            return UNSET


class ReadTexts:
    """Recorder of texts that agents read during turns, after their requests are answered.

    If no store has the file, this text is used as the content before a later change on disk.
    """

    def __init__(self, files: Files, tasks: Tasks) -> None:
        self._files = files
        self._tasks = tasks
        self._new: dict[str, Text] = {}

    def add(self, path: str, text: Text) -> None:
        """Record a text that an agent has read, unless the content of the file is known already."""
        state, live = self._files.tracked.state(path), self._files.buffers.get(path)
        if state.disk is not UNSET or state.in_store or not self._files.turns.ready_turns():
            return
        if live is None or not live.is_modified:
            self._new[path] = text
            if len(self._new) == 1:
                self._tasks.start_soon(self._record)

    async def _record(self) -> None:
        new, self._new = self._new, {}
        loose = set(
            await self._files.snapshots.outside_stores(self._files.turns.roots(), list(new))
        )
        for path, text in new.items():
            file, live = self._files.tracked[path], self._files.buffers.get(path)
            if path not in loose:
                file.apply(Stored())
            elif file.state.disk is UNSET:
                file.apply(ContentKnown(text, live.format if live else None))
