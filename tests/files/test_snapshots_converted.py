"""Files that git converts: stored with their bytes on disk, and without running filters."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_nvim.files.checkpoints import store
from acp_nvim.files.checkpoints.git_store import GitStore
from acp_nvim.files.checkpoints.store import Scan
from tests.support.git import git
from tests.support.scan_changes import changes_of

MIXED = b"one\r\ntwo\nthree\r\n"
UTF16 = "ünï\n".encode("utf-16-le")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Make a repository with a filter to capitals, before its first commit."""
    directory = tmp_path / "work"
    directory.mkdir()
    git(directory, "init", "-q", "-b", "main")
    for name, program in (("clean", "tr a-z A-Z"), ("smudge", "tr A-Z a-z")):
        git(directory, "config", f"filter.shout.{name}", program)
    return directory


def commit(work: Path) -> None:
    """Commit everything. No file is newer than the index, so git trusts its stat cache."""
    for path in work.rglob("*.*"):
        if ".git" not in path.parts:
            os.utime(path, (1_600_000_000, 1_600_000_000))
    git(work, "add", "-A", "-f")
    git(work, "commit", "-q", "-m", "more")
    assert git(work, "status", "--porcelain") == ""


def before(scan: Scan, blob_store: GitStore) -> dict[str, bytes]:
    """Return the earlier contents of changed files by name."""
    wanted = [(change.path, change.before) for change in scan.changes if change.before]
    return {Path(path).name: data for path, data in blob_store.contents(wanted).items()}


@pytest.mark.parametrize(
    ("attributes", "config", "data"),
    [
        ("*.txt filter=shout", "", b"quiet\n"),
        ("*.txt filter=other", "", b"quiet\n"),
        ("*.txt text eol=crlf", "", MIXED),
        ("*.txt text eol=lf", "", MIXED),
        ("*.txt text=auto", "", MIXED),
        ("*.txt crlf", "", MIXED),
        ("*.txt ident", "", b"$Id: something else $\n"),
        ("*.txt working-tree-encoding=UTF-16LE", "", UTF16),
        ("[attr]prose text filter=shout\n*.txt prose", "", b"quiet\n"),
        ("", "core.autocrlf=true", MIXED),
        ("", "core.autocrlf=input", MIXED),
        ("", "", MIXED),
    ],
)
@pytest.mark.parametrize("ignored", [False, True])
def test_converted_files_are_restored_byte_for_byte(
    work: Path, tmp_path: Path, attributes: str, config: str, data: bytes, ignored: bool
) -> None:
    if attributes:
        (work / ".gitattributes").write_text(f"{attributes}\n")
    if config:
        git(work, "config", *config.split("="))
    if ignored:
        (work / ".gitignore").write_text("*.txt\n")
    for name in ("a.txt", "b.txt"):
        (work / name).write_bytes(data)
    commit(work)
    blob_store = GitStore(str(work), tmp_path / "home")
    assert blob_store.scan().left_out == []
    assert blob_store.scan().changes == []
    (work / "a.txt").write_bytes(b"other\r\n")
    (work / "b.txt").unlink()
    scan = blob_store.scan()
    assert changes_of(scan, work) == {"a.txt": "M", "b.txt": "D"}
    assert before(scan, blob_store) == {"a.txt": data, "b.txt": data}
    (work / "a.txt").write_bytes(data)
    scan = blob_store.scan()
    assert before(scan, blob_store) == {"a.txt": b"other\r\n"}


def test_a_file_under_a_filter_that_is_too_large_is_not_mistaken_for_its_pointer(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / ".gitattributes").write_text("*.bin filter=shout\n")
    (work / "big.bin").write_bytes(b"x" * 200)
    commit(work)
    monkeypatch.setattr(store, "MAX_FILE_BYTES", 100)
    blob_store = GitStore(str(work), tmp_path / "home")
    assert blob_store.scan().left_out == [str(work / "big.bin")]
    (work / "big.bin").unlink()
    [gone] = blob_store.scan().changes
    assert gone.before is not None
    assert (gone.before.is_stored, gone.after) == (False, None), (
        "that it is gone is known, not its text"
    )


@pytest.mark.parametrize(
    ("attributes", "data"),
    [
        ("*.txt filter=shout", b"quiet\n"),
        ("*.txt text eol=crlf", b"one\r\ntwo\r\n"),
        ("*.txt working-tree-encoding=UTF-16LE", UTF16),
        ("", b"plain\n"),
    ],
)
def test_a_commit_is_compared_with_the_bytes_on_disk(
    work: Path, tmp_path: Path, attributes: str, data: bytes
) -> None:
    (work / ".gitattributes").write_text(f"{attributes}\n")
    (work / "a.txt").write_bytes(b"")
    commit(work)
    blob_store = GitStore(str(work), tmp_path / "home")
    blob_store.scan()
    first = blob_store.history.head()
    (work / "a.txt").write_bytes(data)
    commit(work)
    path = str(work / "a.txt")
    assert blob_store.history.committed([path], first) == {path: data}
    (work / "a.txt").write_bytes(b"changed again\n")
    assert blob_store.history.committed([path], first) == (
        {} if "filter" in attributes else {path: data}
    )


def test_a_filtered_file_that_is_staged_later_is_not_reported_as_committed(
    work: Path, tmp_path: Path
) -> None:
    (work / ".gitattributes").write_text("*.txt filter=shout\n")
    (work / "a.txt").write_bytes(b"first\n")
    commit(work)
    blob_store = GitStore(str(work), tmp_path / "home")
    blob_store.scan()
    first = blob_store.history.head()
    (work / "a.txt").write_bytes(b"second\n")
    commit(work)
    (work / "a.txt").write_bytes(b"third\n")
    git(work, "add", "a.txt")
    assert blob_store.history.committed([str(work / "a.txt")], first) == {}


# ---- configuration of the user's repository


def ignored_by_the_repository(work: Path, elsewhere: Path) -> None:
    (work / ".git" / "info" / "exclude").write_text("*.made\n")


def ignored_by_an_option(work: Path, elsewhere: Path) -> None:
    (elsewhere / "ignore").write_text("*.made\n")
    git(work, "config", "core.excludesFile", str(elsewhere / "ignore"))


def ignored_by_an_included_file(work: Path, elsewhere: Path) -> None:
    (elsewhere / "ignore").write_text("*.made\n")
    (elsewhere / "more").write_text(f'[core]\nexcludesFile = "{elsewhere}/ignore"\n')
    git(work, "config", "include.path", str(elsewhere / "more"))


@pytest.mark.parametrize(
    "ignore", [ignored_by_the_repository, ignored_by_an_option, ignored_by_an_included_file]
)
def test_every_source_of_ignore_rules_counts(
    work: Path, tmp_path: Path, ignore: Callable[[Path, Path], None]
) -> None:
    (work / "a.txt").write_text("a\n")
    commit(work)
    blob_store = (
        GitStore(str(work), tmp_path / "home") if ignore is ignored_by_the_repository else None
    )
    ignore(work, tmp_path)
    blob_store = blob_store or GitStore(str(work), tmp_path / "home")
    blob_store.scan()
    (work / "x.made").write_text("x\n")
    assert blob_store.scan().changes == []
    assert blob_store.skipped([str(work / "x.made"), str(work / "new.txt")]) == [
        str(work / "x.made")
    ]


def test_modes_do_not_count_with_core_filemode_off(work: Path, tmp_path: Path) -> None:
    (work / "a.txt").write_text("a\n")
    commit(work)
    git(work, "config", "core.fileMode", "false")
    blob_store = GitStore(str(work), tmp_path / "home")
    blob_store.scan()
    (work / "a.txt").chmod(0o755)
    assert blob_store.scan().changes == []


def test_a_file_outside_of_a_sparse_checkout_is_found(work: Path, tmp_path: Path) -> None:
    for name in ("in", "out"):
        (work / name).mkdir()
        (work / name / "a.txt").write_text("a\n")
    commit(work)
    git(work, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
    assert not (work / "out").exists()
    (work / "out").mkdir()
    (work / "out" / "a.txt").write_text("a\n")
    blob_store = GitStore(str(work), tmp_path / "home")
    blob_store.scan()
    (work / "out" / "a.txt").write_text("b\n")
    scan = blob_store.scan()
    assert changes_of(scan, work) == {"out/a.txt": "M"}
    assert before(scan, blob_store) == {"a.txt": b"a\n"}


def other_hash(work: Path) -> None:
    (work / "repository").mkdir()
    git(work / "repository", "init", "-q", "--object-format=sha256")


def split_index(work: Path) -> None:
    git(work, "init", "-q", "repository")
    git(work / "repository", "config", "core.splitIndex", "true")


def linked_worktree(work: Path) -> None:
    (work / "first.txt").write_text("a\n")
    commit(work)
    git(work, "worktree", "add", "-q", "repository")


@pytest.mark.parametrize("make", [other_hash, split_index, linked_worktree])
def test_repositories_of_any_shape(
    work: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(work)
    root = work / "repository"
    (root / "a.txt").write_text("a\n")
    commit(root)
    (root / "b.txt").write_text("b\n")
    git(root, "add", "b.txt")
    blob_store = GitStore(str(root), tmp_path / "home")
    blob_store.scan()
    first = blob_store.history.head()
    assert first == git(root, "rev-parse", "HEAD").strip()
    (root / "a.txt").write_text("longer\n")
    scan = blob_store.scan()
    assert changes_of(scan, root) == {"a.txt": "M"}
    assert before(scan, blob_store) == {"a.txt": b"a\n"}
    commit(root)
    assert blob_store.history.committed([str(root / "a.txt")], first) == {
        str(root / "a.txt"): b"longer\n"
    }
    assert [
        move.old for move in blob_store.history.moves_since(first, blob_store.history.head())
    ] == [first]


def test_a_folder_that_becomes_a_link_is_not_a_fault(work: Path, tmp_path: Path) -> None:
    (work / ".gitignore").write_text("*.made\n")
    (work / "d").mkdir()
    (work / "d/a.txt").write_text("a\n")
    outside = tmp_path / "outside"
    blob_store = GitStore(str(work), tmp_path / "home")
    blob_store.scan()
    (work / "d").rename(outside)
    (work / "d").symlink_to(outside)
    named = [str(work / name) for name in ("d/a.txt", "d/new.txt", "x.made")]
    assert blob_store.skipped(named) == [str(work / "x.made")]
    changes = {Path(it.path).name: it.after for it in blob_store.scan(named[:2]).changes}
    assert changes == {"a.txt": None}
