"""A workspace that was moved while no Neovim was open has its pending edits and checkpoints."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acp_nvim.edits.log import joined
from acp_nvim.edits.records import Writer, batch
from acp_nvim.workspace import moved_paths, roots
from acp_nvim.workspace.homes import Homes, Settled
from acp_nvim.workspace.moved_paths import Move
from acp_nvim.workspace.replica import META, VERSION
from tests.support.fake_workspace import FakeWorkspace
from tests.support.git import git, repository
from tests.support.neovims import Neovims, shown, writers

LINES = [f"line {n}" for n in range(1, 13)]
TEXT = "\n".join(LINES) + "\n"
TWO = TEXT.replace("line 2\n", "two\n").replace("line 10\n", "ten\n")
PENDING = {
    "a.txt": ("modified", False, [(("line 2",), ("two",)), (("line 10",), ("ten",))]),
}


@pytest.fixture
async def started(tmp_path: Path) -> AsyncIterator[Neovims]:
    found = Neovims(tmp_path)
    yield found
    found.kill_all()


async def worked(started: Neovims, name: str = "work") -> Path:
    """A directory in which an agent has changed a file and a prompt has a checkpoint; Neovim was
    killed.
    """
    work = started.root / name
    work.mkdir(exist_ok=True)
    path = work / "a.txt"
    path.write_text(TEXT)
    first = await started.neovim(f"at {name}", work=work)
    await first.begin()
    await first.write(path, TWO)
    await first.end()
    await first.exchange()
    started.kill(first)
    return work


async def entered(started: Neovims, work: Path) -> FakeWorkspace:
    """Another Neovim, whose user enters a buffer there."""
    return await started.neovim(f"{len(started.all)}", agents=0, work=work)


async def test_a_moved_one_has_its_edits_and_checkpoints(started: Neovims) -> None:
    work = await worked(started)
    moved = started.root / "elsewhere" / "project"
    moved.parent.mkdir()
    work.rename(moved)
    second = await entered(started, moved)
    assert shown(second) == PENDING
    assert writers(second) == {"a.txt": {"agent"}}
    assert second.sessions[0].cwd == str(moved)
    assert second.relocations == [(str(work), str(moved))]
    await second.decide_hunk("reject", moved / "a.txt", 1)
    assert (moved / "a.txt").read_text() == TWO.replace("two\n", "line 2\n")
    await second.restore(1)
    assert (moved / "a.txt").read_text() == TEXT
    await second.restore(None)
    assert (moved / "a.txt").read_text() == TWO.replace("two\n", "line 2\n")
    assert second.told == []
    await second.exchange()
    started.kill(second)
    third = await entered(started, moved)
    assert list(shown(third)) == ["a.txt"]
    assert third.relocations == []


async def test_it_is_found_however_often_it_is_moved(started: Neovims) -> None:
    work = await worked(started)
    for name in ("one", "two", "work"):
        work = work.rename(started.root / name)
        neovim = await entered(started, work)
        assert shown(neovim) == PENDING
        started.kill(neovim)


async def test_a_copy_has_none_of_the_originals(started: Neovims) -> None:
    work = await worked(started)
    copy = started.root / "copy"
    shutil.copytree(work, copy)
    assert shown(await entered(started, copy)) == {}
    assert shown(await entered(started, work)) == PENDING


async def test_two_that_are_swapped_have_their_own(started: Neovims) -> None:
    one, other = await worked(started), started.root / "other"
    await worked(started, "other")
    second = await entered(started, other)
    await second.write(other / "b.txt", TEXT, second.sessions[0])
    await second.exchange()
    started.kill(second)
    away = one.rename(started.root / "away")
    other.rename(one)
    away.rename(other)
    found, left = await entered(started, one), await entered(started, other)
    assert set(shown(found)) == {"a.txt", "b.txt"}
    assert shown(left) == PENDING
    await left.restore(1)
    assert (other / "a.txt").read_text() == TEXT
    assert (one / "a.txt").read_text() == TWO


@pytest.mark.parametrize("first", ["the moved one", "the new one"])
async def test_another_directory_at_the_old_path_has_none_of_it(
    started: Neovims, first: str
) -> None:
    work = await worked(started)
    moved = work.rename(started.root / "moved")
    work.mkdir()
    (work / "a.txt").write_text(TEXT)
    order = [moved, work] if first == "the moved one" else [work, moved]
    found = {path: await entered(started, path) for path in order}
    assert shown(found[work]) == {}
    assert len(found[work].review.rewind.checkpoints.of(1)) == 0
    assert shown(found[moved]) == PENDING
    await found[moved].restore(1)
    assert (moved / "a.txt").read_text() == TEXT
    said = f"Pending edits of the directory that was at {work} are kept until it is found"
    assert found[work].told == ([] if first == "the moved one" else [said])


async def test_a_directory_that_was_made_again_with_its_files_has_its_edits(
    started: Neovims,
) -> None:
    work = await worked(started)
    shutil.copytree(work, started.root / "backup")
    shutil.rmtree(work)
    shutil.copytree(started.root / "backup", work)
    second = await entered(started, work)
    assert shown(second) == PENDING
    assert second.told == []


async def test_a_link_leads_to_the_same_edits(started: Neovims) -> None:
    work = await worked(started)
    moved = work.rename(started.root / "moved")
    work.symlink_to(moved)
    second = await started.neovim("second", agents=0, work=work)
    assert [entry.path for entry in second.review.edits.ledger.files()] == [str(moved / "a.txt")]


async def test_a_work_tree_that_git_moves_has_its_edits(started: Neovims) -> None:
    main = started.root / "main"
    main.mkdir()
    (main / "f").write_text("x\n")
    repository(main)
    git(main, "worktree", "add", "-q", "-b", "side", str(started.root / "work"))
    await worked(started)
    git(main, "worktree", "move", str(started.root / "work"), str(started.root / "moved"))
    assert shown(await entered(started, started.root / "moved")) == PENDING


async def test_two_neovims_that_start_in_it_at_once_agree(started: Neovims) -> None:
    work = await worked(started)
    moved = work.rename(started.root / "moved")
    both = [
        await started.neovim(name, agents=0, work=moved, enters=False) for name in ("one", "two")
    ]
    for neovim in both:
        neovim.review.persistence.locate(str(moved))
    for neovim in both:
        await neovim.open()
        assert shown(neovim) == PENDING
    await both[0].decide("accept")
    await both[1].exchange()
    assert shown(both[1]) == {}


async def test_of_many_that_find_it_at_once_one_moves_it(started: Neovims) -> None:
    work = await worked(started)
    moved = work.rename(started.root / "moved")
    together = threading.Barrier(8)

    def settle() -> Settled:
        together.wait()
        return Homes(started.root / "data").settle(str(moved))

    with ThreadPoolExecutor(8) as pool:
        found = [it.result() for it in [pool.submit(settle) for _ in range(8)]]
    assert [it.move for it in found if it.move] == [Move(str(work), str(moved))]
    assert not any(it.is_anothers for it in found)
    assert shown(await entered(started, moved)) == PENDING


@pytest.mark.parametrize("step", ["move_store", "move_journal"])
async def test_a_move_that_was_cut_short_is_finished_by_the_next(
    started: Neovims, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    work = await worked(started)
    moved = work.rename(started.root / "moved")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(moved_paths, step, full)
        second = await started.neovim("second", work=moved)
        assert second.told == [
            "Pending edits and checkpoints are not saved: No space left on device"
        ]
        await second.write(moved / "b.txt", TEXT)
        await second.exchange()
        assert list(shown(second)) == ["b.txt"], "all else works"
        await second.decide("accept")
        started.kill(second)
    third = await entered(started, moved)
    assert shown(third) == PENDING
    await third.restore(1)
    assert (moved / "a.txt").read_text() == TEXT


async def test_what_a_killed_process_has_noted_is_found_there(started: Neovims) -> None:
    work = await worked(started)
    second = await started.neovim("second", work=work)
    await second.write(work / "b.txt", TEXT)  # no journal has it
    started.kill(second)
    moved = work.rename(started.root / "moved")
    assert set(shown(await entered(started, moved))) == {"a.txt", "b.txt"}


async def test_a_newer_versions_journal_stays_where_it_is(started: Neovims) -> None:
    work = await worked(started)
    folder = roots.folder(started.root / "data", str(work))
    writer = Writer()
    writer.put(META, b"version", VERSION + 1)
    (folder / "journal").write_bytes(joined([batch(writer.take())]))
    moved = work.rename(started.root / "moved")
    second = await started.neovim("second", work=moved)
    assert second.told == [
        f"Pending edits are lost when Neovim ends: a newer version wrote {folder / 'journal'}"
    ]
    await second.write(moved / "b.txt", TEXT)
    await second.exchange()
    assert list(shown(second)) == ["b.txt"]
    kept = {path.name for path in folder.parent.iterdir() if path.is_dir()}
    assert kept == {"by-inode", folder.name}
