"""Transcripts survive the host, which is killed at any moment, also during a write.

`python -m tests.torture.remembered SEED STEPS COUNT` runs COUNT histories over the history's
recorder and store, without a process, and prints the steps of those that fail. With a final `both`,
two hosts write to one file.

The promise: every entry and every prompt that was handed over and written is there after the kill,
unchanged. An interrupted write is there entirely or not at all. Only entries since the last
hand-over (`GAP_S`, 0.3 s; for a prompt `PROMPT_DELAY_S`, 10 ms) may be missing. Records of hosts
that were killed earlier do not change.
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from acp_nvim.history import search
from acp_nvim.history.database import Database
from acp_nvim.history.records import encode, join_texts, record_of
from acp_nvim.protocol.text import clean
from acp_nvim.session import turns
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Entry, Message
from tests.support.chat_histories import PIECES, Chat
from tests.support.stored_history import StoredHistory, begin
from tests.torture import histories

STEPS = 40
PROMPTS = 10_000


def plain(entries: Sequence[Entry]) -> list[Any]:
    """Return entries as comparable values."""
    found: list[tuple[bytes, list[Any]]] = []
    for entry in entries:
        parts = join_texts(entry.parts) if isinstance(entry, Message) else ()
        found.append((encode(record_of(entry)), [part for part in parts if part != ""]))
    return cast("list[Any]", clean([[data.decode(), parts] for data, parts in found]))


Contents = tuple[dict[str, list[Any]], list[str]]
"""Transcripts by their first prompts, and prompts."""


class History:
    """Hosts that write to one file, one or two at a time."""

    def __init__(self, path: Path, seed: int, both: bool, process: int | None = None) -> None:
        """``process`` is the number of this process, if several use one file."""
        self.rng = random.Random(seed)
        self.path = path
        self.process = process
        self.words = 0 if process is None else process * 1000
        self.log: list[str] = []
        self.past: dict[str, list[Any]] = {}
        """Records of dead hosts by their first prompts."""
        self.prompts: list[str] = []
        self.alive = [Host(self) for _ in range(2 if both else 1)]

    def note(self, *words: object) -> None:
        self.log.append(" ".join(map(repr, words)))

    def word(self) -> str:
        self.words += 1
        return f"w{self.words} " + "".join(self.rng.choices(PIECES[:12], k=3))

    def step(self) -> None:
        """Take a random step."""
        host = self.rng.choice(self.alive)
        roll = self.rng.random()
        if roll < 0.75:
            host.act()
        elif roll < 0.9:
            host.flush()
        else:
            self.alive[self.alive.index(host)] = host.die(torn=roll > 0.95)
        self.compare()

    def compare(self) -> None:
        """Check that the file has everything that was promised."""
        wanted = dict(self.past)
        for host in self.alive:
            wanted |= host.written
        found, prompts = read(self.path)
        assert found == wanted, f"\nfound  {found}\nwanted {wanted}"
        assert prompts == self.prompts, f"\nfound  {prompts}\nwanted {self.prompts}"


def read(path: Path) -> Contents:
    """Return the contents of the file as another process reads them."""
    database = Database(path)
    try:
        records = [one.id for one in search.search(database, "", "/work")]
        found = [plain(search.entries(database, record)) for record in records]
        return {str(one[0]): one for one in found}, search.prompts(database, PROMPTS)
    finally:
        database.close()


class Host:
    """A process with sessions, and the transcripts that it has written."""

    def __init__(self, world: History) -> None:
        self.world = world
        self.kept = StoredHistory(world.path, number=world.process)
        self.chats: list[Chat] = []
        self.sent: list[str] = []
        """Prompts that are not handed over yet."""
        self.written: dict[str, list[Any]] = {}

    def act(self) -> None:
        """Let something happen in a session, sometimes in a new one."""
        rng = self.world.rng
        if not self.chats or rng.random() < 0.1:
            self.chats.append(Chat())
            chat = self.chats[-1]
            chat.session = Session(len(self.chats), "agent", "/work")
            self.kept.sessions.append(chat.session)
            self.prompt(chat)
            return
        chat = rng.choice(self.chats)
        number, word = rng.randrange(3), self.world.word()
        rng.choice(
            [
                lambda: self.prompt(chat),
                lambda: chat.say("agent", word, None),
                lambda: chat.say("agent", word, None),
                lambda: chat.say("thought", word, None),
                lambda: chat.call(number, rng.choice(["in_progress", "completed"]), word),
                lambda: chat.ask(number),
                chat.answer,
            ]
        )()

    def prompt(self, chat: Chat) -> None:
        text = clean(self.world.word().strip())
        self.world.note("prompt", chat.session.n, text)
        if chat.session.turn:
            turns.end(chat.session, "end_turn")
        begin(chat.session, text)
        self.kept.recorder.on_prompt(text, "/work")
        self.sent.append(text)

    def now(self) -> dict[str, list[Any]]:
        """Return the transcripts in memory."""
        said = [plain(chat.session.transcript.entries) for chat in self.chats]
        return {str(one[0]): one for one in said}

    def flush(self) -> None:
        """Write everything."""
        self.world.note("flush")
        self._hand_over()
        self.written = self.now()
        self.world.prompts += self.sent
        self.sent.clear()

    def _hand_over(self) -> None:
        """Write one batch in one transaction."""
        self.kept.now += 1000.0
        self.kept.recorder.flush()

    def die(self, *, torn: bool) -> Host:
        """Kill the host, during a write if ``torn``, and start the next one."""
        self.world.note("dies", torn)
        if torn:
            self._tear(self.world.rng.randrange(1, 30))
        self.kept.close()
        self.world.past |= self.written
        return Host(self.world)

    def _tear(self, left: int) -> None:
        """Write until SQLite has done this number of steps."""
        done = [0]

        def over() -> int:
            done[0] += 1
            return int(done[0] > left)

        self.kept.database.sql.set_progress_handler(over, 20)
        try:
            self._hand_over()
        except sqlite3.OperationalError as error:
            if "interrupted" not in str(error):
                raise
            return
        finally:
            self.kept.database.sql.set_progress_handler(None, 0)
        self.written = self.now()
        self.world.prompts += self.sent


def run(seed: int, both: bool = False, steps: int = STEPS) -> str:
    """Run one history in its own directory and return the failure, or ""."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
        world = History(Path(os.path.realpath(root)) / "history.db", seed, both)
        try:
            for _ in range(steps):
                world.step()
        except Exception as error:
            told = "".join(traceback.format_exception(error)[-3:])
            return "\n".join([*world.log, told])
        finally:
            for host in world.alive:
                host.kept.close()
    return ""


if __name__ == "__main__":
    sys.exit(histories.main(run, STEPS))
