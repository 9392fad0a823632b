"""Pending edits and checkpoints belong to the workspace: they outlive Neovim, and several Neovims
have them in common.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint

from acp_nvim.edits.log import framed, joined, read_on
from acp_nvim.edits.records import Writer, batch
from acp_nvim.workspace import journal as module
from acp_nvim.workspace import persistence, roots
from acp_nvim.workspace.file_format import Format
from acp_nvim.workspace.journal import JournalFile
from acp_nvim.workspace.replica import META, VERSION
from tests.support.fake_workspace import FakeWorkspace
from tests.support.git import git, repository
from tests.support.neovims import Neovims, shown, writers

LINES = [f"line {n}" for n in range(1, 13)]
TEXT = "\n".join(LINES) + "\n"
TWO = TEXT.replace("line 2\n", "two\n").replace("line 10\n", "ten\n")
HUNKS = [(("line 2",), ("two",)), (("line 10",), ("ten",))]


@pytest.fixture
async def started(tmp_path: Path) -> AsyncIterator[Neovims]:
    found = Neovims(tmp_path)
    yield found
    found.kill_all()


def folder(neovim: FakeWorkspace) -> Path:
    root = roots.root_of(str(neovim.work))
    return roots.folder(neovim.root / "data", root)


async def wrote(started: Neovims, name: str = "a.txt") -> FakeWorkspace:
    """A Neovim whose agent has changed two lines of a file, as the journal has it."""
    first = await started.neovim("first")
    path = first.work / name
    path.write_text(TEXT)
    await first.write(path, TWO)
    await first.exchange()
    return first


async def reborn(started: Neovims, killed: FakeWorkspace) -> FakeWorkspace:
    """That one is killed; the next one in its place."""
    started.kill(killed)
    return await started.neovim("second", agents=0)


# -- the files ------------------------------------------------------------------------------------


async def test_only_the_user_can_read_the_journal(started: Neovims) -> None:
    first = await wrote(started)
    for path in folder(first).iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for directory in (folder(first), folder(first).parent, folder(first).parent.parent):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


async def test_the_marker_is_there_while_anything_is_to_be_decided(started: Neovims) -> None:
    first = await started.neovim("first")
    await first.turn()
    await first.exchange()
    assert (folder(first) / "journal").exists()  # a checkpoint
    assert not (folder(first) / "pending").exists()
    await first.write(first.work / "a.txt", TEXT)
    await first.exchange()
    assert (folder(first) / "pending").exists()
    await first.decide("accept")
    assert not (folder(first) / "pending").exists()


async def test_without_anything_to_keep_there_is_no_file(started: Neovims) -> None:
    first = await wrote(started)
    await first.decide("accept")
    await first.review.persistence.close()
    assert [path.name for path in folder(first).iterdir()] == ["lock"]


async def test_what_is_superseded_does_not_pile_up(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLACK", 2000)
    first = await wrote(started)
    sizes = []
    for n in range(60):
        await first.write(first.work / "a.txt", TWO.replace("line 5", f"five {n}"))
        await first.exchange()
        sizes.append((folder(first) / "journal").stat().st_size)
    assert sizes != sorted(sizes)
    assert max(sizes) < 10_000


async def test_a_root_is_the_work_tree_whatever_leads_there(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "inner").mkdir(parents=True)
    assert roots.root_of(str(work / "inner")) == str(work / "inner")
    (work / "f").write_text("x\n")
    repository(work)
    (tmp_path / "link").symlink_to(work / "inner")
    assert roots.root_of(str(tmp_path / "link")) == str(work)


# -- the next Neovim ------------------------------------------------------------------------------


async def test_the_next_neovim_shows_and_decides_the_same(started: Neovims) -> None:
    first = await wrote(started)
    await first.turn()
    await first.write(first.work / "new.txt", "new\n")
    gone = first.work / "gone.txt"
    gone.write_text("gone\n")
    await first.begin()
    gone.unlink()
    await first.end()
    await first.exchange()
    second = await reborn(started, first)
    assert shown(second) == {
        "a.txt": ("modified", False, HUNKS),
        "new.txt": ("created", False, [((), ("new",))]),
        "gone.txt": ("deleted", False, [(("gone",), ())]),
    }
    assert set.union(*writers(second).values()) == {"agent"}
    assert [(it.agent, it.status) for it in second.sessions] == [("agent", "closed")]
    await second.decide("reject")
    assert (second.work / "a.txt").read_text() == TEXT
    assert not (second.work / "new.txt").exists()
    assert gone.read_text() == "gone\n"
    third = await reborn(started, second)
    assert shown(third) == {}
    await third.unreject()
    assert (third.work / "a.txt").read_text() == TWO
    assert len(third.pending()) == 3
    assert len(third.review.rewind.checkpoints.of(1)) == 2
    await third.restore(1, third.sessions[0])
    assert (third.work / "a.txt").read_text() == TWO
    assert not (third.work / "new.txt").exists()


async def test_line_ends_that_an_agent_has_changed_are_told_again(started: Neovims) -> None:
    first = await started.neovim("first")
    path = first.work / "a.txt"
    path.write_bytes(b"one\r\ntwo\r\n")
    await first.begin()
    path.write_bytes(b"one\ntwo\n")
    await first.end()
    (entry,) = first.review.edits.ledger.files()
    assert entry.relaid
    await first.exchange()
    second = await reborn(started, first)
    assert [it.relaid for it in second.review.edits.ledger.files()] == [entry.relaid]
    before, after = (it.review.edits.state(str(path)) for it in (first, second))
    assert before.user_format == after.user_format == Format(dos=True)
    assert before.agent_format == after.agent_format == Format()


async def test_what_the_user_changed_meanwhile_is_theirs(started: Neovims) -> None:
    first = await wrote(started)
    started.kill(first)
    path = first.work / "a.txt"
    path.write_text(TWO.replace("line 6\n", "mine\n") + "more\n")
    second = await started.neovim("second", agents=0)
    assert shown(second) == {"a.txt": ("modified", False, HUNKS)}
    await second.decide("reject")
    assert path.read_text() == TEXT.replace("line 6\n", "mine\n") + "more\n"


@pytest.mark.parametrize("verdict", ["accept", "reject"])
async def test_where_both_changed_the_same_lines_that_is_a_conflict(
    started: Neovims, verdict: str
) -> None:
    first = await wrote(started)
    started.kill(first)
    path = first.work / "a.txt"
    path.write_text(TWO.replace("ten\n", "10\n"))
    second = await started.neovim("second", agents=0)
    assert shown(second) == {"a.txt": ("modified", True, HUNKS[:1])}
    assert second.told == [
        "a.txt: you and the agent changed the same lines: :Acp review shows both"
    ]
    if verdict == "accept":
        await second.decide("accept")
        assert path.read_text() == TWO
    else:
        await second.decide("reject")
        assert path.read_text() == TEXT.replace("line 10\n", "10\n")
    assert shown(second) == {}


async def test_edits_that_were_never_saved_are_parked(started: Neovims) -> None:
    first = await started.neovim("first")
    first.options.save = "never"
    path = first.work / "a.txt"
    path.write_text(TEXT)
    first.neovim.open(str(path))
    await first.write(path, TWO)
    await first.exchange()
    assert path.read_text() == TEXT
    second = await reborn(started, first)
    assert shown(second) == {}
    assert list(second.review.edits.ledger.parked()) == [str(path)]
    path.write_text(TWO)
    await second.review.sync_all()
    assert shown(second) == {"a.txt": ("modified", False, HUNKS)}
    assert second.review.edits.ledger.parked() == {}


async def test_another_neovim_parks_nothing_that_one_has_not_saved(started: Neovims) -> None:
    first = await started.neovim("first")
    first.options.save = "never"
    path = first.work / "a.txt"
    path.write_text(TEXT)
    first.neovim.open(str(path))
    await first.write(path, TWO)
    await first.exchange()
    second = await started.neovim("second", agents=0)
    for neovim in (second, first, second, first):
        await neovim.exchange()
    assert shown(first) == {"a.txt": ("modified", False, HUNKS)}
    assert shown(second) == {}


# -- git ------------------------------------------------------------------------------------------


async def in_git(started: Neovims) -> FakeWorkspace:
    work = started.root / "work"
    work.mkdir()
    (work / "a.txt").write_text(TEXT)
    repository(work)
    first = await started.neovim("first")
    await first.write(work / "a.txt", TWO)
    await first.exchange()
    return first


@pytest.mark.parametrize("lives", [True, False])
async def test_stashed_edits_are_parked_and_come_back(started: Neovims, lives: bool) -> None:
    neovim = await in_git(started)
    git(neovim.work, "stash")
    if lives:
        await neovim.review.sync_all()
    else:
        neovim = await reborn(started, neovim)
    assert shown(neovim) == {}
    ((parked,),) = neovim.review.edits.ledger.parked().values()
    assert parked.branch == "main"
    assert neovim.told == ["The edits of a.txt are parked with branch main: :Acp edits parked"]
    await neovim.exchange()
    neovim = await reborn(started, neovim)
    git(neovim.work, "stash", "pop")
    await neovim.review.sync_all()
    assert shown(neovim) == {"a.txt": ("modified", False, HUNKS)}
    assert neovim.review.edits.ledger.parked() == {}


async def test_edits_of_another_branch_are_parked_with_it(started: Neovims) -> None:
    neovim = await in_git(started)
    git(neovim.work, "switch", "-q", "-c", "side")
    await neovim.review.sync_all()
    assert shown(neovim) == {"a.txt": ("modified", False, HUNKS)}
    git(neovim.work, "commit", "-q", "-am", "theirs")
    git(neovim.work, "switch", "-q", "main")
    neovim.neovim.open(str(neovim.work / "a.txt"))
    await neovim.review.sync_all()
    ((parked,),) = neovim.review.edits.ledger.parked().values()
    assert parked.branch == "side"
    neovim.review.drop_parked([str(neovim.work / "a.txt")])
    await neovim.exchange()
    neovim = await reborn(started, neovim)
    git(neovim.work, "switch", "-q", "side")
    await neovim.review.sync_all()
    assert shown(neovim) == {}


async def test_what_git_does_right_after_a_turn_is_its_own(started: Neovims) -> None:
    neovim = await in_git(started)
    await neovim.begin()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(neovim.end)
        await checkpoint()  # the agent has answered, and the look at the files has begun
        git(neovim.work, "stash")
    await neovim.review.sync_all()
    assert shown(neovim) == {}
    assert list(neovim.review.edits.ledger.parked()) == [str(neovim.work / "a.txt")]


# -- two at once ----------------------------------------------------------------------------------


async def test_a_decision_in_one_is_seen_in_the_other(started: Neovims) -> None:
    first = await wrote(started)
    second = await started.neovim("second", agents=0)
    assert shown(second) == shown(first)
    await second.decide_hunk("reject", second.work / "a.txt", 1)
    await first.exchange()
    assert shown(first) == shown(second) == {"a.txt": ("modified", False, HUNKS[1:])}


async def test_the_second_to_decide_is_told_and_does_nothing(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        persistence, "DELAY_S", 60.0
    )  # neither hears of the other before it decides
    first = await wrote(started)
    path = first.work / "a.txt"
    second = await started.neovim("second", agents=0)
    assert await first.review.decisions.hunk("accept", str(path), 1) == []
    said = await second.review.decisions.hunk("reject", str(path), 1)
    assert said == ["a.txt: decided in another Neovim"]
    assert path.read_text() == TWO
    (entry,) = second.review.edits.ledger.files()
    assert await first.review.decisions.files("reject", first.review.edits.ledger.files()) == []
    said = await second.review.decisions.files("accept", [entry])
    assert said == ["a.txt: decided in another Neovim"]
    assert shown(first) == shown(second) == {}
    await second.unreject()
    await first.exchange()
    assert shown(first) == shown(second) == {"a.txt": ("modified", False, HUNKS[1:])}


async def test_what_one_has_written_before_is_written_again_after_the_other(
    started: Neovims,
) -> None:
    """The same value in between, by the other: that counts until it is set anew."""
    first = await started.neovim("first")
    path = first.work / "new.txt"
    await first.write(path, "one\n")
    await first.exchange()
    second = await started.neovim("second")
    await first.decide("reject")
    await second.write(path, "two\n")
    await second.exchange()
    await first.exchange()
    await first.decide("reject")
    await second.exchange()
    assert shown(first) == shown(second) == {}


async def test_an_agents_write_during_the_others_decision_stays_pending(started: Neovims) -> None:
    first = await wrote(started)
    path = first.work / "a.txt"
    second = await started.neovim("second", agents=0)
    await second.decide_hunk("accept", path, 1)
    await first.write(path, TWO.replace("line 6\n", "six\n"))  # it has not heard of that
    for neovim in (first, second, first):
        await neovim.exchange()
    wanted = [(("line 6",), ("six",)), HUNKS[1]]
    assert shown(first) == shown(second) == {"a.txt": ("modified", False, wanted)}


async def test_what_one_restores_after_the_others_decision_is_pending_in_both(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which it has not heard of."""
    monkeypatch.setattr(persistence, "DELAY_S", 60.0)
    first = await wrote(started)
    await first.turn()
    await first.exchange()
    second = await started.neovim("second", agents=0)
    await second.decide("reject")
    await first.restore(1)
    assert (first.work / "a.txt").read_text() == TWO
    await second.exchange()
    assert shown(first) == shown(second) == {"a.txt": ("modified", False, HUNKS)}
    assert await second.review.decisions.hunk("accept", str(second.work / "a.txt"), 1) == []
    await first.exchange()
    assert shown(first) == shown(second) == {"a.txt": ("modified", False, HUNKS[1:])}


async def test_while_the_other_decides_that_is_said(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(persistence, "CLAIM_S", 0.02)
    first = await wrote(started)
    await first.turn()
    await first.exchange()
    other = JournalFile(folder(first))
    assert other.try_lock()
    said = await first.review.decisions.hunk("accept", str(first.work / "a.txt"), 1)
    assert said == ["Another Neovim is working on these edits. Try again"]
    assert await first.restore(1) == said
    other.close()  # as when its process is killed
    assert await first.review.decisions.hunk("accept", str(first.work / "a.txt"), 1) == []


# -- what goes wrong ------------------------------------------------------------------------------


def newer_journal() -> bytes:
    """A journal that only a newer version of the plugin understands."""
    writer = Writer()
    writer.put(META, b"version", VERSION + 1)
    return joined([batch(writer.take())])


def contents(directory: Path) -> dict[str, bytes]:
    """All but the notes of processes on writes, which are nobody else's."""
    files = (path for path in directory.iterdir() if not path.name.startswith("writes."))
    return {path.name: path.read_bytes() for path in files}


async def test_a_journal_of_a_newer_version_is_left_alone(started: Neovims) -> None:
    first = await started.neovim("first")
    started.kill(first)
    folder(first).mkdir(parents=True, exist_ok=True)
    (folder(first) / "journal").write_bytes(newer_journal())
    (folder(first) / "pending").touch()
    before = contents(folder(first))
    second = await started.neovim("second")
    path = second.work / "a.txt"
    path.write_text(TEXT)
    await second.write(path, TWO)
    await second.turn()
    await second.exchange()
    assert list(shown(second)) == ["a.txt"]
    await second.decide_hunk("reject", path, 1)
    assert path.read_text() == TWO.replace("two\n", "line 2\n")
    await second.decide("accept")
    await second.open()
    await second.review.persistence.close()
    assert contents(folder(first)) == before
    path = folder(first) / "journal"
    assert second.told == [f"Pending edits are lost when Neovim ends: a newer version wrote {path}"]


async def test_one_that_a_newer_version_takes_over_meanwhile_is_left_alone(
    started: Neovims,
) -> None:
    first = await wrote(started)
    path = folder(first) / "journal"
    fresh = path.with_name("fresh")
    fresh.write_bytes(newer_journal())
    fresh.replace(path)
    before = contents(folder(first))
    await first.exchange()
    assert shown(first) == {"a.txt": ("modified", False, HUNKS)}
    await first.write(first.work / "b.txt", TEXT)
    await first.exchange()
    await first.decide("accept")
    assert shown(first) == {}
    await first.review.persistence.close()
    assert contents(folder(first)) == before
    assert len(first.told) == 1


async def test_nobody_looks_at_the_journal_while_it_is_exchanged_for_a_fresh_one(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread reads it then, and closes the old file."""
    first = await wrote(started)
    second = await started.neovim("second")
    await first.decide("accept")  # it is removed, and made anew with the next edit
    await first.write(first.work / "b.txt", TEXT)
    await first.exchange()
    closed, go_on, close = threading.Event(), threading.Event(), os.close

    def slowly(handle: int) -> None:
        close(handle)
        if threading.current_thread() is not threading.main_thread():
            closed.set()
            assert go_on.wait(10)

    monkeypatch.setattr(os, "close", slowly)
    async with anyio.create_task_group() as both:
        both.start_soon(second.exchange)
        await anyio.to_thread.run_sync(closed.wait, 10)
        both.start_soon(second.exchange)
        await anyio.wait_all_tasks_blocked()
        go_on.set()
    assert second.told == []
    assert list(shown(second)) == ["b.txt"]


async def test_edits_beside_a_newer_journal_go_to_no_other_workspace(
    started: Neovims, tmp_path: Path
) -> None:
    first = await started.neovim("first")
    started.kill(first)
    folder(first).mkdir(parents=True, exist_ok=True)
    (folder(first) / "journal").write_bytes(newer_journal())
    second = await started.neovim("second")
    other = tmp_path / "other"
    other.mkdir()
    second.review.persistence.open(str(other))
    await second.write(second.work / "a.txt", TEXT)
    await second.exchange()
    assert not (roots.folder(tmp_path / "data", str(other)) / "journal").exists()


async def test_one_that_cannot_be_read_at_all_is_set_aside(started: Neovims) -> None:
    first = await wrote(started)
    started.kill(first)
    (folder(first) / "journal").write_bytes(b"\0" * 1000)
    second = await started.neovim("second", agents=0)
    (aside,) = folder(second).glob("journal.*")
    assert second.told == [
        f"The journal of pending edits could not be read and was moved to {aside}"
    ]


async def test_of_a_torn_one_the_rest_is_shown(started: Neovims) -> None:
    first = await wrote(started)
    await first.write(first.work / "b.txt", TEXT)
    await first.exchange()
    started.kill(first)
    path = folder(first) / "journal"
    path.write_bytes(path.read_bytes()[:-3])
    second = await started.neovim("second", agents=0)
    assert list(shown(second)) == ["a.txt"]
    (aside,) = folder(second).glob("journal.*")
    assert second.told == [
        f"The journal of pending edits is damaged: some are lost. It was moved to {aside}"
    ]
    await second.decide_hunk("accept", second.work / "a.txt", 1)
    third = await reborn(started, second)
    assert shown(third) == {"a.txt": ("modified", False, HUNKS[1:])}


async def test_two_neovims_agree_on_what_agents_have_changed_since_a_checkpoint(
    started: Neovims,
) -> None:
    first = await started.neovim("first")
    path = first.work / "a.txt"
    path.write_text(TEXT)
    await first.turn()
    second = await started.neovim("second", agents=0)
    for text in (TWO, TEXT.replace("line 5\n", "five\n")):
        await first.read(path)
        await first.write(path, text)
        for neovim in (first, second) * 2:
            await neovim.exchange()
    size = (folder(first) / "journal").stat().st_size
    for neovim in (first, second) * 3:
        await neovim.exchange()
    assert (folder(first) / "journal").stat().st_size == size
    made = [neovim.review.rewind.checkpoints.lists()[0] for neovim in (first, second)]
    changes = [[it.agent_changes for it in lists[1]] for lists in made]
    assert changes[0] == changes[1]
    assert changes[0][-1].keys() == {str(path)}


def emptied(data: bytes) -> bytes:
    """Nothing is left."""
    return b""


def cut_at_a_record(data: bytes) -> bytes:
    """Only the first records are left."""
    return joined(read_on(data)[0][:2])


def cut_in_a_record(data: bytes) -> bytes:
    """The end is missing."""
    return data[: len(data) * 2 // 3]


def flipped_at_the_end(data: bytes) -> bytes:
    """A bit of the last record is another one."""
    return data[:-9] + bytes([data[-9] ^ 4]) + data[-8:]


def flipped_at_the_start(data: bytes) -> bytes:
    """A bit of the first record is another one."""
    return data[:6] + bytes([data[6] ^ 4]) + data[7:]


def zeroed(data: bytes) -> bytes:
    """All of it is zeros."""
    return bytes(len(data))


@pytest.mark.parametrize(
    "damage",
    [
        emptied,
        cut_at_a_record,
        cut_in_a_record,
        flipped_at_the_end,
        flipped_at_the_start,
        zeroed,
    ],
)
async def test_a_damaged_one_is_told_in_one_line_and_set_aside(
    started: Neovims, damage: Callable[[bytes], bytes]
) -> None:
    first = await wrote(started)
    await first.write(first.work / "b.txt", TEXT)
    await first.exchange()
    started.kill(first)
    path = folder(first) / "journal"
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    second = await started.neovim("second", agents=0)
    await second.exchange()
    (aside,) = folder(second).glob("journal.*")
    assert aside.read_bytes() == damaged
    (told,) = second.told
    assert told.endswith(f"moved to {aside}")
    left = shown(second)
    third = await reborn(started, second)
    assert shown(third) == left
    assert third.told == []


async def test_a_writer_that_was_killed_leaves_no_damage(started: Neovims) -> None:
    first = await wrote(started)
    started.kill(first)
    path = folder(first) / "journal"
    with path.open("ab") as file:
        file.write(framed(b"x" * 100)[:50])
    second = await started.neovim("second", agents=0)
    assert shown(second) == {"a.txt": ("modified", False, HUNKS)}
    assert second.told == []
    assert list(folder(second).glob("journal.*")) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
async def test_a_folder_that_cannot_be_written_is_told_once(started: Neovims) -> None:
    (started.root / "data").mkdir(mode=0o500)
    await read_only(started)


async def test_a_file_in_its_way_is_told_once(started: Neovims) -> None:
    (started.root / "data").mkdir()
    (started.root / "data" / "acp").write_text("somebody else's")
    await read_only(started)


async def read_only(started: Neovims) -> None:
    first = await wrote(started)
    await first.decide_hunk("accept", first.work / "a.txt", 1)
    await first.exchange()
    assert shown(first) == {"a.txt": ("modified", False, HUNKS[1:])}
    assert len([line for line in first.told if "are not saved" in line]) == 1


async def test_a_folder_that_is_removed_is_made_again(started: Neovims) -> None:
    first = await wrote(started)
    for path in folder(first).iterdir():
        path.unlink()
    folder(first).rmdir()
    await first.write(first.work / "b.txt", TEXT)
    await first.exchange()
    assert sorted(shown(await reborn(started, first))) == ["a.txt", "b.txt"]


async def test_what_is_new_is_written_when_the_process_ends(started: Neovims) -> None:
    first = await wrote(started)
    await first.write(first.work / "b.txt", TEXT)
    await first.review.persistence.close()
    assert sorted(shown(await started.neovim("second", agents=0))) == ["a.txt", "b.txt"]


async def test_it_is_written_without_being_asked(started: Neovims) -> None:
    first = await started.neovim("first")
    await first.write(first.work / "a.txt", TEXT)
    first.review.persistence.touch()
    with anyio.fail_after(10):
        while not (folder(first) / "pending").exists():
            await anyio.lowlevel.checkpoint()


async def test_a_clock_that_was_a_year_behind_takes_nothing_away(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLACK", 0)  # all is written anew again and again
    first = await wrote(started)
    now = time.time()
    for days in (0, 365, 364, 0):
        monkeypatch.setattr(time, "time", lambda days=days: now - days * 86_400)
        await first.turn()
        await first.write(first.work / f"{days}.txt", TEXT)
        await first.exchange()
    second = await reborn(started, first)
    assert set(shown(second)) == {"a.txt", "0.txt", "365.txt", "364.txt"}
    assert len(second.review.rewind.checkpoints.of(1)) == 4
