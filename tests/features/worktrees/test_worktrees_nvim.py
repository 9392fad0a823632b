"""Sessions in worktrees of their own, and their results in the user's tree."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick
from tests.support.git import git, repository
from tests.support.killed_host import kill_both
from tests.support.portable import IS_PORTABLE
from tests.support.review_frames import MARKS
from tests.support.rpc import EditorError
from tests.support.waiting import until

Edit = Callable[..., Editor]


def start(editor: Editor, scenario: str = "script") -> None:
    """Make the project a repository, in which a new session gets a worktree."""
    editor.write("a.txt", "one\ntwo\nthree\nfour\nfive\n")
    editor.write("b.txt", "b\n")
    editor.write("sub/c.txt", "c\nd\ne\n")
    repository(editor.work)
    editor.agent(scenario)


def worktree(editor: Editor, n: int = 1) -> Path:
    """Wait for the worktree of a session, and return its path."""
    return Path(editor.wait("require('acp').state().sessions[...].worktree.path", n))


def gone(editor: Editor, path: Path) -> None:
    """Wait until a worktree and all branches of worktrees are gone."""
    until(lambda: not path.exists(), what=f"{path} is gone")
    until(lambda: not git(editor.work, "branch", "--list", "acp/*"), what="no branch")
    assert git(editor.work, "worktree", "list").count("\n") == 1


def test_a_result_lands_in_the_review_and_the_worktree_goes(editor: Editor) -> None:
    start(editor)
    editor.write("b.txt", "mine\n")
    editor.cmd("cd sub")
    editor.cmd("Acp new!")
    path = worktree(editor)
    assert editor.session()["cwd"] == str(path / "sub")
    editor.wait_screen("Not committed, so not in the worktree: b.txt")
    commit = "git add .; git -c user.name=A -c user.email=a@example.org commit -qm x"
    editor.turn(f'runs "cd {path}; rm b.txt; echo new >new.sh; chmod +x new.sh; {commit}"')
    editor.turn(f'write {path}/sub/c.txt "C\\nd\\ne\\n"')
    assert editor.session()["worktree"]["branch"].startswith("acp/runs-cd-")
    bar = "vim.wo[vim.fn.bufwinid('acp://chat/1')].winbar"
    editor.wait(f"{bar}:find('acp/r', 1, true)")
    assert (editor.work / "sub/c.txt").read_text() == "c\nd\ne\n"
    editor.open("sub/c.txt")
    editor.keys("Gobelow<Esc>")  # unsaved text of the user
    editor.cmd("Acp land")
    editor.wait_message("b.txt has not landed (it has changed)")
    editor.wait("vim.fn.tabpagenr('$') == 2")  # the review
    assert [" work-1/b.txt " in row for row in editor.lines("acp://review")] == [False, False, True]
    editor.cmd("Acp edits")
    editor.wait_screen("work-1/b.txt|")
    editor.cmd("cclose")
    editor.wait("#require('acp').state().sessions[1].edits == 3")
    listed = [it["path"] for it in editor.session()["edits"]]
    here = [str(editor.work / "new.sh"), str(editor.work / "sub/c.txt")]
    assert sorted(listed) == sorted([str(path / "b.txt"), *here])
    assert editor.lines(str(editor.work / "sub/c.txt")) == ["C", "d", "e", "below"]
    assert os.access(editor.work / "new.sh", os.X_OK)
    editor.cmd("messages clear")
    editor.cmd("Acp land")
    editor.wait_message("b.txt has not landed (it has changed)")
    editor.wait("vim.fn.tabpagenr('$') == 3 and vim.wo.diff")  # both texts
    editor.wait_message("sides: dp takes a hunk. Then run :Acp land again")
    assert "Nothing new" not in editor.messages()
    assert "/b.txt · yours" in editor.screen()[1]
    assert "next file" not in editor.screen()[1]
    editor.cmd("tabfirst")
    editor.cmd("Acp accept all")
    editor.wait_message("was kept: it has more changes")
    editor.write("b.txt", "b\n")
    editor.cmd("Acp land")
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    assert not (editor.work / "b.txt").exists()
    editor.cmd("Acp accept all")
    gone(editor, path)
    assert editor.session(1)["status"] == "closed"
    assert (editor.work / "new.sh").read_text() == "new\n"
    editor.wait("#vim.fn.getcompletion('acp://race/', 'buffer') == 0")  # nor the comparison


def test_the_setup_runs_after_consent_and_the_first_prompt_waits(editor: Editor) -> None:
    start(editor, "echo")
    editor.setup({"worktrees": {"setup": "cat a.txt >set-up; test -e fail && exit 3"}})
    editor.cmd("Acp new! echo")
    path = worktree(editor)
    editor.prompt("hello")
    editor.see_question()
    card = "\n".join(editor.screen())
    assert "cat a.txt >set-up; test -e fail" in card
    assert not (path / "set-up").exists()
    editor.cmd("Acp allow allow_always")
    editor.wait_event("AcpTurnEnd")
    assert (path / "set-up").read_text() == (editor.work / "a.txt").read_text()
    assert editor.session(1)["worktree"]["branch"] == "acp/hello"
    chat = "\n".join(editor.chat())
    assert chat.index("The setup of the worktree failed: exit code 1") < chat.rindex("hello")
    editor.cmd("Acp land")  # files of the setup are not part of the result
    gone(editor, path)
    editor.cmd("Acp new!")  # asked once for the repository
    second = worktree(editor, 2)
    until((second / "set-up").exists, what="the second setup")
    editor.cmd(f"AcpPrompt @{editor.work}/b.txt look")
    editor.wait_event("AcpTurnEnd", 2)
    (_, prompt) = editor.traffic[0].received("session/prompt")
    assert (second / "b.txt").as_uri() in json.dumps(prompt)
    daemon = editor.home / "daemon"
    editor.setup({"worktrees": {"setup": f"setsid sleep 998 & echo $! >{daemon}; sleep 999"}})
    editor.cmd("Acp new!")
    worktree(editor, 3)
    editor.answer("Acp allow")
    running = "(require('acp').state().sessions[...].terminals[1] or {}).running"
    editor.wait(running, 3)
    until(lambda: daemon.exists() and daemon.read_text().strip(), what="the daemon")
    editor.prompt("later")
    editor.cmd("AcpCancel")
    editor.wait_message("1 prompt on hold")
    editor.wait(f"not {running}", 3)
    stopped = "The setup of the worktree was stopped"
    until(lambda: any(stopped in line for line in editor.chat()))
    if not IS_PORTABLE:  # only /proc has the marks of daemons
        until(lambda: not Path("/proc", daemon.read_text().strip()).exists(), what="its end")
    editor.cmd("Acp queue run")
    editor.wait_event("AcpTurnEnd", 3)
    editor.cmd("Acp new!")
    worktree(editor, 4)
    editor.wait(running, 4)
    editor.cmd("AcpPrompt go on")
    editor.wait_screen("┃ go on")  # the view no longer follows the output
    editor.cmd("wincmd l | call search('sleep 999', 'w')")
    editor.keys("x")
    editor.wait_event("AcpTurnEnd", 4)
    assert not editor.session(4)["terminals"][0]["running"]


def test_a_killed_neovim_loses_no_worktree(edit: Edit, tmp_path: Path) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path / "data")}
    first = edit(env=env)
    first.write("dos.txt", "1\r\n1\r\n")
    start(first)
    first.cmd("Acp new!")
    path = worktree(first)
    shell = f"cd {path}; echo B >b.txt; head -c 1 /dev/zero >x.bin; ln -s b.txt link"
    first.turn(f"runs {json.dumps(shell)}")
    first.turn(f"runs {json.dumps(f'cd {path}; rm -r sub; echo file >sub; seq 2 >dos.txt')}")
    assert (path / "x.bin").exists()
    second = edit(env=env, work=first.work)
    second.cmd("Acp land")
    second.wait_message("another Neovim has a session in the worktree")
    kill_both(first)
    second.agent("script")
    second.cmd("checkhealth acp")
    second.wait_screen("1 worktree waits for :Acp land")
    second.cmd("enew")
    second.cmd("Acp land")
    second.see_question()
    card = "\n".join(second.screen())
    assert "x.bin: not a text file" in card
    assert "link: a symbolic link to b.txt" in card
    assert "dos.txt: line endings: dos → unix" in card
    second.cmd("Acp land")
    second.wait_message("is already being landed or removed")
    second.cmd("Acp allow")
    second.wait("#require('acp').state().sessions[1].edits == 4")
    assert (second.work / "sub").read_text() == "file\n"
    assert (second.work / "dos.txt").read_bytes() == b"1\n2\n"
    until((second.work / "x.bin").exists, what="x.bin has landed")
    until((second.work / "x.bin").exists)
    assert (second.work / "x.bin").read_bytes() == b"\0"
    assert (second.work / "link").is_symlink()
    assert path.exists()
    second.cmd("Acp reject all")
    gone(second, path)
    assert (second.work / "b.txt").read_text() == "b\n"
    assert (second.work / "sub/c.txt").read_text() == "c\nd\ne\n"


def test_changes_that_have_not_landed_are_removed_only_after_a_question(picker: Editor) -> None:
    editor = picker
    editor.lua("vim.cmd('Acp new!') vim.cmd('AcpPrompt go') vim.cmd('AcpPrompt on')")
    editor.wait_message("No worktree: this directory is in no git work tree")
    editor.wait("vim.fn.bufexists('acp://composer/1') == 1")
    assert editor.lines("acp://composer/1") == ["go", "on"]
    assert not editor.state()["sessions"]
    editor.cmd("bwipeout! acp://composer/1")
    start(editor, "wait_for_cancel")
    editor.cmd("Acp land")
    editor.wait_message("No worktree to land")
    compose = "vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'go' }) vim.cmd('write | close')"
    edit = "wincmd t | edit b.txt | Acp edit! more"
    later = f"vim.cmd('AcpPrompt next') vim.cmd('{edit}')"
    editor.lua(f"vim.cmd('Acp new!') vim.cmd('AcpPrompt') {compose} {later}")
    path = worktree(editor)  # the prompts were sent before it was there
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    assert editor.session()["cwd"] == str(path)
    assert (len(editor.state()["sessions"]), editor.session()["queue"]) == (1, ["next", "more"])
    editor.cmd("stopinsert | Acp queue clear")
    (path / "b.txt").write_text("B\n")
    editor.cmd("Acp land")
    editor.wait_message("Session 1 is working. Run :Acp land when its turn has ended")
    editor.cmd("Acp land!")
    editor.wait_message("Session 1 is working. :Acp overview can cancel it")
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd")
    editor.write("b.txt", "mine\n")
    editor.cmd("Acp land")
    editor.wait_message("b.txt has not landed")
    editor.wait("vim.fn.tabpagenr('$') == 2 and vim.wo.diff")  # both texts
    editor.keys("q")
    pick(editor, "Acp land!", "Keep")
    editor.wait_message("Nothing was removed")
    assert "has more changes" not in editor.messages()
    pick(editor, "Acp sessions close", "go")
    editor.wait("require('acp').state().sessions[1].status == 'closed'")
    assert path.exists()
    editor.cmd("Acp sessions")
    editor.wait_message("No session to choose. :Acp history lists earlier ones")
    (asked,) = pick(editor, "Acp land! 1", "Remove")
    assert "b.txt" in asked["prompt"]
    gone(editor, path)
    commands = ("Acp new!", "AcpPrompt no", edit, "new | AcpCancel | close")
    editor.lua("for _, command in ipairs(...) do vim.cmd(command) end", commands)
    empty = worktree(editor, 2)
    assert editor.lines("acp://composer/1") == ["no", "more"]
    editor.cmd("Acp land")
    editor.wait_message("has no changes to land yet. :Acp land! removes its worktree")
    pick(editor, "Acp sessions close", "session 2")
    gone(editor, empty)
    editor.cmd("Acp new!")
    merged = worktree(editor, 3)
    (merged / "new.txt").write_text("new\n")
    git(merged, "add", "-A")
    git(merged, "commit", "-q", "-m", "by hand")
    git(editor.work, "merge", "-q", editor.session(3)["worktree"]["branch"])
    editor.cmd("Acp land")
    editor.wait_message("are already merged")
    gone(editor, merged)
    assert (editor.work / "new.txt").exists()


def test_hunks_are_taken_from_two_of_three_racers(picker: Editor) -> None:
    editor = picker
    start(editor)
    for command in ("Acp race script nobody -- x", "Acp race script", "Acp race -- x"):
        with pytest.raises(EditorError):
            editor.cmd(command)
    editor.agent("echo", name="far", via=["env"])
    for command in ("Acp new! far", "Acp race script far -- x"):
        editor.cmd(command)
        editor.wait_message("No worktree: agents.far.paths does not have the directory ")
        editor.cmd("messages clear")
    assert git(editor.work, "worktree", "list").count("\n") == 1
    names = ("one", "two", "three")
    for name in names:
        editor.agent("echo", name=name)
    editor.agent("wait_for_cancel", name="one")
    editor.setup({"presets": {"second": {"agent": "two"}}})
    editor.cmd("Acp race one second three -- change the file")
    editor.wait_event("AcpTurnEnd", 2)
    editor.cmd("Acp race")
    editor.wait_message("No racer has changed a file yet")
    editor.lua("require('acp').cancel(...)", 1)
    editor.wait_event("AcpTurnEnd", 3)
    results = "one no changes, second no changes, three no changes"
    editor.wait_message(f"Race over, :Acp race! removes its worktrees: {results}")
    editor.cmd("Acp race")
    editor.wait_message("No racer changed a file. :Acp race! removes the worktrees")
    paths = [worktree(editor, n) for n in (1, 2, 3)]
    for path, name in zip(paths, names, strict=True):
        file = path / "a.txt"
        file.write_text(file.read_text().replace(name, name.upper()))
    third = paths[2] / "a.txt"
    third.write_text(third.read_text().replace("one", "uno"))  # the line of another racer
    os.mkfifo(editor.work / ".git/pipe")
    (paths[2] / "link").symlink_to(editor.work / ".git/pipe")  # reading it would block
    unnamed = "#vim.tbl_filter(function(b) return b.name == '' end, vim.fn.getbufinfo())"
    before = editor.lua(f"return {unnamed}")
    editor.rpc.request("nvim_ui_try_resize", 80, 24)
    editor.cmd("Acp race")
    editor.wait("vim.fn.tabpagenr('$') == 2 and vim.fn.winnr('$') == 2")
    assert editor.lua("return vim.wo.diff")
    assert editor.lua(f"return {unnamed}") == before, "the racers' files are named"
    shown = "vim.fn.bufname():match('^acp://race/[%d.]+/a.txt · (.-)$')"
    assert "/a.txt · one" in editor.screen()[0], "the tabline shows a readable name"
    assert " a.txt · one" in editor.screen()[-2].replace("│", " "), "and the statusline"
    editor.cmd("below new own | wincmd p")
    racers = []
    for _ in names:
        racers.append(editor.lua(f"return {shown}"))
        editor.keys("]r")
    assert racers == ["one", "second", "three"], "a preset by its name"
    assert editor.lua("return vim.fn.bufwinnr('own')") > 0, "a window of the user stays"
    editor.cmd("bwipeout own | 1wincmd w | close")
    editor.keys("[r")
    assert editor.lua("return vim.fn.bufname(vim.fn.winbufnr(1))") == "a.txt"
    assert editor.lua(f"return {shown}") == "three"
    editor.keys("]rg?")
    editor.wait_screen("take the hunk, or those of the selection (n, x)")
    editor.keys("q")
    editor.rpc.request("nvim_ui_try_resize", 160, 24)
    editor.keys("]f]r")  # there is no other file
    editor.wait("vim.fn.winnr('$') == 4")
    editor.keys("ggdp")
    editor.cmd("wincmd l")
    editor.keys("2Gdp")
    taken = ["ONE", "TWO", "three", "four", "five"]
    file = editor.work / "a.txt"
    editor.wait("vim.deep_equal(vim.fn.readfile((...)), select(2, ...))", str(file), taken)
    editor.cmd("wincmd l")
    editor.keys(r"\A")  # the whole file, in place of lines that both changed
    taken = third.read_text().splitlines()
    editor.wait("vim.deep_equal(vim.fn.readfile((...)), select(2, ...))", str(file), taken)
    assert editor.lines(str(file)) == taken == ["uno", "two", "THREE", "four", "five"]
    mine = editor.lua("return vim.fn.bufnr((...))", str(file))

    def old_lines() -> list[str]:
        return [line for mark in editor.lua(MARKS, mine) for line in mark["removed"]]

    assert not old_lines(), "the columns are aligned"
    editor.cmd("tabfirst")
    editor.open(file)
    assert old_lines()
    editor.cmd("diffthis")
    assert not old_lines()
    editor.cmd("diffoff | tablast")
    editor.cmd("wincmd h")
    (asked,) = pick(editor, "Acp land!", "Remove")
    assert editor.session(2)["worktree"]["branch"] in asked["prompt"], "that of the column"
    until(lambda: not paths[1].exists(), what="the worktree of the column is gone")
    (asked,) = pick(editor, "Acp race!", "Remove")
    assert "Remove 2 worktrees" in asked["prompt"]
    for path in paths:
        gone(editor, path)
    editor.wait_message("2 worktrees were removed")
    for keys in ("ggdp", ":Acp land<CR>"):  # in the column of a racer
        editor.cmd("messages clear")
        editor.keys(keys)
        editor.wait_message("This worktree has been removed")
    editor.cmd("Acp accept all")
    editor.wait_message("Accepted 2 hunks in a.txt")
    assert (editor.work / "a.txt").read_text().splitlines() == taken


def test_the_results_of_a_race_are_reported_and_offered(edit: Edit, tmp_path: Path) -> None:
    editor = edit(env={"XDG_DATA_HOME": str(tmp_path / "data")})
    start(editor)
    install_picker(editor)
    trees = tmp_path / "data/nvim/acp/worktrees"
    for number, name in enumerate(("one", "two"), 1):
        editor.agent("script", name=name, env={"NAME": name, "TREE": f"{trees}/work-{number}"})
    ends = "[ $NAME = two ] && kill -9 $PPID; true"
    command = json.dumps(f"cd $TREE; echo $NAME >$NAME.txt; {ends}")
    editor.cmd(f"Acp race one two -- runs {command}")
    paths = [worktree(editor, n) for n in (1, 2)]
    editor.wait_message("Race over, :Acp race compares: one 1 file, two failed (1 file)")
    (asked,) = pick(editor, "Acp land")  # although the last racer is current
    one, two = asked["items"]
    assert re.fullmatch(r"one  acp/[-\w]+", one)
    assert re.fullmatch(r"two  acp/[-\w]+  failed", two)
    pick(editor, "Acp land", asked["items"][0])
    editor.wait("vim.fn.tabpagenr('$') == 2")  # the review
    editor.wait_screen(" one.txt · +1 -0")  # and not the edits of the other racer
    assert not editor.lua("return vim.fn.getcompletion('acp://review', 'buffer')"), "no list"
    editor.cmd("Acp accept all")
    editor.wait_message("was removed. :Acp race! removes those of the other racers")
    assert not paths[0].exists()
    editor.cmd("tabfirst | Acp new two")
    editor.cmd("Acp race two -- runs true")
    editor.wait("require('acp').state().sessions[4].worktree")
    editor.wait_message("Racing: two. Not committed, so not in their worktrees: one.txt")
    assert editor.state()["current"] == 3, "the session whose chat is visible"


def test_a_race_survives_a_crash_of_an_agent_and_of_neovim(edit: Edit, tmp_path: Path) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path / "data")}
    first = edit(env=env)
    start(first)
    trees = tmp_path / "data/nvim/acp/worktrees"
    for number, name in enumerate(("one", "two", "three"), 1):
        env_of_agent = {"NAME": name, "TREE": f"{trees}/work-{number}"}
        first.agent("script", name=name, env=env_of_agent)
    ends = "[ $NAME = two ] && kill -9 $PPID; [ $NAME = three ] && sleep 999; true"
    command = json.dumps(f"cd $TREE; echo $NAME >$NAME.txt; {ends}")
    first.cmd(f"Acp race one two three -- runs {command}")
    paths = [worktree(first, n) for n in (1, 2, 3)]
    first.wait_event("AcpAgentExit")
    first.wait_message("The prompt of session 2 is back in its composer. See :Acp overview")
    first.wait("require('acp').state().sessions[1].status == 'idle'")
    until((paths[2] / "three.txt").exists, what="a file of the third")
    first.wait("require('acp').state().sessions[1].edits[1]")
    assert first.session(1)["edits"][0]["named"], "only its agent works in a worktree"
    kill_both(first)
    second = edit(env=env, work=first.work)
    install_picker(second)
    second.agent("script")
    second.cmd("checkhealth acp")
    second.wait_screen("3 worktrees wait for :Acp land")
    second.cmd("enew")
    for number, name in ((1, "one"), (2, "two")):  # the oldest first
        (asked,) = pick(second, "Acp land")
        pick(second, "Acp land", asked["items"][0])
        second.wait_event("AcpEdit", number)
        assert (second.work / f"{name}.txt").exists()
        second.cmd("Acp accept all")
        until(lambda: not paths[number - 1].exists(), what="one is gone")  # noqa: B023
    assert (second.work / "two.txt").read_text() == "two\n"
    pick(second, "Acp race!", "Remove")
    for path in paths:
        gone(second, path)
    assert not (second.work / "three.txt").exists()
