"""An agent's edit in the middle of a user's command: the command has its usual effect.

Nothing is lost, and the edits of each are a separate undo step.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acp_nvim.protocol.errors import RequestError
from tests.support.agent_files_nvim import AgentFilesInNvim
from tests.support.cases import case
from tests.support.editor import Editor, serves_during_substitution
from tests.support.lua import lua_chunk
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

LINES = "".join(f"line {n}\n" for n in range(1, 21))
ADDED = ["new 1", "new 2"]
TWO = "new 1\nnew 2\nline 2\n"
WAYS = ["disk", "fs"]
COMPLETES = "[complete(1, ['foo', 'food']), ''][1]"


TRIED = lua_chunk(__file__, "note_attempts")
"""Notes when the host has tried to put the agent's hunks into a buffer."""


@pytest.fixture
def project(editor: Editor) -> Editor:
    """Return an editor that shows a file."""
    editor.write("a.txt", LINES)
    editor.agent("script")
    editor.turn("say hello")
    editor.open("a.txt")
    return editor


@contextmanager
def text_of_case(project: Editor, *values: object) -> Iterator[None]:
    """Run a case on the text of the file, which the user restores at its end.

    The agent reads it then, because its writes are merged with the text that it read last.
    """
    with case(*values):
        yield
        project.keys("<Esc>")
        project.cmd("Acp accept all")
        project.wait("#require('acp').state().sessions[1].edits == 0")
        project.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, ...)", LINES.splitlines())
        project.cmd("silent write")
        project.turn(f"read {project.work}/a.txt")


def change(route: str, path: Path) -> str:
    """Let the agent insert two lines above line 2."""
    if route == "fs":
        return f"write {path} " + json.dumps(LINES.replace("line 2\n", TWO))
    return f"runs {path} " + json.dumps(f"sed -i '2i new 1\\nnew 2' {path}")


def expected(*, changed: dict[int, str] | None = None, deleted: tuple[int, ...] = ()) -> list[str]:
    lines = [(changed or {}).get(n, f"line {n}") for n in range(1, 21) if n not in deleted]
    return "\n".join([lines[0], *ADDED, *lines[1:]]).split("\n")


def lines(editor: Editor) -> list[str]:
    return editor.lines(str(editor.work / "a.txt"))


def wait_lines(editor: Editor, wanted: list[str]) -> None:
    until(lambda: lines(editor) == wanted, what=repr(wanted))


def turn(editor: Editor, route: str) -> None:
    editor.turn(change(route, editor.work / "a.txt"))


Case = tuple[str, str, list[str]]
"""Keys before the agent's edit, keys after it, and the resulting lines."""

NOT_DISTURBED: list[Case] = [
    ("ggV", "d", expected()[1:]),
    ("5Gji", "x<Esc>", expected(changed={6: "xline 6"})),
    ("5G0R", "LI<Esc>", expected(changed={5: "LIne 5"})),
    ('5G"a', "dd", expected(deleted=(5,))),
    ("5G:s/line/LINE", "<CR>", expected(changed={5: "LINE 5"})),
]
OPERATORS: list[Case] = [
    ("5Gd", "d", expected(deleted=(5,))),
    ("5Gc", "cx<Esc>", expected(changed={5: "x"})),
    ("5G>", "j", expected(changed={5: "\tline 5", 6: "\tline 6"})),
    ("5Gi<C-o>d", "d<Esc>", expected(deleted=(5,))),
    ("5G0<C-v>jI", "x<Esc>", expected(changed={5: "xline 5", 6: "xline 6"})),
    ("5G<C-v>j$A", "x<Esc>", expected(changed={5: "line 5x", 6: "line 6x"})),
    ("5G0<C-v>jlc", "x<Esc>", expected(changed={5: "xne 5", 6: "xne 6"})),
    ("5G0c<C-v>j", "x<Esc>", expected(changed={5: "xine 5", 6: "xine 6"})),
    ("5Gvj", "d", expected(deleted=(5,), changed={6: "ine 6"})),
    ("5GVj", "d", expected(deleted=(5, 6))),
    ("5G<C-v>j", "d", expected(changed={5: "ine 5", 6: "ine 6"})),
    ("5G<C-v>j$", "Ax<Esc>", expected(changed={5: "line 5x", 6: "line 6x"})),
    ("5G0gh<C-o>e", "word", expected(changed={5: "word 5"})),
    ("6GVk", "d", expected(deleted=(5, 6))),
    ("ggVj", "y", expected()),
    ("5G0<C-v>jIx<C-r>=1<CR>", "<Esc>", expected(changed={5: "x1line 5", 6: "x1line 6"})),
    ("5G0<C-v>jIli<C-n><C-e>", "x<Esc>", expected(changed={5: "lixline 5", 6: "lixline 6"})),
]
COMMAND_LINES: list[Case] = [
    (":5,6s/line/LINE/c<CR>", "yy", expected(changed={5: "LINE 5", 6: "LINE 6"})),
    (":10,11d", "<CR>", expected(deleted=(10, 11))),
    (":10", ",11d<CR>", expected(deleted=(10, 11))),
    ("5G:.,+1d", "<CR>", expected(deleted=(5, 6))),
    (":/line 5/,6d", "<CR>", expected(deleted=(5, 6))),
    (":silent! 10d", "<CR>", expected(deleted=(10,))),
    (":echo 1 | 10d", "<CR>", expected(deleted=(10,))),
    ("5G:normal 10G", "dd<CR>", expected(deleted=(10,))),
    ("5G:m", "6<CR>", expected(changed={5: "line 6", 6: "line 5"})),
    ("5G:d|t5", "<CR>", expected(deleted=(5,), changed={6: "line 6\nline 6"})),
    (":g/line 5/t 5", "<CR>", expected(changed={5: "line 5\nline 5"})),
    (":call deletebufline('%', 10)", "<CR>", expected(deleted=(10,))),
    ("q:i10,11d", "<CR>", expected(deleted=(10, 11))),
    (":10,11<C-f>", "ad<CR>", expected(deleted=(10, 11))),
    (":10,11<C-r>='d'", "<CR><CR>", expected(deleted=(10, 11))),
]
SEARCHES_AND_INSERTS: list[Case] = [
    ("5GV/line 7", "<CR>d", expected(deleted=(5, 6, 7))),
    ("5Gd/line 7", "<CR>", expected(deleted=(5, 6))),
    ("5Gi<C-r>=1+1", "<CR><Esc>", expected(changed={5: "2line 5"})),
    ("5G/line 8", "<Esc>x", expected(changed={5: "ine 5"})),
    ("5G?line 3", "<CR>x", expected(changed={3: "ine 3"})),
    (f"5Go<C-r>={COMPLETES}<CR>", "<C-n><Esc>", expected(changed={5: "line 5\nfood"})),
    (f"5Go<C-r>={COMPLETES}<CR>", "<Esc>", expected(changed={5: "line 5\nfoo"})),
    ("5Goli<C-x><C-n>", "<C-e>x<Esc>", expected(changed={5: "line 5\nlix"})),
    ("5G0Rli<C-x><C-n>", "<C-e>x<Esc>", expected(changed={5: "lixe 5"})),
]


@pytest.mark.parametrize("route", WAYS)
def test_a_command_in_progress_is_not_disturbed(project: Editor, route: str) -> None:
    for begin, rest, then in NOT_DISTURBED:
        with text_of_case(project, begin, rest):
            project.keys(begin)
            turn(project, route)
            until(lambda: lines(project) == expected())
            project.keys(rest + "<Esc>")
            project.wait("vim.fn.mode(1) == 'n'")
            wait_lines(project, then)


@pytest.mark.parametrize("route", WAYS)
@pytest.mark.parametrize(
    "cases",
    [OPERATORS, COMMAND_LINES, SEARCHES_AND_INSERTS],
    ids=["operators", "command lines", "searches and inserts"],
)
def test_a_command_by_line_numbers_finishes_first(
    project: Editor, route: str, cases: list[Case]
) -> None:
    project.lua(TRIED)
    for begin, rest, then in cases:
        if not begin.endswith("c<CR>") or serves_during_substitution(project):
            with text_of_case(project, begin, rest):
                finishes_first(project, route, begin, rest, then)


def finishes_first(project: Editor, route: str, begin: str, rest: str, then: list[str]) -> None:
    """Change the file while the keys of a command are typed."""
    turns = len(project.events("AcpTurnEnd"))
    project.keys(begin)
    project.lua("_G.tried = nil")
    project.prompt(change(route, project.work / "a.txt"))
    project.wait("_G.tried")
    assert ADDED[0] not in lines(project)
    project.keys(rest)
    until(lambda: lines(project) == then, what=repr(then))
    project.wait_event("AcpTurnEnd", turns + 1)
    project.wait("#require('acp').state().sessions[1].edits == 1")
    project.cmd("Acp reject all")
    project.wait("#require('acp').state().sessions[1].edits == 0")
    assert [line for line in lines(project) if line not in ADDED] == [
        line for line in then if line not in ADDED
    ]


@pytest.mark.parametrize("route", WAYS)
def test_a_selection_keeps_its_lines(project: Editor, route: str) -> None:
    """A hunk that moves no line is applied at once."""
    project.lua(TRIED)
    for keys, waits in [("5GVj", False), ("2GVj", True), ("GVgg", True)]:
        with text_of_case(project, keys):
            keeps_its_lines(project, route, keys, waits)


def keeps_its_lines(project: Editor, route: str, keys: str, waits: bool) -> None:
    """Change line 2 while lines are selected."""
    turns = len(project.events("AcpTurnEnd"))
    path = project.work / "a.txt"
    text = LINES.replace("line 2\n", "LINE 2\n")
    project.keys(keys)
    project.lua("_G.tried = nil")
    if route == "fs":
        project.prompt(f"write {path} {json.dumps(text)}")
    else:
        project.prompt(f"runs {path} " + json.dumps(f"sed -i 's/line 2$/LINE 2/' {path}"))
    if waits:
        project.wait("_G.tried")
        assert lines(project) == LINES.splitlines()
        project.keys("<Esc>")
    until(lambda: lines(project) == text.splitlines())
    assert project.lua("return vim.fn.mode()") == ("n" if waits else "V")
    project.keys("<Esc>")
    project.wait_event("AcpTurnEnd", turns + 1)


def test_a_write_into_a_lasting_selection_is_refused(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acp_nvim.files.writes.agent_write.PATIENCE_S", 0.2)
    live = AgentFilesInNvim(editor)
    path = editor.write("a.txt", LINES)
    editor.open(path)
    editor.keys("5GVj")
    with pytest.raises(RequestError) as refused:
        live.write("a.txt", LINES.replace("line 2\n", TWO))
    assert refused.value.data == {"path": str(path), "reason": "busy"}
    assert path.read_text() == LINES
    assert lines(editor) == LINES.splitlines()
    live.write("a.txt", LINES + "line 21\n")
    assert path.read_text() == LINES + "line 21\n"
    editor.keys("d")
    assert lines(editor) == [f"line {n}" for n in range(1, 22) if n not in (5, 6)]


def test_a_write_that_waits_for_a_command_is_not_made_after_a_cancel(project: Editor) -> None:
    project.lua(TRIED)
    project.keys("5Gd")
    project.prompt(change("fs", project.work / "a.txt"))
    project.wait("_G.tried")
    project.cmd("AcpCancel")
    answers = project.traffic[-1].wait_answers("fs/write_text_file")
    assert answers[0]["error"]["data"]["reason"] == "denied"
    project.keys("d")
    project.wait_event("AcpTurnEnd", 2)
    assert lines(project) == [f"line {n}" for n in range(1, 21) if n != 5]
    assert (project.work / "a.txt").read_text() == LINES


@pytest.mark.parametrize("route", WAYS)
def test_keys_of_an_incomplete_command_are_not_disturbed(project: Editor, route: str) -> None:
    """Neovim serves no requests meanwhile."""
    path = project.work / "a.txt"
    cases: list[Case] = [
        ("5G2", "dd", expected(deleted=(5, 6))),
        ("5Gd2", "d", expected(deleted=(5, 6))),
        ("5Gr", "L", expected(changed={5: "Line 5"})),
    ]
    for begin, rest, then in cases:
        with text_of_case(project, begin, rest):
            agent = StepwiseAgent.at_work(project, begin)
            project.keys(begin)
            change_meanwhile(agent, route, path)
            assert project.rpc.mode()["blocking"]
            project.keys(rest)
            wait_lines(project, then)
            agent.end()


def change_meanwhile(agent: StepwiseAgent, route: str, path: Path) -> None:
    """Let the agent insert two lines in a turn that has begun."""
    changed = LINES.replace("line 2\n", TWO)
    if route == "fs":
        before = len(agent.traffic.sent("fs/write_text_file"))
        agent.order("write", str(path), changed)
        until(lambda: len(agent.traffic.sent("fs/write_text_file")) > before)
    else:
        agent.order("runs", f"sed -i '2i new 1\\nnew 2' {path}")
        until(lambda: path.read_text() == changed)


@pytest.mark.parametrize("route", WAYS)
def test_user_and_agent_have_separate_undo_steps(project: Editor, route: str) -> None:
    project.keys("5GOone<Esc>otwo")
    turn(project, route)
    until(lambda: "new 1" in lines(project))
    project.keys(" three<Esc>")
    project.wait("vim.fn.mode() == 'n'")
    whole = [*expected()[:6], "one", "two three", *expected()[6:]]
    until(lambda: lines(project) == whole)
    project.keys("u")
    until(lambda: "two" in lines(project))
    project.keys("u")
    without = [line for line in whole if line not in ADDED]
    until(lambda: lines(project) == [line.removesuffix(" three") for line in without])


@pytest.mark.parametrize("route", WAYS)
def test_the_command_line_window_is_not_disturbed(project: Editor, route: str) -> None:
    project.keys("5Gixyz<Esc>q:ifoo")
    project.wait("vim.fn.getcmdwintype() == ':'")
    turn(project, route)
    until(lambda: lines(project) == expected(changed={5: "xyzline 5"}))
    project.keys("<Esc>:quit<CR>")
    project.wait("vim.fn.getcmdwintype() == ''")
    project.cmd("Acp reject all")
    until(
        lambda: (
            lines(project)
            == [line for line in expected(changed={5: "xyzline 5"}) if line not in ADDED]
        )
    )


def test_a_lasting_textlock_is_waited_for(project: Editor) -> None:
    """In an expression nothing may be changed; the change is made afterwards."""
    project.keys("5Gd")
    project.wait("vim.fn.mode(1) == 'no'")
    turn(project, "disk")
    assert lines(project) == LINES.splitlines()
    project.keys("d")
    until(lambda: lines(project) == expected(deleted=(5,)))
    project.wait("#require('acp').state().sessions[1].edits == 1")


def test_a_decision_moves_no_lines_above_a_command(project: Editor) -> None:
    """It is not made on a text that differs from the one the user saw."""
    turn(project, "fs")
    project.wait("#require('acp').state().sessions[1].edits == 1")
    project.keys(":12,13d")
    project.lua(TRIED)
    project.cmd("Acp reject all")
    project.wait("_G.tried")
    assert lines(project) == expected()
    project.keys("<CR>")
    project.wait_message("a.txt was left unchanged: ")
    assert lines(project) == expected(deleted=(10, 11))
    project.cmd("Acp reject all")
    wanted = [line for line in LINES.splitlines() if line not in ("line 10", "line 11")]
    until(lambda: lines(project) == wanted)


def test_a_read_by_the_agent_moves_no_lines_above_a_command(project: Editor) -> None:
    path = project.work / "a.txt"
    project.keys(":10,11d")
    project.turn(change("disk", path) + f"\nread {path}")
    answer = project.traffic[0].answers("fs/read_text_file")[-1]["result"]
    assert answer["content"] == LINES.replace("line 2\n", TWO)
    assert lines(project) == LINES.splitlines()
    project.keys("<CR>")
    until(lambda: lines(project) == expected(deleted=(10, 11)))


@pytest.mark.parametrize(
    ("keys", "rest", "then"),
    [
        (":10,11d", "<CR>", expected(deleted=(10, 11))),
        ("5G0<C-v>jI", "x<Esc>", expected(changed={5: "xline 5", 6: "xline 6"})),
    ],
)
def test_a_reload_moves_no_lines_above_a_command_in_progress(
    project: Editor, keys: str, rest: str, then: list[str]
) -> None:
    """The reload happens when Neovim gains the focus."""
    agent = StepwiseAgent.at_work(project)
    project.keys(keys)
    agent.ask("runs", f"sed -i '2i new 1\\nnew 2' {project.work}/a.txt")
    project.cmd("checktime")
    assert ADDED[0] not in lines(project)
    project.keys(rest)
    until(lambda: lines(project) == then)
    assert project.lua("return vim.o.autoread and vim.bo.autoread == nil")
    agent.end()


MARKS = lua_chunk(__file__, "change_marks")


FORMATTER = """vim.api.nvim_create_autocmd('BufWritePre', { callback = function()
  vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'formatted' })
end })"""


@pytest.mark.parametrize("formatter", ["", FORMATTER])
@pytest.mark.parametrize("route", WAYS)
def test_change_marks_are_those_of_the_users_last_change(
    project: Editor, route: str, formatter: str
) -> None:
    project.cmd("set undolevels=1000")
    project.keys("5GAx<Esc>8GAy<Esc>:silent write<CR>12GyyG")
    project.wait("not vim.bo.modified")
    before = project.lua(MARKS)
    project.lua(formatter)
    path = project.work / "a.txt"
    text = path.read_text().replace("line 2\n", TWO)
    project.turn(f"write {path} {json.dumps(text)}" if route == "fs" else change(route, path))
    until(lambda: "".join(lines(project)[1:2]).strip() == "new 1")
    until(lambda: project.lua(MARKS) != before)

    def moved(place: list[int]) -> list[int]:
        return [place[0], place[1] + 2, *place[2:]]

    *marks, changes = before
    changes = [{**one, "lnum": one["lnum"] + 2} for one in changes]
    assert project.lua(MARKS) == [*map(moved, marks), changes]
    project.keys("g;")
    assert project.lua("return vim.fn.line('.')") == 10
