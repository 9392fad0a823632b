"""Atomic writes: a file has the new bytes or the old ones, and keeps its kind."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from acp_nvim.files.bytes import atomic_write
from acp_nvim.files.bytes.nofollow import Rights, Spot
from tests.files.full_disk import room_for

OLD, NEW = b"old\n" * 100, b"new\n" * 300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a directory by its resolved path."""
    found = Path(os.path.realpath(tmp_path)) / "work"
    found.mkdir()
    return found


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_has_the_given_or_the_default_mode(folder: Path) -> None:
    plain = folder / "plain"
    plain.touch()
    atomic_write.write(str(folder / "deep/er/a"), NEW)
    assert (folder / "deep/er/a").read_bytes() == NEW
    assert mode(folder / "deep/er/a") == mode(plain)
    for wanted in (0o600, 0o755, 0o666):
        path = folder / oct(wanted)
        atomic_write.write(str(path), NEW, Rights(wanted, os.getuid(), os.getgid()))
        assert mode(path) == wanted
    assert sorted(p.name for p in (folder / "deep/er").iterdir()) == ["a"]


def test_a_file_keeps_its_mode_its_links_and_its_attributes(folder: Path) -> None:
    path = folder / "a"
    path.write_bytes(OLD)
    path.chmod(0o640)
    try:
        os.setxattr(path, "user.colour", b"blue")
        attributes = True
    except OSError:  # a file system without attributes
        attributes = False
    atomic_write.write(str(path), NEW)
    assert (path.read_bytes(), mode(path)) == (NEW, 0o640)
    assert not attributes or os.getxattr(path, "user.colour") == b"blue"
    os.link(path, folder / "b")
    atomic_write.write(str(path), OLD)
    assert (folder / "b").read_bytes() == OLD
    assert (folder / "b").samefile(path)
    assert sorted(p.name for p in folder.iterdir()) == ["a", "b"]


def test_a_new_file_is_whole_or_missing_on_a_full_disk(folder: Path) -> None:
    with room_for(500), pytest.raises(OSError, match="large"):
        atomic_write.write(str(folder / "a"), NEW)
    with room_for(500), pytest.raises(OSError, match="large"):
        atomic_write.write(str(folder / "new" / "below" / "a"), NEW)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("new", [NEW, b"longer than the room" * 100])
def test_a_file_keeps_its_old_bytes_on_a_full_disk(folder: Path, linked: bool, new: bytes) -> None:
    path = folder / "a"
    path.write_bytes(OLD)
    if linked:
        os.link(path, folder / "b")
    with room_for(500), pytest.raises(OSError, match="large"):
        atomic_write.write(str(path), new)
    assert path.read_bytes() == OLD
    assert {p.name for p in folder.iterdir()} == ({"a", "b"} if linked else {"a"})


def test_a_file_without_a_backup_is_not_overwritten(folder: Path) -> None:
    path = folder / "a"
    path.write_bytes(OLD)
    os.link(path, folder / "b")
    with room_for(100), pytest.raises(OSError, match="large"):
        atomic_write.write(str(path), b"short")
    assert path.read_bytes() == OLD
    assert sorted(p.name for p in folder.iterdir()) == ["a", "b"]


def test_overwritten_bytes_are_restored_after_a_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "a"
    path.write_bytes(OLD)
    os.link(path, folder / "b")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "ftruncate", full)
    with pytest.raises(OSError, match="its old content is in") as error:
        atomic_write.write(str(path), b"short")
    kept = Path(str(error.value.strerror).rpartition(" in ")[2])
    assert kept.read_bytes() == OLD
    assert mode(kept) == 0o600
    kept.unlink()
    path.write_bytes(OLD)
    calls: list[int] = []

    def once(handle: int, size: int) -> None:
        calls.append(size)
        if len(calls) == 1:
            full()
        os.truncate(handle, size)

    monkeypatch.setattr(os, "ftruncate", once)
    with pytest.raises(OSError, match=r"No space left on device$"):
        atomic_write.write(str(path), b"short")
    assert path.read_bytes() == OLD
    assert sorted(p.name for p in folder.iterdir()) == ["a", "b"]


def test_files_of_a_write_protected_directory_are_overwritten(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "a"
    path.write_bytes(OLD)
    inode = path.stat().st_ino
    monkeypatch.setattr(Spot, "can_access", lambda _, how, name="": name != ".")  # also for root
    atomic_write.write(str(path), NEW)
    assert (path.read_bytes(), path.stat().st_ino) == (NEW, inode)


def test_a_write_protected_file_stays(folder: Path) -> None:
    path = folder / "a"
    path.write_bytes(OLD)
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="write-protected"):
        atomic_write.write(str(path), NEW)
    assert path.read_bytes() == OLD


def test_a_file_that_appears_meanwhile_is_not_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "a"
    real = os.fsync

    def sync(handle: int) -> None:
        path.write_bytes(OLD)
        real(handle)

    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(FileExistsError):
        atomic_write.write(str(path), NEW)
    assert path.read_bytes() == OLD


def test_a_private_file_is_readable_only_by_the_user(folder: Path) -> None:
    path = folder / "a"
    path.write_bytes(OLD)
    path.chmod(0o644)
    atomic_write.replace(str(path), NEW)
    assert (path.read_bytes(), mode(path)) == (NEW, 0o600)
    with room_for(100), pytest.raises(OSError, match="large"):
        atomic_write.replace(str(path), OLD)
    assert path.read_bytes() == NEW
    assert [p.name for p in folder.iterdir()] == ["a"]
