"""Files that the stores could not keep: their trees have an entry for them and do not report them
missing.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from acp_nvim.files.checkpoints import store
from acp_nvim.files.checkpoints.git_store import GitStore
from tests.support.git import repository


@pytest.fixture
def work(tmp_path: Path) -> Path:
    directory = tmp_path / "work"
    (directory / "d").mkdir(parents=True)
    (directory / "a.txt").write_text("a\n")
    (directory / "d" / "x.txt").write_text("x\n")
    return directory


@pytest.fixture(params=["git", "plain"])
def blob_store(request: pytest.FixtureRequest, work: Path, tmp_path: Path) -> GitStore:
    """Return a store of `work` without a scan."""
    if request.param == "git":
        repository(work)
    return GitStore(str(work), tmp_path / "home")


Side = str | None


def sides(blob_store: GitStore, old: str, new: str) -> dict[str, tuple[Side, Side]]:
    """Return both sides by name: `kept`, the reason if it is omitted, or None without a file."""

    def side(blob: store.Blob | None) -> Side:
        return None if blob is None else blob.why or ("fifo" if blob.is_fifo else "kept")

    return {
        os.path.relpath(it.path, blob_store.root): (side(it.before), side(it.after))
        for it in blob_store.differences(old, new)
    }


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_FILE_BYTES", 1000)


def test_sockets_are_not_reported_as_omitted(blob_store: GitStore, work: Path) -> None:
    (work / "log").write_text("x" * 2000)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(work / "s.sock"))
        assert blob_store.scan().left_out == [str(work / "log")]


def test_files_with_longer_paths_than_the_system_accepts_are_reported(
    blob_store: GitStore, work: Path
) -> None:
    """A program can make them from a directory above. The last one that can be read is named."""
    longest = os.pathconf(work, "PC_PATH_MAX")
    handle, deep = os.open(work, os.O_RDONLY), str(work)
    while len(deep) < longest:
        os.close(os.open("f" * 250, os.O_CREAT, dir_fd=handle))
        os.mkdir("d" * 250, dir_fd=handle)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle, deep = below, f"{deep}/{'d' * 250}"
    os.close(os.open("f", os.O_CREAT, dir_fd=handle))
    os.close(handle)
    above = deep.rpartition("/")[0]
    assert sorted(blob_store.scan().left_out) == [above, f"{above}/{'f' * 250}"]


def test_a_file_that_shrinks_existed_before(blob_store: GitStore, work: Path) -> None:
    (work / "log").write_text("x" * 2000)
    first = blob_store.scan().tree
    (work / "log").write_text("x")
    second = blob_store.scan()
    assert sides(blob_store, first, second.tree) == {"log": ("over 0 MiB", "kept")}
    assert len(second.changes) == 1


def test_a_file_that_grows_still_exists(blob_store: GitStore, work: Path) -> None:
    first = blob_store.scan().tree
    (work / "a.txt").write_text("x" * 2000)
    second = blob_store.scan()
    assert sides(blob_store, first, second.tree) == {"a.txt": ("kept", "over 0 MiB")}
    assert len(second.changes) == 1
    (work / "a.txt").write_text("small again\n")
    third = blob_store.scan().tree
    assert sides(blob_store, second.tree, third) == {"a.txt": ("over 0 MiB", "kept")}
    assert sides(blob_store, first, third) == {"a.txt": ("kept", "kept")}


def test_changes_and_deletions_of_large_files_are_found(blob_store: GitStore, work: Path) -> None:
    for name in ("one", "two", "three"):
        (work / name).write_text("x" * 2000)
    first = blob_store.scan().tree
    assert blob_store.scan().changes == []
    (work / "one").write_text("x" * 3000)
    (work / "two").unlink()
    second = blob_store.scan().tree
    assert sides(blob_store, first, second) == {
        "one": ("over 0 MiB", "over 0 MiB"),
        "two": ("over 0 MiB", None),
    }


def test_a_file_that_is_stored_later_has_not_changed(
    blob_store: GitStore, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_SCAN_BYTES", 1000)
    for number in range(5):
        (work / f"{number}.bin").write_text(str(number) * 450)
    looks = [blob_store.scan() for _ in range(5)]
    assert [len(look.left_out) > 0 for look in looks] == [True, True, False, False, False]
    assert all(look.changes == [] for look in looks[1:])
    last = sides(blob_store, looks[0].tree, looks[-1].tree)
    assert set(last.values()) == {(store.NO_ROOM, "kept")}


def test_recently_changed_files_are_stored_first(
    blob_store: GitStore, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_SCAN_BYTES", 1000)
    for number in range(9):
        (work / f"{number}.bin").write_text(str(number) * 450)
    blob_store.scan()
    (work / "z.txt").write_text("the agent's\n")
    changes = blob_store.scan().changes
    assert [Path(it.path).name for it in changes] == ["z.txt"]
    assert changes[0].after is not None
    assert changes[0].after.is_stored


def test_another_process_knows_the_omitted_files(
    blob_store: GitStore, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "log").write_text("x" * 2000)
    first = blob_store.scan().tree
    (work / "log").write_text("x")
    monkeypatch.setattr(os, "getpid", lambda: 4_000_000)
    again = type(blob_store)(str(work), tmp_path / "home")
    assert sides(again, first, again.scan().tree) == {"log": ("over 0 MiB", "kept")}


@pytest.mark.parametrize("there", ["fifo", "link", "folder", "full folder"])
def test_a_replacement_of_a_file_is_found(blob_store: GitStore, work: Path, there: str) -> None:
    first = blob_store.scan().tree
    path = work / "a.txt"
    path.unlink()
    if there == "fifo":
        os.mkfifo(path)
    elif there == "link":
        path.symlink_to("d")
    else:
        path.mkdir()
        if there == "full folder":
            (path / "y.txt").write_text("y\n")
    second = blob_store.scan()
    expected: dict[str, dict[str, tuple[Side, Side]]] = {
        "fifo": {"a.txt": ("kept", "fifo")},
        "link": {"a.txt": ("kept", "kept")},
        "folder": {"a.txt": ("kept", None)},
        "full folder": {"a.txt": ("kept", None), "a.txt/y.txt": (None, "kept")},
    }
    assert sides(blob_store, first, second.tree) == expected[there]
    assert len(second.changes) == len(expected[there])
    assert blob_store.scan().changes == []
    if path.is_dir() and not path.is_symlink():
        for inside in path.iterdir():
            inside.unlink()
        path.rmdir()
    else:
        path.unlink()
    path.write_text("a\n")
    assert sides(blob_store, first, blob_store.scan().tree) == {}


def test_a_folder_becomes_a_file(blob_store: GitStore, work: Path) -> None:
    first = blob_store.scan().tree
    (work / "d" / "x.txt").unlink()
    (work / "d").rmdir()
    (work / "d").write_text("d\n")
    second = blob_store.scan().tree
    assert sides(blob_store, first, second) == {"d": (None, "kept"), "d/x.txt": ("kept", None)}


@pytest.mark.parametrize("named", [False, True])
def test_files_behind_a_link_are_not_the_earlier_ones(
    blob_store: GitStore, work: Path, tmp_path: Path, named: bool
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.txt").write_text("not of this directory\n")
    first = blob_store.scan().tree
    (work / "d").rename(work / "d2")
    (work / "d").symlink_to(outside)
    if named:
        blob_store.scan([str(work / "d" / "x.txt")])
    second = blob_store.scan().tree
    assert sides(blob_store, first, second) == {
        "d": (None, "kept"),
        "d/x.txt": ("kept", None),
        "d2/x.txt": (None, "kept"),
    }


UNREADABLE = """
import os, sys
sys.path[:0] = sys.argv[1:2]
from pathlib import Path
from acp_nvim.files.checkpoints.git_store import GitStore
if os.getuid() == 0:
    os.setuid(65534)
work, home, hidden = sys.argv[2:]
kept = GitStore(work, Path(home))
os.chmod(hidden, 0)
first = kept.scan()
os.chmod(hidden, 0o755)
second = kept.scan()
os.chmod(hidden, 0)
third = kept.scan()
for scan in (second, third):
    print([c.before is None or c.after is None for c in scan.changes])
back = [it for it in kept.differences(second.tree, first.tree) if it.after is None]
gone = [it for it in kept.differences(third.tree, second.tree) if it.after is None]
print(back, gone)
"""


@pytest.mark.parametrize("git", [True, False])
@pytest.mark.parametrize("hidden", ["new.txt", "new"])
def test_an_unreadable_file_is_not_reported_missing(git: bool, hidden: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        work = Path(home, "work")
        (work / "new").mkdir(parents=True)
        (work / "new" / "y.txt").write_text("y\n")
        (work / "new.txt").write_text("n\n")
        if git:
            subprocess.run(["git", "init", "-q", work], check=True)
        if os.getuid() == 0:  # root can read everything
            subprocess.run(["chown", "-R", "65534", home], check=True)
        args = [Path(__file__).parent.parent.parent, work, f"{home}/own", work / hidden]
        done = subprocess.run(
            [sys.executable, "-c", UNREADABLE, *map(str, args)],
            capture_output=True,
            text=True,
            cwd=home,
            env={**os.environ, "HOME": home, "GIT_CONFIG_GLOBAL": os.devnull},
            check=False,
        )
    assert done.stderr == ""
    assert "True" not in done.stdout
    assert done.stdout.endswith("[] []\n")


def test_files_that_git_ignored_existed_before(work: Path, tmp_path: Path) -> None:
    (work / ".gitignore").write_text("*.log\nbuild/\n")
    (work / "d" / ".gitignore").write_text("*.tmp\n")
    repository(work)
    (work / "a.log").write_text("mine\n")
    (work / "build").mkdir()
    (work / "build" / "out").write_text("mine\n")
    (work / "d" / "b.tmp").write_text("mine\n")
    blob_store = GitStore(str(work), tmp_path / "home")
    first = blob_store.scan().tree
    (work / ".gitignore").write_text("")
    (work / "d" / ".gitignore").unlink()
    (work / "new.txt").write_text("the agent's\n")
    scan = blob_store.scan()
    ignored = ("ignored by git", "kept")
    assert sides(blob_store, first, scan.tree) == {
        ".gitignore": ("kept", "kept"),
        "d/.gitignore": ("kept", None),
        "a.log": ignored,
        "build/out": ignored,
        "d/b.tmp": ignored,
        "new.txt": (None, "kept"),
    }


def test_files_that_git_ignores_now_still_exist(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(work)
    (work / "a.log").write_text("mine\n")
    first = GitStore(str(work), tmp_path / "home").scan().tree
    (work / ".gitignore").write_text("*.log\n")
    monkeypatch.setattr(os, "getpid", lambda: 4_000_000)
    again = GitStore(str(work), tmp_path / "home")
    assert sides(again, first, again.scan().tree) == {
        ".gitignore": (None, "kept"),
        "a.log": ("kept", "ignored by git"),
    }


def test_files_of_a_former_nested_repository_existed_before(work: Path, tmp_path: Path) -> None:
    repository(work)
    (work / "inner").mkdir()
    (work / "inner" / "i.txt").write_text("mine\n")
    repository(work / "inner")
    blob_store = GitStore(str(work), tmp_path / "home")
    first = blob_store.scan().tree
    subprocess.run(["rm", "-rf", work / "inner" / ".git"], check=True)
    second = blob_store.scan()
    assert second.changes == []
    assert sides(blob_store, first, second.tree) == {
        "inner/i.txt": ("in a folder that was not looked into", "kept")
    }
