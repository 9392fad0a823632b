"""Journals that are damaged, newer than this version, or not writable."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from acp_nvim.edits.log import frame, join_records, read_records
from acp_nvim.edits.records import Writer, batch
from acp_nvim.files.bytes import roots
from acp_nvim.files.journal import journal as module
from acp_nvim.files.journal import persistence
from acp_nvim.files.journal.replica import META, VERSION
from tests.support.journals import HUNKS, TEXT, TWO, folder, next_neovim, write_two_lines
from tests.support.neovims import Neovims, pending_by_path
from tests.support.waiting import PATIENCE_S


def newer_journal() -> bytes:
    """Return a journal that only a newer version of the plugin understands."""
    writer = Writer()
    writer.set(META, b"version", VERSION + 1)
    return join_records([batch(writer.take_records())])


def contents(directory: Path) -> dict[str, bytes]:
    """Return all files except the notes on writes, which belong to one process."""
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
    assert list(pending_by_path(second)) == ["a.txt"]
    await second.decide_hunk("reject", path, 1)
    assert path.read_text() == TWO.replace("two\n", "line 2\n")
    await second.decide("accept")
    await second.open()
    await second.core.persistence.close()
    assert contents(folder(first)) == before
    path = folder(first) / "journal"
    assert second.notices == [
        f"Pending edits are lost when Neovim ends: a newer version wrote {path}"
    ]


async def test_a_journal_that_a_newer_version_takes_over_is_left_alone(
    started: Neovims,
) -> None:
    first = await write_two_lines(started)
    path = folder(first) / "journal"
    fresh = path.with_name("fresh")
    fresh.write_bytes(newer_journal())
    fresh.replace(path)
    before = contents(folder(first))
    await first.exchange()
    assert pending_by_path(first) == {"a.txt": ("modified", False, HUNKS)}
    await first.write(first.work / "b.txt", TEXT)
    await first.exchange()
    await first.decide("accept")
    assert pending_by_path(first) == {}
    await first.core.persistence.close()
    assert contents(folder(first)) == before
    assert len(first.notices) == 1


async def test_the_journal_is_not_read_while_it_is_replaced(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread reads the journal then, and closes the old file."""
    first = await write_two_lines(started)
    second = await started.neovim("second")
    await first.decide("accept")  # the journal is removed, and created again with the next edit
    await first.write(first.work / "b.txt", TEXT)
    await first.exchange()
    closed, go_on, close = threading.Event(), threading.Event(), os.close

    def slowly(handle: int) -> None:
        close(handle)
        if threading.current_thread() is not threading.main_thread():
            closed.set()
            assert go_on.wait(PATIENCE_S)

    monkeypatch.setattr(os, "close", slowly)
    async with anyio.create_task_group() as both:
        both.start_soon(second.exchange)
        await anyio.to_thread.run_sync(closed.wait, 10)
        both.start_soon(second.exchange)
        await anyio.wait_all_tasks_blocked()
        go_on.set()
    assert second.notices == []
    assert list(pending_by_path(second)) == ["b.txt"]


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
    second.core.persistence.open(str(other))
    await second.write(second.work / "a.txt", TEXT)
    await second.exchange()
    assert not (roots.folder(tmp_path / "data", str(other)) / "journal").exists()


async def test_an_unreadable_journal_is_set_aside(started: Neovims) -> None:
    first = await write_two_lines(started)
    started.kill(first)
    (folder(first) / "journal").write_bytes(b"\0" * 1000)
    second = await started.neovim("second", agents=0)
    (aside,) = folder(second).glob("journal.*")
    assert second.notices == [
        f"The journal of pending edits could not be read and was moved to {aside}"
    ]


async def test_the_rest_of_a_torn_journal_is_shown(started: Neovims) -> None:
    first = await write_two_lines(started)
    await first.write(first.work / "b.txt", TEXT)
    await first.exchange()
    started.kill(first)
    path = folder(first) / "journal"
    path.write_bytes(path.read_bytes()[:-3])
    second = await started.neovim("second", agents=0)
    assert list(pending_by_path(second)) == ["a.txt"]
    (aside,) = folder(second).glob("journal.*")
    assert second.notices == [
        f"The journal of pending edits is damaged: some are lost. It was moved to {aside}"
    ]
    await second.decide_hunk("accept", second.work / "a.txt", 1)
    third = await next_neovim(started, second)
    assert pending_by_path(third) == {"a.txt": ("modified", False, HUNKS[1:])}


async def test_two_neovims_agree_on_agents_changes_since_a_checkpoint(
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
    made = [neovim.core.files.checkpoints.lists()[0] for neovim in (first, second)]
    changes = [[it.agent_changes for it in lists[1]] for lists in made]
    assert changes[0] == changes[1]
    assert changes[0][-1].keys() == {str(path)}


async def test_two_neovims_agree_on_changes_since_an_older_checkpoint(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change is made while the other Neovim has later checkpoints, before these are read."""
    monkeypatch.setattr(persistence, "DELAY_S", PATIENCE_S)  # nothing is published by the timer
    first = await started.neovim("first")
    path = first.work / "a.txt"
    path.write_text(TEXT)
    await first.turn()
    await first.exchange()
    second = await started.neovim("second", agents=0)
    second_session = second.add_session("other")
    await second.exchange()
    for _ in range(4):
        await first.turn()
    await first.exchange()
    await second.write(path, TWO, second_session)
    async with second.core.persistence.claim([str(path)]):
        pass
    for neovim in (first, second) * 2:
        await neovim.exchange()
    size = (folder(first) / "journal").stat().st_size
    for neovim in (first, second) * 3:
        await neovim.exchange()
    assert (folder(first) / "journal").stat().st_size == size
    made = [neovim.core.files.checkpoints.lists()[0][1] for neovim in (first, second)]
    assert [it.agent_changes for it in made[0]] == [it.agent_changes for it in made[1]]
    assert made[0][0].agent_changes.keys() == {str(path)}


def emptied(data: bytes) -> bytes:
    """Return nothing."""
    return b""


def cut_at_a_record(data: bytes) -> bytes:
    """Return only the first records."""
    return join_records(read_records(data)[0][:2])


def cut_in_a_record(data: bytes) -> bytes:
    """Return the data without its end."""
    return data[: len(data) * 2 // 3]


def flipped_at_the_end(data: bytes) -> bytes:
    """Flip a bit of the last record."""
    return data[:-9] + bytes([data[-9] ^ 4]) + data[-8:]


def flipped_at_the_start(data: bytes) -> bytes:
    """Flip a bit of the first record."""
    return data[:6] + bytes([data[6] ^ 4]) + data[7:]


def zeroed(data: bytes) -> bytes:
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
async def test_a_damaged_journal_is_reported_in_one_line_and_set_aside(
    started: Neovims, damage: Callable[[bytes], bytes]
) -> None:
    first = await write_two_lines(started)
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
    (told,) = second.notices
    assert told.endswith(f"moved to {aside}")
    left = pending_by_path(second)
    third = await next_neovim(started, second)
    assert pending_by_path(third) == left
    assert third.notices == []


async def test_a_repair_that_is_interrupted_loses_nothing(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await write_two_lines(started)
    started.kill(first)
    path = folder(first) / "journal"
    with path.open("ab") as file:
        file.write(frame(b"x" * 100)[:50])
    second = await started.neovim("second")
    await second.write(second.work / "b.txt", TEXT)
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", no_space)
        await second.exchange()
    started.kill(second)
    third = await started.neovim("third", agents=0)
    assert pending_by_path(third)["a.txt"] == ("modified", False, HUNKS)


def no_space(handle: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


async def test_a_killed_writer_leaves_no_damage(started: Neovims) -> None:
    first = await write_two_lines(started)
    started.kill(first)
    path = folder(first) / "journal"
    with path.open("ab") as file:
        file.write(frame(b"x" * 100)[:50])
    second = await started.neovim("second", agents=0)
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}
    await second.decide_hunk("accept", second.work / "a.txt", 1)
    third = await next_neovim(started, second)
    assert pending_by_path(third) == {"a.txt": ("modified", False, HUNKS[1:])}
    assert second.notices == third.notices == []
    assert list(folder(third).glob("journal.*")) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
async def test_a_read_only_folder_of_the_journal_is_reported_once(started: Neovims) -> None:
    (started.root / "data").mkdir(mode=0o500)
    await read_only(started)


async def test_a_file_in_place_of_the_journals_folder_is_reported_once(started: Neovims) -> None:
    (started.root / "data").mkdir()
    (started.root / "data" / "acp").write_text("somebody else's")
    await read_only(started)


async def read_only(started: Neovims) -> None:
    first = await write_two_lines(started)
    await first.decide_hunk("accept", first.work / "a.txt", 1)
    await first.exchange()
    assert pending_by_path(first) == {"a.txt": ("modified", False, HUNKS[1:])}
    assert len([line for line in first.notices if "are not saved" in line]) == 1


async def test_a_removed_folder_of_the_journal_is_created_again(started: Neovims) -> None:
    first = await write_two_lines(started)
    for path in folder(first).iterdir():
        path.unlink()
    folder(first).rmdir()
    await first.write(first.work / "b.txt", TEXT)
    await first.exchange()
    assert sorted(pending_by_path(await next_neovim(started, first))) == ["a.txt", "b.txt"]


async def test_new_records_are_written_when_the_process_ends(started: Neovims) -> None:
    first = await write_two_lines(started)
    await first.write(first.work / "b.txt", TEXT)
    async with anyio.create_task_group() as group:
        group.start_soon(first.core.persistence.close)
        group.start_soon(first.exchange)  # as by the timer, while the journal is being closed
    assert sorted(pending_by_path(await started.neovim("second", agents=0))) == ["a.txt", "b.txt"]


async def test_the_journal_is_written_by_a_timer(started: Neovims) -> None:
    first = await started.neovim("first")
    await first.write(first.work / "a.txt", TEXT)
    first.core.persistence.request_exchange()
    with anyio.fail_after(PATIENCE_S):
        while not (folder(first) / "pending").exists():
            await anyio.lowlevel.checkpoint()


async def test_a_clock_that_was_a_year_behind_loses_nothing(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLACK", 0)  # the journal is rewritten again and again
    first = await write_two_lines(started)
    now = time.time()
    for days in (0, 365, 364, 0):
        monkeypatch.setattr(time, "time", lambda days=days: now - days * 86_400)
        await first.turn()
        await first.write(first.work / f"{days}.txt", TEXT)
        await first.exchange()
    second = await next_neovim(started, first)
    assert set(pending_by_path(second)) == {"a.txt", "0.txt", "365.txt", "364.txt"}
    assert len(second.core.files.checkpoints.of(1)) == 4
