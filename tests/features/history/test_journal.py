"""Journal of pending edits: written when Neovim ends or is killed, read by the next one."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable
from pathlib import Path

from tests.support.editor import Editor
from tests.support.killed_host import (
    HOST_PID,
    has_files,
    is_written,
    journal_path,
    journaled_edits,
    kill_both,
    kill_host,
    kill_host_once_written,
    wait_host,
)
from tests.support.lua import lua_chunk
from tests.support.review_frames import marks
from tests.support.waiting import PATIENCE_S, until

Edit = Callable[..., Editor]
COUNT = """
local session = require('acp').state().sessions[1]
return ((session and session.edits[1] or {}).hunks or 0) == ...
"""
KILL_BOTH = lua_chunk(__file__, "kill_at_edit")
STOPPED = "return require('acp').state().host == 'stopped'"


def write_two_hunks(editor: Editor) -> Path:
    """Let the agent change two places of a file, and wait until the journal has them."""
    editor.agent("script")
    path = editor.write("a.txt", "one\ntwo\nthree\n")
    editor.turn(f'write {path} "one\\nTWO\\nthree\\nfour\\n"')
    editor.wait(COUNT, 2)
    until(lambda: has_files(editor) and is_written(editor))
    return path


def same_data(tmp_path: Path) -> dict[str, str]:
    """Return an environment that several Neovims of one user share."""
    return {"XDG_DATA_HOME": str(tmp_path / "data")}


def test_killing_neovim_with_its_host_loses_nothing(edit: Edit, tmp_path: Path) -> None:
    env = same_data(tmp_path)
    first = edit(env=env)
    path = write_two_hunks(first)
    journal = journal_path(first)
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.parent.stat().st_mode) == 0o700
    kill_both(first)
    second = edit(env=env, work=first.work)
    second.cmd("enew")
    assert second.lua(STOPPED)
    second.open("a.txt")
    second.wait(COUNT, 2)
    until(lambda: [mark["first"] for mark in marks(second)] == [1, 3])
    session = second.state()["sessions"][0]
    assert (session["agent"], session["status"]) == ("script", "closed")
    second.cmd("2")
    second.cmd("Acp accept")
    second.wait(COUNT, 1)
    second.cmd("Acp reject file")
    second.wait(COUNT, 0)
    until(lambda: path.read_text() == "one\nTWO\nthree\n")
    until(lambda: is_written(second), what="the journal is written")
    kill_both(second)
    third = edit(env=env, work=first.work)
    third.cmd("Acp unreject")
    third.wait(COUNT, 1)
    until(lambda: path.read_text() == "one\nTWO\nthree\nfour\n")
    third.cmd("Acp checkpoints")
    third.wait("vim.bo.filetype == 'acpcheckpoints'")
    third.cmd("Acp restore 1")
    until(lambda: path.read_text() == "one\ntwo\nthree\n")


def test_edits_are_in_the_journal_before_they_are_shown(edit: Edit, tmp_path: Path) -> None:
    env = same_data(tmp_path)
    first = edit(env=env)
    first.agent("script")
    path, other = first.write("a.txt", "one\ntwo\nthree\n"), first.work / "b.txt"
    first.turn("say hello")
    host = first.lua(HOST_PID)
    first.errors_expected = True
    first.lua(KILL_BOTH, "b.txt", host)
    first.prompt(f'write {path} "one\\nTWO\\nthree\\n"\nsay between\nwrite {other} "new\\n"')
    first.rpc.process.wait(PATIENCE_S)
    second = edit(env=env, work=first.work)
    second.open("a.txt")
    second.wait("#((require('acp').state().sessions[1] or {}).edits or {}) == 2")
    kinds = {Path(it["path"]).name: it["kind"] for it in second.state()["sessions"][0]["edits"]}
    assert kinds == {"a.txt": "modified", "b.txt": "created"}


def test_a_write_is_the_agents_although_its_journal_was_never_written(
    edit: Edit, tmp_path: Path
) -> None:
    env = same_data(tmp_path)
    first = edit(env=env)
    first.agent("script")
    path = first.write("a.txt", "one\ntwo\nthree\n")
    journal = journal_path(first)
    journal.parent.mkdir(parents=True)
    lock = os.open(journal.parent / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)  # no process can write its journal
    first.turn(f'write {path} "one\\nTWO\\nthree\\nfour\\n"')
    first.wait(COUNT, 2)
    kill_both(first)
    os.close(lock)
    assert path.read_text() == "one\nTWO\nthree\nfour\n"
    assert not journal.exists()
    second = edit(env=env, work=first.work)
    second.cmd("Acp edits")
    second.wait("#vim.fn.getqflist() == 2")
    session = second.state()["sessions"][0]
    assert (session["agent"], session["status"]) == ("script", "closed")
    second.cmd("Acp reject all")
    until(lambda: path.read_text() == "one\ntwo\nthree\n")


def test_a_command_may_be_the_first_to_read_the_journal(edit: Edit, tmp_path: Path) -> None:
    env = same_data(tmp_path)
    first = edit(env=env)
    write_two_hunks(first)
    first.quit()
    second = edit(env=env, work=first.work)
    second.cmd("Acp edits")
    second.wait("#vim.fn.getqflist() == 2")
    second.cmd("Acp accept all")
    second.wait(COUNT, 0)
    second.wait_message("Accepted 2 hunks in a.txt")
    second.quit()
    third = edit(env=env, work=first.work)
    third.open("a.txt")
    assert third.lua(STOPPED)


def test_discarded_unsaved_text_is_set_aside_and_listed(edit: Edit, tmp_path: Path) -> None:
    env = same_data(tmp_path)
    first = edit(env=env)
    first.setup({"files": {"save": "never"}})
    path = write_two_hunks(first)
    assert path.read_text() == "one\ntwo\nthree\n"
    first.quit()
    second = edit(env=env, work=first.work)
    second.open("a.txt")
    second.wait_message("The edits of a.txt are parked. :Acp edits parked lists them")
    second.cmd("Acp edits parked")
    second.wait("#vim.fn.getqflist() == 2")
    assert "parked: +1 -1 TWO" in second.lua("return vim.fn.getqflist()[1].text")
    second.cmd("Acp edits drop a.txt")
    second.wait_message("Dropped the parked edits of a.txt")
    second.cmd("Acp edits parked")
    second.wait_message("No edits are parked")


def test_two_neovims_show_the_same_edits_and_decide_once(edit: Edit, tmp_path: Path) -> None:
    env = same_data(tmp_path)
    first = edit(env=env)
    path = write_two_hunks(first)
    second = edit(env=env, work=first.work)
    second.open("a.txt")
    second.wait(COUNT, 2)
    second.cmd("2")
    second.cmd("Acp reject")
    second.wait(COUNT, 1)
    first.wait(COUNT, 1)
    first.turn(f'write {path} "ONE\\ntwo\\nthree\\nfour\\n"')
    second.wait(COUNT, 2)
    until(lambda: second.lines(str(path)) == ["ONE", "two", "three", "four"])
    second.cmd("Acp accept all")
    first.wait(COUNT, 0)
    assert path.read_text() == "ONE\ntwo\nthree\nfour\n"
    kill_both(first)
    second.cmd("Acp unreject")
    second.wait(COUNT, 1)


def test_a_deleted_journal_is_written_again(editor: Editor) -> None:
    path = write_two_hunks(editor)
    journal = journal_path(editor)
    journal.unlink()
    editor.turn("hello")
    until(lambda: has_files(editor))
    kill_host_once_written(editor)
    editor.cmd("Acp reject all")
    editor.wait(COUNT, 0)
    assert path.read_text() == "one\ntwo\nthree\n"
    assert editor.events("AcpNotice") == []


def test_a_file_in_the_way_of_the_journal_is_reported_once(editor: Editor) -> None:
    data = Path(editor.lua("return vim.fn.stdpath('data')"))
    data.mkdir(parents=True, exist_ok=True)
    (data / "acp").mkdir(exist_ok=True)
    (data / "acp" / "workspaces").write_text("somebody else's")
    editor.agent("script")
    path = editor.write("a.txt", "one\ntwo\n")
    editor.turn(f'write {path} "one\\nTWO\\n"')
    editor.wait(COUNT, 1)
    notice = editor.wait_event("AcpNotice")
    assert "are not saved" in notice["title"]
    editor.turn(f'write {path} "one\\nThree\\n"')
    editor.turn("hello")
    assert len(editor.events("AcpNotice")) == 1
    kill_host(editor)
    editor.cmd("Acp edits")
    wait_host(editor)
    editor.wait(COUNT, 0)
    assert path.read_text() == "one\nThree\n"


def test_the_journal_grows_by_the_size_of_changes(editor: Editor) -> None:
    lines = [f"line {n}" for n in range(10_000)]
    path = editor.write("big.txt", "\n".join(lines) + "\n")
    editor.agent("script")
    editor.open(path)
    editor.turn(f"replace {path} 5000 five")
    editor.wait(COUNT, 1)
    until(lambda: has_files(editor))
    before = journal_path(editor).stat().st_size
    for n in range(20):
        editor.lua("vim.api.nvim_buf_set_lines(0, ..., ..., true, { 'typed' })", n)
    editor.cmd("write")
    editor.turn("hello")
    until(lambda: "typed" in str(bases(editor)))
    assert journal_path(editor).stat().st_size - before < 20_000


def bases(editor: Editor) -> list[str]:
    """Return the first bytes of the base texts in the journal."""
    return ["".join(one.base.lines[19:20]) for one in journaled_edits(editor).values() if one.base]
