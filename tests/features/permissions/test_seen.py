"""Only a question that the user has seen is answered: the rule, without a host.

The clock of the front end stands still in these tests and is set forward by hand.
"""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import (
    Start,
    cards,
    float_lines,
    last,
    notifications,
    permission,
    sent,
    session,
)
from tests.support.stopped_clock import (
    CHAT,
    NEW,
    OVER,
    advance,
    assert_answers_after_400_ms,
    assert_answers_at_second_press,
    assert_refused,
    draw_rows,
    shown_ms,
    start,
    wait_drawn,
    wait_message,
)


@pytest.fixture
def front(edit: Start) -> Editor:
    """Return an editor without a host whose clock stands still."""
    return start(edit)


COMMANDS = ["Acp allow", "Acp deny", "Acp allow yes", "Acp deny no"]
MAPS = ["gy", "gY", "gn", "g:"]
KEYS = ["y", "Y", "n", "1", "2", "3"]


def test_no_press_answers_a_question_before_400_ms(front: Editor) -> None:
    for number, keys in enumerate([*COMMANDS, *MAPS, *KEYS]):
        id = f"p{number}"
        cards(front, id)
        if keys in COMMANDS:
            front.cmd(keys)  # as a script does at once
            assert_refused(front)
        elif keys in KEYS:
            front.cmd("Acp permissions")
        assert_answers_after_400_ms(front, keys, id)
        cards(front)
        front.lua("_G.sent = {}")


def test_the_second_press_of_a_key_in_the_chat_answers_nothing(front: Editor) -> None:
    front.lua(CHAT)
    draw_rows(front, 0, 1, "", "p1")
    cards(front, "p1")
    front.keys("G")
    wait_drawn(front, "p1")
    advance(front, 400)
    front.keys("y")
    assert last(front) == ["choose", {"id": "p1", "option": "yes"}]
    draw_rows(front, 1, 2, "p2")
    cards(front, "p2")
    front.keys("y")
    assert len(sent(front)) == 1
    wait_message(front, NEW)
    advance(front, 200)
    front.keys("y")
    assert len(sent(front)) == 1
    advance(front, 400)
    front.keys("y")
    assert last(front) == ["choose", {"id": "p2", "option": "yes"}]


def test_a_refused_press_restarts_the_time(front: Editor) -> None:
    for number, keys in enumerate([*MAPS, *KEYS]):
        id = f"p{number}"
        cards(front, id)
        if keys in KEYS:
            front.cmd("Acp permissions")
        wait_drawn(front, id)
        for _ in range(20):
            front.keys(keys)
            assert_refused(front)
            advance(front, 30)
        advance(front, 369)
        front.keys(keys)
        assert_refused(front)
        advance(front, 400)
        front.keys(keys)
        assert last(front)[1]["id"] == id
        cards(front)
        front.lua("_G.sent = {}")


def test_a_refused_press_restarts_the_time_of_all_cards(front: Editor) -> None:
    """The cards move up, and each press may be for another one."""
    cards(front, "p1", "p2")
    front.cmd("Acp permissions")
    wait_drawn(front, "p2")
    advance(front, 399)
    front.keys("y")
    assert_refused(front)
    assert [shown_ms(front, id) for id in ("p1", "p2")] == [0, 0]


def test_a_card_in_the_chat_that_moves_under_the_cursor_is_new(front: Editor) -> None:
    front.lua(CHAT)
    draw_rows(front, 0, 1, "", "p1", "p2")
    cards(front, "p1", "p2")
    front.keys(":2<CR>")
    wait_drawn(front, "p1")
    advance(front, 9000)
    draw_rows(front, 1, 2)
    assert front.lua("return vim.api.nvim_get_current_line()") == "card p2"
    front.keys("y")
    assert_refused(front)
    advance(front, 400)
    front.keys("y")
    assert last(front) == ["choose", {"id": "p2", "option": "yes"}]


def test_a_card_that_the_user_goes_to_is_not_new(front: Editor) -> None:
    front.lua(CHAT)
    draw_rows(front, 0, 1, "", "p1", "p2")
    cards(front, "p1", "p2")
    front.keys("gg")
    wait_drawn(front, "p2")
    advance(front, 400)
    front.keys("jj")
    front.keys("y")
    assert last(front) == ["choose", {"id": "p2", "option": "yes"}]


def test_growing_text_above_makes_no_card_new(front: Editor) -> None:
    front.lua(CHAT)
    draw_rows(front, 0, 1, "", "p1")
    cards(front, "p1")
    front.keys("G")
    wait_drawn(front, "p1")
    advance(front, 400)
    draw_rows(front, 0, 1, "", "", "")
    front.keys("y")
    assert last(front) == ["choose", {"id": "p1", "option": "yes"}]


def test_a_question_that_moves_up_is_new(front: Editor) -> None:
    cards(front, "p1", "p2")
    wait_drawn(front, "p2")
    advance(front, 9000)
    front.cmd("Acp allow")
    assert last(front) == ["allow", {"id": "p1"}]
    cards(front, "p2")
    front.lua("_G.sent = {}")
    assert_answers_at_second_press(front, "Acp allow", "p2")


def test_no_press_answers_a_question_of_another_session(front: Editor) -> None:
    for number, keys in enumerate(["Acp allow", *MAPS]):
        theirs = f"theirs {number}"
        cards(front, f"mine {number}", n=1)
        cards(front, theirs, n=2)
        wait_drawn(front, theirs)
        advance(front, 9000)
        cards(front, n=1)
        assert_answers_at_second_press(front, keys, theirs)
        cards(front, n=2)
        front.lua("_G.sent = {}")


def test_the_cards_of_the_current_session_come_first(front: Editor) -> None:
    cards(front, "theirs", n=2)
    cards(front, "mine", n=1)
    wait_drawn(front, "theirs")
    heads = [line for line in float_lines(front) or [] if line.startswith("decision")]
    assert heads == ["decision mine", "decision theirs"]
    advance(front, 400)
    front.cmd("Acp deny")
    assert last(front) == ["deny", {"id": "mine"}]
    session(front, 2)
    front.cmd("Acp deny")
    assert len(sent(front)) == 1, "another question is the oldest now"


def test_a_consent_is_not_answered_by_the_command_for_the_question_before_it(
    front: Editor,
) -> None:
    consent = {"id": "c1", "subject": "consent", "lines": ["Pass on?"], "spans": []}
    card = {
        "id": "p1",
        "lines": ["decision p1"],
        "spans": [],
        "options": permission("p1")["options"],
    }
    consent["options"] = card["options"]
    front.lua("require('acp.features.permissions.float').set(1, { ... })", consent, card)
    wait_drawn(front, "c1")
    advance(front, 9000)
    front.lua("require('acp.features.permissions.float').set(1, { ... })", consent)
    front.cmd("Acp allow")
    assert_refused(front)


def test_permissions_come_before_forms_and_these_before_consents(front: Editor) -> None:
    found = [
        {"id": i, "subject": i, "lines": [f"decision {i}"], "spans": [], "options": []}
        for i in ("consent", "elicitation", "permission")
    ]
    front.lua("require('acp.features.permissions.float').set(1, ...)", found)
    heads = [line for line in float_lines(front) or [] if line.startswith("decision")]
    assert heads == ["decision permission", "decision elicitation", "decision consent"]


# ---- the command line


def test_a_typed_command_answers_the_question_that_was_there_at_the_colon(front: Editor) -> None:
    cards(front, "p1")
    wait_drawn(front, "p1")
    front.keys(":Acp allow")
    cards(front, "p1", "p2")
    front.keys("<CR>")
    assert last(front) == ["allow", {"id": "p1"}]


def test_a_typed_command_whose_question_is_gone_answers_no_other(front: Editor) -> None:
    cards(front, "p1")
    wait_drawn(front, "p1")
    advance(front, 400)
    front.keys(":Acp allow")
    cards(front)
    cards(front, "p2")
    wait_drawn(front, "p2")
    advance(front, 9000)
    front.keys("<CR>")
    assert_refused(front, OVER)
    assert shown_ms(front, "p2"), "the next command may answer it"
    front.keys(":Acp allow<CR>")
    assert last(front) == ["allow", {"id": "p2"}]


def test_a_typed_command_answers_no_question_that_came_after_the_colon(front: Editor) -> None:
    front.keys(":Acp allow")
    cards(front, "p1")
    wait_drawn(front, "p1")
    advance(front, 9000)
    front.keys("<CR>")
    assert_refused(front)


def test_a_question_that_comes_while_a_command_is_typed_is_drawn(front: Editor) -> None:
    front.keys(":Acp all")
    cards(front, "p1")
    front.wait_screen("decision p1")
    front.wait_screen(":Acp all")


def test_a_command_typed_through_a_map_is_for_the_first_question(
    front: Editor,
) -> None:
    front.cmd("nmap g; :Acp<Space>")
    cards(front, "p1")
    wait_drawn(front, "p1")
    advance(front, 400)
    front.keys("g;")
    cards(front, "p2")
    wait_drawn(front, "p2")
    advance(front, 9000)
    front.keys("allow<CR>")
    assert_refused(front, OVER)


def test_an_aborted_command_line_is_for_no_question(front: Editor) -> None:
    cards(front, "p1")
    wait_drawn(front, "p1")
    front.keys(":Acp allow<Esc>")
    cards(front, "p2")
    wait_drawn(front, "p2")
    front.cmd("Acp allow")
    assert_refused(front)


def test_no_options_of_a_withdrawn_question_are_checked(front: Editor) -> None:
    cards(front, "p1")
    wait_drawn(front, "p1")
    front.keys(":Acp allow ever")
    cards(front, "p2")
    front.keys("<CR>")
    assert_refused(front, OVER)


def test_a_macro_answers_one_question(front: Editor) -> None:
    cards(front, "p1", "p2")
    front.cmd("Acp permissions")
    wait_drawn(front, "p1")
    advance(front, 400)
    front.cmd("call setreg('q', 'yyy')")
    front.keys("@q")
    assert {args["id"] for _, args in sent(front)} == {"p1"}


def test_keys_typed_while_neovim_was_busy_answer_nothing(front: Editor) -> None:
    """A plugin blocks for a second, as formatters do; the question arrives meanwhile."""
    front.cmd("nmap <F5> <Cmd>lua vim.wait(30000, function() return _G.go end)<CR>")
    front.keys("<F5>gy")
    cards(front, "p1")
    advance(front, 9000)
    front.lua("_G.go = true")
    assert_refused(front)


def test_the_state_shows_how_long_a_question_has_been_on_the_screen(front: Editor) -> None:
    session(front, permissions=[permission("p1"), permission("p2")])
    wait_drawn(front, "p2")
    advance(front, 250)
    cards(front, "p1", "p2")
    listed = front.lua("return require('acp').state().sessions[1].permissions")
    assert [one["shown_ms"] for one in listed] == [250, 250]


def test_an_answer_from_lua_by_id_needs_no_time_on_the_screen(front: Editor) -> None:
    cards(front, "p1")
    front.lua("require('acp').answer('p1', 'yes')")
    assert last(front) == ["answer", {"id": "p1", "choice": "yes"}]


def test_nothing_runs_while_no_question_is_pending(front: Editor) -> None:
    cards(front, "p1")
    wait_drawn(front, "p1")
    cards(front)
    watching = "return #vim.api.nvim_get_autocmds({ event = 'SafeState', group = 'acp.seen' })"
    assert front.lua(watching) == 0
    assert notifications(front) is not None
