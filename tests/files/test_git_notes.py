"""Git notes on the current commit: in the plugin's ref, without other changes to the repository."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from acp_nvim.files.checkpoints import git_notes
from acp_nvim.files.checkpoints.git_notes import NotNotedError
from tests.support.git import git, repository

REF = "refs/notes/acp"
NOTE = b'{"tool":{"name":"acp.nvim"},"files":[1]}\n'


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "inner").mkdir(parents=True)
    (work / "a.txt").write_text("one\ntwo\n")
    (work / "inner" / "b c.txt").write_bytes("ä\r\nzwei".encode())
    repository(work)
    return work


def write(work: Path, note: bytes, ref: str = REF) -> None:
    git_notes.write(git_notes.head(str(work), os.environ), ref, note, os.environ)


def shown(work: Path, ref: str = REF) -> str:
    return git(work, "notes", f"--ref={ref}", "show", "HEAD")


def picture(work: Path) -> dict[str, bytes]:
    """Return all files except objects and the plugin's ref."""
    files = (path for path in work.rglob("*") if path.is_file())
    kept = (it for it in files if "objects" not in it.parts and "notes" not in it.parts)
    return {str(path): path.read_bytes() for path in kept}


def test_a_note_is_written_and_nothing_else_changes(work: Path) -> None:
    (work / "a.txt").write_text("staged\n")
    git(work, "add", "a.txt")
    (work / "a.txt").write_text("not staged\n")
    before = picture(work)
    write(work, NOTE)
    assert picture(work) == before
    assert shown(work) == NOTE.decode()
    write(work, NOTE.replace(b"1", b"2"))
    assert shown(work) == NOTE.replace(b"1", b"2").decode()
    assert git(work, "notes").strip() == "", "none in git's own ref"
    git(work, "commit", "-qm", "next")
    write(work, NOTE)
    assert len(git(work, "notes", f"--ref={REF}", "list").splitlines()) == 2
    git(work, "fsck", "--strict")


def test_another_note_in_the_users_ref_is_left_alone(work: Path) -> None:
    git(work, "notes", "add", "-m", "mine")
    with pytest.raises(NotNotedError, match="has another note on commit"):
        write(work, NOTE, "refs/notes/commits")
    assert shown(work, "refs/notes/commits") == "mine\n"


def test_texts_of_the_commit_are_read_without_filters(work: Path) -> None:
    (work / "a.txt").write_text("other\n")
    commit = git_notes.head(str(work), os.environ)
    names = ["a.txt", "new blob", "inner/b c.txt", "inner"]
    found = git_notes.texts(commit, [str(work / name) for name in names], os.environ)
    assert {path.removeprefix(f"{work}/"): str(text) for path, text in found.items()} == {
        "a.txt": "one\ntwo\n",
        "inner/b c.txt": "ä\nzwei",
    }


def test_a_missing_repository_or_commit_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotNotedError, match="No git repository"):
        git_notes.head(str(tmp_path), os.environ)
    git(tmp_path, "init", "-q")
    with pytest.raises(NotNotedError, match="No commit"):
        git_notes.head(str(tmp_path), os.environ)


def test_no_hook_of_the_repository_runs(work: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for name in ("reference-transaction", "post-index-change", "post-commit"):
        hook = work / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
        hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    write(work, NOTE)
    assert shown(work) == NOTE.decode()
    assert not ran.exists()


def test_a_linked_work_tree_and_a_note_in_packed_refs(work: Path, tmp_path: Path) -> None:
    write(work, NOTE)
    git(work, "pack-refs", "--all")
    linked = tmp_path / "linked"
    git(work, "worktree", "add", "-q", "-b", "side", str(linked))
    write(linked, NOTE.replace(b"1", b"3"))
    assert shown(work) == shown(linked) == NOTE.replace(b"1", b"3").decode()
