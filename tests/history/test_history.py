"""The history of a host: times of its writes, its reports of failures, and that nothing is lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest

from acp_nvim import wording
from acp_nvim.agent.settings import HistorySettings
from acp_nvim.history.database import Database
from acp_nvim.host.history import History, UnreadableError
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
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
    kept = HistoryOnDisk(tmp_path / "history.db")
    kept.turn(kept.session(), "Fix the parser", "Done.")
    assert await kept.titles("parser") == ["Fix the parser"]
    kept.turn(kept.sessions[1], "Thanks", "Bye")
    kept.end()
    assert await HistoryOnDisk(tmp_path / "history.db").texts() == [
        "Fix the parser",
        "Done.",
        "Thanks",
        "Bye",
    ]
    assert not kept.lines


def test_the_history_is_not_imported_with_the_host() -> None:
    code = (
        "import sys, acp_nvim.app; "
        "print([n for n in sys.modules if n == 'sqlite3' or n.startswith('acp_nvim.history')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


async def test_nothing_is_written_before_the_first_prompt(tmp_path: Path) -> None:
    kept = HistoryOnDisk(tmp_path / "history.db")
    kept.session().notice("info", "Welcome")
    kept.history.on_frame()
    kept.end()
    assert not kept.exists


async def test_a_disabled_history_writes_nothing(tmp_path: Path) -> None:
    kept = HistoryOnDisk(tmp_path / "history.db", HistorySettings(enabled=False))
    session = kept.session()
    kept.turn(session, "secret", "words")
    kept.history.configure(ON, kept.path)
    kept.turn(session, "public", "words")
    assert await kept.texts() == ["public", "words"]
    kept.end()


async def test_an_idle_history_does_no_work(tmp_path: Path) -> None:
    kept = HistoryOnDisk(tmp_path / "history.db")
    kept.turn(kept.session(), "Hello", "Hi")
    async with asyncio.timeout(PATIENCE_S):
        while kept.history.waits:
            await anyio.lowlevel.checkpoint()
    kept.end()


async def test_a_damaged_file_is_set_aside_and_everything_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(b"nonsense" * 1000)
    kept = HistoryOnDisk(path)
    kept.turn(kept.session(), "Hello", "Hi")
    await kept.until(lambda: bool(kept.lines))
    assert await kept.texts() == ["Hello", "Hi"]
    (aside,) = (file for file in kept.files() if "damaged" in file.name)
    assert kept.lines == [wording.HISTORY_DAMAGED.format(path=aside)]
    kept.end()


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
    kept = HistoryOnDisk(path)
    assert await kept.titles() == []
    assert await kept.titles("Prompt") == []
    (aside,) = (file for file in kept.files() if "damaged" in file.name)
    assert kept.lines == [wording.HISTORY_DAMAGED.format(path=aside)]
    kept.turn(kept.session(), "Hello", "Hi")
    assert await kept.titles("Hello") == ["Hello"]
    kept.end()


async def test_a_file_that_another_process_set_aside_is_written_again(tmp_path: Path) -> None:
    kept = HistoryOnDisk(tmp_path / "history.db")
    kept.turn(kept.session(), "Hello", "Hi")
    assert await kept.titles()
    for file in kept.files():
        file.rename(tmp_path / f"old-{file.name}")
    kept.turn(kept.sessions[1], "Again", "Yes")
    await kept.until(lambda: kept.exists)
    kept.turn(kept.sessions[1], "And", "on")
    async with asyncio.timeout(PATIENCE_S):
        while await kept.texts() != ["Hello", "Hi", "Again", "Yes", "And", "on"]:
            pass
    assert not kept.lines
    kept.end()


async def test_a_repeated_batch_is_stored_once(tmp_path: Path) -> None:
    kept = HistoryOnDisk(tmp_path / "history.db")
    session = kept.session()
    kept.turn(session, "Hello", "Hi")
    begin(session, "And")
    session.transcript.stream("agent", "half", None)
    assert await kept.texts() == ["Hello", "Hi", "And", "half"]
    kept.history.rewrite_all(0)
    session.transcript.stream("agent", " of it", None)
    assert await kept.texts() == ["Hello", "Hi", "And", "half of it"]
    kept.end()


async def test_a_history_of_a_newer_version_is_reported_once_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    database = Database(path)
    database.sql.execute("PRAGMA user_version = 999")
    database.close()
    kept = HistoryOnDisk(path)
    for word in ("one", "two"):
        kept.turn(kept.session(), word, "Yes")
        with pytest.raises(UnreadableError):
            await kept.titles()
    kept.end()
    assert kept.lines == [wording.HISTORY_NEWER]


async def test_a_read_only_folder_of_the_history_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    kept = HistoryOnDisk(tmp_path / "file" / "history.db")
    for word in ("one", "two"):
        kept.turn(kept.session(), word, "Yes")
        await kept.until(lambda: bool(kept.lines))
    kept.end()
    assert len(kept.lines) == 1


def test_a_full_disk_is_reported_once_and_loses_nothing(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "tests.support.full_disk", str(tmp_path / "history.db")]
    found = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert found.stderr == ""
    line, *said = found.stdout.splitlines()
    assert line.startswith("1 The history is not being kept: ")
    assert said == [f"prompt{number}" for number in range(40)]


async def test_a_kill_right_after_a_prompt_does_not_lose_it(tmp_path: Path) -> None:
    kept = HistoryOnDisk(tmp_path / "history.db")
    session = kept.session()
    kept.history.on_prompt_sent(session, Prompt("Hello"))
    begin(session, "Hello")
    async with asyncio.timeout(PATIENCE_S):
        while not kept.exists:
            await asyncio.to_thread(kept.history.wait_idle)
        await asyncio.to_thread(kept.history.wait_idle)  # the file exists before its rows
    other = StoredHistory(kept.path)  # as the next Neovim finds it
    assert other.messages() == ["Hello"]
    other.close()
    kept.end()


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
        kept = HistoryOnDisk(path)
        assert await kept.titles("Hi") == ["Hello"]
        kept.turn(kept.session(), "More", "Yes")
        assert await kept.titles() == ["Hello"]
        await kept.until(lambda: bool(kept.lines))
        (line,) = kept.lines
        assert line.startswith("The history is not being kept: ")
        if how == "full":
            disk.free()
        else:
            disk.remount("rw")
        kept.end()
        assert await HistoryOnDisk(path).texts() == ["Hello", "Hi", "More", "Yes"]


async def test_a_history_that_could_never_be_written_is_empty(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1024) as disk:
        (disk.path / "acp").mkdir()
        disk.fill()
        kept = HistoryOnDisk(disk.path / "acp" / "history.db")
        kept.turn(kept.session(), "Hello", "Hi")
        assert await kept.titles() == []
        await kept.until(lambda: bool(kept.lines))
        assert len(kept.lines) == 1
        disk.free()
        kept.end()
        assert await HistoryOnDisk(kept.path).titles() == ["Hello"]
