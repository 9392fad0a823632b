"""Texts that agents read through the editor during turns.

If no store has such a file, its text is recorded as the content from before a change on disk.
"""

from __future__ import annotations

from msgspec import UNSET

from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.tracked_file import Holds, Stored
from acp_nvim.files.files import Files
from acp_nvim.tasks import Tasks


class ReadTexts:
    """Records the texts after the agents have their answers."""

    def __init__(self, files: Files, tasks: Tasks) -> None:
        self._files = files
        self._tasks = tasks
        self._new: dict[str, Text] = {}

    def add(self, path: str, text: Text) -> None:
        """Record a text that was given to an agent, unless the file's content is known already."""
        state, live = self._files.tracked.state(path), self._files.buffers.get(path)
        if state.disk is not UNSET or state.in_store or not self._files.turns.ready():
            return
        if live is None or not live.modified:
            self._new[path] = text
            if len(self._new) == 1:
                self._tasks.start_soon(self._keep)

    async def _keep(self) -> None:
        new, self._new = self._new, {}
        loose = set(await self._files.snapshots.loose(self._files.turns.roots(), list(new)))
        for path, text in new.items():
            file, live = self._files.tracked[path], self._files.buffers.get(path)
            if path not in loose:
                file.apply(Stored())
            elif file.state.disk is UNSET:
                file.apply(Holds(text, live.format if live else None))
