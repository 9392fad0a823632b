"""Session history as a host writes it, but in one thread.

Example:

    history = StoredHistory(tmp_path / "history.db")
    turn(history.session(), "Fix it", "Done.")
    history.flush()
    assert history.search("done") == ["Fix it"]
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from acp_nvim.history import search
from acp_nvim.history.changes import Change
from acp_nvim.history.database import Database
from acp_nvim.history.hiding import SecretFilter
from acp_nvim.history.recorder import Recorder
from acp_nvim.history.store import Store
from acp_nvim.protocol import schema
from acp_nvim.session import turns
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Entry, Message

_writers = itertools.count(1)


class StoredHistory:
    """History that one process writes."""

    def __init__(
        self,
        path: Path,
        *,
        secrets: Sequence[str] = (),
        full_text: bool = True,
        clock: Callable[[], float] | None = None,
        number: int | None = None,
    ) -> None:
        """Open a history; `number` distinguishes writers in several processes."""
        self.database = Database(path, full_text=full_text)
        more: dict[str, Any] = {} if clock is None else {"clock": clock}
        number = number or next(_writers)
        self.store = Store(self.database, number, lambda: SecretFilter(secrets), **more)
        self.sessions: list[Session] = []
        self.name = f"run{number}"
        self.now = 0.0
        self.batches: list[Sequence[Change]] = []
        self.recorder = Recorder(
            lambda: self.sessions,
            lambda session: f"{self.name}.{session.n}",
            self._write,
            lambda: self.now,
        )

    def _write(self, generation: int, changes: Sequence[Change]) -> None:
        self.batches.append(changes)
        self.store.write(changes)

    def session(self, cwd: str = "/work", *, agent: str = "agent", stored: str = "") -> Session:
        """Open a session; `stored` is the id of one that its agent has stored."""
        session = Session(len(self.sessions) + 1, agent, cwd)
        session.id = session.opening_id = stored
        self.sessions.append(session)
        return session

    def flush(self, seconds: float = 10.0) -> None:
        """Let time pass, and write changes until there are none left."""
        self.now += seconds
        for _ in range(100):
            if self.recorder.flush() is None:
                return
            self.now += seconds
        raise AssertionError("the recorder does not come to rest")

    def search(self, words: str, cwd: str = "/work") -> list[str]:
        """Return the titles of matching sessions."""
        return [one.title for one in search.search(self.database, words, cwd)]

    def entries(self, record: int = 1) -> list[Entry]:
        return search.entries(self.database, record)

    def messages(self, record: int = 1) -> list[str]:
        """Return the texts of a record's messages."""
        return [entry.text() for entry in self.entries(record) if isinstance(entry, Message)]

    def close(self) -> None:
        self.database.close()


def turn(session: Session, prompt: str, answer: str) -> None:
    """Run a turn with a prompt of the user and an answer of the agent."""
    begin(session, prompt)
    session.transcript.stream("agent", answer, None)
    turns.end(session, "end_turn")


def begin(session: Session, text: str) -> None:
    """Send a prompt of the user to the agent."""
    prompt = Prompt(text)
    prompt.blocks = [schema.TextContent(text)]
    turns.begin(session, prompt, "Agent")


def replay(session: Session, *turns: tuple[str, str]) -> None:
    """Replay turns as the agent."""
    for prompt, answer in turns:
        session.transcript.stream("user", prompt, None)
        session.transcript.stream("agent", answer, None)
