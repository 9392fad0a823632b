"""Variables of a prompt: their values, and fallbacks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import Editor, has_parser
from tests.support.traffic import Traffic

EMBEDDED = {"promptCapabilities": {"embeddedContext": True}}


@pytest.fixture
def agent(editor: Editor) -> Traffic:
    return editor.agent("hello", capabilities=EMBEDDED)


def sent(agent: Traffic, count: int = 1) -> dict[str, str]:
    """Return the texts of the variables in the prompt with this number, by name."""
    blocks: list[dict[str, Any]] = agent.wait("session/prompt", count)["params"]["prompt"]
    found = [block["resource"] for block in blocks if block["type"] == "resource"]
    return {it["uri"].rpartition("/")[2]: it["text"] for it in found}


def test_the_line_and_the_name_under_the_cursor(editor: Editor, agent: Traffic) -> None:
    editor.open(editor.write("a.py", "one = 1\ntotal = one\n"))
    editor.keys("2Gfn")
    editor.turn("rename {symbol} in {line}")
    assert sent(agent) == {
        "symbol": "one\na.py:2:10: total = one",
        "line": "a.py:2\ntotal = one",
    }


def test_nothing_is_sent_for_a_name_if_the_cursor_is_on_none(
    editor: Editor, agent: Traffic
) -> None:
    editor.open(editor.write("a.py", "one\n\n"))
    editor.keys("2G")
    editor.keys(":AcpPrompt rename {symbol} in {function|selection} by {line}<CR>")
    assert sent(agent) == {"line": "a.py:2\n"}
    editor.wait_message("Sent without a value: {symbol}, {function|selection}")


def test_the_visible_lines(editor: Editor, agent: Traffic) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 200))
    editor.open(editor.write("a.py", text))
    editor.keys("100Gzt")
    first, last = editor.lua("return { vim.fn.line('w0'), vim.fn.line('w$') }")
    editor.turn("explain {visible}")
    lines = sent(agent)["visible"].split("\n")
    assert lines[0] == f"a.py:{first}-{last}"
    assert lines[1:] == [f"line {n}" for n in range(first, last + 1)]


def test_the_location_list_of_the_window(editor: Editor, agent: Traffic) -> None:
    editor.open(editor.write("a.py", "one\ntwo\n"))
    editor.lua(
        "vim.fn.setloclist(0, {{ bufnr = vim.api.nvim_get_current_buf(), lnum = 2, col = 1,"
        " text = 'here' }})"
    )
    editor.turn("fix {loclist} and {quickfix}")
    assert sent(agent) == {"loclist": "a.py:2:1: here"}


EVERY_PLACE = (
    "{this} {selection} {buffer} {line} {visible} {symbol} {diagnostics} {quickfix} {buffers}"
)
ONE_OF_EACH = """
vim.diagnostic.set(vim.api.nvim_create_namespace('t'), 0, {{ lnum = 0, col = 0, message = 'bad' }})
vim.fn.setqflist({{ bufnr = vim.api.nvim_get_current_buf(), lnum = 1, col = 1, text = 'here' }})
"""


def test_paths_are_relative_below_the_directory_of_the_session_and_absolute_outside(
    editor: Editor, agent: Traffic
) -> None:
    inside, outside = editor.write("src/a.py", "one\n"), editor.home / "b.py"
    outside.write_text("two\n")

    def places(prompt: int) -> set[str]:
        editor.lua(ONE_OF_EACH)
        editor.keys("Vy")
        editor.turn(EVERY_PLACE)
        lines = "\n".join(sent(agent, prompt).values()).split("\n")
        return {line.split(":")[0] for line in lines if ".py" in line}

    editor.open(inside)
    assert places(1) == {"src/a.py"}
    editor.lua("vim.cmd.bwipeout()")
    editor.open(outside)
    assert places(2) == {str(outside)}
    editor.lua("vim.cmd.bwipeout()")
    editor.open(inside)
    editor.cmd("cd src")  # but not of the session
    assert places(3) == {str(inside)}


def test_the_diagnostics_of_all_buffers(editor: Editor, agent: Traffic) -> None:
    paths = [editor.write("a.py", "one\n"), editor.write("b.py", "two\n")]
    for path in paths:
        editor.open(path)
        editor.lua(
            "vim.diagnostic.set(vim.api.nvim_create_namespace('t'), 0,"
            " {{ lnum = 0, col = 0, message = 'bad ' .. vim.fn.expand('%:t'), severity = 1 }})"
        )
    editor.turn("fix {diagnostics:workspace} before {diagnostics}")
    found = sent(agent)
    assert found["diagnostics"] == "b.py:1:1: ERROR: bad b.py"
    assert sorted(found["diagnostics:workspace"].split("\n")) == [
        "a.py:1:1: ERROR: bad a.py",
        "b.py:1:1: ERROR: bad b.py",
    ]


def test_the_output_of_the_last_used_terminal(editor: Editor, agent: Traffic) -> None:
    editor.cmd("terminal printf 'all\\ntests\\nfailed\\n'")
    editor.wait("vim.fn.search('^failed', 'nw') > 0")
    editor.cmd("vsplit")
    editor.open(editor.write("a.py", "one\n"))
    editor.turn("what does {terminal} mean")
    assert sent(agent)["terminal"].startswith("all\ntests\nfailed")


def test_the_branch(editor: Editor, agent: Traffic) -> None:
    editor.lua("vim.system({ 'git', 'init', '-q', '-b', 'topic/one', '.' }):wait()")
    editor.turn("describe {branch}")
    assert sent(agent) == {"branch": "topic/one"}


def test_without_a_repository_no_branch_is_sent(editor: Editor, agent: Traffic) -> None:
    editor.turn("describe {branch}")
    assert sent(agent) == {}


def test_the_first_alternative_that_is_not_empty_is_sent(editor: Editor, agent: Traffic) -> None:
    editor.open(editor.write("a.txt", "one\ntwo\n"))
    editor.keys("2G")
    editor.turn("explain {function|line|buffer}")
    assert sent(agent) == {"line": "a.txt:2\ntwo"}
    if not has_parser(editor, "c"):
        pytest.skip("no tree-sitter parser for C")
    editor.open(editor.write("a.c", "//\nint f()\n{}\n"))
    editor.keys("3G")
    editor.turn("explain {function|line|buffer}")
    assert sent(agent, 2) == {"function": "a.c:2-3\nint f()\n{}"}


def test_alternatives_with_an_unknown_name_are_plain_text(editor: Editor, agent: Traffic) -> None:
    editor.open(editor.write("a.txt", "one\n"))
    editor.turn("explain {nonsense|line} {|line} {line|}")
    assert sent(agent) == {}


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("see {vis", "see {visible}"),
        ("see {diagnostics:w", "see {diagnostics:workspace}"),
        ("see {function|lin", "see {function|line}"),
        ("see @{function|lin", "see @{function|line}"),
    ],
)
def test_the_last_alternative_is_completed(editor: Editor, typed: str, completed: str) -> None:
    editor.cmd("AcpPrompt")
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, {...})", typed)
    editor.keys("<Esc>A<C-x><C-o><C-y><Esc>")
    editor.wait("vim.api.nvim_get_current_line() == ...", completed)
