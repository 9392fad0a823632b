"""The file of the history: its contents, its writers, and its failures."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_nvim.history import layout, search
from acp_nvim.history.bounds import DAY_S, trim
from acp_nvim.history.database import Database, NewerVersionError, is_damage, set_aside
from acp_nvim.session import turns
from acp_nvim.session.session import Session
from tests.support.stored_history import StoredHistory, begin, replay, turn

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "acp" / "history.db"


@pytest.fixture
def kept(path: Path) -> Iterator[StoredHistory]:
    history = StoredHistory(path)
    yield history
    assert history.database.sql.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    history.database.sql.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    history.close()


def rows(kept: StoredHistory, table: str) -> int:
    return int(kept.database.sql.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


# -- contents --------------------------------------------------------------------------------------


def test_the_history_is_readable_only_by_the_user(kept: StoredHistory, path: Path) -> None:
    turn(kept.session(), "Hello", "Hi")
    kept.flush()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}


def test_an_unsent_prompt_is_not_stored(kept: StoredHistory) -> None:
    session = kept.session()
    session.notice("info", "Welcome")
    kept.flush()
    assert rows(kept, "sessions") == 0
    turn(session, "Hello", "Hi")
    kept.flush()
    assert [type(entry).__name__ for entry in kept.entries()][:2] == ["Line", "Message"]


def test_a_long_answer_is_extended_and_not_written_again(kept: StoredHistory) -> None:
    session = kept.session()
    begin(session, "Tell me")
    for number in range(50):
        session.transcript.stream("agent", f"{number} " * 1000, None)
        kept.recorder.flush()
    sizes = [sum(len(str(change)) for change in batch) for batch in kept.batches]
    assert max(sizes) < 3 * min(sizes[1:]), "each batch holds what was new"
    assert kept.messages()[1] == "".join(f"{number} " * 1000 for number in range(50))
    assert kept.search("49"), "also what is not complete is found"
    turns.end(session, "end_turn")
    kept.flush()
    assert rows(kept, "pieces") == 0
    assert kept.search("49 49")


def test_output_that_grows_is_written_rarely_while_it_is_long(kept: StoredHistory) -> None:
    session = kept.session()
    begin(session, "Build")
    terminal = session.terminals.agent_terminal("t")
    written = 0
    for _ in range(100):
        terminal.feed_lines(b"x" * 1900 + b"\n")
        kept.now += 0.1
        before = len(kept.batches)
        kept.recorder.flush()
        written += any("lines" in str(c) and "xxxx" in str(c) for c in kept.batches[before:][0:1])
    assert 0 < written < 60
    terminal.end(0, None)
    turns.end(session, "end_turn")
    kept.flush()
    assert kept.search("x" * 1900)


def test_a_rewritten_message_replaces_the_earlier_one(kept: StoredHistory) -> None:
    session = kept.session()
    begin(session, "Hello")
    session.transcript.chunk("agent", "m", "first words")
    kept.recorder.flush()
    session.transcript.rewrite("agent", "m", ["second"])
    kept.recorder.flush()
    session.transcript.chunk("agent", "m", " thoughts")
    turns.end(session, "end_turn")
    kept.flush()
    assert kept.messages() == ["Hello", "second thoughts"]
    assert not kept.search("first")


def test_secrets_are_never_stored(path: Path) -> None:
    kept = StoredHistory(path, secrets=["hunter2-hunter2", "text"])
    session = kept.session()
    begin(session, "My key: hunter2-hunter2")
    for part in ("it is ", "hunter2", "-hun", "ter2", ", I say hunter2-hun", "t"):
        session.transcript.stream("agent", part, None)
        kept.recorder.flush()
    turns.end(session, "end_turn")
    session.title = "hunter2-hunter2"
    session.change("title")
    kept.flush()
    mark = "«redacted»"
    assert kept.messages() == [f"My key: {mark}", f"it is {mark}, I say hunter2-hunt"]
    kept.close()
    assert b"hunter2-hunter2" not in b"".join(p.read_bytes() for p in path.parent.iterdir())


# -- continued sessions ---------------------------------------------------------------------------


def test_a_loaded_session_continues_in_its_record(kept: StoredHistory) -> None:
    first = kept.session()
    first.id = "s1"
    turn(first, "One", "1")
    turn(first, "Two", "2")
    kept.flush()
    loaded = kept.session(stored="s1")
    replay(loaded, ("One", "1"), ("Two", "2"), ("Elsewhere", "3"))
    loaded.status = "idle"
    kept.flush()
    turn(loaded, "Four", "4")
    kept.flush()
    assert rows(kept, "sessions") == 1
    assert kept.messages() == ["One", "1", "Two", "2", "Elsewhere", "3", "Four", "4"]


def test_a_loaded_foreign_session_is_stored_entirely(kept: StoredHistory) -> None:
    loaded = kept.session(stored="s1")
    replay(loaded, ("One", "1"))
    loaded.status = "idle"
    assert kept.recorder.flush() is not None, "some agents replay late"
    assert not kept.batches
    replay(loaded, ("Late", "2"))
    kept.flush()
    assert kept.messages() == ["One", "1", "Late", "2"]


def test_a_resumed_session_continues_in_its_record(kept: StoredHistory) -> None:
    first = kept.session()
    first.id = "s1"
    turn(first, "One", "1")
    kept.flush()
    resumed = kept.session(stored="s1")
    resumed.notice("info", "Resumed")
    resumed.status = "idle"
    turn(resumed, "One", "1 again")
    kept.flush()
    assert kept.messages() == ["One", "1", "One", "1 again"]


def test_a_repeated_session_id_makes_two_records(kept: StoredHistory) -> None:
    for word in ("apple", "pear"):
        session = kept.session()
        session.id = "s1"
        turn(session, word, "Yes")
    kept.flush()
    assert sorted(kept.search("")) == ["apple", "pear"]


def test_a_deleted_session_continues_in_a_new_record(kept: StoredHistory) -> None:
    session = kept.session()
    turn(session, "apple", "Yes")
    kept.flush()
    kept.recorder.delete(1, "none")
    kept.flush()
    for table in ("sessions", "entries", "pieces", "texts"):
        assert rows(kept, table) == 0, table
    turn(session, "more of the deleted", "No")
    kept.flush()
    assert rows(kept, "sessions") == 0, "whoever deleted it elsewhere does not get it back"
    kept.recorder.delete(1, f"{kept.name}.1")
    turn(session, "pear", "No")
    kept.flush()
    assert kept.messages(record=2) == ["pear", "No"]
    assert not kept.search("apple")


def test_tokens_and_cost_are_counted_once(kept: StoredHistory) -> None:
    from acp_nvim.protocol import schema

    session = kept.session()
    session.id = "s1"
    for used, cost in ((1000, 0.25), (3000, 1.0)):
        session.usage = schema.UsageUpdate(used, 200_000, schema.Cost(cost, "USD"))
        turn(session, "Go", "Done")
        kept.flush()
    again = kept.session(stored="s1")
    again.status = "idle"
    again.usage = schema.UsageUpdate(3500, 200_000, schema.Cost(1.5, "USD"))
    turn(again, "Go", "Done")
    kept.flush()
    (day,) = search.usage(kept.database)
    assert (day.agent, day.prompts, day.tokens, day.cost) == ("agent", 3, 3500, 1.5)


# -- limits ---------------------------------------------------------------------------------------


def test_the_oldest_sessions_are_removed_first(kept: StoredHistory) -> None:
    for number in range(6):
        words = " ".join(f"w{number}x{at}" for at in range(20_000))
        turn(kept.session(), f"prompt{number}", words)
        kept.flush()
    limit = kept.database.size // 2
    trim(kept.database, kept.store, 90, limit)
    assert kept.database.size <= limit
    left = kept.search("")
    assert "prompt5" in left
    assert "prompt0" not in left
    assert not kept.search("w0x17")


def test_a_single_session_that_is_too_large_loses_its_oldest_part(kept: StoredHistory) -> None:
    session = kept.session()
    for number in range(500):
        turn(session, f"prompt{number}", f"{number} " * 200)
    kept.flush()
    trim(kept.database, kept.store, 90, kept.database.size // 2)
    texts = kept.messages()
    assert texts[-1].startswith("499 ")
    assert "prompt0" not in texts
    turn(session, "Still here", "Yes")
    kept.flush()
    assert kept.messages()[-1] == "Yes"


def test_old_sessions_are_removed_despite_a_clock_that_was_set_back(
    path: Path,
) -> None:
    import time

    now = time.time()
    for age, words in ((100, "old"), (80, "young"), (-1000, "future"), (0, "present")):
        history = StoredHistory(path, clock=lambda age=age: now - age * DAY_S)  # type: ignore[misc]
        turn(history.session(), words, "Yes")
        history.flush()
        trim(history.database, history.store, 90, 1 << 30)
        history.close()
    kept = StoredHistory(path)
    assert kept.search("") == ["future", "present", "young"]
    kept.close()


def test_sessions_stored_with_a_clock_a_year_behind_are_kept(
    path: Path,
) -> None:
    import time

    now = clock = time.time()
    kept = StoredHistory(path, clock=lambda: clock)
    first = kept.session()
    for session, words, days in (
        (first, "before", 5),
        (kept.session(), "behind", 370),
        (first, "again", 369),
        (kept.session(), "right", 0),
    ):
        clock = now - days * DAY_S
        turn(session, words, f"Yes, {words}")
        kept.flush()
        trim(kept.database, kept.store, 90, 1 << 30)
    assert set(kept.search("Yes")) == {"before", "behind", "right"}
    assert kept.messages(1) == ["before", "Yes, before", "again", "Yes, again"]
    kept.close()


# -- builds, versions, damage ---------------------------------------------------------------------


def test_a_search_works_without_full_text_support(path: Path) -> None:
    plain = StoredHistory(path, full_text=False)
    turn(plain.session(), "An apple", "Äpfel 100%")
    turn(plain.session(), "A pear", "Yes")
    plain.flush()
    assert plain.search("apple") == ["An apple"]
    assert plain.search("100%") == ["An apple"]
    plain.close()
    full = StoredHistory(path)
    full.store.complete_leftovers()
    assert full.search("apple") == ["An apple"]
    assert full.search("apfel") == ["An apple"]
    full.recorder.delete(1, None)
    full.recorder.flush()
    assert full.search("apple") == []
    full.database.sql.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    full.close()


def test_words_in_any_script_are_found(kept: StoredHistory) -> None:
    turn(kept.session(), "snake_case and camelCase", 'she said "no-one" AND (OR) NEAR *')
    turn(kept.session(), "我喜欢苹果派", "好")
    kept.flush()
    for words in ("snake_ca", "camelc", '"no-one"', "NEAR (", "snake camel", "*", "said OR"):
        assert kept.search(words) == ["snake_case and camelCase"], words
    assert kept.search("苹果") == ["我喜欢苹果派"]
    assert kept.search("snake 苹果") == []


def test_results_of_this_directory_come_first(kept: StoredHistory) -> None:
    turn(kept.session("/here"), "here", "needle")
    for number in range(search.MAX_SESSIONS + 50):
        turn(kept.session("/there"), f"there{number}", "needle")
    kept.flush()
    found = kept.search("needle", "/here")
    assert found[:2] == ["here", f"there{search.MAX_SESSIONS + 49}"]
    assert len(found) == search.MAX_SESSIONS + 1


def test_a_deleted_session_removes_prompts_that_no_other_has(kept: StoredHistory) -> None:
    for prompts in (["Mine", "Both", "Mine again\nand more"], ["Both", "Theirs"]):
        session = kept.session()
        for prompt in prompts:
            kept.recorder.on_prompt(prompt, "/work")
            turn(session, prompt, "Mine and theirs")
    kept.recorder.on_prompt("Never kept in a session", "/work")
    kept.flush()
    kept.recorder.delete(1, None)
    kept.flush()
    assert search.prompts(kept.database, 10) == ["Both", "Theirs", "Never kept in a session"]
    kept.recorder.delete(2, None)
    kept.flush()
    assert search.prompts(kept.database, 10) == ["Never kept in a session"]


def test_a_file_of_a_newer_version_is_left_alone(path: Path) -> None:
    StoredHistory(path).close()
    sql = sqlite3.connect(path)
    sql.execute("PRAGMA user_version = 999")
    sql.close()
    before = path.read_bytes()
    with pytest.raises(NewerVersionError):
        Database(path)
    assert path.read_bytes() == before


def test_a_migration_keeps_all_data(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = StoredHistory(path)
    turn(kept.session(), "Hello", "Hi")
    kept.flush()
    kept.close()
    more = (*layout.MIGRATIONS, "ALTER TABLE sessions ADD COLUMN colour TEXT; SELECT 1")
    monkeypatch.setattr(layout, "MIGRATIONS", more)
    newer = StoredHistory(path)
    assert newer.messages() == ["Hello", "Hi"]
    newer.database.sql.execute("SELECT colour FROM sessions")
    newer.close()


@pytest.mark.parametrize(
    "content", [b"no database at all" * 300, b"SQLite format 3\0" + b"x" * 5000]
)
def test_a_damaged_file_is_set_aside(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_bytes(content)
    with pytest.raises(sqlite3.DatabaseError) as caught:
        Database(path)
    assert is_damage(caught.value)
    aside = set_aside(path, None)
    assert aside is not None
    assert aside.read_bytes() == content
    Database(path).close()


# -- several processes ----------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from tests.support.stored_history import StoredHistory, turn
kept = StoredHistory(Path(sys.argv[1]))
kept.store._writer = int(sys.argv[2])
kept.name = sys.argv[2]
session = kept.session()
for number in range(int(sys.argv[3])):
    turn(session, f"p{sys.argv[2]} n{number}", "answer " * 50)
    kept.recorder.flush()
    print(number, flush=True)
"""


def writer(path: Path, number: int, count: int) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", WRITER, str(path), str(number), str(count)]
    return subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_two_processes_write_at_once(path: Path) -> None:
    with writer(path, 101, 60) as first, writer(path, 102, 60) as second:
        assert [process.wait(60) for process in (first, second)] == [0, 0]
    kept = StoredHistory(path)
    for record in (1, 2):
        texts = kept.messages(record)
        who = texts[0].split()[0]
        assert texts[::2] == [f"{who} n{number}" for number in range(60)]
    kept.database.sql.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    kept.close()


def test_a_kill_during_a_batch_loses_no_written_data(path: Path) -> None:
    for number in range(1, 4):
        with writer(path, 200 + number, 100_000) as process:
            assert process.stdout is not None
            last = [process.stdout.readline() for _ in range(17 * number)][-1]
            os.kill(process.pid, signal.SIGKILL)
            process.stdout.read()
        kept = StoredHistory(path)
        texts = kept.messages(number)
        assert len(texts) >= 2 * (int(last) + 1) - 1
        assert texts[0] == f"p{200 + number} n0"
        assert kept.database.sql.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        kept.close()


def test_messages_of_a_killed_process_are_completed(path: Path) -> None:
    import time

    killed = StoredHistory(path, clock=lambda: time.time() - 1000)
    session: Session = killed.session()
    begin(session, "Hello")
    for part in ("needle", "in", "hay"):
        session.transcript.stream("agent", part, None)
        killed.recorder.flush()
    killed.close()
    kept = StoredHistory(path)
    assert kept.search("needleinhay") == ["Hello"]
    kept.store.complete_leftovers()
    assert rows(kept, "pieces") == 0
    assert kept.search("needleinhay") == ["Hello"]
    assert kept.messages() == ["Hello", "needleinhay"]
    kept.close()
