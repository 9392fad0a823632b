"""What the system notes of directories since they were looked at."""

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

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux'")


@pytest.fixture(params=["git", "plain"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A project with a directory in a directory, an empty one, and one that git ignores."""
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
    """Snapshots of a project, looked at and watched as a turn does at its end."""

    def __init__(self, root: Path, home: Path, most: int = 100) -> None:
        self.root = str(root)
        self.snapshots = Snapshots(lambda _: home / "a" / "b", lambda _: None)
        self.watch = FolderWatch(self.snapshots.folders, most)
        anyio.run(self.snapshots.look, [self.root])
        self.look()

    def look(self) -> None:
        anyio.run(self.watch.begin, [self.root])
        anyio.run(self.snapshots.look, [self.root])

    def rests(self) -> bool:
        return self.watch.rest([self.root])


@pytest.fixture
def watched(root: Path, tmp_path: Path) -> Iterator[Watched]:
    found = Watched(root, tmp_path / "home")
    yield found
    found.watch.close()


def written(path: Path) -> None:
    path.write_text("other", encoding="utf-8")


def with_its_times(path: Path) -> None:
    """The same size and times as before."""
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
def test_each_change_is_noted_at_once_and_until_the_next_look(
    watched: Watched, root: Path, change: str
) -> None:
    for _ in range(3):
        assert watched.rests()
    CHANGES[change](root)
    for _ in range(2):
        assert not watched.rests(), "not even once more"
    watched.look()
    assert watched.rests()


def test_a_change_during_a_look_is_not_forgotten(watched: Watched, root: Path) -> None:
    anyio.run(watched.watch.begin, [watched.root])
    written(root / "top.txt")
    anyio.run(watched.snapshots.look, [watched.root])
    assert not watched.rests()


def test_directories_that_came_are_watched_like_the_others(watched: Watched, root: Path) -> None:
    for depth in ("n", "n/m", "n/m/o"):
        (root / depth).mkdir()
        watched.look()
        written(root / depth / "file")
        assert not watched.rests()
        watched.look()
        assert watched.rests()
    (root / "n").rename(root / "moved")
    watched.look()
    assert watched.rests()
    written(root / "moved/m/o/file")
    assert not watched.rests()


def test_a_directory_that_went_and_came_is_watched(watched: Watched, root: Path) -> None:
    (root / "empty").rmdir()
    (root / "empty").mkdir()
    watched.look()
    written(root / "empty/new.txt")
    assert not watched.rests()


def test_another_directory_of_the_same_path_is_another_one(watched: Watched, root: Path) -> None:
    """A directory above it was moved, which nothing below it tells."""
    above = root.parent
    shutil.copytree(above, above.with_name("copy"), symlinks=True)
    above.rename(above.with_name("away"))
    above.with_name("copy").rename(above)
    assert not watched.rests()
    watched.look()
    assert watched.rests()
    written(root / "a/b/deep.txt")
    assert not watched.rests()


def test_what_no_look_sees_is_no_change(watched: Watched, root: Path) -> None:
    written(root / "node_modules/m/i.js")
    assert watched.rests()
    (root / ".gitignore").write_text("", encoding="utf-8")
    assert not watched.rests()
    watched.look()
    written(root / "built/out.o")
    assert not watched.rests(), "git has it no more ignored, or never had"


def test_of_too_many_directories_nothing_is_known(root: Path, tmp_path: Path) -> None:
    few = Watched(root, tmp_path / "few", most=2)
    try:
        assert not few.rests()
        few.look()
        assert not few.rests()
    finally:
        few.watch.close()


def test_too_many_changes_are_one(watched: Watched, root: Path) -> None:
    """The system notes so many and says that there were more."""
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    names = [str(root / "a/x.txt"), str(root / "top.txt")]
    for n in range(most // 2 + 2):
        for name in names:
            os.utime(name, ns=(n, n))
    written(root / "a/b/deep.txt")
    assert not watched.rests()
    watched.look()
    assert watched.rests()
    written(root / "a/b/deep.txt")
    assert not watched.rests()


def test_of_a_root_that_nobody_looked_at_nothing_is_known(watched: Watched, root: Path) -> None:
    assert watched.watch.rest([])
    assert not watched.watch.rest([watched.root, str(root.parent)])
    assert not watched.watch.rest([str(root / "a")])
