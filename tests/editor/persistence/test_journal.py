"""What the journal of a host leaves on disk, and when."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.killed_host import (
    journal_path,
    journaled_edits,
    kill_host,
    kill_host_once_written,
    read_journal,
    wait_host,
)
from tests.support.waiting import until

Edit = Callable[..., Editor]
PENDING = "#require('acp').state().sessions[1].edits == 1"


def wrote(editor: Editor) -> Path:
    """The agent has written a file, and the journal has it."""
    editor.agent("script")
    path = editor.write("a.txt", "one\ntwo\n")
    editor.turn(f'write {path} "one\\nTWO\\n"')
    editor.wait(PENDING)
    until(lambda: any(kind == "file" for kind, _ in read_journal(editor).values))
    return journal_path(editor)


def below(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def state(editor: Editor) -> Path:
    return Path(editor.lua("return vim.fn.stdpath('state')"))


def test_only_the_user_can_read_it(editor: Editor) -> None:
    path = wrote(editor)
    assert path.name.endswith(f"-{editor.lua('return vim.fn.getpid()')}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for directory in (path.parent, path.parent.parent):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_nothing_is_written_while_nothing_is_pending(editor: Editor) -> None:
    editor.setup({"checkpoints": False})
    path = editor.write("a.txt", "one\ntwo\n")
    editor.agent("script")
    editor.turn("hello")
    assert not journal_path(editor).parent.exists()
    editor.turn(f'write {path} "one\\nTWO\\n"')
    until(journal_path(editor).exists)
    editor.cmd("Acp accept all")
    until(lambda: not journal_path(editor).parent.exists())
    editor.turn(f'write {path} "one\\nThree\\n"')
    until(journal_path(editor).exists)


def test_nothing_is_left_when_neovim_has_ended(editor: Editor) -> None:
    wrote(editor)
    home = state(editor)
    editor.quit()
    assert not (home / "acp").exists()


def test_nor_when_its_host_was_dead_by_then(editor: Editor) -> None:
    wrote(editor)
    home = state(editor)
    kill_host(editor)
    editor.quit()
    assert not (home / "acp").exists()


def test_nor_when_another_host_had_taken_over(editor: Editor) -> None:
    wrote(editor)
    home = state(editor)
    kill_host_once_written(editor)
    editor.cmd("Acp edits")
    wait_host(editor)
    editor.wait("#vim.fn.getqflist() == 1")
    editor.quit()
    until(lambda: not (home / "acp").exists())


def test_nor_when_neovim_was_killed(editor: Editor) -> None:
    wrote(editor)
    home = state(editor)
    editor.kill()
    until(lambda: not (home / "acp").exists())


def test_what_a_killed_neovim_left_is_removed_by_the_next_one(editor: Editor) -> None:
    directory = state(editor) / "acp" / "journal"
    directory.mkdir(parents=True)
    living = directory / f"20260101-000000-{os.getpid()}"
    dead = directory / "20260101-000000-999999999"
    for path in (living, dead, dead.with_name(dead.name + ".new")):
        path.write_bytes(b"x")
    own = wrote(editor)
    until(lambda: below(directory) == sorted([living.name, own.name]))
    editor.quit()
    assert below(directory) == [living.name]


def test_nor_of_one_that_was_killed_with_its_host(edit: Edit, tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    first = edit(env=env)
    left = wrote(first)
    kill_host(first)
    first.kill()
    assert left.exists()
    second = edit(env=env)
    own = wrote(second)
    until(lambda: below(own.parent) == [own.name])


def test_one_that_somebody_removes_is_written_again(editor: Editor) -> None:
    path = wrote(editor)
    path.unlink()
    editor.turn("hello")
    until(path.exists)
    kill_host_once_written(editor)
    editor.cmd("Acp reject all")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    assert editor.events("AcpNotice") == []


def test_two_at_once_keep_to_their_own(edit: Edit, tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    editors = [edit(env=env), edit(env=env)]
    paths = [wrote(editor) for editor in editors]
    assert paths[0].parent == paths[1].parent
    editors[0].quit()
    until(lambda: not paths[0].exists())
    assert paths[1].exists()
    kill_host_once_written(editors[1])
    editors[1].cmd("Acp reject all")
    editors[1].wait("#require('acp').state().sessions[1].edits == 0")
    assert (editors[1].work / "a.txt").read_text() == "one\ntwo\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_where_it_cannot_be_written_that_is_told_once(editor: Editor) -> None:
    home = state(editor)
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o500)
    told_once(editor)


def test_where_a_file_is_in_its_way_that_is_told_once(editor: Editor) -> None:
    home = state(editor)
    home.mkdir(parents=True, exist_ok=True)
    (home / "acp").write_text("somebody else's")
    told_once(editor)
    assert (home / "acp").read_text() == "somebody else's"


def told_once(editor: Editor) -> None:
    editor.agent("script")
    path = editor.write("a.txt", "one\ntwo\n")
    editor.turn(f'write {path} "one\\nTWO\\n"')
    editor.wait(PENDING)
    notice = editor.wait_event("AcpNotice")
    assert "are not saved" in notice["title"]
    editor.turn(f'write {path} "one\\nThree\\n"')
    editor.turn("hello")
    assert len(editor.events("AcpNotice")) == 1
    kill_host(editor)
    editor.cmd("Acp edits")
    wait_host(editor)
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    assert path.read_text() == "one\nThree\n"


def test_it_grows_by_what_changes(editor: Editor) -> None:
    lines = [f"line {n}" for n in range(10_000)]
    path = editor.write("big.txt", "\n".join(lines) + "\n")
    editor.agent("script")
    editor.open(path)
    editor.turn(f"replace {path} 5000 five")
    editor.wait(PENDING)
    until(lambda: any(kind == "file" for kind, _ in read_journal(editor).values))
    before = journal_path(editor).stat().st_size
    for n in range(20):
        editor.lua("vim.api.nvim_buf_set_lines(0, ..., ..., true, { 'typed' })", n)
    editor.turn("hello")
    until(lambda: "typed" in str(bases(editor)))
    assert journal_path(editor).stat().st_size - before < 20_000


def bases(editor: Editor) -> list[str]:
    """The beginnings of the base texts in the journal."""
    files = journaled_edits(editor).files.values()
    return ["".join(one.base.lines[19:20]) for one in files if one.base]
