"""Two Neovims in one directory: files that one of them saves while an agent of the other works."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.killed_host import HOST_PID, journaled_edits, kill_host
from tests.support.pending_edits import (
    LINES,
    edits,
    reject_all,
    wait_edits,
    wait_hunks,
)
from tests.support.small_disk import small_disk
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

FORMAT = "autocmd BufWritePost a.txt silent !sed -i s/^four$/4/ a.txt"


@pytest.fixture
def second(edit: Callable[..., Editor], plain: Editor) -> Editor:
    """Return a second Neovim in the directory of `plain`, whose user has started no agent."""
    return edit(work=plain.work, env={"XDG_DATA_HOME": str(plain.home / "data")})


def save(editor: Editor, row: int, line: str, name: str = "a.txt", saved: str = "") -> None:
    """Type a line below a row of a file, and save it, as the user."""
    editor.cmd(f"edit {name} | checktime")
    editor.keys(f"{row}Go{line}<Esc>:silent write<CR>")
    until(lambda: f"{saved or line}\n" in (editor.work / name).read_text(), what=line)


def save_other_line(second: Editor) -> None:
    """Save another third line of a.txt than the first Neovim has."""
    second.cmd("edit a.txt")
    second.keys("3Gcctheirs<Esc>:silent write<CR>")
    until(lambda: "theirs\n" in (second.work / "a.txt").read_text())


def decline_overwrite(editor: Editor) -> None:
    """Write the buffer, and answer "no" when Neovim asks whether to overwrite the file."""
    editor.keys(":write<CR>")
    until(lambda: "(y/n)?" in "\n".join(editor.screen()))
    editor.keys("n")
    until(lambda: "?n" in "\n".join(editor.screen()) or not editor.rpc.mode()["blocking"])
    editor.keys("<CR>")


def test_saves_in_another_neovim_are_not_the_agents(plain: Editor, second: Editor) -> None:
    path, inboxes = plain.write("a.txt", LINES), plain.home / "data/nvim/acp/saves"
    plain.write("f.txt", "f\n")
    plain.open("a.txt")
    agent = StepwiseAgent.at_work(plain)
    save(second, 2, "one")
    save(second, 1, "new", "n.txt")
    second.cmd("silent write o.txt")
    agent.ask("replace", str(path), "line 15", "fifteen")
    wait_hunks(plain, 1)
    save(second, 4, "two")
    save(second, 5, "three")  # both are found at once
    agent.ask("runs", "sed -i 's/line 10$/ten/' a.txt")
    wait_hunks(plain, 2)
    second.cmd(FORMAT)
    save(second, 20, "four", saved="4")
    second.cmd("edit f.txt | autocmd BufWritePre f.txt throw 'stop'")
    second.keys("Gofailed<Esc>:try | write | catch | endtry<CR>")
    agent.ask("runs", "echo agent >>f.txt")
    wait_edits(plain, a="modified", f="modified")
    assert [inbox.stat().st_mode & 0o77 for inbox in inboxes.iterdir()] == [0]
    agent.end()
    assert (plain.work / "f.txt").read_text() == "f\nagent\n"
    wait_hunks(plain, 2, 1)
    reject_all(plain)
    wait_edits(plain)
    rows = ["line 1", "line 2", "one", "line 3", "two", "three", *LINES.split("\n")[3:]]
    rows.insert(20, "4")
    until(lambda: path.read_text().split("\n") == rows, what="\n".join(rows))
    assert (plain.work / "n.txt").exists()
    assert (plain.work / "o.txt").exists()


@pytest.mark.parametrize("is_found_first", [True, False])
def test_neovim_asks_before_it_overwrites_a_save_that_its_buffer_lacks(
    plain: Editor, second: Editor, is_found_first: bool
) -> None:
    """The save alone conflicts with the unsaved line, or the agent's later change with it."""
    path = plain.write("a.txt", LINES)
    plain.open("a.txt")
    agent = StepwiseAgent.at_work(plain)
    agent.ask("replace", str(path), "line 15", "fifteen")
    wait_hunks(plain, 1)
    plain.keys("3Gccmine<Esc>")
    save_other_line(second)
    if is_found_first:
        agent.ask("runs", str(path), "true")
    agent.ask("runs", "sed -i 's/line 10$/ten/' a.txt")
    plain.wait(
        "(function(edit) return edit.hunks == 2 or edit.conflict end)"
        "(require('acp').state().sessions[1].edits[1])"
    )
    decline_overwrite(plain)
    assert "theirs\n" in path.read_text()
    plain.cmd("write!")
    assert "mine\n" in path.read_text()
    agent.ask("runs", "sed -i 's/line 12$/twelve/' a.txt")
    plain.wait("vim.api.nvim_buf_get_lines(0, 11, 12, true)[1] == 'twelve'")
    plain.keys("Gomore<Esc>:write<CR>")
    until(lambda: "more\n" in path.read_text())
    agent.end()


def test_a_write_that_the_user_declines_is_not_a_save(plain: Editor, second: Editor) -> None:
    """The agent's change before the question, and the one during it, stay the agent's."""
    path = plain.write("a.txt", LINES)
    agent = StepwiseAgent.at_work(plain)
    second.cmd("edit a.txt")
    second.keys("3Gccmine<Esc>")
    go = plain.home / "go"
    command = f"sed -i 's/line 10$/ten/' a.txt; until test -e {go}; do sleep .02; done"
    done = agent.order("runs", command)
    until(lambda: "ten\n" in path.read_text())
    second.keys(":write<CR>")
    until(lambda: "(y/n)?" in "\n".join(second.screen()))
    path.write_text(path.read_text().replace("line 12\n", "twelve\n"))
    second.keys("n")
    until(lambda: "?n" in "\n".join(second.screen()) or not second.rpc.mode()["blocking"])
    second.keys("<CR>")
    go.touch()
    until(lambda: done in agent.traffic.notes())
    wait_hunks(plain, 2)
    agent.end()
    reject_all(plain)
    until(lambda: path.read_text() == LINES)


@pytest.mark.parametrize("is_host_killed", [True, False])
def test_neovim_asks_before_it_overwrites_a_save_from_before_the_host_was_started(
    plain: Editor, second: Editor, is_host_killed: bool
) -> None:
    path = plain.write("a.txt", LINES)
    plain.open("a.txt")
    earlier = StepwiseAgent.at_work(plain) if is_host_killed else None
    plain.keys("3Gccmine<Esc>")
    save_other_line(second)
    if earlier is not None:
        earlier.end()
        kill_host(plain)
    agent = StepwiseAgent.at_work(plain, "again")
    plain.keys(":write<CR>y<Esc>")  # typed before the question
    plain.wait_message("Not written")
    assert "theirs\n" in path.read_text()
    agent.ask("runs", str(path), f"sed -i 's/line 10$/ten/' {path}")
    plain.wait("vim.api.nvim_buf_get_lines(0, 9, 10, true)[1] == 'ten'")
    decline_overwrite(plain)
    assert "theirs\n" in path.read_text()
    agent.end()


def test_a_note_that_a_full_disk_cuts_off_is_removed(
    edit: Callable[..., Editor], tmp_path: Path
) -> None:
    """Notes behind a part of one could not be read."""
    with small_disk(tmp_path / "disk", 256) as disk:
        inbox = disk.path / "nvim/acp/saves/other.1.1"
        inbox.parent.mkdir(parents=True)
        inbox.write_text("-\n")
        editor = edit(env={"XDG_DATA_HOME": str(disk.path)})
        editor.write("a.txt", LINES * 100)
        editor.open("a.txt")
        disk.fill()
        save(editor, 1, "one")
        assert inbox.read_text().startswith("-\nbegin ")
        assert "\nline 1\n" not in inbox.read_text()
        disk.free()
        save(editor, 1, "two")
        assert inbox.read_text().count("\none\n") == 2
        editor.kill()


def test_unsaved_lines_that_another_neovim_finds_after_their_save_stay_the_agents(
    plain: Editor, second: Editor
) -> None:
    """The other Neovim reads the file before the host here knows of the save."""
    path, other = plain.write("a.txt", LINES), plain.write("b.txt", "b\n")
    plain.open("a.txt")
    second.agent("script")
    second.open("a.txt")
    second.turn("say hello")
    plain.keys("Gomine<Esc>")
    plain.turn(f"replace {path} 'line 3' three\nreplace {other} b B")
    wait_edits(plain, a="modified", b="modified")
    until(lambda: len(edits(second, 2)) == 1)
    host = plain.lua(HOST_PID)
    os.kill(host, signal.SIGSTOP)
    plain.keys("Gomore<Esc>:silent write<CR>")
    until(lambda: "three\n" in path.read_text())
    second.cmd("checktime")
    until(lambda: str(path) not in journaled_edits(second), what="not taken for the user's")
    os.kill(host, signal.SIGCONT)
    wait_edits(plain, a="modified", b="modified")
    until(lambda: len(edits(second, 2)) == 2)
    second.cmd("Acp reject all")
    until(lambda: path.read_text() == f"{LINES}mine\nmore\n")
