"""Several Neovims, one after the other, in the same directory and with the same data.

Example:

    days = Days(edit, tmp_path)
    days.start().quit()
    days.start()
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from acp_nvim.history import search
from acp_nvim.history.database import Database
from acp_nvim.session.transcript.entries import Message
from tests.support.editor import Editor
from tests.support.fake_picker import install_picker

KEY = "hunter2-hunter2"
"""A secret in the environment."""


class Days:
    """Starter of Neovims. The test ends each of them."""

    def __init__(self, edit: Callable[..., Editor], home: Path) -> None:
        self.work = home / "work"
        self.data = home / "data"
        self.store = home / "stored.json"
        self._edit = edit

    def start(self, scenario: str = "script", **agent: Any) -> Editor:
        env = {"XDG_DATA_HOME": str(self.data), "MY_API_KEY": KEY}
        editor = self._edit(work=self.work, env=env)
        if agent:
            editor.agent("stores", str(self.store), **agent)
        else:
            editor.agent(scenario)
        install_picker(editor)
        return editor

    @property
    def path(self) -> Path:
        return self.data / "nvim/acp/history.db"

    def messages(self, record: int = 1) -> list[str]:
        """Return the texts of a record's messages as they are on disk."""
        database = Database(self.path)
        entries = search.entries(database, record)
        database.close()
        return [entry.text() for entry in entries if isinstance(entry, Message)]

    def records(self) -> list[str]:
        """Return the titles of all sessions."""
        if not self.path.exists():
            return []
        database = Database(self.path)
        found = [one.title for one in search.search(database, "", str(self.work))]
        database.close()
        return found
