"""Notifications of the system about directories since the last scan."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from acp_nvim.files.changes.folder_watch import FolderWatch
from acp_nvim.files.checkpoints.snapshots import Snapshots
from tests.support.portable import IS_PORTABLE

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or IS_PORTABLE, reason="only Linux has inotify"
)


@pytest.fixture(params=["git", "plain"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Make a project with nested, empty and ignored directories."""
    root = tmp_path / "above/project"
    for name in ("a/b/deep.txt", "a/x.txt", "top.txt", "built/out.o", "node_modules/m/i.js"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    (root / "empty").mkdir()
    (root / ".gitignore").write_text("built/\nnode_modules/\n", encoding="utf-8")
    if request.param == "git":
        run = [["init", "-q"], ["add", "-A"]]
        for args in run:
            subprocess.run(["git", *args], cwd=root, check=True)
    return root


class Watched:
    """Snapshots of a project, scanned and watched as at the end of a turn."""

    def __init__(self, root: Path, home: Path, limit: int = 100) -> None:
        self.root = str(root)
        self.snapshots = Snapshots(lambda _: home / "a" / "b", lambda _: None)
        self.watch = FolderWatch(self.snapshots.folders, limit)
        anyio.run(self.snapshots.scan, [self.root])
        self.look()

    def look(self) -> None:
        anyio.run(self.watch.begin, [self.root])
        anyio.run(self.snapshots.scan, [self.root])

    def is_quiet(self) -> bool:
        return self.watch.has_no_changes([self.root])


@pytest.fixture
def watched(root: Path, tmp_path: Path) -> Iterator[Watched]:
    found = Watched(root, tmp_path / "home")
    yield found
    found.watch.close()


def written(path: Path) -> None:
    path.write_text("other", encoding="utf-8")


def with_its_times(path: Path) -> None:
    """Write the same size and times as before."""
    info = path.stat()
    path.write_text(path.read_text(encoding="utf-8").upper(), encoding="utf-8")
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def moved_over(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("other", encoding="utf-8")
    other.replace(path)


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": lambda root: written(root / "a/b/deep.txt"),
    "with its times": lambda root: with_its_times(root / "a/x.txt"),
    "moved over": lambda root: moved_over(root / "a/b/deep.txt"),
    "removed": lambda root: (root / "top.txt").unlink(),
    "made": lambda root: written(root / "new.txt"),
    "made in an empty directory": lambda root: written(root / "empty/new.txt"),
    "rights": lambda root: (root / "top.txt").chmod(0o755),
    "a directory": lambda root: (root / "a/c").mkdir(),
    "a directory away": lambda root: (root / "a/b").rename(root.parent / "away"),
    "a link": lambda root: (root / "link").symlink_to("top.txt"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_noticed_until_the_next_scan(
    watched: Watched, root: Path, change: str
) -> None:
    for _ in range(3):
        assert watched.is_quiet()
    CHANGES[change](root)
    for _ in range(2):
        assert not watched.is_quiet(), "not even once more"
    watched.look()
    assert watched.is_quiet()


def test_a_change_during_a_scan_is_not_forgotten(watched: Watched, root: Path) -> None:
    anyio.run(watched.watch.begin, [watched.root])
    written(root / "top.txt")
    anyio.run(watched.snapshots.scan, [watched.root])
    assert not watched.is_quiet()


def test_new_directories_are_watched(watched: Watched, root: Path) -> None:
    for depth in ("n", "n/m", "n/m/o"):
        (root / depth).mkdir()
        watched.look()
        written(root / depth / "file")
        assert not watched.is_quiet()
        watched.look()
        assert watched.is_quiet()
    (root / "n").rename(root / "moved")
    watched.look()
    assert watched.is_quiet()
    written(root / "moved/m/o/file")
    assert not watched.is_quiet()


def test_a_recreated_directory_is_watched(watched: Watched, root: Path) -> None:
    (root / "empty").rmdir()
    (root / "empty").mkdir()
    watched.look()
    written(root / "empty/new.txt")
    assert not watched.is_quiet()


def test_a_replaced_directory_is_noticed(watched: Watched, root: Path) -> None:
    """A directory above it was moved, for which there is no event below."""
    above = root.parent
    shutil.copytree(above, above.with_name("copy"), symlinks=True)
    above.rename(above.with_name("away"))
    above.with_name("copy").rename(above)
    assert not watched.is_quiet()
    watched.look()
    assert watched.is_quiet()
    written(root / "a/b/deep.txt")
    assert not watched.is_quiet()


def test_a_change_that_scans_ignore_is_not_a_change(watched: Watched, root: Path) -> None:
    written(root / "node_modules/m/i.js")
    assert watched.is_quiet()
    (root / ".gitignore").write_text("", encoding="utf-8")
    assert not watched.is_quiet()
    watched.look()
    written(root / "built/out.o")
    assert not watched.is_quiet(), "git has it no more ignored, or never had"


def test_too_many_directories_are_not_watched(root: Path, tmp_path: Path) -> None:
    few = Watched(root, tmp_path / "few", limit=2)
    try:
        assert not few.is_quiet()
        few.look()
        assert not few.is_quiet()
    finally:
        few.watch.close()


def test_an_overflow_of_events_counts_as_a_change(watched: Watched, root: Path) -> None:
    """The system queues this many events and then reports an overflow."""
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    names = [str(root / "a/x.txt"), str(root / "top.txt")]
    for n in range(most // 2 + 2):
        for name in names:
            os.utime(name, ns=(n, n))
    written(root / "a/b/deep.txt")
    assert not watched.is_quiet()
    watched.look()
    assert watched.is_quiet()
    written(root / "a/b/deep.txt")
    assert not watched.is_quiet()


def test_a_root_without_a_scan_is_unknown(watched: Watched, root: Path) -> None:
    assert watched.watch.has_no_changes([])
    assert not watched.watch.has_no_changes([watched.root, str(root.parent)])
    assert not watched.watch.has_no_changes([str(root / "a")])
