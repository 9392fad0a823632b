"""The float of pending permissions, and the keys that answer."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import (
    OPTIONS,
    cards,
    float_lines,
    last,
    notifications,
    permission,
    sent,
    session,
)


def test_the_float_does_not_take_focus_or_keys(front: Editor) -> None:
    front.open(front.write("a.txt", ""))
    front.keys("iabc")
    cards(front, 1)
    front.keys("yYnN1")
    assert front.lua("return vim.api.nvim_get_current_line()") == "abcyYnN1"
    assert sent(front) == []
    front.wait_screen("decision 1")


def test_a_question_from_a_worktree_names_it(front: Editor) -> None:
    """Its files have the names of those that the user has open."""
    session(front, 1, title="Fix it", worktree={"path": "/w", "branch": "acp/fix-it"})
    cards(front, 1)
    front.cmd("Acp permissions")
    assert (float_lines(front) or [""])[0] == "session 1 · worktree acp/fix-it"


@pytest.mark.parametrize(
    ("key", "choice"), [("y", "yes"), ("Y", "ever"), ("n", "no"), ("2", "ever")]
)
def test_keys_in_the_float_answer_the_card_under_the_cursor(
    front: Editor, key: str, choice: str
) -> None:
    cards(front, 1, 2)
    front.cmd("Acp permissions")
    front.keys("5G")
    front.press(key)
    assert last(front) == ["choose", {"id": 2, "option": choice}]


CLIPBOARD = """
local function copy(lines) _G.copied = lines end
local function paste() return _G.copied or { '' } end
vim.g.clipboard = { name = 'test', copy = { ['+'] = copy }, paste = { ['+'] = paste } }
"""


@pytest.mark.parametrize(
    ("clipboard", "register"), [("", "a"), ("unnamedplus", "a"), ("unnamedplus", "+")]
)
def test_a_key_after_a_register_copies_and_answers_nothing(
    front: Editor, clipboard: str, register: str
) -> None:
    front.lua(CLIPBOARD)
    front.cmd(f"set clipboard={clipboard}")
    cards(front, 1, 2)
    front.cmd("Acp permissions")
    front.see_question()
    front.keys(f'"{register}yy')
    assert front.lua("return vim.fn.getreg(...)", register) == "decision 1\n"
    front.keys(f'"{register}1yw')
    assert front.lua("return vim.fn.getreg(...)", register) == "decision "
    assert sent(front) == []
    front.press("y")
    assert last(front) == ["choose", {"id": 1, "option": "yes"}]


def test_a_double_click_on_an_option_chooses_it(front: Editor) -> None:
    cards(front, 1, 2)
    front.see_question()
    front.click("decision 2", times=2)
    assert front.lua("return { vim.fn.mode(), vim.bo.filetype }") == ["v", "acppermission"]
    assert sent(front) == []
    front.keys("<Esc>")
    front.lua("vim.fn.search('Yes', 'w') vim.fn.search('Yes')")
    front.click("[1] Yes", times=2)
    assert last(front) == ["choose", {"id": 1, "option": "yes"}]


def test_the_float_counts_like_the_bar_of_the_chat(front: Editor) -> None:
    cards(front, 1)
    front.wait_screen("╭ question ─")
    cards(front, 1, 2)
    front.wait_screen("╭ 2 questions ─")


def test_a_question_that_moves_up_causes_no_message(front: Editor) -> None:
    front.lua("vim.g.acp_focused = false")
    cards(front, 1, 2, behind=3)
    front.wait("#_G.notified == 1")
    assert notifications(front) == ["acp: decision 1 (and 4 more)"]
    front.cmd("Acp permissions")
    front.keys("q")
    cards(front, 2, 3, behind=2)
    front.lua("vim.schedule(function() _G.later = true end)")
    front.wait("_G.later")
    assert float_lines(front) is None, "closed by the user until another one comes"
    cards(front, 3, 4, behind=3)
    front.wait("#_G.notified == 2")
    assert notifications(front)[-1] == "acp: decision 4 (and 1 more)"
    assert (float_lines(front) or [])[-1] == "… and 3 more"


def test_entering_the_float_requests_the_cards_behind(front: Editor) -> None:
    cards(front, 1, 2, behind=3)
    assert sent(front) == []
    front.cmd("Acp permissions")
    front.wait("#_G.sent == 1")
    assert last(front) == ["cards", {}]
    cards(front, 1, 2, 3, 4, 5)
    front.keys("G")
    front.press("y")
    assert last(front) == ["choose", {"id": 5, "option": "yes"}]
    assert [verb for verb, _ in sent(front)] == ["cards", "choose"]


def test_the_float_maps_the_keys_that_it_lists(front: Editor) -> None:
    cards(front, 1)
    front.cmd("Acp permissions")
    front.keys("g?")
    lines = front.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
    assert [line.split()[0] for line in lines[1:]] == [
        *"yYncNd",
        "<CR>",
        "double",
        "1…9",
        "q",
        "g?",
    ]
    front.keys("q")
    assert front.lua("return vim.bo.filetype") == "acppermission"
    front.keys("q")
    assert front.lua("return vim.bo.filetype") == ""


def test_a_kind_that_is_not_offered_answers_nothing(front: Editor) -> None:
    cards(front, 1)
    front.cmd("Acp permissions")
    front.press("N")
    assert (
        notifications(front)[-1] == "acp: No option of kind reject_always. Options: yes, ever, no"
    )
    front.press("4")
    assert notifications(front)[-1] == "acp: No option 4. Options: 1-3"
    assert sent(front) == []


def test_a_card_that_has_just_moved_under_the_cursor_takes_no_key(front: Editor) -> None:
    cards(front, 1, 2)
    front.cmd("Acp permissions")
    front.see_question()
    cards(front, 2)
    front.keys("y")
    assert sent(front) == []
    assert notifications(front)[-1] == "acp: New question: press again"
    front.press("y")
    assert last(front) == ["choose", {"id": 2, "option": "yes"}]


def test_cursor_stays_on_its_card_when_another_goes(front: Editor) -> None:
    cards(front, 1, 2)
    front.cmd("Acp permissions")
    front.keys("6G")
    cards(front, 2)
    front.press("y")
    assert last(front) == ["choose", {"id": 2, "option": "yes"}]


def test_the_float_follows_tabs_and_comes_back_after_only(front: Editor) -> None:
    cards(front, 1)
    front.cmd("tabnew")
    front.wait("vim.fn.winnr('$') == 2")
    assert float_lines(front) is not None
    front.cmd("only")
    assert float_lines(front) is None
    cards(front, 1, 2)
    assert float_lines(front) is not None
    cards(front)
    assert float_lines(front) is None
    front.cmd("tabclose")
    assert float_lines(front) is None


def test_the_float_waits_for_the_command_line_window(front: Editor) -> None:
    front.keys("q:")
    cards(front, 1)
    front.keys(":q<CR>")
    front.wait("vim.fn.getcmdwintype() == ''")
    front.wait_screen("decision 1")


def test_permission_keys_in_the_chat_act_only_on_a_card(front: Editor) -> None:
    session(front)
    front.lua(
        "require('acp.features.chat.view').begin(1) require('acp.features.chat.view').open(1)"
    )
    front.lua(
        "require('acp.features.chat.view').replace(1, 0, 1, {'one', 'card', 'three'},"
        " {{}, {}, {1, {decision = 'd1', kind = 'decision'}}})"
    )
    front.lua(
        "require('acp.features.permissions.float').set(1, ...)",
        [{"id": "d1", "lines": ["x"], "spans": [], "options": OPTIONS}],
    )
    front.cmd("wincmd l")
    front.keys("gg")
    front.keys("yy")
    assert front.lua("return vim.fn.getreg('\"')") == "one\n"
    front.keys("1j")
    assert front.lua("return vim.fn.line('.')") == 2
    front.press("y")
    assert last(front) == ["choose", {"id": "d1", "option": "yes"}]


def test_plug_maps_answer_the_oldest(front: Editor) -> None:
    session(front, permissions=[permission("p1"), permission("p2")])
    front.cmd("nmap gA <Plug>(acp-allow-always)")
    front.press("gA")
    assert last(front) == ["choose", {"id": "p1", "option": "ever"}]


LONG = ["Charge for the whole basket"] + [f"  line {n}" for n in range(30)] + ["- old", "+ new"]


def tall_card(front: Editor) -> None:
    """Show a card with a long diff of which two lines are changed."""
    spans = [[row, 0, 4, "AcpDiffContext"] for row in range(1, 31)]
    card = {
        "id": 1,
        "lines": [*LONG, "1. Yes", "2. Always", "3. No"],
        "spans": [*spans, [31, 0, 5, "AcpDiffRemove"], [32, 0, 5, "AcpDiffAdd"]],
        "head": len(LONG),
        "options": OPTIONS,
    }
    front.lua("require('acp.features.permissions.float').set(1, { ... })", card)


def test_changed_lines_of_a_diff_are_shown_before_its_context(front: Editor) -> None:
    tall_card(front)
    shown = float_lines(front)
    assert shown == [LONG[0], "- old", "+ new", "1. Yes", "2. Always", "3. No"]


def test_wrap_options_of_the_current_window_cut_no_question(front: Editor) -> None:
    front.cmd("set showbreak=>>>>>>>>>>>>>>>> | 12vsplit")
    tall_card(front)
    shown = float_lines(front)
    assert shown == [LONG[0], "- old", "+ new", "1. Yes", "2. Always", "3. No"]
