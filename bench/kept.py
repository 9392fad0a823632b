"""Generated history of the size that months of use produce."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from acp_nvim.history.changes import (
    Change,
    Completion,
    EntryState,
    Extension,
    Facts,
    RecordingStart,
)
from acp_nvim.history.database import Database
from acp_nvim.history.records import Call, MessageRecord
from acp_nvim.history.store import Store
from acp_nvim.protocol import schema

WORDS = 30_000
"""Size of the vocabulary. The n-th word is n times as rare as the first."""
RARE = "xylophone"
"""A word in only one session. `zebra` is in every hundredth session."""


def history(path: Path, megabytes: int) -> None:
    """Fill a history until its file is at least this large."""
    database = Database(path)
    store, session = Store(database, 1 << 40), 0
    talk = _Talk()
    while path.stat().st_size < megabytes << 20:
        batch: list[Change] = []
        for _ in range(20):
            session += 1
            batch += talk.session(session)
        store.write(batch)
        database.sql.execute("PRAGMA wal_checkpoint(PASSIVE)")
    database.close()


def common() -> str:
    """Return the most common word."""
    return _Talk().words[0]


class _Talk:
    def __init__(self) -> None:
        self._random = random.Random(1)
        self.words = [self._word() for _ in range(WORDS)]
        self._weights = list(accumulate(1 / n for n in range(1, WORDS + 1)))

    def _word(self) -> str:
        return "".join(self._random.choices("abcdefghijklmnoprstuvw", k=self._random.randint(3, 9)))

    def _text(self, words: int) -> str:
        return " ".join(self._random.choices(self.words, cum_weights=self._weights, k=words))

    def session(self, n: int) -> Iterator[Change]:
        """Yield ten prompts, each with a thought, four tool calls and an answer."""
        directory = f"/home/user/project{n % 20}"
        facts = Facts(
            "claude", f"s{n}", directory, "", self._text(6), None, 10, 1000, 9, 9, 0.1, "USD"
        )
        yield RecordingStart(n, f"kept.{n}", facts)
        at = 0
        for turn in range(10):
            special = f" {RARE}" if n == 100 and turn == 5 else " zebra" if n % 100 == 7 else ""
            for role, words in (("user", 30), ("thought", 60), ("agent", 200)):
                record = MessageRecord(role, None, None, 1.0)
                yield Extension(n, at, record, [self._text(words) + special])
                yield Completion(n, at)
                at += 1
            for _ in range(4):
                text = schema.Content(schema.TextContent(self._text(120)))
                yield EntryState(n, at, _call(f"c{at}", self._text(4), [text]))
                at += 1


def _call(id: str, title: str, content: list[schema.Content]) -> Call:
    return Call(
        id,
        title,
        None,
        "read",
        "completed",
        content,
        [],
        None,
        None,
        None,
        "",
        "",
        False,
        "",
        [],
        [],
    )
