"""Authors of lines in the history's database: of several processes, and within limits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_nvim.edits.text import Text, parse
from acp_nvim.history import agent_trace, search
from acp_nvim.history.blames import FileAuthors
from acp_nvim.history.bounds import DAY_S, trim
from acp_nvim.history.recorder import file_move, file_write, prompt_of, recovered_write
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Message
from tests.support.stored_history import StoredHistory, begin

PATH = "/work/a.txt"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[StoredHistory]:
    history = StoredHistory(tmp_path / "history.db", secrets=["hunter2"])
    yield history
    history.close()


def write(kept: StoredHistory, session: Session, before: str | None, after: str) -> None:
    """Record a change to a text by the agent of a session."""
    old, new = None if before is None else parse(before), parse(after)
    kept.recorder.on_write(file_write(session, PATH, (old, new, new)))
    kept.recorder.flush()


def blame(kept: StoredHistory, text: str, path: str = PATH) -> FileAuthors:
    return search.blame(kept.database, {path: parse(text)})[path]


def words(kept: StoredHistory, text: str) -> list[str]:
    """Return the prompt of each line."""
    found = blame(kept, text)
    lines = [""] * len(parse(text).lines)
    for first, end, author in found.ranges:
        lines[first:end] = [found.authors[author].words] * (end - first)
    return lines


def test_each_line_has_the_prompt_that_wrote_it(kept: StoredHistory) -> None:
    session = kept.session()
    begin(session, "Rename it")
    write(kept, session, "a\nb\n", "a\nB\n")
    begin(session, "Add one")
    write(kept, session, "user\na\nB\n", "user\na\nB\nc\n")
    assert words(kept, "user\na\nB\nc\n") == ["", "", "Rename it", "Add one"]
    assert words(kept, "B\nmine\nc\n") == ["Rename it", "", "Add one"]
    assert words(kept, "user\na\nB\nc\n") == ["", "", "Rename it", "Add one"], "nothing was stored"
    (author,) = blame(kept, "c\n").authors.values()
    said = [entry for entry in kept.entries() if isinstance(entry, Message)]
    assert (author.agent, author.record, author.sent) == ("agent", 1, said[-1].sent)


@pytest.mark.parametrize("name", ["run", "another"])
def test_lines_of_a_killed_process_have_its_prompts(kept: StoredHistory, name: str) -> None:
    """Found by the name of its session, or by the agent's id if the session continues in an earlier
    record.
    """
    session = kept.session(stored="abc")
    begin(session, "Rename it")
    kept.recorder.flush(is_final=True)
    uid = f"{kept.name}.1" if name == "run" else name
    prompt = prompt_of(session)
    names = uid, "agent", "abc"
    for _ in range(2):  # as if it had been reported before the kill
        kept.recorder.on_recovered_write(
            recovered_write(names, prompt, PATH, parse("a\nb\n"), parse("a\nB\n"))
        )
        kept.recorder.flush()
    assert words(kept, "a\nB\n") == ["", "Rename it"]
    (author,) = blame(kept, "B\n").authors.values()
    assert (author.agent, author.record, author.sent) == ("agent", 1, prompt[0])


def test_lines_of_an_unknown_session_have_no_author(kept: StoredHistory) -> None:
    begin(kept.session(), "Rename it")
    kept.recorder.flush()
    names, prompt = ("other.1", "agent", ""), (1.0, 1, "Else")
    kept.recorder.on_recovered_write(recovered_write(names, prompt, PATH, None, parse("a\n")))
    kept.recorder.flush()
    assert words(kept, "a\n") == [""]


def test_user_changes_to_an_agents_write_have_no_prompt(kept: StoredHistory) -> None:
    session = kept.session()
    begin(session, "Go")
    texts = parse("a\n"), parse("a\nb\nc\n"), parse("a\nb\nmine\n")
    kept.recorder.on_write(file_write(session, PATH, texts))
    kept.recorder.flush()
    assert words(kept, "a\nb\nmine\n") == ["", "Go", ""]


def test_a_new_file_belongs_to_the_agent_and_a_restored_one_keeps_its_authors(
    kept: StoredHistory,
) -> None:
    session = kept.session()
    begin(session, "Create")
    write(kept, session, None, "a\nb\n")
    begin(session, "Again")
    write(kept, session, None, "a\nb\nc\n")
    assert words(kept, "a\nb\nc\n") == ["Create", "Create", "Again"]


def test_a_moved_file_keeps_its_authors(kept: StoredHistory) -> None:
    session = kept.session()
    begin(session, "Write")
    write(kept, session, "a\n", "a\nb\n")
    begin(session, "Move")
    new, text = "/work/new.txt", parse("a\nb\n")
    kept.recorder.on_write(file_write(session, new, (None, text, text)))  # its first state
    kept.recorder.on_write(file_move(session, PATH, new))
    kept.recorder.on_write(file_write(session, "/work/d.txt", (None, text, text)))
    kept.recorder.on_write(file_move(session, "/work/users.txt", "/work/d.txt"))
    kept.recorder.flush()
    found = blame(kept, "a\nb\n", new)
    assert [found.authors[author].words for _, _, author in found.ranges] == ["Write"]
    assert found.ranges[0][:2] == (1, 2)
    assert not blame(kept, "a\nb\n", "/work/d.txt").ranges


def test_two_processes_write_one_file(kept: StoredHistory) -> None:
    other = StoredHistory(kept.database.path)
    ours, theirs = kept.session(), other.session()
    begin(ours, "Ours")
    begin(theirs, "Theirs")
    write(kept, ours, "a\n", "a\nb\n")
    write(other, theirs, "a\nb\n", "a\nb\nc\n")
    write(kept, ours, "a\nb\nc\n", "A\nb\nc\n")
    assert words(kept, "A\nb\nc\n") == ["Ours", "Ours", "Theirs"]
    other.close()


def test_texts_and_secrets_are_not_stored(kept: StoredHistory, tmp_path: Path) -> None:
    session = kept.session()
    begin(session, "Use hunter2")
    write(kept, session, "", "a line of its own\n")
    assert words(kept, "a line of its own\n") == ["Use «redacted»"]
    kept.database.sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    stored = (tmp_path / "history.db").read_bytes()
    assert b"a line of its own" not in stored
    assert b"hunter2" not in stored


def test_a_deleted_session_leaves_no_text(kept: StoredHistory) -> None:
    session = kept.session()
    begin(session, "Secretly")
    write(kept, session, "", "a\n")
    kept.recorder.delete(1, f"{kept.name}.1")
    kept.recorder.flush()
    ((_, author),) = blame(kept, "a\n").authors.items()
    assert (author.words, author.record, author.agent) == ("", None, "agent")


def test_a_write_waits_until_its_session_is_stored(kept: StoredHistory) -> None:
    session = kept.session()
    kept.recorder.on_write(file_write(session, PATH, (None, Text(("a",)), Text(("a",)))))
    assert kept.recorder.flush() is not None
    assert not blame(kept, "a\n").ranges
    begin(session, "Go")
    kept.recorder.flush()
    assert len(blame(kept, "a\n").ranges) == 1


def test_old_files_are_removed_and_many_lines_remove_no_session(tmp_path: Path) -> None:
    old = StoredHistory(tmp_path / "history.db", clock=lambda: time.time() - 100 * DAY_S)
    session = old.session()
    begin(session, "Old")
    write(old, session, "", "a\n")
    old.close()
    kept = StoredHistory(tmp_path / "history.db")
    assert blame(kept, "a\n").ranges
    trim(kept.database, kept.store, 90, 1 << 30)
    assert not blame(kept, "a\n").ranges
    session = kept.session()
    begin(session, "New")
    write(kept, session, "", "a\nb\n")
    trim(kept.database, kept.store, 90, 1 << 30)
    assert words(kept, "a\nb\n") == ["New", "New"]
    trim(kept.database, kept.store, 90, 32)
    assert not blame(kept, "a\nb\n").ranges
    assert kept.database.sql.execute("SELECT count(*) FROM authors").fetchone() == (0,)
    assert kept.search("") == ["New"]
    kept.close()


def test_blame_is_exported_as_an_agent_trace(kept: StoredHistory) -> None:
    session = kept.session()
    session.id = "s/1"
    begin(session, "One")
    write(kept, session, "a\nb\nc\n", "A\nb\nC\nd\n")
    record = agent_trace.trace(
        {"a.txt": blame(kept, "A\nb\nC\nd\n"), "b.txt": blame(kept, "z\n", "/work/b.txt")},
        "1.2.3",
        0.0,
    )
    assert len(record.pop("id")) == 36
    assert record == {
        "version": "0.1.0",
        "timestamp": "1970-01-01T00:00:00Z",
        "tool": {"name": "acp.nvim", "version": "1.2.3"},
        "files": [
            {
                "path": "a.txt",
                "conversations": [
                    {
                        "url": "acp://agent/s%2F1",
                        "contributor": {"type": "ai"},
                        "ranges": [
                            {"start_line": 1, "end_line": 1},
                            {"start_line": 3, "end_line": 4},
                        ],
                    }
                ],
            }
        ],
    }
