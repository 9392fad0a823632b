"""Pending edits and checkpoints belong to the workspace: they survive Neovim, and several Neovims
share them.
"""

from __future__ import annotations

import stat
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint

from acp_nvim.edits.text import parse
from acp_nvim.files.bytes import roots
from acp_nvim.files.bytes.file_format import Format
from acp_nvim.files.journal import journal as module
from acp_nvim.files.journal import persistence
from acp_nvim.files.journal.journal import JournalFile
from acp_nvim.files.journal.replica import Replica
from tests.support.fake_workspace import FakeWorkspace
from tests.support.git import git, repository
from tests.support.journals import HUNKS, TEXT, TWO, folder, next_neovim, write_two_lines
from tests.support.neovims import Neovims, pending_by_path, writers

# -- the files ------------------------------------------------------------------------------------


async def test_only_the_user_can_read_the_journal(started: Neovims) -> None:
    first = await write_two_lines(started)
    for path in folder(first).iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for directory in (folder(first), folder(first).parent, folder(first).parent.parent):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


async def test_the_marker_exists_while_edits_are_pending(started: Neovims) -> None:
    first = await started.neovim("first")
    await first.turn()
    await first.exchange()
    assert (folder(first) / "journal").exists()  # has a checkpoint
    assert not (folder(first) / "pending").exists()
    await first.write(first.work / "a.txt", TEXT)
    await first.exchange()
    assert (folder(first) / "pending").exists()
    await first.decide("accept")
    assert not (folder(first) / "pending").exists()


async def test_there_is_no_journal_without_data(started: Neovims) -> None:
    first = await write_two_lines(started)
    await first.decide("accept")
    await first.core.persistence.close()
    assert [path.name for path in folder(first).iterdir()] == ["lock"]


async def test_superseded_records_do_not_pile_up(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLACK", 2000)
    first = await write_two_lines(started)
    sizes = []
    for n in range(60):
        await first.write(first.work / "a.txt", TWO.replace("line 5", f"five {n}"))
        await first.exchange()
        sizes.append((folder(first) / "journal").stat().st_size)
    assert sizes != sorted(sizes)
    assert max(sizes) < 10_000


async def test_a_root_is_the_work_tree_for_every_path_to_it(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "inner").mkdir(parents=True)
    assert roots.root_of(str(work / "inner")) == str(work / "inner")
    (work / "f").write_text("x\n")
    repository(work)
    (tmp_path / "link").symlink_to(work / "inner")
    assert roots.root_of(str(tmp_path / "link")) == str(work)


# -- the next Neovim ------------------------------------------------------------------------------


async def test_the_next_neovim_shows_and_decides_the_same(started: Neovims) -> None:
    first = await write_two_lines(started)
    await first.turn()
    await first.write(first.work / "new.txt", "new\n")
    gone = first.work / "gone.txt"
    gone.write_text("gone\n")
    await first.begin()
    gone.unlink()
    await first.end()
    await first.exchange()
    second = await next_neovim(started, first)
    assert pending_by_path(second) == {
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
    third = await next_neovim(started, second)
    assert pending_by_path(third) == {}
    await third.unreject()
    assert (third.work / "a.txt").read_text() == TWO
    assert len(third.pending()) == 3
    assert len(third.core.files.checkpoints.of(1)) == 2
    await third.restore(1, third.sessions[0])
    assert (third.work / "a.txt").read_text() == TWO
    assert not (third.work / "new.txt").exists()


async def test_line_ends_that_an_agent_has_changed_are_shown_again(started: Neovims) -> None:
    first = await started.neovim("first")
    path = first.work / "a.txt"
    path.write_bytes(b"one\r\ntwo\r\n")
    await first.begin()
    path.write_bytes(b"one\ntwo\n")
    await first.end()
    (entry,) = first.core.files.ledger.files()
    assert entry.format_change
    await first.exchange()
    second = await next_neovim(started, first)
    assert [it.format_change for it in second.core.files.ledger.files()] == [entry.format_change]
    before, after = (it.core.files.tracked.state(str(path)) for it in (first, second))
    assert before.user_format == after.user_format == Format(dos=True)
    assert before.agent_format == after.agent_format == Format()


async def test_changes_between_two_neovims_belong_to_the_user(started: Neovims) -> None:
    first = await write_two_lines(started)
    started.kill(first)
    path = first.work / "a.txt"
    path.write_text(TWO.replace("line 6\n", "mine\n") + "more\n")
    second = await started.neovim("second", agents=0)
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}
    await second.decide("reject")
    assert path.read_text() == TEXT.replace("line 6\n", "mine\n") + "more\n"


@pytest.mark.parametrize("verdict", ["accept", "reject"])
async def test_changes_to_the_same_lines_by_both_are_a_conflict(
    started: Neovims, verdict: str
) -> None:
    first = await write_two_lines(started)
    started.kill(first)
    path = first.work / "a.txt"
    path.write_text(TWO.replace("ten\n", "10\n"))
    second = await started.neovim("second", agents=0)
    assert pending_by_path(second) == {"a.txt": ("modified", True, HUNKS[:1])}
    assert second.notices == [
        "a.txt: you and the agent changed the same lines. :Acp review shows both"
    ]
    if verdict == "accept":
        await second.decide("accept")
        assert path.read_text() == TWO
    else:
        await second.decide("reject")
        assert path.read_text() == TEXT.replace("line 10\n", "10\n")
    assert pending_by_path(second) == {}


async def test_edits_that_were_never_saved_are_parked(started: Neovims) -> None:
    first = await started.neovim("first")
    first.options.save = "never"
    path = first.work / "a.txt"
    path.write_text(TEXT)
    first.neovim.open(str(path))
    await first.write(path, TWO)
    await first.exchange()
    assert path.read_text() == TEXT
    second = await next_neovim(started, first)
    assert pending_by_path(second) == {}
    assert list(second.core.files.ledger.parked.all()) == [str(path)]
    path.write_text(TWO)
    await second.core.sync_all()
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}
    assert second.core.files.ledger.parked.all() == {}


async def test_unsaved_edits_of_a_running_neovim_are_not_parked(started: Neovims) -> None:
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
    assert pending_by_path(first) == {"a.txt": ("modified", False, HUNKS)}
    assert pending_by_path(second) == {}


async def test_own_changes_are_no_news(started: Neovims, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await write_two_lines(started)
    await first.exchange()
    with monkeypatch.context() as patch:
        patch.delattr(Replica, "differs")  # it needs the values of all files
        await first.core.persistence.exchange(only_if_news=True)


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
async def test_stashed_edits_are_parked_and_return(started: Neovims, lives: bool) -> None:
    neovim = await in_git(started)
    git(neovim.work, "stash")
    if lives:
        await neovim.core.sync_all()
    else:
        neovim = await next_neovim(started, neovim)
    assert pending_by_path(neovim) == {}
    ((parked,),) = neovim.core.files.ledger.parked.all().values()
    assert parked.branch == "main"
    assert neovim.notices == [
        "The edits of a.txt are parked with branch main. :Acp edits parked lists them"
    ]
    await neovim.exchange()
    neovim = await next_neovim(started, neovim)
    git(neovim.work, "stash", "pop")
    await neovim.core.sync_all()
    assert pending_by_path(neovim) == {"a.txt": ("modified", False, HUNKS)}
    assert neovim.core.files.ledger.parked.all() == {}


async def test_edits_of_another_branch_are_parked_with_it(started: Neovims) -> None:
    neovim = await in_git(started)
    git(neovim.work, "switch", "-q", "-c", "side")
    await neovim.core.sync_all()
    assert pending_by_path(neovim) == {"a.txt": ("modified", False, HUNKS)}
    git(neovim.work, "commit", "-q", "-am", "theirs")
    git(neovim.work, "switch", "-q", "main")
    neovim.neovim.open(str(neovim.work / "a.txt"))
    await neovim.core.sync_all()
    ((parked,),) = neovim.core.files.ledger.parked.all().values()
    assert parked.branch == "side"
    neovim.core.drop_parked([str(neovim.work / "a.txt")])
    await neovim.exchange()
    neovim = await next_neovim(started, neovim)
    git(neovim.work, "switch", "-q", "side")
    await neovim.core.sync_all()
    assert pending_by_path(neovim) == {}


async def test_a_change_by_git_right_after_a_turn_is_not_the_agents(started: Neovims) -> None:
    neovim = await in_git(started)
    await neovim.begin()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(neovim.end)
        await checkpoint()  # the agent has answered, and the scan has begun
        git(neovim.work, "stash")
    await neovim.core.sync_all()
    assert pending_by_path(neovim) == {}
    assert list(neovim.core.files.ledger.parked.all()) == [str(neovim.work / "a.txt")]


# -- two at once ----------------------------------------------------------------------------------


async def test_a_decision_in_one_is_seen_in_the_other(started: Neovims) -> None:
    first = await write_two_lines(started)
    second = await started.neovim("second", agents=0)
    assert pending_by_path(second) == pending_by_path(first)
    await second.decide_hunk("reject", second.work / "a.txt", 1)
    await first.exchange()
    assert (
        pending_by_path(first)
        == pending_by_path(second)
        == {"a.txt": ("modified", False, HUNKS[1:])}
    )


async def test_a_second_decision_of_a_hunk_is_refused_with_a_message(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        persistence, "DELAY_S", 60.0
    )  # neither reads the other's journal before its decision
    first = await write_two_lines(started)
    path = first.work / "a.txt"
    second = await started.neovim("second", agents=0)
    assert await first.core.review.hunk("accept", str(path), 1) == []
    said = await second.core.review.hunk("reject", str(path), 1)
    assert said == ["a.txt: accepted or rejected in another Neovim"]
    assert path.read_text() == TWO
    (entry,) = second.core.files.ledger.files()
    assert await first.core.review.files("reject", first.core.files.ledger.files()) == []
    said = await second.core.review.files("accept", [entry])
    assert said == ["a.txt: accepted or rejected in another Neovim"]
    assert pending_by_path(first) == pending_by_path(second) == {}
    await second.unreject()
    await first.exchange()
    assert (
        pending_by_path(first)
        == pending_by_path(second)
        == {"a.txt": ("modified", False, HUNKS[1:])}
    )


async def test_a_value_is_written_again_after_another_value(
    started: Neovims,
) -> None:
    """A value of the other Neovim in between counts until the first one sets its value again."""
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
    assert pending_by_path(first) == pending_by_path(second) == {}


async def test_an_agents_write_during_the_others_decision_stays_pending(started: Neovims) -> None:
    first = await write_two_lines(started)
    path = first.work / "a.txt"
    second = await started.neovim("second", agents=0)
    await second.decide_hunk("accept", path, 1)
    # the agent's Neovim has not read that decision
    await first.write(path, TWO.replace("line 6\n", "six\n"))
    for neovim in (first, second, first):
        await neovim.exchange()
    wanted = [(("line 6",), ("six",)), HUNKS[1]]
    assert (
        pending_by_path(first) == pending_by_path(second) == {"a.txt": ("modified", False, wanted)}
    )


@pytest.mark.parametrize("left", [0, 1])
async def test_hunks_that_another_neovim_rejects_are_not_accepted_by_a_write(
    started: Neovims, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    """A scan finds the rejected text before this Neovim reads the decision."""
    monkeypatch.setattr(persistence, "DELAY_S", 60.0)
    first = await write_two_lines(started)
    path = first.work / "a.txt"
    second = await started.neovim("second", agents=0)
    await first.begin()
    for _ in range(2 - left):
        await second.decide_hunk("reject", path, second.core.files.ledger.files()[0].hunks[0].start)
    rejected = path.read_text()
    await first.core.disk.scan([str(first.work)])
    path.write_text(rejected.replace("line 8\n", "eight\n"))
    await first.core.disk.scan([str(first.work)])
    for neovim in (first, second, first):
        await neovim.exchange()
    hunks = [(("line 8",), ("eight",)), *HUNKS[2 - left :]]
    assert pending_by_path(first) == pending_by_path(second)
    assert pending_by_path(first)["a.txt"][2] == hunks
    await first.decide("reject")
    assert path.read_text() == TEXT


async def test_a_write_of_another_neovim_is_pending_although_its_file_was_read_before(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a turn here, a change on disk counts as the user's until the journal is read."""
    monkeypatch.setattr(persistence, "DELAY_S", 60.0)
    first = await write_two_lines(started)
    path = first.work / "a.txt"
    second = await started.neovim("second")
    await first.write(path, TWO.replace("line 8\n", "eight\n"))
    await second.write(path, path.read_text().replace("line 6\n", "six\n"))
    await second.exchange()
    await first.core.sync_all()
    for neovim in (first, second, first):
        await neovim.exchange()
    wanted = [HUNKS[0], (("line 6",), ("six",)), (("line 8",), ("eight",)), HUNKS[1]]
    assert pending_by_path(first) == pending_by_path(second)
    assert pending_by_path(first) == {"a.txt": ("modified", False, wanted)}


async def test_a_line_that_another_neovims_agent_replaces_before_it_is_known_there_is_not_accepted(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second Neovim takes the line for the user's, until it reads the journal."""
    monkeypatch.setattr(persistence, "DELAY_S", 60.0)
    first = await write_two_lines(started)
    path = first.work / "a.txt"
    second = await started.neovim("second")
    await first.begin()
    await first.write(path, TWO.replace("line 6\n", "six\n"))
    await second.write(path, path.read_text().replace("six\n", "sechs\n"))
    await second.exchange()
    await first.end()
    for neovim in (first, second):
        await neovim.exchange()
    assert pending_by_path(first) == pending_by_path(second)
    hunks = [HUNKS[0], (("line 6",), ("sechs",)), HUNKS[1]]
    assert pending_by_path(first)["a.txt"][2] == hunks
    await second.decide("reject")
    assert path.read_text() == TEXT


async def test_a_write_of_another_neovim_stays_pending_although_its_file_was_not_read_yet(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first Neovim does not read the file before the scan of its agent's turn."""
    monkeypatch.setattr(persistence, "DELAY_S", 60.0)
    first = await write_two_lines(started)
    path = first.work / "a.txt"
    second = await started.neovim("second")
    await first.begin()
    await first.write(path, TWO.replace("line 8\n", "eight\n"))
    await second.write(path, path.read_text().replace("line 6\n", "six\n"))
    for neovim in (second, first, second):
        await neovim.exchange()
    wanted = [HUNKS[0], (("line 6",), ("six",)), (("line 8",), ("eight",)), HUNKS[1]]
    assert pending_by_path(second) == {"a.txt": ("modified", False, wanted)}
    await first.end()
    assert pending_by_path(first) == pending_by_path(second)


@pytest.mark.parametrize("is_killed", [False, True])
async def test_a_change_in_conflict_with_unsaved_text_is_pending_for_other_neovims(
    started: Neovims, is_killed: bool
) -> None:
    """Their buffers have the agent's text, which the user rejects there."""
    first = await write_two_lines(started)
    path = first.work / "a.txt"
    second = None if is_killed else await started.neovim("second", agents=0)
    await first.begin()
    first.neovim.open(str(path))
    await first.core.live.sync(str(path))
    typed = parse(TWO.replace("line 6\n", "typed\n"))
    first.neovim.type(str(path), typed)
    path.write_text(TWO.replace("line 6\n", "six\n"))
    await first.core.disk.scan([str(first.work)])
    await first.exchange()
    conflict = {"a.txt": ("modified", True, HUNKS)}
    assert pending_by_path(first) == conflict
    if second is None:
        started.kill(first)
        second = await started.neovim("second", agents=0)
    await second.exchange()
    hunks = [HUNKS[0], (("line 6",), ("six",)), HUNKS[1]]
    assert pending_by_path(second) == {"a.txt": ("modified", False, hunks)}
    if not is_killed:
        await first.exchange()
        assert pending_by_path(first) == conflict
        await first.decide("reject")
        await second.exchange()
        assert pending_by_path(second) == {"a.txt": ("modified", False, hunks)}
    await second.decide("reject")
    assert path.read_text() == TEXT
    assert first.neovim.buffers[str(path)].text.lines[5] == "typed"


async def test_a_conflict_that_cannot_be_accepted_stays_pending_for_other_neovims(
    started: Neovims,
) -> None:
    """Another program has changed the file since the user saw the conflict."""
    first = await write_two_lines(started)
    path = first.work / "a.txt"
    await first.begin()
    first.neovim.open(str(path))
    await first.core.live.sync(str(path))
    first.neovim.type(str(path), parse(TWO.replace("line 6\n", "typed\n")))
    path.write_text(TWO.replace("line 6\n", "six\n"))
    await first.end()
    path.write_text(path.read_text() + "more\n")
    await first.decide("accept")
    assert first.neovim.buffers[str(path)].text.lines[5] == "typed"
    started.kill(first)
    second = await started.neovim("second", agents=0)
    hunks = [HUNKS[0], (("line 6",), ("six",)), HUNKS[1]]
    assert pending_by_path(second) == {"a.txt": ("modified", False, hunks)}


async def test_text_restored_after_a_decision_of_another_neovim_is_pending_in_both(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first Neovim has not read the decision."""
    monkeypatch.setattr(persistence, "DELAY_S", 60.0)
    first = await write_two_lines(started)
    await first.turn()
    await first.exchange()
    second = await started.neovim("second", agents=0)
    await second.decide("reject")
    await first.restore(1)
    assert (first.work / "a.txt").read_text() == TWO
    await second.exchange()
    assert (
        pending_by_path(first) == pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}
    )
    assert await second.core.review.hunk("accept", str(second.work / "a.txt"), 1) == []
    await first.exchange()
    assert (
        pending_by_path(first)
        == pending_by_path(second)
        == {"a.txt": ("modified", False, HUNKS[1:])}
    )


async def test_a_neovim_that_starts_during_a_reject_waits_for_its_end(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has the rejected text before the journal has the reject."""
    first = await write_two_lines(started)
    await first.exchange()
    persistence_of_first, is_locked = first.core.persistence, anyio.Event()
    publish, try_lock = persistence_of_first._publish, JournalFile.try_lock

    async def publish_later(replica: Replica) -> None:
        group.start_soon(started.neovim, "second", 0)
        await is_locked.wait()
        await publish(replica)

    def note_refusal(file: JournalFile) -> bool:
        if try_lock(file):
            return True
        is_locked.set()
        return False

    monkeypatch.setattr(persistence_of_first, "_publish", publish_later)
    monkeypatch.setattr(JournalFile, "try_lock", note_refusal)
    async with anyio.create_task_group() as group:
        await first.core.review.hunk("reject", str(first.work / "a.txt"), 1)
        monkeypatch.setattr(persistence_of_first, "_publish", publish)
    second = started.all[-1]
    assert list(second.core.files.ledger.parked.all()) == []
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS[1:])}


async def test_a_decision_in_progress_in_another_neovim_is_reported(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(persistence, "MAX_CLAIM_S", 0.02)
    first = await write_two_lines(started)
    await first.turn()
    await first.exchange()
    other = JournalFile(folder(first))
    assert other.try_lock()
    said = await first.core.review.hunk("accept", str(first.work / "a.txt"), 1)
    assert said == ["Another Neovim is working on these edits. Try again"]
    assert await first.restore(1) == said
    other.close()  # as if its process were killed
    assert await first.core.review.hunk("accept", str(first.work / "a.txt"), 1) == []


async def test_a_neovim_that_has_stopped_within_a_decision_does_not_hold_up_others(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped process keeps its lock."""
    first = await write_two_lines(started)
    for name in "bcd":
        await first.write(first.work / f"{name}.txt", "one\n")
    await first.exchange()
    stopped = JournalFile(folder(first))
    assert stopped.try_lock()
    refusals, try_lock = list[Path](), JournalFile.try_lock

    def note_refusal(file: JournalFile) -> bool:
        if try_lock(file):
            return True
        refusals.append(file.path)
        return False

    monkeypatch.setattr(persistence, "MAX_CLAIM_S", 0.2)
    monkeypatch.setattr(persistence, "LOCK_PAUSE_S", (0.005, 0.005))
    monkeypatch.setattr(JournalFile, "try_lock", note_refusal)
    second = await started.neovim("second")
    assert len(pending_by_path(second)) == 4
    await second.write(second.work / "e.txt", "one\n")
    refusals.clear()
    monkeypatch.setattr(persistence, "MAX_CLAIM_S", 60.0)
    await second.exchange()
    assert 0 < len(refusals) <= 2
    assert [notice.partition(":")[0] for notice in second.notices] == [
        "Pending edits and checkpoints are not saved"
    ]
    stopped.unlock()
    await second.exchange()
    await first.exchange()
    assert len(pending_by_path(first)) == 5
