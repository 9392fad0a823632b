"""Worktrees made, compared and removed by git, without Neovim."""

from __future__ import annotations

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acp_nvim.features.worktrees import worktree_git
from acp_nvim.features.worktrees.records import Worktree
from acp_nvim.features.worktrees.worktree_git import Change
from acp_nvim.files.checkpoints.store import StoreError
from tests.support.git import git, repository

ENV = os.environ


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with a first commit."""
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "a.txt").write_text("one\ntwo\n")
    (work / "sub" / "b.txt").write_text("b\n")
    (work / "run.sh").write_text("#!/bin/sh\n")
    (work / "link").symlink_to("a.txt")
    (work / ".gitignore").write_text("*.log\n")
    repository(work)
    return work


def make(tree: Path, title: str = "new", name: str = "there") -> Worktree:
    path = str(tree.parent / name)
    found, commit = worktree_git.find(str(tree), ENV)
    branch, _ = worktree_git.add(found, commit, path, title, ENV)
    return Worktree(name, path, str(tree), branch, commit)


def both(change: Change) -> tuple[tuple[str, bytes] | None, tuple[str, bytes] | None]:
    """Return mode and content of both sides of a change."""
    before, after = change.before, change.after
    return (
        (before.mode, before.data) if before else None,
        (after.mode, after.data) if after else None,
    )


def changed(worktree: Worktree) -> dict[str, Change]:
    return {it.path: it for it in worktree_git.result(worktree, ENV).changes}


def test_a_new_worktree_has_the_files_of_the_commit_and_is_clean(tree: Path) -> None:
    (tree / "a.txt").write_text("mine\n")
    worktree = make(tree)
    there = Path(worktree.path)
    assert (there / "a.txt").read_text() == "one\ntwo\n"
    assert (there / "link").readlink() == Path("a.txt")
    assert git(there, "status", "--porcelain") == ""
    assert git(there, "branch", "--show-current") == "acp/new\n"
    assert (there / "a.txt").stat().st_mode == (tree / "sub/b.txt").stat().st_mode
    assert worktree_git.result(worktree, ENV).changes == []
    assert git(tree, "branch", "--show-current") == "main\n"


@pytest.mark.parametrize(
    ("title", "branch"),
    [
        ("Fix the parser, please!", "acp/fix-the-parser-please"),
        ("--upload-pack=evil ../x.lock", "acp/upload-pack-evil-x-lock"),
        ("ÄÖ 日本", "acp/äö-日本"),
        ("?!", "acp/session"),
        ("x" * 90, "acp/" + "x" * 40),
        ("taken", "acp/taken-2"),
        ("deep", "acp/deep-2"),
    ],
)
def test_a_branch_is_named_after_a_title(tree: Path, title: str, branch: str) -> None:
    git(tree, "branch", "acp/Taken")
    git(tree, "branch", "acp/deep/down")
    worktree = make(tree)
    assert worktree_git.rename_branch(worktree, title, ENV) == branch
    assert git(Path(worktree.path), "branch", "--show-current") == f"{branch}\n"


def test_a_path_whose_worktree_was_deleted_can_be_used_again(tree: Path) -> None:
    shutil.rmtree(make(tree).path)
    again = make(tree)
    assert (Path(again.path, "a.txt").exists(), again.branch) == (True, "acp/new-2")


def test_another_branch_is_not_renamed(tree: Path) -> None:
    worktree = make(tree)
    git(Path(worktree.path), "checkout", "-q", "-b", "own")
    assert worktree_git.rename_branch(worktree, "title", ENV) == "acp/new"
    assert "acp/new" in git(tree, "branch", "--list", "acp/*")


def test_all_kinds_of_changes_are_found_committed_or_not(tree: Path) -> None:
    worktree = make(tree)
    there = Path(worktree.path)
    (there / "a.txt").write_text("one\n2\n")
    git(there, "commit", "-qam", "change")
    (there / "sub/b.txt").unlink()
    (there / "new.bin").write_bytes(b"\0\1")
    (there / "-x").write_text("x\n")
    (there / "out.log").write_text("ignored\n")
    (there / "link").unlink()
    (there / "link").symlink_to("run.sh")
    (there / "run.sh").chmod(0o755)
    found = changed(worktree)
    assert found.keys() == {"a.txt", "sub/b.txt", "new.bin", "-x", "link", "run.sh"}
    plain, program = "100644", "100755"
    assert both(found["a.txt"]) == ((plain, b"one\ntwo\n"), (plain, b"one\n2\n"))
    assert both(found["sub/b.txt"]) == ((plain, b"b\n"), None)
    assert both(found["new.bin"]) == (None, (plain, b"\0\1"))
    assert both(found["link"]) == (("120000", b"a.txt"), ("120000", b"run.sh"))
    assert both(found["run.sh"]) == ((plain, b"#!/bin/sh\n"), (program, b"#!/bin/sh\n"))


def test_landed_changes_are_not_found_again(tree: Path) -> None:
    worktree = make(tree)
    there = Path(worktree.path)
    for name in ("a.txt", "c.txt"):
        (there / name).write_text("changed\n")
    (there / "sub/b.txt").unlink()
    found = worktree_git.result(worktree, ENV)
    landed = [it for it in found.changes if it.path != "c.txt"]
    worktree_git.record_landed(worktree, found.base, landed, ENV)
    assert changed(worktree).keys() == {"c.txt"}
    (there / "a.txt").write_text("again\n")
    git(there, "commit", "-qam", "again")
    again = changed(worktree)
    assert again.keys() == {"a.txt", "c.txt"}
    assert both(again["a.txt"])[0] == ("100644", b"changed\n")


def test_changes_are_compared_with_the_common_ancestor(tree: Path) -> None:
    worktree = make(tree)
    (tree / "sub/b.txt").write_text("newer\n")
    git(tree, "commit", "-qam", "newer")
    there = Path(worktree.path)
    (there / "a.txt").write_text("changed\n")
    git(there, "commit", "-qam", "change")
    git(there, "merge", "-q", "-m", "merge", "main")
    assert changed(worktree).keys() == {"a.txt"}
    assert not worktree_git.is_merged(worktree, ENV)
    git(tree, "merge", "-q", worktree.branch)
    assert worktree_git.is_merged(worktree, ENV)


@pytest.mark.parametrize(
    "move", ["merge -q --ff-only main", "rebase -q main", "reset -q --hard main"]
)
def test_a_worktree_that_was_only_brought_up_to_date_is_not_merged(tree: Path, move: str) -> None:
    worktree = make(tree)
    git(tree, "commit", "-q", "--allow-empty", "-m", "newer")
    git(Path(worktree.path), *move.split())
    assert not worktree_git.is_merged(worktree, ENV)
    git(Path(worktree.path), "commit", "-q", "--allow-empty", "-m", "own")
    git(tree, "merge", "-q", "--ff-only", worktree.branch)
    assert worktree_git.is_merged(worktree, ENV)


def test_a_removed_worktree_leaves_neither_files_nor_branch(tree: Path) -> None:
    worktree = make(tree)
    there = Path(worktree.path)
    (there / "a.txt").write_text("changed\n")
    git(there, "commit", "-qam", "change")
    assert worktree_git.remove(worktree, ENV)
    assert not there.exists()
    assert git(tree, "worktree", "list").count("\n") == 1
    assert git(tree, "branch", "--list", "acp/*") == ""
    assert not list(tree.parent.glob(".removed-*"))


def test_a_branch_with_commits_of_its_own_stays(tree: Path) -> None:
    worktree = make(tree)
    there = Path(worktree.path)
    (there / "a.txt").write_text("changed\n")
    git(there, "commit", "-qam", "change")
    git(there, "checkout", "-q", "--detach", "main")
    assert not worktree_git.remove(worktree, ENV)
    assert git(tree, "branch", "--list", "acp/*").strip() == "acp/new"


def test_a_link_in_place_of_a_worktree_is_not_followed(tree: Path, tmp_path: Path) -> None:
    worktree = make(tree)
    there = Path(worktree.path)
    shutil.copytree(there, tmp_path / "precious")
    shutil.rmtree(there)
    there.symlink_to(tmp_path / "precious")
    for function in (worktree_git.remove, worktree_git.result):
        with pytest.raises(StoreError):
            function(worktree, ENV)
    assert (tmp_path / "precious/a.txt").exists()


def test_a_locked_worktree_stays(tree: Path) -> None:
    worktree = make(tree)
    git(tree, "worktree", "lock", worktree.path)
    with pytest.raises(StoreError, match="locked"):
        worktree_git.remove(worktree, ENV)
    assert (Path(worktree.path) / "a.txt").exists()


def test_without_a_commit_or_a_work_tree_there_is_a_reason(tmp_path: Path) -> None:
    empty, bare = tmp_path / "empty", tmp_path / "bare"
    for folder, options in ((empty, []), (bare, ["--bare"])):
        folder.mkdir()
        git(folder, "init", "-q", *options)
    for folder, reason in ((tmp_path, "work tree"), (empty, "no commit"), (bare, "work tree")):
        with pytest.raises(StoreError, match=reason):
            worktree_git.find(str(folder), ENV)
    with pytest.raises(StoreError, match="not installed"):
        worktree_git.find(str(empty), {"PATH": str(tmp_path)})
    latin = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xe9"))
    latin.mkdir()
    (latin / "a.txt").write_text("a\n")
    repository(latin)
    with pytest.raises(StoreError, match="UTF-8"):
        worktree_git.find(str(latin), ENV)


def test_changes_left_behind_are_named(tree: Path) -> None:
    found, commit = worktree_git.find(str(tree), ENV)
    assert worktree_git.left_behind(found, commit, ENV) == []
    (tree / "a.txt").write_text("mine\n")
    (tree / "sub/new.txt").write_text("new\n")
    (tree / "out.log").write_text("ignored\n")
    git(tree, "rm", "-q", "run.sh")
    assert worktree_git.left_behind(found, commit, ENV) == ["a.txt", "run.sh", "sub/new.txt"]


def test_worktrees_that_are_made_at_the_same_time_get_different_branches(tree: Path) -> None:
    names = [f"there-{n}" for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda name: make(tree, name=name), names))
        named = list(pool.map(lambda it: worktree_git.rename_branch(it, "the file", ENV), made))
    assert sorted(named) == ["acp/the-file", *(f"acp/the-file-{n}" for n in (2, 3, 4))]
    listed = git(tree, "branch", "--list", "acp/*", "--format=%(refname:lstrip=2)").split()
    assert sorted(listed) == sorted(named)


def test_a_worktree_that_cannot_be_checked_out_leaves_nothing(tree: Path) -> None:
    (blob,) = git(tree, "rev-parse", "HEAD:a.txt").split()
    (tree / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(StoreError, match=r"a\.txt"):
        make(tree)
    assert not (tree.parent / "there").exists()
    assert git(tree, "worktree", "list").count("\n") == 1
    assert git(tree, "branch", "--list", "acp/*") == ""
    git(tree, "branch", "acp")
    with pytest.raises(StoreError, match="refs/heads/acp"):
        make(tree)


def test_repositories_within_a_worktree_are_named(tree: Path) -> None:
    inner = tree.parent / "inner"
    inner.mkdir()
    (inner / "x.txt").write_text("x\n")
    repository(inner)
    file = ["-c", "protocol.file.allow=always"]
    git(tree, *file, "submodule", "add", "-q", str(inner), "module")
    git(tree, "commit", "-qm", "module")
    worktree = make(tree)
    there = Path(worktree.path)
    git(there, *file, "submodule", "update", "-q", "--init")
    assert changed(worktree) == {}
    (there / "module/x.txt").write_text("changed\n")
    (there / "a.txt").write_text("changed\n")
    git(there, "init", "-q", "empty")
    (there / "run.sh").unlink()
    os.mkfifo(there / "run.sh")
    found = changed(worktree)
    assert found.keys() == {"a.txt", "empty", "module", "run.sh"}
    assert both(found["empty"])[1] == ("160000", b"")
    assert found["run.sh"].after is not None
    assert found["run.sh"].after.is_unread
    assert both(found["module"])[1] == ("160000", b"")


def test_many_changed_files_are_read_in_one_pass(tree: Path) -> None:
    worktree = make(tree)
    for n in range(400):
        Path(worktree.path, f"{n}.txt").write_bytes(b"%d\n" % n * 20_000)
    started = time.process_time()
    found = changed(worktree)
    assert time.process_time() - started < 5
    assert {len(it.after.data) for it in found.values() if it.after} == {40_000, 60_000, 80_000}


def test_a_content_that_is_too_large_or_missing_is_not_read(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worktree_git, "MOST_BYTES", 30)
    worktree = make(tree)
    Path(worktree.path, "large.txt").write_text("large\n" * 20)
    Path(worktree.path, "a.txt").write_text("new\n")
    (blob,) = git(tree, "rev-parse", "HEAD:a.txt").split()
    (tree / ".git/objects" / blob[:2] / blob[2:]).unlink()
    found = changed(worktree)
    files = found["large.txt"].after, found["a.txt"].before, found["a.txt"].after
    assert [it.is_unread for it in files if it] == [True, True, False]
    assert both(found["a.txt"]) == (("100644", b""), ("100644", b"new\n"))


def test_new_objects_have_the_permissions_of_the_repository(tree: Path) -> None:
    git(tree, "config", "core.sharedRepository", "group")
    before = set((tree / ".git/objects").rglob("*"))
    worktree = make(tree)
    Path(worktree.path, "new.txt").write_text("new\n")
    found = worktree_git.result(worktree, ENV)
    worktree_git.record_landed(worktree, found.base, found.changes, ENV)
    new = [path for path in (tree / ".git/objects").rglob("*") if path not in before]
    assert {path.stat().st_mode & 0o060 for path in new if path.is_dir()} == {0o060}
    assert {path.stat().st_mode & 0o040 for path in new} == {0o040}
