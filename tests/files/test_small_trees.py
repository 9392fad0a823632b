"""Scans of small directories without a thread."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_nvim.files.bytes import roots
from acp_nvim.files.checkpoints.git_store import GitStore
from acp_nvim.files.checkpoints.plain_tree import FEW
from acp_nvim.files.checkpoints.snapshots import FileChange, Snapshots


def tree(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("one\n")
    (root / "sub" / "b.txt").write_text("two\n")
    (root / "link").symlink_to("a.txt")
    return root


def snapshots(tmp_path: Path) -> Snapshots:
    home = tmp_path / "own" / "runs" / "1"
    home.mkdir(parents=True)
    return Snapshots(lambda root: home / roots.name(root), pytest.fail)


def at_once(kept: Snapshots, root: Path) -> list[FileChange] | None:
    """Return the result of a scan without waiting, or None if it has to wait."""
    look = kept.scan([str(root)])
    try:
        look.send(None)
    except StopIteration as end:
        found: list[FileChange] = end.value
        return found
    finally:
        look.close()
    return None


def other_bytes(root: Path) -> None:
    (root / "a.txt").write_text("other\n")


def same_size(root: Path) -> None:
    (root / "a.txt").write_text("eno\n")
    os.utime(root / "a.txt", ns=(1, 1))


def a_file_more(root: Path) -> None:
    (root / "sub" / "new.txt").write_text("")


def a_file_less(root: Path) -> None:
    (root / "sub" / "b.txt").unlink()


def one_for_another(root: Path) -> None:
    (root / "sub" / "b.txt").rename(root / "sub" / "c.txt")


def executable(root: Path) -> None:
    (root / "a.txt").chmod(0o755)


def elsewhere(root: Path) -> None:
    (root / "link").unlink()
    (root / "link").symlink_to("sub/b.txt")


def no_directory(root: Path) -> None:
    (root / "sub" / "b.txt").unlink()
    (root / "sub").rmdir()


async def test_an_unchanged_tree_is_scanned_at_once(tmp_path: Path) -> None:
    root, kept = tree(tmp_path), snapshots(tmp_path)
    os.mkfifo(root / "pipe")  # not a file that is stored
    assert await kept.scan([str(root)]) == []
    trees = kept.trees([str(root)])
    assert at_once(kept, root) == []
    assert kept.trees([str(root)]) == trees != {}


@pytest.mark.parametrize(
    "change",
    [
        other_bytes,
        same_size,
        a_file_more,
        a_file_less,
        one_for_another,
        executable,
        elsewhere,
        no_directory,
    ],
)
async def test_every_kind_of_change_is_found(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    root, kept = tree(tmp_path), snapshots(tmp_path)
    await kept.scan([str(root)])
    before = kept.trees([str(root)])
    change(root)
    assert at_once(kept, root) is None
    await kept.scan([str(root)])
    assert kept.trees([str(root)]) != before
    assert at_once(kept, root) == []


async def test_ignored_files_are_skipped(tmp_path: Path) -> None:
    root, kept = tree(tmp_path), snapshots(tmp_path)
    await kept.scan([str(root)])
    (root / "node_modules").mkdir()
    (root / "node_modules" / "x.js").write_text("x")
    assert at_once(kept, root) == []


def test_a_larger_tree_needs_a_thread(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    store = GitStore(str(root), tmp_path / "home")
    assert not store.is_unchanged()  # not scanned yet
    for number in range(FEW):
        (root / f"{number}.txt").write_text("")
    store.scan()
    assert store.is_unchanged()
    (root / "directory").mkdir()
    assert not store.is_unchanged()
