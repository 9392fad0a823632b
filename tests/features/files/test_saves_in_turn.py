"""Saves by the user while an agent is at work: Neovim does not prompt, no text is lost, and the
user's saves are not the agent's.
"""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.killed_host import HOST_PID
from tests.support.lua import lua_chunk
from tests.support.pending_edits import LINES, edits_by_name, lines, reject_all, wait_count
from tests.support.script_lines import shell, silently
from tests.support.waiting import until

WATCH_LATE = lua_chunk(__file__, "watch_late")


@pytest.fixture
def project(editor: Editor) -> Editor:
    """Return an editor in a turn where the agent waits for `go`, changes line 4 on disk, and waits
    again.
    """
    editor.write("a.txt", LINES)
    repository(editor.work)
    editor.agent("script")
    editor.open("a.txt")
    home = editor.home
    change = json.dumps(f"sed -i 's/^line 4$/four/' a.txt; touch {home}/changed")
    editor.prompt(f"until_there {home}/go\nsilently {change}\nuntil_there {home}/end")
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    return editor


def change(editor: Editor) -> None:
    """Let the agent make its change."""
    (editor.home / "go").touch()
    until((editor.home / "changed").exists)


def end(editor: Editor) -> None:
    (editor.home / "end").touch()
    editor.wait_event("AcpTurnEnd")


def save(editor: Editor, done: str) -> None:
    """Type `:w` and wait until it is done."""
    editor.cmd("autocmd BufWritePost * ++once lua _G.written = true")
    editor.keys(":w<CR>")
    editor.wait("not vim.bo.modified and " + done)
    assert not editor.rpc.mode()["blocking"]


WRITTEN = "_G.written"


def test_saving_an_unchanged_buffer_takes_the_agents_change(project: Editor) -> None:
    change(project)
    save(project, WRITTEN)
    assert (project.work / "a.txt").read_text() == lines(l4="four")
    end(project)
    project.wait("#require('acp').state().sessions[1].edits == 1")
    assert edits_by_name(project)["a.txt"]["hunks"] == 1


def test_saving_a_reloaded_buffer_leaves_the_change_pending(project: Editor) -> None:
    change(project)
    project.cmd("checktime")
    project.wait("vim.fn.getline(4) == 'four'")
    save(project, WRITTEN)
    end(project)
    project.wait("#require('acp').state().sessions[1].edits == 1")


def test_edits_elsewhere_are_merged_before_they_are_saved(project: Editor) -> None:
    project.lua("vim.fn.setline(16, 'mine')")
    change(project)
    save(project, WRITTEN)
    assert (project.work / "a.txt").read_text() == lines(l4="four", l16="mine")
    end(project)
    project.wait("#require('acp').state().sessions[1].edits == 1")
    reject_all(project)
    project.wait("#require('acp').state().sessions[1].edits == 0")
    assert (project.work / "a.txt").read_text() == lines(l16="mine")


NOTE_MERGES = """
local changes = require('acp.buffers.disk_changes') local merge = changes.merge_change
function changes.merge_change(...) vim.g.has_tried = true return merge(...) end
"""


def test_a_change_is_merged_after_the_formatter_of_a_save(project: Editor) -> None:
    """The formatter may wait for its language server, and then change lines by their numbers."""
    project.wait("require('acp.buffers.watch').at_work(...)", str(project.work / "a.txt"))
    wait = "call wait(30000, {-> exists('g:has_tried')}, 5) | let g:seen = getline(4)"
    project.cmd(f"autocmd BufWritePre a.txt if &modified | {wait} | endif")
    save(project, WRITTEN)  # the plugin's own autocommand comes last again
    project.lua(NOTE_MERGES)
    project.lua("vim.fn.setline(16, 'mine')")
    project.rpc.notify("nvim_command", "write")
    change(project)
    end(project)
    project.wait("vim.g.seen == 'line 4' and not vim.bo.modified")
    until(lambda: (project.work / "a.txt").read_text() == lines(l4="four", l16="mine"))


CHANGED_IN_THE_SAME_TICK = lua_chunk(__file__, "write_with_same_mtime")


def test_a_change_within_the_clock_tick_of_the_users_last_save_is_merged(project: Editor) -> None:
    """The file has the same modification time as after the save."""
    project.lua(CHANGED_IN_THE_SAME_TICK)
    save(project, WRITTEN)
    assert (project.work / "a.txt").read_text() == lines(l4="LINE 4", l12="more", l16="mine")
    change(project)
    end(project)
    project.wait("#require('acp').state().sessions[1].edits == 1")
    assert edits_by_name(project)["a.txt"]["hunks"] == 1


def test_a_save_over_an_unreported_conflict_keeps_it_listed(project: Editor) -> None:
    project.lua("vim.fn.setline(4, 'mine')")
    change(project)
    save(project, "vim.fn.execute('messages'):find('the same lines on disk')")
    assert (project.work / "a.txt").read_text() == lines(l4="mine")
    end(project)
    assert edits_by_name(project)["a.txt"]["conflict"]
    project.lua("vim.fn.setline(5, 'five')")
    save(project, "true")
    project.wait("#require('acp').state().sessions[1].edits == 0")


def test_files_that_the_user_writes_elsewhere_are_theirs(project: Editor) -> None:
    project.lua("vim.fn.setline(1, 'é')")
    for command in (
        "w copy.txt",
        "1,2w part.txt",
        "1w >> part.txt",
        "w ++enc=latin1",
        "saveas b.txt",
        "set fileencoding=latin1 | call setline(2, '€') | write",
    ):
        project.cmd("silent " + command)
    assert (project.work / "part.txt").read_text() == "é\nline 2\né\n"
    assert (project.work / "a.txt").read_bytes().startswith(b"\xe9\n")
    assert (project.work / "b.txt").read_bytes().startswith(b"\xe9\n\xbf\n")
    (project.home / "end").touch()
    (project.home / "go").touch()
    project.wait_event("AcpTurnEnd")
    project.wait("#require('acp').state().sessions[1].edits > 0")
    assert list(edits_by_name(project)) == ["a.txt"]  # changed by the agent afterwards


SLOW_FRAMES = lua_chunk(__file__, "delay_frames")


def test_a_save_as_soon_as_the_agent_has_the_prompt_is_the_users(editor: Editor) -> None:
    """Saves are reported from the start of the turn, however late frames are drawn."""
    editor.write("a.txt", LINES)
    repository(editor.work)
    editor.agent("script")
    editor.open("a.txt")
    editor.turn("say hello")
    editor.wait("not require('acp.buffers.watch').at_work(...)", str(editor.work / "a.txt"))
    editor.lua(SLOW_FRAMES)
    change = json.dumps("sed -i 's/^line 4$/four/' a.txt")
    editor.prompt(f"until_there {editor.home}/go\nsilently {change}")
    until(lambda: "waiting" in editor.traffic[0].notes())
    editor.lua("vim.fn.setline(16, 'mine') vim.cmd('silent write')")
    (editor.home / "go").touch()
    until(lambda: "four" in (editor.work / "a.txt").read_text())
    editor.lua("_G.go_on = true")
    editor.wait_event("AcpTurnEnd", 2)
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    found = edits_by_name(editor)["a.txt"]
    assert (found["hunks"], found["added"]) == (1, 1)
    reject_all(editor)
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    assert (editor.work / "a.txt").read_text() == lines(l16="mine")


@pytest.mark.parametrize("again", ["touch -d '1 hour ago' a.txt", "cp a.txt x; mv x a.txt"])
def test_a_touched_or_replaced_file_with_the_same_text_is_saved(editor: Editor, again: str) -> None:
    editor.write("a.txt", LINES)
    repository(editor.work)
    editor.agent("script")
    editor.open("a.txt")
    command = json.dumps(f"{again}; touch {editor.home}/changed")
    editor.prompt(f"silently {command}\nuntil_there {editor.home}/end")
    until((editor.home / "changed").exists)
    editor.lua("vim.fn.setline(16, 'mine')")
    save(editor, WRITTEN)
    assert (editor.work / "a.txt").read_text() == lines(l16="mine")
    end(editor)
    assert "a.txt" not in edits_by_name(editor)


@pytest.mark.parametrize("again", ["touch -d '1 hour ago' a.txt", "cp a.txt x; mv x a.txt"])
@pytest.mark.parametrize("first", [False, True])
def test_a_file_touched_or_replaced_in_an_earlier_turn_is_saved(
    editor: Editor, again: str, first: bool
) -> None:
    """The user types before that, or afterwards."""
    editor.write("a.txt", LINES)
    repository(editor.work)
    editor.agent("script")
    editor.open("a.txt")
    if first:
        editor.lua("vim.fn.setline(16, 'mine')")
    editor.turn(silently(again))
    editor.wait("not require('acp.buffers.watch').at_work(...)", str(editor.work / "a.txt"))
    editor.wait("require('acp.buffers.disk_changes').is_settled()")
    editor.lua("vim.fn.setline(16, 'mine')")
    save(editor, WRITTEN)
    assert (editor.work / "a.txt").read_text() == lines(l16="mine")


@pytest.mark.parametrize("ended", [False, True])
def test_a_file_that_no_store_keeps_is_not_overwritten_without_a_prompt(
    editor: Editor, ended: bool
) -> None:
    """Its content before the agent's change is unknown, so Neovim prompts as usual.

    Keys that are typed before the prompt do not answer it.
    """
    editor.write(".gitignore", "a.txt\n")
    repository(editor.work)
    path = editor.write("a.txt", LINES)
    editor.agent("script")
    editor.open("a.txt")
    editor.lua("vim.fn.setline(16, 'mine')")
    home = editor.home
    change = json.dumps(f"sed -i 's/^line 4$/four/' a.txt; touch {home}/changed")
    editor.prompt(f"silently {change}\nuntil_there {home}/end")
    until((home / "changed").exists)
    if ended:
        end(editor)
        editor.wait("not require('acp.buffers.watch').at_work(...)", str(path))
        editor.wait("require('acp.buffers.disk_changes').is_settled()")
    if not ended:
        editor.keys(":w<CR>oyes, new<Esc>")
        editor.wait_message("a.txt has changed on disk. Not written")
        assert editor.lua("return vim.fn.getline(2)") == "yes, new"
    editor.keys(":w<CR>")
    editor.wait_screen("Do you really want to write to it")
    editor.keys("n")
    editor.wait_screen("Press ENTER")
    editor.keys("<CR>")
    editor.wait("vim.bo.modified")
    assert path.read_text() == lines(l4="four")
    (home / "end").touch()
    editor.wait_event("AcpTurnEnd")
    assert editor.lua("return vim.fn.search('^mine$', 'n')") == (16 if ended else 17)
    editor.errors_expected = True


def test_a_write_while_the_host_hangs_overwrites_nothing(project: Editor) -> None:
    """Text that is typed meanwhile stays text, and the file is merged later."""
    project.wait("require('acp.buffers.watch').at_work(...)", str(project.work / "a.txt"))
    project.lua("vim.fn.setline(16, 'mine')")
    host = project.lua(HOST_PID)
    os.kill(host, signal.SIGSTOP)
    change(project)
    project.cmd("inoremap <C-s> <Cmd>write<CR>")
    project.keys("Goy an<C-s>d n<Esc>")
    project.wait_message("a.txt has changed on disk. Not written. :write! overwrites it")
    project.keys("15G0R<C-s>dd<Esc>")
    project.wait("vim.fn.getline(15) == 'ddne 15'")
    os.kill(host, signal.SIGCONT)
    project.wait("vim.fn.getline(4) == 'four'")
    assert (project.work / "a.txt").read_text() == lines(l4="four")
    save(project, WRITTEN)
    text = (project.work / "a.txt").read_text()
    assert text == lines(l4="four", l15="ddne 15", l16="mine") + "y and n\n"
    end(project)
    project.wait("#require('acp').state().sessions[1].edits == 1")
    assert edits_by_name(project)["a.txt"]["hunks"] == 1


def test_a_declined_write_is_not_a_save(project: Editor) -> None:
    project.wait("require('acp.buffers.watch').at_work(...)", str(project.work / "a.txt"))
    project.lua("vim.fn.setline(16, 'mine')")
    host = project.lua(HOST_PID)
    os.kill(host, signal.SIGSTOP)
    change(project)
    project.cmd("autocmd! acp.user_writes")
    project.keys(":w<CR>")
    project.wait_screen("Do you really want to write to it")
    project.keys("n")
    project.wait_screen("Press ENTER")
    project.keys("<CR>")
    os.kill(host, signal.SIGCONT)
    end(project)
    project.wait("vim.fn.getline(4) == 'four'")
    assert project.lua("return vim.fn.getline(16)") == "mine"
    assert project.lua("return vim.bo.modified")
    project.wait("#require('acp').state().sessions[1].edits == 1")
    assert edits_by_name(project)["a.txt"]["hunks"] == 1


def test_a_save_after_another_change_to_a_conflicting_file_is_merged(project: Editor) -> None:
    """This save does not prompt either."""
    project.lua("vim.fn.setline(4, 'mine')")
    change(project)
    save(project, "vim.fn.execute('messages'):find('the same lines on disk')")
    project.lua("vim.fn.setline(4, 'mine again')")
    path = project.work / "a.txt"
    path.write_text(path.read_text().replace("line 9\n", "nine\n"))
    project.cmd("messages clear")
    save(project, WRITTEN)
    assert path.read_text() == lines(l4="mine again", l9="nine")
    end(project)


@pytest.mark.parametrize("read", ["edit", "checktime"])
@pytest.mark.parametrize("then", ["", "silent write"])
def test_a_change_that_neovim_reads_before_the_scan_is_the_agents(
    project: Editor, read: str, then: str
) -> None:
    change(project)
    project.lua("vim.cmd(...) vim.fn.setline(16, 'mine') vim.cmd(select(2, ...))", read, then)
    end(project)
    project.wait("#require('acp').state().sessions[1].edits == 1")
    found = edits_by_name(project)["a.txt"]
    assert (found["hunks"], found["added"], found["removed"]) == (1, 1, 1)
    reject_all(project)
    project.wait("#require('acp').state().sessions[1].edits == 0")
    assert project.lines(str(project.work / "a.txt")) == lines(l16="mine").splitlines()


def test_a_change_before_neovim_watches_an_unsaved_buffer_is_merged(editor: Editor) -> None:
    """The file has its new stamp when Neovim records the first one."""
    path = editor.write("a.txt", LINES)
    editor.agent("script")
    editor.turn("say hello")
    editor.open("a.txt")
    editor.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    editor.lua("vim.fn.setline(16, 'mine')")
    editor.lua(WATCH_LATE, str(path), lines(l4="four"))
    editor.turn(shell("sed -i 's/^line 4$/four/' a.txt"))
    assert editor.lua("return _G.watched_late")
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    assert editor.lines(str(path)) == lines(l4="four", l16="mine").splitlines()
    reject_all(editor)
    until(lambda: editor.lines(str(path)) == lines(l16="mine").splitlines())


@pytest.mark.parametrize("row", [5, 12])
def test_a_second_change_after_neovim_read_the_first_is_not_a_conflict(
    project: Editor, row: int
) -> None:
    """All of it happens before a scan."""
    change(project)
    more = f"sed -i 's/^line {row}$/more/' a.txt"
    project.lua(
        "vim.cmd('checktime') vim.fn.setline(16, 'mine') "
        "vim.fn.system(...) vim.cmd('silent write')",
        more,
    )
    assert (project.work / "a.txt").read_text() == lines(
        l4="four", l16="mine", **{f"l{row}": "more"}
    )
    end(project)
    project.wait("#require('acp').state().sessions[1].edits == 1")
    found = edits_by_name(project)["a.txt"]
    assert (found["conflict"], found["added"]) == (False, 2)
    reject_all(project)
    project.wait("#require('acp').state().sessions[1].edits == 0")
    assert (project.work / "a.txt").read_text() == lines(l16="mine")


@pytest.mark.parametrize("command", ["sed -i 's/^line 4$/four/' a.txt", "rm a.txt"])
@pytest.mark.parametrize("watched", [False, True])
def test_a_save_just_before_the_prompt_is_the_users(
    editor: Editor, command: str, watched: bool
) -> None:
    """The agent changes the file before the scan at the start of its turn."""
    editor.write("a.txt", LINES)
    repository(editor.work)
    editor.agent("script")
    editor.open("a.txt")
    editor.turn(f"read {editor.work}/a.txt" if watched else "say hello")
    editor.wait("not require('acp.buffers.watch').at_work(...)", str(editor.work / "a.txt"))
    text = silently(command)
    editor.lua(
        "vim.fn.setline(16, 'mine') vim.cmd('silent write') require('acp').prompt(...)", text
    )
    editor.wait_event("AcpTurnEnd", 2)
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    reject_all(editor)
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    assert (editor.work / "a.txt").read_text() == lines(l16="mine")


def test_text_that_the_user_saves_during_a_turn_is_theirs(plain: Editor) -> None:
    plain.write("b.txt", LINES)
    plain.open("a.txt")
    plain.prompt(f"until_there {plain.work}/go\n" + shell("sed -i '3s/.*/theirs/' b.txt"))
    plain.wait("require('acp').state().sessions[1].status == 'running'")
    until(lambda: "waiting" in plain.traffic[0].notes())
    plain.keys("Gomine<Esc>:w<CR>")
    until(lambda: "mine" in (plain.work / "a.txt").read_text())
    plain.wait("not vim.bo.modified")
    plain.open("b.txt")
    plain.write("go", "")
    plain.wait_event("AcpTurnEnd")
    found = wait_count(plain, 2)
    assert set(found) == {"b.txt", "go"}


def test_a_later_change_by_the_agent_to_a_saved_file_is_pending_alone(plain: Editor) -> None:
    plain.open("a.txt")
    plain.prompt(f"until_there {plain.work}/go\n" + shell("sed -i '3s/.*/theirs/' a.txt"))
    until(lambda: "waiting" in plain.traffic[0].notes())
    plain.keys("Gomine<Esc>:w<CR>")
    until(lambda: "mine" in (plain.work / "a.txt").read_text())
    plain.write("go", "")
    plain.wait_event("AcpTurnEnd")
    found = wait_count(plain, 2)
    assert (found["a.txt"]["hunks"], found["a.txt"]["added"]) == (1, 1)


@pytest.mark.parametrize("command", ["write", "edit b.txt"])
def test_a_save_is_merged_with_the_write_of_an_agent_that_read_nothing(
    editor: Editor, command: str
) -> None:
    path = editor.write("a.txt", LINES)
    editor.write("b.txt", "b\n")
    repository(editor.work)
    editor.agent("script")
    editor.cmd("set autowriteall nohidden")
    editor.open("a.txt")
    content = json.dumps(lines(l4="four"))
    editor.prompt(f"until_there {editor.home}/go\nwrite {path} {content}")
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    editor.lua("vim.fn.setline(16, 'mine')")
    editor.cmd(command)
    (editor.home / "go").touch()
    editor.wait_event("AcpTurnEnd")
    assert path.read_text() == lines(l4="four", l16="mine")
