"""The overview of all sessions: rows, questions that are answered there, other Neovims."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.asking_agent import Asking
from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, picker_questions
from tests.support.git import git, repository
from tests.support.killed_host import kill_both
from tests.support.lua import lua_chunk
from tests.support.stalled_agent import let_answer, stalled_agent, withhold_answer
from tests.support.stored_sessions import ALL
from tests.support.waiting import until

Edit = Callable[..., Editor]
NAME = "acp://overview"
NEW = "acp: New question: press again"
WATCHES = lua_chunk(__file__, "overview_watches")
NEW_HOST = lua_chunk(__file__, "overview_new_host")
COST = {"used": 10, "size": 100, "cost": {"amount": 0.42, "currency": "USD"}}


def usage() -> str:
    return "update " + json.dumps({"sessionUpdate": "usage_update", **COST})


def row(editor: Editor, pattern: str) -> str:
    """Wait for a line of the overview, and return it."""
    found: list[str] = []

    def is_there() -> bool:
        found[:] = [line for line in editor.lines(NAME) if re.search(pattern, line)]
        return bool(found)

    until(is_there, what=pattern)
    return found[0]


def gone(editor: Editor, pattern: str) -> None:
    """Wait until no line of the overview matches."""
    until(
        lambda: not any(re.search(pattern, line) for line in editor.lines(NAME)),
        what=f"no {pattern}",
    )


def to_row(editor: Editor, pattern: str) -> None:
    """Put the cursor of the overview on a line, as a search does."""
    row(editor, pattern)
    editor.keys(f"gg/{pattern}<CR>")
    assert editor.lua("return vim.api.nvim_buf_get_name(0)") == NAME


def new_session(editor: Editor, text: str, agent: str) -> None:
    editor.lua(
        "local text, agent = ... require('acp').prompt(text, { new = true, agent = agent })",
        text,
        agent,
    )


def test_rows_have_all_columns_in_groups_by_directory_and_worktree(editor: Editor) -> None:
    path = editor.write("a.txt", "one\ntwo\nthree\n")
    repository(editor.work)
    git(editor.work, "worktree", "add", "-q", "../fix", "-b", "acp/fix")
    (editor.home / "another").mkdir()
    editor.setup({"chat": {"open": False}, "presets": {"fast": {"agent": "script"}}})
    editor.agent("script")
    editor.turn(f'{usage()}\nwrite {path} "ONE\\ntwo\\nTHREE\\n"')
    editor.cmd("lcd ../fix")
    editor.lua("require('acp').prompt('wait_for_cancel', { new = true })")
    editor.wait("(require('acp').state().sessions[2] or {}).status == 'running'")
    editor.cmd("lcd ../another")
    editor.lua("require('acp').prompt('say third', { new = true })")
    editor.cmd("lcd ../work")
    editor.cmd("Acp overview")
    row(editor, "third")
    first = row(editor, "update")
    assert re.search(r" ○ idle <1m +1  Scripted +update .*2 hunks in 1 file +\$0\.42$", first)
    second = row(editor, "wait_for_cancel")
    assert re.search(r" ◐ running \d+s +2  Scripted +wait_for_cancel$", second)
    lines = editor.lines(NAME)
    assert lines.index("~/work  main") < lines.index(first)
    assert lines.index("~/fix  acp/fix  worktree of ~/work") < lines.index(second)
    assert lines.index(second) < lines.index("~/another")  # worktrees follow their repository
    assert editor.lua("return vim.bo.filetype") == "acpoverview"
    editor.lua("vim.o.columns = 50")
    until(lambda: all(len(line) <= 50 for line in editor.lines(NAME)), what="narrow rows")
    assert re.search(r"^ ○ idle <1m +1  Scri.*  update .*…", row(editor, "idle"))
    editor.lua("vim.o.columns = 36")
    assert re.search(r"^ ○ idle <1m +1  update .*…$", row(editor, r"1  update"))
    editor.lua("vim.o.columns = 32")
    row(editor, "^acp/fix  worktree of ~/work$")
    editor.lua("require('acp').cancel(2)")
    editor.wait_event("AcpTurnEnd", 3)


def test_a_question_is_answered_there_only_after_it_was_seen(editor: Editor) -> None:
    editor.setup({"chat": {"open": False}})
    asking = Asking(editor)
    editor.cmd("Acp overview")
    asking.ask("one", {"rawInput": {"command": "make one"}, "kind": "execute"})
    to_row(editor, "asks")
    assert "make one" in "\n".join(editor.lines(NAME))
    asking.drawn("one")
    editor.later(399)
    editor.keys("y")
    editor.wait_message(NEW)
    assert asking.outcomes() == []
    editor.press("y")
    asking.answered("allow")
    gone(editor, "asks")
    editor.keys("<Tab>")  # the next question of this session is hidden
    asking.agent.ask("asks_about", "two", json.dumps({"kind": "execute"}))
    row(editor, "1 question")
    to_row(editor, "asks")
    assert "two" not in "\n".join(editor.lines(NAME)[2:])
    editor.keys("<Tab>")
    row(editor, "two")
    editor.cmd("messages clear")
    editor.cmd(".+1,$fold")  # a fold of the user hides it
    editor.later(400)
    editor.keys("n")
    editor.wait_message(NEW)
    editor.keys("zE")
    editor.press("n")
    asking.answered("allow", "reject")
    asking.end()


def test_a_key_answers_the_question_of_the_session_under_the_cursor(editor: Editor) -> None:
    editor.setup({"chat": {"open": False}})
    editor.lua("require('acp.features.permissions.clock').ms = function() return 0 end")
    first = editor.agent("script", name="first")
    new_session(editor, "permission one", "first")
    editor.wait("#((require('acp').state().sessions[1] or {}).permissions or {}) == 1")
    second = editor.agent("script", name="second")
    new_session(editor, "permission two", "second")
    editor.wait("#((require('acp').state().sessions[2] or {}).permissions or {}) == 1")
    editor.cmd("Acp overview")
    to_row(editor, "permission one")
    to_row(editor, "permission two")
    editor.press("y")
    method = "session/request_permission"
    until(lambda: len(second.answers(method)) == 1, what="the answer")
    assert second.answers(method)[0]["result"]["outcome"]["optionId"] == "allow"
    assert first.answers(method) == []
    to_row(editor, "permission one")
    editor.see_question()
    editor.click("4. ", times=2)
    until(lambda: len(first.answers(method)) == 1, what="the answer")
    assert first.answers(method)[0]["result"]["outcome"]["optionId"] == "never"
    editor.wait_event("AcpTurnEnd", 2)


def test_the_cursor_stays_on_its_session_when_rows_move(editor: Editor) -> None:
    editor.setup({"chat": {"open": False}})
    editor.agent("script")
    editor.turn("say one")
    new_session(editor, "say two", "script")
    editor.wait_event("AcpTurnEnd", 2)
    editor.cmd("Acp overview")
    to_row(editor, "say two")
    before = editor.lua("return vim.fn.line('.')")
    editor.lua("require('acp').prompt('permission one', { session = 1 })")
    row(editor, "asks .* say one")
    assert "say two" in editor.lua("return vim.api.nvim_get_current_line()")
    assert editor.lua("return vim.fn.line('.')") > before
    editor.lua("require('acp').cancel(1)")
    row(editor, "idle .* say one")
    assert editor.lua("return vim.fn.line('.')") == before


def test_keys_open_send_cancel_and_close(editor: Editor) -> None:
    install_picker(editor)
    editor.setup({"chat": {"open": False}})
    agent = editor.agent("script", capabilities={"sessionCapabilities": {"close": {}}})
    editor.turn("say one")
    home = editor.lua("return vim.api.nvim_get_current_win()")
    editor.cmd("Acp overview")
    win = editor.lua("return vim.api.nvim_get_current_win()")
    to_row(editor, "say one")
    editor.lua("_G.acp_answers = { 'wait_for_cancel' }")
    editor.keys("s")
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    assert picker_questions(editor)[-1]["prompt"] == "Send to session 1: "
    row(editor, "running")
    editor.keys("x")
    assert editor.wait_event("AcpTurnEnd", 2)["stop_reason"] == "cancelled"
    editor.lua("vim.api.nvim_set_current_win(...)", home)
    editor.cmd("Acp overview")
    assert editor.lua("return vim.api.nvim_get_current_win()") == win
    editor.keys("g?")
    assert "close the session" in "\n".join(editor.screen())
    editor.keys("q")
    to_row(editor, "say one")
    editor.keys("<CR>")
    assert editor.lua("return vim.api.nvim_buf_get_name(0)") == "acp://chat/1"
    editor.cmd("Acp overview")
    to_row(editor, "say one")
    editor.keys("D")
    gone(editor, "say one")
    assert editor.session(1)["status"] == "closed"
    agent.wait("session/close")
    editor.keys("q")
    assert not editor.lua("return vim.api.nvim_win_is_valid(...)", win)


def test_a_session_that_is_closed_during_a_restart_stays_closed(editor: Editor) -> None:
    editor.setup({"chat": {"open": False}})
    let_answer(editor, "initialize")
    agent = stalled_agent(editor, "initialize", "stores", str(editor.home / "stored.json"))
    editor.turn("say one")
    withhold_answer(editor, "initialize")
    editor.cmd("Acp restart")
    until(lambda: len(agent.received("initialize")) == 2, what="restart")
    editor.cmd("Acp overview")
    to_row(editor, "say one")
    editor.keys("D")
    gone(editor, "say one")
    let_answer(editor, "initialize")
    editor.wait_event("AcpAgentReady", 2)
    assert editor.turn("say two")["session"] == 2
    assert editor.session(1)["status"] == "closed"


def test_a_hidden_overview_watches_nothing_and_is_current_when_it_returns(editor: Editor) -> None:
    editor.setup({"chat": {"open": False}})
    editor.agent("script")
    editor.cmd("Acp overview")
    assert editor.lines(NAME) == ["No session yet. :AcpPrompt starts one"]
    assert editor.state()["host"] == "stopped"
    editor.turn("say one")
    row(editor, "say one")
    assert "say one" in editor.lua("return vim.api.nvim_get_current_line()"), "not on the heading"
    assert editor.lua(WATCHES) == 2
    editor.cmd("tabnew")
    until(lambda: editor.lua(WATCHES) == 0, what="rest")
    tick = editor.lua("return vim.api.nvim_buf_get_changedtick(vim.fn.bufnr(...))", NAME)
    new_session(editor, "say two", "script")
    editor.wait_event("AcpTurnEnd", 2)
    assert editor.lua("return vim.api.nvim_buf_get_changedtick(vim.fn.bufnr(...))", NAME) == tick
    editor.cmd("tabclose")
    row(editor, "say two")
    editor.keys("q")
    until(lambda: editor.lua(WATCHES) == 0, what="rest")
    editor.lua("vim.cmd.bdelete(vim.fn.bufnr(...))", NAME)
    editor.cmd("vertical Acp overview")
    row(editor, "say one")
    editor.cmd("edit")
    row(editor, "say one")
    editor.cmd("wincmd p | tab Acp overview")
    assert len(editor.lua("return vim.api.nvim_list_tabpages()")) == 1  # it went to its window
    editor.keys("q")
    editor.cmd("tab Acp overview")
    assert len(editor.lua("return vim.api.nvim_list_tabpages()")) == 2
    row(editor, "say one")


@pytest.fixture
def shared(edit: Edit, tmp_path: Path) -> Callable[[], Editor]:
    """Start Neovims of one user in one directory."""
    env = {
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }

    def start() -> Editor:
        editor = edit(env=env, work=tmp_path / "work")
        editor.setup({"chat": {"open": False}})
        return editor

    return start


def files(home: Path) -> list[Path]:
    return list((home / "state/nvim/acp/neovims").glob("*.json"))


def test_sessions_of_another_neovim_are_shown_but_not_answered(
    shared: Callable[[], Editor], tmp_path: Path
) -> None:
    first, second = shared(), shared()
    agent = first.agent("script")
    first.prompt("permission secret-command")
    pid = first.lua("return vim.fn.getpid()")
    until(lambda: len(files(tmp_path)) == 1, what="the file")
    second.cmd("Acp overview")
    line = row(second, "permission secret-command +1 question")
    assert re.search(r"\? asks \d+s +1  Script", line)
    row(second, f"in another Neovim, process {pid}$")
    assert second.state()["host"] == "stopped"
    assert files(tmp_path)[0].stat().st_mode & 0o777 == 0o600
    assert "Run secret" not in files(tmp_path)[0].read_text()
    to_row(second, "asks")
    for keys in ("<CR>", "s", "x", "D", "y", "1"):
        second.cmd("messages clear")
        second.keys(keys)
        second.wait_message(f"Open in another Neovim, process {pid}. Go there")
    first.prompt("say later")
    row(second, "1 question, 1 queued")
    file = files(tmp_path)[0]
    assert second.lua(NEW_HOST, str(file), file.read_text()) == 1
    first.answer("Acp allow")
    row(second, "idle")
    assert len(agent.answers("session/request_permission")) == 1
    first.quit()
    gone(second, "in another Neovim")
    assert files(tmp_path) == []


def test_a_session_of_a_neovim_that_was_killed_is_opened_again(
    shared: Callable[[], Editor], tmp_path: Path
) -> None:
    store = tmp_path / "stored.json"
    first = shared()
    path = first.write("a.txt", "one\n")
    first.agent("stores", str(store), capabilities=ALL)
    first.turn(f'write {path} "two\\n"')
    until(lambda: len(files(tmp_path)) == 1, what="the file")
    kill_both(first)
    second = shared()
    agent = second.agent("stores", str(store), capabilities=ALL)
    second.open("a.txt")
    second.wait(
        "#(vim.tbl_values(require('acp').state().sessions)[1] or { edits = {} }).edits == 1"
    )
    second.cmd("Acp overview")
    to_row(second, "closed .*1 hunk in 1 file")
    assert files(tmp_path) == []
    second.keys("<CR>")
    until(lambda: bool(agent.received("session/load")), what="session/load")
    second.wait("require('acp').state().sessions[2].status == 'idle'")
