"""The history of a host: times of its writes, its reports of failures, and that nothing is lost."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Timer
from typing import Any

import anyio.lowlevel
import pytest

from acp_nvim import wording
from acp_nvim.agent.settings import HistorySettings
from acp_nvim.features.history.history import History
from acp_nvim.history.database import Database
from acp_nvim.host.transcripts import UnreadableError
from acp_nvim.protocol import schema
from acp_nvim.session.calls import call_updates
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import ToolEntry
from tests.support.small_disk import small_disk
from tests.support.stored_history import StoredHistory, begin, turn
from tests.support.waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parent.parent.parent
ON = HistorySettings()


class HistoryOnDisk:
    """A host's history with its messages."""

    def __init__(self, path: Path, settings: HistorySettings = ON) -> None:
        self.path = path
        self.sessions: dict[int, Session] = {}
        self.lines: list[str] = []
        loop = asyncio.get_running_loop()
        self.history = History(self.sessions.values, lambda: "run", list, self.lines.append, loop)
        self.history.configure(settings, path)

    @property
    def exists(self) -> bool:
        return self.path.exists()

    def files(self) -> list[Path]:
        return list(self.path.parent.iterdir())

    def session(self) -> Session:
        session = Session(len(self.sessions) + 1, "agent", "/work")
        self.sessions[session.n] = session
        return session

    def turn(self, session: Session, prompt: str, answer: str) -> None:
        self.history.on_prompt_sent(session, Prompt(prompt))
        turn(session, prompt, answer)
        self.history.on_frame()

    async def titles(self, words: str = "") -> list[str]:
        return [one.title for one in await self.history.read("search", words, "/work") or ()]

    async def texts(self, record: int = 1) -> list[str]:
        entries: list[Any] = await self.history.read("entries", record)
        return [entry.text() for entry in entries if hasattr(entry, "text")]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await asyncio.to_thread(self.history.wait_idle)

    def end(self) -> None:
        self.history.close()
        self.history.wait_written()


async def test_a_transcript_is_found_at_once_and_by_the_next_host(tmp_path: Path) -> None:
    it = HistoryOnDisk(tmp_path / "history.db")
    it.turn(it.session(), "Fix the parser", "Done.")
    assert await it.titles("parser") == ["Fix the parser"]
    it.turn(it.sessions[1], "Thanks", "Bye")
    it.end()
    assert await HistoryOnDisk(tmp_path / "history.db").texts() == [
        "Fix the parser",
        "Done.",
        "Thanks",
        "Bye",
    ]
    assert not it.lines


async def test_the_last_prompt_is_stored_when_the_database_is_busy_at_the_exit(
    tmp_path: Path,
) -> None:
    it = HistoryOnDisk(tmp_path / "history.db")
    it.turn(it.session(), "First", "Done.")
    assert await it.titles() == ["First"]
    with closing(sqlite3.connect(it.path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = Timer(1.2, other.execute, ("ROLLBACK",))
        release.start()
        it.turn(it.sessions[1], "Last", "Done.")
        await it.history.on_exit()
        await it.history.on_processes_ended()
        release.join()
    assert await HistoryOnDisk(it.path).texts() == ["First", "Done.", "Last", "Done."]


async def test_all_tool_calls_of_a_burst_are_stored_at_the_exit(tmp_path: Path) -> None:
    it, count = HistoryOnDisk(tmp_path / "history.db"), 2500
    session = it.session()
    begin(session, "Read all")
    call_updates.upsert_all(session, [schema.ToolCall(f"c{n}", f"read {n}") for n in range(count)])
    it.end()
    entries: list[Any] = await HistoryOnDisk(it.path).history.read("entries", 1)
    calls = [entry.call.title for entry in entries if isinstance(entry, ToolEntry)]
    assert calls == [f"read {n}" for n in range(count)]


def test_the_history_is_not_imported_with_the_host() -> None:
    code = (
        "import sys, acp_nvim.app; "
        "print([n for n in sys.modules if n == 'sqlite3' or n.startswith('acp_nvim.history')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


async def test_nothing_is_written_before_the_first_prompt(tmp_path: Path) -> None:
    it = HistoryOnDisk(tmp_path / "history.db")
    it.session().notice("info", "Welcome")
    it.history.on_frame()
    it.end()
    assert not it.exists


async def test_a_disabled_history_writes_nothing(tmp_path: Path) -> None:
    it = HistoryOnDisk(tmp_path / "history.db", HistorySettings(enabled=False))
    session = it.session()
    it.turn(session, "secret", "words")
    it.history.configure(ON, it.path)
    it.turn(session, "public", "words")
    assert await it.texts() == ["public", "words"]
    it.end()


async def test_an_idle_history_does_no_work(tmp_path: Path) -> None:
    it = HistoryOnDisk(tmp_path / "history.db")
    it.turn(it.session(), "Hello", "Hi")
    async with asyncio.timeout(PATIENCE_S):
        while it.history.is_scheduled:
            await anyio.lowlevel.checkpoint()
    it.end()


async def test_a_damaged_file_is_set_aside_and_everything_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(b"nonsense" * 1000)
    it = HistoryOnDisk(path)
    it.turn(it.session(), "Hello", "Hi")
    await it.until(lambda: bool(it.lines))
    assert await it.texts() == ["Hello", "Hi"]
    (aside,) = (file for file in it.files() if "damaged" in file.name)
    assert it.lines == [wording.HISTORY_DAMAGED.format(path=aside)]
    it.end()


@pytest.mark.parametrize("where", ["beginning", "middle"])
async def test_the_first_reader_sets_a_damaged_file_aside(tmp_path: Path, where: str) -> None:
    path = tmp_path / "history.db"
    before = StoredHistory(path)
    for number in range(100):
        turn(before.session(), f"Prompt {number} " * 100, "Hi")
    before.flush()
    before.close()
    data = bytearray(path.read_bytes())
    data[0 if where == "beginning" else 4096 :] = b"nonsense" * (len(data) // 8)
    path.write_bytes(data)
    it = HistoryOnDisk(path)
    assert await it.titles() == []
    assert await it.titles("Prompt") == []
    (aside,) = (file for file in it.files() if "damaged" in file.name)
    assert it.lines == [wording.HISTORY_DAMAGED.format(path=aside)]
    it.turn(it.session(), "Hello", "Hi")
    assert await it.titles("Hello") == ["Hello"]
    it.end()


async def test_a_file_that_another_process_set_aside_is_written_again(tmp_path: Path) -> None:
    it = HistoryOnDisk(tmp_path / "history.db")
    it.turn(it.session(), "Hello", "Hi")
    assert await it.titles()
    for file in it.files():
        file.rename(tmp_path / f"old-{file.name}")
    it.turn(it.sessions[1], "Again", "Yes")
    await it.until(lambda: it.exists)
    it.turn(it.sessions[1], "And", "on")
    async with asyncio.timeout(PATIENCE_S):
        while await it.texts() != ["Hello", "Hi", "Again", "Yes", "And", "on"]:
            pass
    assert not it.lines
    it.end()


async def test_a_repeated_batch_is_stored_once(tmp_path: Path) -> None:
    it = HistoryOnDisk(tmp_path / "history.db")
    session = it.session()
    it.turn(session, "Hello", "Hi")
    begin(session, "And")
    session.transcript.stream("agent", "half", None)
    assert await it.texts() == ["Hello", "Hi", "And", "half"]
    it.history.rewrite_all(0)
    session.transcript.stream("agent", " of it", None)
    assert await it.texts() == ["Hello", "Hi", "And", "half of it"]
    it.end()


async def test_a_history_of_a_newer_version_is_reported_once_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    database = Database(path)
    database.sql.execute("PRAGMA user_version = 999")
    database.close()
    it = HistoryOnDisk(path)
    for word in ("one", "two"):
        it.turn(it.session(), word, "Yes")
        with pytest.raises(UnreadableError):
            await it.titles()
    it.end()
    assert it.lines == [wording.HISTORY_NEWER]


async def test_a_read_only_folder_of_the_history_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    it = HistoryOnDisk(tmp_path / "file" / "history.db")
    for word in ("one", "two"):
        it.turn(it.session(), word, "Yes")
        await it.until(lambda: bool(it.lines))
    it.end()
    assert len(it.lines) == 1


def test_a_full_disk_is_reported_once_and_loses_nothing(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "tests.support.full_disk", str(tmp_path / "history.db")]
    found = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert found.stderr == ""
    line, *said = found.stdout.splitlines()
    assert line.startswith("1 The history is not being kept: ")
    assert said == [f"prompt{number}" for number in range(40)]


async def test_a_kill_right_after_a_prompt_does_not_lose_it(tmp_path: Path) -> None:
    it = HistoryOnDisk(tmp_path / "history.db")
    session = it.session()
    it.history.on_prompt_sent(session, Prompt("Hello"))
    begin(session, "Hello")
    async with asyncio.timeout(PATIENCE_S):
        while not it.exists:
            await asyncio.to_thread(it.history.wait_idle)
        await asyncio.to_thread(it.history.wait_idle)  # the file exists before its rows
    other = StoredHistory(it.path)  # as the next Neovim finds it
    assert other.messages() == ["Hello"]
    other.close()
    it.end()


@pytest.mark.parametrize("how", ["read-only", "full"])
async def test_a_read_only_history_can_be_read(tmp_path: Path, how: str) -> None:
    with small_disk(tmp_path / "disk", 1024) as disk:
        path = disk.path / "acp" / "history.db"
        before = HistoryOnDisk(path)
        before.turn(before.session(), "Hello", "Hi")
        assert await before.titles() == ["Hello"]
        before.end()
        if how == "full":
            disk.fill()
        else:
            disk.remount("ro")
        it = HistoryOnDisk(path)
        assert await it.titles("Hi") == ["Hello"]
        it.turn(it.session(), "More", "Yes")
        assert await it.titles() == ["Hello"]
        await it.until(lambda: bool(it.lines))
        (line,) = it.lines
        assert line.startswith("The history is not being kept: ")
        if how == "full":
            disk.free()
        else:
            disk.remount("rw")
        it.end()
        assert await HistoryOnDisk(path).texts() == ["Hello", "Hi", "More", "Yes"]


async def test_a_history_that_could_never_be_written_is_empty(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1024) as disk:
        (disk.path / "acp").mkdir()
        disk.fill()
        it = HistoryOnDisk(disk.path / "acp" / "history.db")
        it.turn(it.session(), "Hello", "Hi")
        assert await it.titles() == []
        await it.until(lambda: bool(it.lines))
        assert len(it.lines) == 1
        disk.free()
        it.end()
        assert await HistoryOnDisk(it.path).titles() == ["Hello"]
