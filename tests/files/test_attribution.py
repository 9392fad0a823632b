"""Attribution of changes on disk to one of several turns."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from acp_nvim.files.bytes.disk import GRAIN_NS, changed_at
from acp_nvim.files.changes.turns import MAX_DELAY_NS, Attribution, Turn, Turns
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.session import Session
from tests.support.fake_workspace import fake_workspace
from tests.support.waiting import eventually

NOW = 1_000_000_000_000
PATH = "/work/a.txt"


async def ignore_roots(roots: list[str]) -> None:
    """Ignore the directories of running turns."""


class Work:
    """Two sessions in one directory."""

    def __init__(self) -> None:
        self.turns = Turns(ignore_roots)
        self.authors = Attribution(self.turns, list)
        self.first, self.second = self.begin(1), self.begin(2)

    def begin(self, n: int) -> Turn:
        turn = self.turns.enter(Session(n, "agent", "/work"))
        self.authors.enter(turn)
        return turn

    def author(self, at: int = NOW) -> int | None:
        """Return the number of the session that made the change."""
        turn = self.authors.author_of(PATH, at)
        return turn.session.n if turn else None


@pytest.fixture
def work() -> Work:
    """Return two sessions with running turns."""
    found = Work()
    found.first.ready.set()
    found.second.ready.set()
    return found


def call(turn: Turn, began: int, ended: int) -> None:
    """Add a tool call that names no file to a turn."""
    turn.calls[ToolCall("call")] = began, ended


def test_the_turn_that_began_first_is_the_author(work: Work) -> None:
    assert work.author() == 1


def test_the_only_turn_with_a_tool_call_is_the_author(work: Work) -> None:
    call(work.second, NOW - 5, NOW + 5)
    assert work.author() == 2
    call(work.first, NOW - 5, 0)
    assert work.author() == 1


def test_a_late_report_of_a_tool_call_counts(work: Work) -> None:
    call(work.second, NOW + MAX_DELAY_NS // 2, 0)
    assert work.author() == 2
    assert work.author(NOW - MAX_DELAY_NS) == 1


def test_the_turn_that_named_the_file_last_is_the_author(work: Work) -> None:
    work.first.naming_times[PATH] = NOW - 9
    assert work.author() == 1
    work.second.naming_times[PATH] = NOW - 5
    assert work.author() == 2


def test_an_ended_turn_is_not_the_author(work: Work) -> None:
    work.first.idle_since = NOW - 1
    assert work.author() == 2
    work.second.idle.append((NOW - 1, NOW + 1))
    assert work.author() is None


def test_a_turn_that_is_starting_can_be_the_author(work: Work) -> None:
    """It may be the author once its prompt was sent, and then its call names the file."""
    third = work.begin(3)
    third.naming_times[PATH] = NOW
    assert work.author() == 1
    third.idle.append((0, NOW - 1))
    assert work.author() == 3
    del third.naming_times[PATH]
    assert work.author() == 1
    for turn in (work.first, work.second):
        work.turns.leave(turn.session)
    assert work.author() == 3
    assert work.author(NOW - 2) is None


def test_a_report_may_arrive_after_the_change(work: Work) -> None:
    assert not work.authors.is_sure(PATH, NOW)
    work.second.naming_times[PATH] = NOW
    assert not work.authors.is_sure(PATH, NOW)
    call(work.second, NOW - 5, 0)
    assert work.authors.is_sure(PATH, NOW)
    assert work.authors.is_sure("/elsewhere/a.txt", NOW) is False
    work.turns.leave(work.first.session)
    assert work.authors.is_sure("/work/other.txt", NOW)


@pytest.mark.parametrize(
    ("command", "directory", "author"),
    [
        ("sed -i s/a/b/ ../elsewhere/a.txt", "/work", 1),
        ("rm -r ../elsewhere", "/work", 1),
        ("make", "/elsewhere", 1),
        ("cd ../elsewhere && make", "/work", 1),
        ("make", "/work", None),
        ("cat ../elsewhere/b.txt", "/work", None),
    ],
)
def test_a_command_may_change_files_of_an_idle_session(
    command: str, directory: str, author: int | None
) -> None:
    turns, path = Turns(ignore_roots), "/elsewhere/a.txt"
    authors = Attribution(turns, lambda: [Session(2, "agent", "/elsewhere")])
    turn = turns.enter(Session(1, "agent", "/work"))
    turn.ready.set()
    turn.mentions.add_command(command, directory)
    call(turn, NOW - 5, NOW + 5)
    found = authors.author_of(path, NOW)
    assert (found and found.session.n) == author
    assert turn.mentions.has_new_names  # for the files that have changed before


def test_a_directory_that_a_command_has_left_is_the_users() -> None:
    turns = Turns(ignore_roots)
    authors = Attribution(turns, lambda: [Session(2, "agent", "/elsewhere")])
    turn = turns.enter(Session(1, "agent", "/work"))
    turn.ready.set()
    turn.mentions.add_command("make", "/elsewhere")
    call(turn, NOW - 5, NOW + 5)
    assert authors.author_of("/elsewhere/a.txt", NOW + MAX_DELAY_NS) is None


def test_roots_of_other_sessions_are_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = [Session(n, "agent", f"/elsewhere/{n % 3}") for n in range(100)]
    turns = Turns(ignore_roots)
    authors = Attribution(turns, lambda: sessions)
    turn = turns.enter(Session(1, "agent", "/work"))
    turn.ready.set()
    resolved: list[str] = []
    realpath = os.path.realpath

    def resolve(path: str) -> str:
        resolved.append(path)
        return realpath(path)

    monkeypatch.setattr(os.path, "realpath", resolve)
    for n in range(100):
        assert authors.author_of(f"/elsewhere/{n % 3}/a.txt", NOW) is None
    assert sorted(resolved) == ["/elsewhere/0", "/elsewhere/1", "/elsewhere/2"]


@pytest.mark.parametrize("is_before_turn", [True, False])
async def test_a_file_of_the_user_in_an_idle_session_is_not_that_of_another_agent(
    tmp_path: Path, is_before_turn: bool
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with fake_workspace(tmp_path, agents=2) as workspace:
        file, idle = workspace.work / "a.txt", workspace.sessions[1]
        file.write_text("one\n")
        busy = workspace.sessions[0] = Session(1, "agent", str(elsewhere))
        busy.id, busy.status = "s1", "idle"
        await workspace.begin(idle)
        await workspace.write(file, "two\n", idle)
        await workspace.end(idle)
        await workspace.decide("accept")
        await workspace.begin(busy)
        file.write_text("mine\n")
        await eventually(lambda: changed_at(str(file)) + 2 * GRAIN_NS < time.time_ns())
        if is_before_turn:
            await workspace.turn(idle)
        else:
            await workspace.core.check_changed(str(file))
        await workspace.end(busy)
        assert workspace.pending() == {}


async def test_a_change_in_a_linked_directory_is_that_of_its_agent(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    file = real / "a.txt"
    file.write_text("one\n")
    async with fake_workspace(tmp_path, agents=2) as workspace:
        linked = workspace.sessions[1] = Session(2, "agent", str(link))
        linked.id, linked.status = "s2", "idle"
        await workspace.begin()
        await workspace.begin(linked)
        file.write_text("two\n")
        await workspace.end(linked)
        entry = workspace.core.files.ledger.get(str(file))
        assert entry is not None
        assert entry.writers == {2}
