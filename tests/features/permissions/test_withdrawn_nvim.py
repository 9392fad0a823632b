"""Keys typed for a question that is over at that moment: none reaches the user's text."""

from __future__ import annotations

import os
import signal

import pytest

from tests.support.asking_agent import Asking
from tests.support.editor import Editor
from tests.support.killed_host import HOST_PID

NEW = "acp: New question: press again"
OVER = "acp: That question is over"
TEXT = "one two\nthree\nfour\n"
IN_FLOAT = "require('acp.features.permissions.float').is_current()"
KEYS = ["yyp", "Yp", "n", "Ncc", "ccother<Esc>", "dd", "3x", "1dd", "adone<Esc>", "<CR>x"]


@pytest.fixture
def asking(editor: Editor) -> Asking:
    """Return an agent that has asked; the cursor is in the float, behind it a file."""
    editor.setup({"chat": {"open": False}})
    editor.open(editor.write("a.txt", TEXT))
    asking = Asking(editor)
    asking.ask("first")
    editor.cmd("Acp permissions")
    editor.wait(IN_FLOAT)
    editor.later(400)
    return asking


def assert_untouched(editor: Editor) -> None:
    assert editor.lua("return vim.fn.getbufline('a.txt', 1, '$')") == TEXT.splitlines()


def type_for_no_question(editor: Editor) -> None:
    """Type keys that would answer, as if the user had not seen yet that the question is over."""
    editor.wait("#require('acp').state().sessions[1].permissions == 0")
    for keys in KEYS:
        editor.keys(keys)
        editor.keys("<Esc>")
        assert_untouched(editor)


def leave_float(editor: Editor) -> None:
    """Wait until the user is back in the file, and type there."""
    editor.later(400)
    editor.wait("vim.fn.expand('%:t') == 'a.txt'")
    editor.keys("x")
    editor.wait("vim.fn.getline(1) == 'ne two'")


def test_a_question_is_withdrawn_while_its_keys_are_typed(asking: Asking) -> None:
    editor = asking.editor
    asking.take_back("first")
    type_for_no_question(editor)
    editor.wait_message(OVER)
    asking.answered("cancelled")
    leave_float(editor)
    asking.end()


def test_the_turn_is_cancelled_while_the_keys_of_a_question_are_typed(asking: Asking) -> None:
    asking.editor.lua("require('acp').cancel(1)")
    type_for_no_question(asking.editor)
    asking.answered("cancelled")
    leave_float(asking.editor)


@pytest.mark.parametrize("who", ["agent", "host", "restart"])
def test_a_process_ends_while_the_keys_of_a_question_are_typed(asking: Asking, who: str) -> None:
    editor = asking.editor
    editor.errors_expected = True
    if who == "restart":
        editor.lua("vim.cmd('Acp restart')")
    else:
        pid = asking.traffic.pids()[-1] if who == "agent" else editor.lua(HOST_PID)
        os.kill(int(pid), signal.SIGKILL)
    editor.wait("#((require('acp').state().sessions[1] or {}).permissions or {}) == 0")
    for keys in KEYS:
        editor.keys(keys)
        editor.keys("<Esc>")
        assert_untouched(editor)
    leave_float(editor)


@pytest.mark.parametrize("key", ["y", "n", "2"])
def test_the_second_press_of_a_key_is_no_command_in_the_file(asking: Asking, key: str) -> None:
    editor = asking.editor
    editor.keys(key)
    editor.wait("vim.fn.expand('%:t') == 'a.txt'")
    editor.keys(key)
    editor.keys("cwtyped<Esc>")
    assert editor.lua("return vim.fn.getline(1)") == "typed two"
    assert len(asking.outcomes()) == 1
    editor.later(400)
    editor.wait("vim.fn.maparg(..., 'n', false, true).buffer ~= 1", key)
    asking.end()


def test_a_question_that_takes_the_place_of_another_is_answered_by_no_key(asking: Asking) -> None:
    editor = asking.editor
    asking.agent.ask("asks_about", "second", "{}")
    asking.take_back("first")
    asking.drawn("second")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    for keys in ("yy", "YY", "nn", "11", "33", "cc"):
        editor.cmd("messages clear")
        editor.keys(keys)
        editor.wait_message(NEW)
    assert asking.outcomes() == ["cancelled"]
    assert_untouched(editor)
    editor.press("n")
    asking.answered("cancelled", "reject")
    asking.end()


def test_a_form_is_withdrawn_while_the_user_types_in_it(editor: Editor) -> None:
    editor.open(editor.write("a.txt", TEXT))
    editor.agent("elicit_cancel")
    editor.prompt("ask")
    editor.wait("#require('acp').state().sessions[1].elicitations == 2")
    editor.lua(
        "require('acp').answer(require('acp').state().sessions[1].elicitations[1].id, 'open')"
    )
    editor.wait("vim.fn.bufwinid('acp://form/e1') > 0")
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://form/e1'))")
    editor.keys("i")
    editor.lua("require('acp').cancel(1)")
    editor.wait_event("AcpTurnEnd")
    editor.keys("typed<Esc>dd")
    assert_untouched(editor)
    assert editor.lua("return vim.fn.bufname()") == "acp://form/e1"
    editor.cmd("quit!")


def open_proposal(asking: Asking) -> None:
    """Refuse the first question, ask about an edit and open the review of that edit."""
    editor = asking.editor
    editor.keys("n")
    asking.answered("reject")
    path = str(editor.work / "a.txt")
    diff = {"type": "diff", "path": path, "oldText": TEXT, "newText": "ONE\n" + TEXT}
    asking.ask("edit", {"kind": "edit", "content": [diff]})
    editor.cmd("Acp review")
    editor.wait("#vim.api.nvim_list_tabpages() == 2 and vim.bo.modifiable")


@pytest.mark.parametrize("keys", ["itext", "ddi<Esc>"])
def test_a_proposal_is_withdrawn_while_the_user_edits_it(asking: Asking, keys: str) -> None:
    editor = asking.editor
    open_proposal(asking)
    editor.keys(keys)
    shown = editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
    asking.take_back("edit")
    editor.wait_message(OVER)
    editor.lua("vim.defer_fn(function() _G.is_late = true end, 500)")
    editor.wait("_G.is_late")
    assert editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)") == shown
    editor.keys("<Esc>ccmore<Esc>")
    assert_untouched(editor)
    editor.cmd("tabclose!")
    asking.end()


def test_the_review_of_a_withdrawn_question_closes_after_late_keys(asking: Asking) -> None:
    editor = asking.editor
    open_proposal(asking)
    asking.take_back("edit")
    editor.wait_message(OVER)
    editor.keys("\\A<Esc>")
    editor.wait("#vim.api.nvim_list_tabpages() == 1")
    assert_untouched(editor)
    asking.end()
