"""Steps that put changed files into the user's tree, on disk without Neovim."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from acp_nvim.edits.text import EMPTY, parse
from acp_nvim.features.worktrees import steps
from acp_nvim.features.worktrees.steps import Step
from acp_nvim.features.worktrees.worktree_git import LINK, NESTED, PROGRAM, Change, File
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.writes.change_set import FileChange

PLAIN = "100644"


class Globs(msgspec.Struct):
    """Options of guarded files."""

    secret: tuple[str, ...] = (".env",)
    executed: tuple[str, ...] = (".envrc",)


def step(
    tree: Path, before: File | None, after: File | None, name: str = "a", globs: Globs | None = None
) -> Step:
    (found,) = steps.steps([Change(name, before, after)], str(tree), globs or Globs())
    return found


def file(data: bytes, mode: str = PLAIN) -> File:
    return File(mode, data.hex(), data)


def test_a_text_is_merged_and_everything_else_is_asked_about(tmp_path: Path) -> None:
    old, new = file(b"a\n"), file(b"b\n")
    plain = step(tmp_path, old, new)
    assert plain.text == FileChange(plain.path, parse("a\n"), parse("b\n"))
    assert not plain.questions
    assert step(tmp_path, None, file(b"")).text == FileChange(plain.path, None, EMPTY)
    assert step(tmp_path, old, None).text == FileChange(plain.path, parse("a\n"), None)
    program = step(tmp_path, None, file(b"#!\n", PROGRAM))
    assert (program.executable, program.questions) == (True, [])
    for before, after, reason in (
        (old, file(b"\0"), "not a text file"),
        (file(b"\0"), None, "deleted"),
        (None, file(b"\xff\n"), "not a text file"),
        (None, file(b"a\r\n"), "line endings or encoding"),
        (old, file(b"a\r\n"), "line endings or encoding"),
        (None, file(b"/etc", LINK), "a symbolic link to /etc"),
        (old, file(b"/etc", LINK), "a symbolic link to /etc"),
    ):
        found = step(tmp_path, before, after)
        assert (found.text, found.is_guarded, found.questions) == (None, True, [reason])
    mode = step(tmp_path, old, file(b"b\n", PROGRAM))
    assert (mode.is_guarded, mode.questions) == (False, ["becomes executable"])
    assert mode.text is not None
    ends = step(tmp_path, file(b"a\r\n"), new)
    assert (ends.is_guarded, ends.questions) == (False, ["line endings: dos → unix"])
    assert ends.text == plain.text
    assert step(tmp_path, file(b"a\r\n"), file(b"b\r\n")).ends is None
    assert step(tmp_path, file(b"a\r\n"), file(b"a\r\nb\n")).ends is None, "mixed line ends"
    secret = step(tmp_path, old, new, "sub/.env")
    assert secret.line() == "sub/.env: a secret file"
    assert secret.is_guarded
    assert step(tmp_path, None, new, ".envrc").questions == ["other programs run it"]
    assert step(tmp_path, None, file(b"", NESTED)).blocked


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, file(b"\0")),
        (file(b"\0"), file(b"\1", PROGRAM)),
        (file(b"\0"), None),
        (None, file(b"a", LINK)),
        (file(b"\0"), file(b"a", LINK)),
        (file(b"a", LINK), file(b"b", LINK)),
        (file(b"a", LINK), file(b"\0")),
        (file(b"a", LINK), None),
    ],
)
def test_a_whole_file_is_copied_only_onto_an_unchanged_one(
    tmp_path: Path, before: File | None, after: File | None
) -> None:
    def put(file: File | None) -> None:
        if path.is_symlink() or path.exists():
            path.unlink()
        if file is not None and file.mode == LINK:
            path.symlink_to(os.fsdecode(file.data))
        elif file is not None:
            path.write_bytes(file.data)

    def present() -> tuple[bool, bytes] | None:
        if path.is_symlink():
            return True, os.fsencode(path.readlink())
        return (False, path.read_bytes()) if path.exists() else None

    path = tmp_path / "sub" / "x"
    path.parent.mkdir()
    made = step(tmp_path, before, after, "sub/x")
    put(before)
    for _ in range(2):  # the second time it is there already
        steps.copy(made)
        wanted = None if after is None else (after.mode == LINK, after.data)
        assert present() == wanted
    put(file(b"mine\0"))
    with pytest.raises(Refusal, match="different in your tree"):
        steps.copy(made)
    assert present() == (False, b"mine\0")


def test_no_link_is_followed_and_no_directory_replaced(tmp_path: Path) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    tree.mkdir()
    outside.mkdir()
    (tree / "sub").symlink_to(outside)
    (tree / "folder").mkdir()
    for name in ("sub/x", "folder"):
        with pytest.raises(Refusal):
            steps.copy(step(tree, None, file(b"\0"), name))
    assert list(outside.iterdir()) == []


def test_the_executable_bit_follows_the_right_to_read(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("")
    path.chmod(0o640)
    steps.set_executable(str(path), executable=True)
    assert path.stat().st_mode & 0o777 == 0o750
    steps.set_executable(str(path), executable=False)
    assert path.stat().st_mode & 0o777 == 0o640
