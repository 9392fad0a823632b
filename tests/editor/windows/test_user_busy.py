"""An agent's edit while the user is in the middle of something: it is as it would have been before.

Nothing is lost, and the edits of each are an undo step of their own.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.editor import Editor, serves_while_it_asks
from tests.support.waiting import until

LINES = "".join(f"line {n}\n" for n in range(1, 21))
ADDED = ["new 1", "new 2"]
TWO = "new 1\nnew 2\nline 2\n"
WAYS = ["disk", "fs"]


@pytest.fixture
def project(editor: Editor) -> Editor:
    """A file that is open."""
    editor.write("a.txt", LINES)
    editor.agent("script")
    editor.turn("say hello")
    editor.open("a.txt")
    return editor


def change(way: str, path: Path) -> str:
    """The agent puts two lines above line 2."""
    if way == "fs":
        return f"write {path} " + json.dumps(LINES.replace("line 2\n", TWO))
    return f"runs {path} " + json.dumps(f"sed -i '2i new 1\\nnew 2' {path}")


def expected(*, changed: dict[int, str] | None = None, gone: tuple[int, ...] = ()) -> list[str]:
    lines = [(changed or {}).get(n, f"line {n}") for n in range(1, 21) if n not in gone]
    return [lines[0], *ADDED, *lines[1:]]


def lines(editor: Editor) -> list[str]:
    return editor.lines(str(editor.work / "a.txt"))


def turn(editor: Editor, way: str) -> None:
    editor.turn(change(way, editor.work / "a.txt"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("begin", "rest", "then"),
    [
        ("5Gvj", "d", expected(gone=(5,), changed={6: "ine 6"})),
        ("5GVj", "d", expected(gone=(5, 6))),
        ("5G<C-v>j", "d", expected(changed={5: "ine 5", 6: "ine 6"})),
        ("5G<C-v>j$", "Ax<Esc>", expected(changed={5: "line 5x", 6: "line 6x"})),
        ("5G0gh<C-o>e", "word", expected(changed={5: "word 5"})),
        ("5Gji", "x<Esc>", expected(changed={6: "xline 6"})),
        ("5G0R", "LI<Esc>", expected(changed={5: "LIne 5"})),
        ('5G"a', "dd", expected(gone=(5,))),
        ("5G:s/line/LINE", "<CR>", expected(changed={5: "LINE 5"})),
    ],
)
def test_what_the_user_has_begun(
    project: Editor, way: str, begin: str, rest: str, then: list[str]
) -> None:
    project.keys(begin)
    turn(project, way)
    until(lambda: lines(project) == expected())
    project.keys(rest + "<Esc>")
    project.wait("vim.fn.mode(1) == 'n'")
    until(lambda: lines(project) == then, what=repr(then))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("begin", "rest", "then"),
    [
        ("5Gd", "d", expected(gone=(5,))),
        ("5Gc", "cx<Esc>", expected(changed={5: "x"})),
        ("5G>", "j", expected(changed={5: "\tline 5", 6: "\tline 6"})),
        ("5Gi<C-o>d", "d<Esc>", expected(gone=(5,))),
        (":5,6s/line/LINE/c<CR>", "yy", expected(changed={5: "LINE 5", 6: "LINE 6"})),
    ],
)
def test_what_goes_by_line_numbers_is_let_finish(
    project: Editor, way: str, begin: str, rest: str, then: list[str]
) -> None:
    if begin.startswith(":"):
        serves_while_it_asks(project)
    project.keys(begin)
    project.wait("vim.fn.mode(1):match('^no') or vim.fn.mode(1) == 'r?'")
    project.prompt(change(way, project.work / "a.txt"))
    if way == "fs":
        until(lambda: project.traffic[0].sent("fs/write_text_file"))
    else:
        project.traffic[0].wait_note("ran")
    assert lines(project) == LINES.splitlines()
    project.keys(rest)
    until(lambda: lines(project) == then, what=repr(then))
    project.wait_event("AcpTurnEnd", 2)
    project.wait("#require('acp').state().sessions[1].edits == 1")
    project.cmd("Acp reject all")
    project.wait("#require('acp').state().sessions[1].edits == 0")
    assert [line for line in lines(project) if line not in ADDED] == [
        line for line in then if line not in ADDED
    ]


@pytest.mark.parametrize("way", WAYS)
def test_each_is_an_undo_step_of_its_own(project: Editor, way: str) -> None:
    project.keys("5GOone<Esc>otwo")
    turn(project, way)
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


@pytest.mark.parametrize("way", WAYS)
def test_the_command_line_window(project: Editor, way: str) -> None:
    project.keys("5Gixyz<Esc>q:ifoo")
    project.wait("vim.fn.getcmdwintype() == ':'")
    turn(project, way)
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


def test_a_lock_that_lasts_is_waited_for(project: Editor) -> None:
    """In an expression nothing may be changed: the change comes when it may."""
    project.keys("5Gd")
    project.wait("vim.fn.mode(1) == 'no'")
    turn(project, "disk")
    assert lines(project) == LINES.splitlines()
    project.keys("d")
    until(lambda: lines(project) == expected(gone=(5,)))
    project.wait("#require('acp').state().sessions[1].edits == 1")
