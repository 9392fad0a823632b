"""A full disk: one line reports it, no data is lost, and everything is stored once there is
room.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from acp_nvim.files.bytes import roots
from acp_nvim.files.bytes.disk import signature_of
from acp_nvim.files.journal import persistence
from acp_nvim.files.journal.journal import JournalFile
from tests.support.neovims import Neovims, pending_by_path
from tests.support.small_disk import SmallDisk, small_disk
from tests.support.waiting import PATIENCE_S

if sys.platform != "win32":
    import resource

BIG = "".join(f"{n} {'x' * 90}\n" for n in range(100))


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """Cut each write of this process at this size of a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_a_record_that_does_not_fit_leaves_no_trace(tmp_path: Path) -> None:
    writer, reader = JournalFile(tmp_path), JournalFile(tmp_path)
    writer.replace([b"first"])
    size = writer.path.stat().st_size
    assert reader.read(locked=True).batches == [b"first"]
    with files_end_at(size + 20), pytest.raises(OSError, match="too large"):
        writer.append(b"x" * 100)
    assert writer.path.stat().st_size == size
    assert not writer.has_news()
    writer.append(b"second")
    news = reader.read(locked=True)
    assert (news.batches, news.is_damaged) == ([b"second"], False)
    writer.close()
    reader.close()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "data", 128) as found:
        yield found


@pytest.fixture
async def started(disk: SmallDisk, tmp_path: Path) -> AsyncIterator[Neovims]:
    found = Neovims(tmp_path)
    yield found
    found.kill_all()


def disk_messages(lines: list[str]) -> list[str]:
    return [line for line in lines if "not saved" in line or "damaged" in line]


async def test_a_disk_that_is_full_before_the_start_and_again_later(
    started: Neovims, disk: SmallDisk
) -> None:
    disk.fill()
    first = await started.neovim("first")
    for name in ("a.txt", "b.txt"):
        await first.write(first.work / name, BIG)
        await first.exchange()
    assert list(pending_by_path(first)) == ["a.txt", "b.txt"]
    assert len(disk_messages(first.notices)) == 1
    disk.free()
    await first.exchange()
    disk.fill()
    await first.write(first.work / "c.txt", BIG * 3)
    await first.exchange()
    assert len(disk_messages(first.notices)) == 2  # writing had worked in between
    started.kill(first)
    second = await started.neovim("second", agents=0)
    assert list(pending_by_path(second)) == ["a.txt", "b.txt"]
    assert not disk_messages(second.notices)


async def test_a_disk_that_fills_during_a_turn_loses_nothing(
    started: Neovims, disk: SmallDisk
) -> None:
    first = await started.neovim("first")
    other = await started.neovim("other", agents=0)
    await first.write(first.work / "a.txt", "one\n")
    await first.exchange()
    disk.fill()
    await first.write(first.work / "b.txt", BIG)
    await first.exchange()
    await first.write(first.work / "c.txt", "three\n")
    await first.exchange()
    await other.exchange()
    assert "a.txt" in pending_by_path(other)
    disk.free()
    await first.exchange()
    await other.exchange()
    assert pending_by_path(other) == pending_by_path(first)
    assert len(disk_messages(first.notices)) == 1
    assert not disk_messages(other.notices)


async def test_waiting_records_are_written_as_soon_as_there_is_room(
    started: Neovims, disk: SmallDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(persistence, "RETRY_S", (0.01, 0.01))
    disk.fill()
    first = await started.neovim("first")
    await first.write(first.work / "a.txt", BIG)
    first.core.persistence.request_exchange()
    with anyio.fail_after(PATIENCE_S):
        while not disk_messages(first.notices):
            await anyio.lowlevel.checkpoint()
        disk.free()
        journal = roots.folder(disk.path, roots.root_of(str(first.work))) / "journal"
        while not journal.exists():
            await anyio.lowlevel.checkpoint()
    started.kill(first)
    assert list(pending_by_path(await started.neovim("second", agents=0))) == ["a.txt"]


async def test_a_disk_that_is_read_only_for_a_while_loses_nothing(
    started: Neovims, disk: SmallDisk
) -> None:
    first = await started.neovim("first")
    for name in ("a.txt", "b.txt"):
        await first.write(first.work / name, "new\n")
    await first.exchange()
    started.kill(first)
    disk.remount("ro")
    second = await started.neovim("second", agents=0)
    assert list(pending_by_path(second)) == ["a.txt", "b.txt"]
    await second.decide_hunk("accept", second.work / "a.txt", 0)
    await second.exchange()
    assert list(pending_by_path(second)) == ["b.txt"]
    assert len(disk_messages(second.notices)) == 1
    disk.remount("rw")
    await second.exchange()
    started.kill(second)
    third = await started.neovim("third", agents=0)
    assert list(pending_by_path(third)) == ["b.txt"]
    assert not disk_messages(third.notices)


async def test_a_note_on_a_write_that_the_disk_cuts_off_is_removed(
    started: Neovims, disk: SmallDisk
) -> None:
    """Notes behind a part of one could not be read."""
    here, other = await started.neovim("here"), await started.neovim("other")
    path = here.work / "a.txt"
    path.write_text(BIG)
    await here.begin()
    notes = other.core.files.save_notes
    async with notes.note_write(str(path)):
        disk.fill()
        path.write_text("cut off\n")
    disk.free()
    async with notes.note_write(str(path)):
        path.write_text("mine\n")
    saves = await here.core.files.save_notes.saves(str(path), signature_of(str(path)), 0, None)
    assert [save.after for save in saves] == [b"mine\n"]
