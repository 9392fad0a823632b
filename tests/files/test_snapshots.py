"""Earlier contents of files: stores with and without git, files outside of all stores, limits."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_nvim.files.bytes import roots
from acp_nvim.files.bytes.disk import bytes_of
from acp_nvim.files.checkpoints import plain_tree, store
from acp_nvim.files.checkpoints.git_store import GitStore
from acp_nvim.files.checkpoints.snapshots import FileChange, Snapshots
from acp_nvim.files.checkpoints.store import StoreError
from tests.support.git import git, repository
from tests.support.scan_changes import changes_of

Start = Callable[[], GitStore]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    directory = tmp_path / "work"
    (directory / "sub").mkdir(parents=True)
    (directory / "a.txt").write_text("a\n")
    (directory / "b.txt").write_text("b\n")
    (directory / "sub" / "c.txt").write_text("c\n")
    (directory / ".gitignore").write_text("*.log\n")
    return directory


@pytest.fixture(params=["git", "plain"])
def kept(request: pytest.FixtureRequest, work: Path, tmp_path: Path) -> GitStore:
    """Return a store of `work` after one scan."""
    if request.param == "git":
        repository(work)
    found = GitStore(str(work), tmp_path / "home")
    found.scan()
    return found


def test_a_scan_returns_the_changes_since_the_last_one(kept: GitStore, work: Path) -> None:
    (work / "a.txt").write_text("A\n")
    (work / "b.txt").unlink()
    (work / "sub" / "new ü.txt").write_text("n\n")
    assert changes_of(kept.scan(), work) == {"a.txt": "M", "b.txt": "D", "sub/new ü.txt": "A"}
    assert changes_of(kept.scan(), work) == {}


def test_a_name_that_is_too_long_for_a_file_is_ignored(kept: GitStore, work: Path) -> None:
    (work / "b.txt").write_text("other\n")
    scan = kept.scan([str(work / ("n" * 300)), str(work / "b.txt")])
    assert changes_of(scan, work) == {"b.txt": "M"}
    assert not scan.left_out
    assert bytes_of(str(work / ("n" * 300))) is None


def test_a_scan_of_named_files_reads_only_these(kept: GitStore, work: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (work / name).write_text("other\n")
    assert changes_of(kept.scan([str(work / "b.txt")]), work) == {"b.txt": "M"}
    assert changes_of(kept.scan(), work) == {"a.txt": "M"}


def test_contents_are_restored_byte_for_byte(kept: GitStore, work: Path) -> None:
    data = bytes(range(256)) + b"\r\nlast"
    (work / "a.txt").write_bytes(data)
    (work / "empty").write_bytes(b"")
    first = kept.scan()
    (work / "a.txt").write_text("x")
    (work / "empty").write_text("x")
    second = kept.scan()
    wanted = [(c.path, c.before) for c in second.changes if c.before]
    found = kept.contents(wanted)
    assert found == {str(work / "a.txt"): data, str(work / "empty"): b""}
    assert len(kept.differences(first.tree, second.tree)) == 2


def test_the_executable_bit_is_a_change(kept: GitStore, work: Path) -> None:
    (work / "a.txt").chmod(0o755)
    changes = kept.scan().changes
    assert [(c.before and c.before.mode, c.after and c.after.mode) for c in changes] == [
        (0o100644, 0o100755)
    ]


def test_a_change_with_the_same_size_and_time_is_found(work: Path, tmp_path: Path) -> None:
    repository(work)
    kept = GitStore(str(work), tmp_path / "home")
    kept.scan()
    before = (work / "a.txt").stat()
    (work / "a.txt").write_text("z\n")
    os.utime(work / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert changes_of(kept.scan(), work) == {"a.txt": "M"}


def test_the_users_repository_is_not_changed(work: Path, tmp_path: Path) -> None:
    repository(work)
    (work / "b.txt").write_text("staged\n")
    git(work, "add", "b.txt")
    (work / "sub" / "c.txt").write_text("to stash\n")
    git(work, "stash", "-q")
    (work / "untracked").write_text("u\n")
    objects = sorted(str(p) for p in (work / ".git").rglob("*"))
    state = git(work, "status", "--porcelain"), git(work, "stash", "list"), git(work, "log")
    index = (work / ".git" / "index").read_bytes()
    kept = GitStore(str(work), tmp_path / "home")
    kept.scan()
    (work / "a.txt").write_text("agent\n")
    kept.scan()
    (work / "a.txt").write_text("a\n")
    assert (work / ".git" / "index").read_bytes() == index
    assert sorted(str(p) for p in (work / ".git").rglob("*")) == objects
    assert (git(work, "status", "--porcelain"), git(work, "stash", "list"), git(work, "log")) == (
        state
    )


def test_a_merge_in_progress_does_not_stop_git(work: Path, tmp_path: Path) -> None:
    repository(work)
    git(work, "checkout", "-q", "-b", "other")
    (work / "a.txt").write_text("theirs\n")
    git(work, "commit", "-qam", "theirs")
    git(work, "checkout", "-q", "main")
    (work / "a.txt").write_text("ours\n")
    git(work, "commit", "-qam", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(work, "merge", "-q", "other")
    kept = GitStore(str(work), tmp_path / "home")
    kept.scan()
    (work / "a.txt").write_text("resolved\n")
    assert changes_of(kept.scan(), work) == {"a.txt": "M"}
    assert "UU a.txt" in git(work, "status", "--porcelain")


def test_a_directory_below_the_top_sees_only_itself(work: Path, tmp_path: Path) -> None:
    repository(work)
    kept = GitStore(str(work / "sub"), tmp_path / "home")
    kept.scan()
    (work / "a.txt").write_text("A\n")
    (work / "sub" / "c.txt").write_text("C\n")
    (work / "sub" / "d.txt").write_text("D\n")
    assert changes_of(kept.scan(), work) == {"sub/c.txt": "M", "sub/d.txt": "A"}


def test_a_repository_without_a_commit(work: Path, tmp_path: Path) -> None:
    git(work, "init", "-q")
    kept = GitStore(str(work), tmp_path / "home")
    kept.scan()
    (work / "a.txt").write_text("A\n")
    assert changes_of(kept.scan(), work) == {"a.txt": "M"}
    assert kept.history.head() == ""


def test_converted_line_ends_are_restored_as_in_the_work_tree(work: Path, tmp_path: Path) -> None:
    (work / ".gitattributes").write_text("*.txt text eol=crlf\n")
    (work / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    repository(work)
    kept = GitStore(str(work), tmp_path / "home")
    kept.scan()
    (work / "a.txt").write_bytes(b"other\r\n")
    (change,) = kept.scan().changes
    assert change.before is not None
    assert kept.contents([(change.path, change.before)]) == {change.path: b"one\r\ntwo\r\n"}


def test_a_tree_around_a_session_must_be_a_work_tree(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="git rev-parse"):
        GitStore(str(tmp_path), tmp_path / "home", max_new=10)


def test_a_file_that_is_too_large_is_left_out_and_named(
    kept: GitStore, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_FILE_BYTES", 100)
    (work / "big.txt").write_text("x" * 101)
    (work / "a.txt").write_text("A\n")
    scan = kept.scan()
    assert [Path(path).name for path in scan.left_out] == ["big.txt"]
    assert changes_of(scan, work) == {"a.txt": "M", "big.txt": "A"}
    assert [c.after and c.after.is_stored for c in scan.changes] == [True, False]


def test_a_directory_of_too_many_files_is_not_stored(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_tree, "MAX_FILES", 3)
    with pytest.raises(StoreError, match="more than 3 files and no repository"):
        GitStore(str(work), tmp_path / "home").scan()


@pytest.mark.parametrize("git", [True, False])
async def test_the_plugins_files_are_not_part_of_a_home_directory(
    work: Path, notices: list[str], git: bool
) -> None:
    if git:
        repository(work)
    ours = work / "share" / "acp"
    kept = Snapshots(lambda root: ours / "checkpoints" / roots.name(root), notices.append)
    await kept.scan([str(work)])
    (ours / "sessions.json").write_text("{}")
    (work / "a.txt").write_text("A\n")
    changes = await kept.scan([str(work)])
    assert [change.path for change in changes] == [str(work / "a.txt")]
    assert await kept.scan([str(work)]) == []


# ---- snapshots of several directories, and single files


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def snapshots(tmp_path: Path, notices: list[str]) -> Snapshots:
    return Snapshots(lambda root: tmp_path / "home" / "all" / roots.name(root), notices.append)


async def test_a_change_has_both_sides(snapshots: Snapshots, work: Path) -> None:
    repository(work)
    assert await snapshots.scan([str(work)]) == []
    (work / "a.txt").write_text("A\n")
    (work / "b.txt").unlink()
    (work / "n.txt").write_text("n\n")
    assert await snapshots.scan([str(work)]) == [
        FileChange(str(work / "a.txt"), b"a\n", b"A\n"),
        FileChange(str(work / "b.txt"), b"b\n", None),
        FileChange(str(work / "n.txt"), None, b"n\n"),
    ]


@pytest.mark.parametrize("with_git", [True, False])
async def test_ignored_and_outside_files_are_scanned_once_they_are_named(
    snapshots: Snapshots, work: Path, tmp_path: Path, with_git: bool
) -> None:
    if with_git:
        repository(work)
    ignored = work / ("x.log" if with_git else "node_modules/x.log")
    ignored.parent.mkdir(exist_ok=True)
    ignored.write_text("1\n")
    outside = tmp_path / "outside.txt"
    outside.write_text("1\n")
    roots, paths = [str(work)], [str(ignored), str(outside)]
    await snapshots.scan(roots)
    await snapshots.add_named(roots, paths)
    for path in (ignored, outside):
        path.write_text("2\n")
    changes = await snapshots.scan(roots, paths)
    changes.sort(key=lambda change: paths.index(change.path))
    assert changes == [FileChange(path, b"1\n", b"2\n") for path in paths]
    assert await snapshots.scan(roots) == []


async def test_an_unknown_ignored_file_is_not_taken_for_a_new_one(
    snapshots: Snapshots, work: Path
) -> None:
    repository(work)
    (work / "x.log").write_text("1\n")
    await snapshots.scan([str(work)])
    assert await snapshots.scan([str(work)], [str(work / "x.log")]) == []
    assert snapshots.reasons([str(work)]) == []


async def test_links_are_not_texts(snapshots: Snapshots, work: Path) -> None:
    repository(work)
    await snapshots.scan([str(work)])
    (work / "link").symlink_to("a.txt")
    assert await snapshots.scan([str(work)]) == []


async def test_each_limit_is_reported_once(
    snapshots: Snapshots, work: Path, notices: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_FILE_BYTES", 100)
    repository(work)
    (work / "big.txt").write_text("x" * 101)
    for _ in range(3):
        await snapshots.scan([str(work)])
    assert len(notices) == 1
    assert "big.txt" in notices[0]


async def test_a_directory_that_cannot_be_stored_has_a_reason(
    snapshots: Snapshots, work: Path, notices: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_tree, "MAX_FILES", 1)
    assert await snapshots.scan([str(work)]) == []
    assert await snapshots.scan([str(work)]) == []
    assert snapshots.trees([str(work)]) == {}
    (reason,) = snapshots.reasons([str(work)])
    assert "more than 1 files" in reason
    assert len(notices) == 1


async def test_the_moves_of_head_have_their_contents(snapshots: Snapshots, work: Path) -> None:
    repository(work)
    await snapshots.scan([str(work)])
    path, other, gone = (str(work / name) for name in ("a.txt", "sub/c.txt", "b.txt"))
    untracked = str(work / "untracked.txt")
    paths = [path, other, gone, untracked]
    first, moves = await snapshots.head_moves(str(work), None)
    assert moves == []
    (work / "a.txt").write_text("A\n")
    (work / "b.txt").unlink()
    git(work, "commit", "-qam", "second")
    git(work, "switch", "-qc", "side")
    head, moves = await snapshots.head_moves(str(work), first)
    assert [(move.old, move.new, move.is_commit) for move in moves] == [
        (first, head, True),
        (head, head, False),
    ]
    assert abs(moves[-1].last - time.time_ns()) < 10 * 10**9
    committed = await snapshots.committed(str(work), paths, first, head)
    assert committed == {path: b"A\n", gone: None}  # the commit has only these files
    assert await snapshots.head_moves(str(work), head) == (head, [])
    (one,) = (await snapshots.head_moves(str(work), "1" * 40))[1]
    assert one.is_commit
    assert await snapshots.committed(str(work), paths, one.old, one.new) == {}


async def test_the_first_commit(snapshots: Snapshots, work: Path) -> None:
    git(work, "init", "-q", "-b", "main")
    await snapshots.scan([str(work)])
    path = str(work / "a.txt")
    assert await snapshots.head_moves(str(work), "") == ("", [])
    git(work, "add", "-A")
    git(work, "commit", "-qm", "first")
    head, (first,) = await snapshots.head_moves(str(work), "")
    assert await snapshots.committed(str(work), [path], first.old, head) == {path: b"a\n"}


def test_git_is_installed() -> None:
    assert shutil.which("git"), "these tests need git"
