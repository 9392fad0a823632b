"""Refusals with a reason: only of seen questions, and the agent gets the reason (contract 12)."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from acp_nvim.agent.wire.endpoint import ConnectionClosed
from acp_nvim.features.refuse.verbs import steer
from acp_nvim.session import queue as waiting
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from tests.support.asking_agent import Asking
from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick, picker_questions
from tests.support.lua import lua_chunk
from tests.support.rpc import EditorError
from tests.support.traffic import Traffic
from tests.support.waiting import until

METHOD = "session/request_permission"
STEERING = "_session/steering"
NEW = "acp: New question: press again"
OVER = "acp: That question is over"
FLOAT = lua_chunk(__file__, "permission_float")


def ask(editor: Editor, scenario: str = "script", *args: str, text: str = "permission") -> Traffic:
    """Send a prompt that asks, and wait for the permission."""
    traffic = editor.agent(scenario, *args)
    editor.prompt(text)
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    return traffic


def outcomes(traffic: Traffic, count: int = 1) -> list[str]:
    answers = [frame["result"]["outcome"] for frame in traffic.wait_answers(METHOD, count)]
    return [answer.get("optionId", answer["outcome"]) for answer in answers]


def to_card(editor: Editor) -> None:
    """Put the cursor on the card of the question in the chat."""
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))")
    editor.lua("vim.fn.search('wants to run', 'bw')")


def queue(editor: Editor) -> list[str]:
    found: list[str] = editor.session(1)["queue"]
    return found


def composer(editor: Editor) -> list[str]:
    """Return the text of the composer once it has some."""
    editor.wait(
        "vim.fn.bufexists('acp://composer/1') == 1 and"
        " table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://composer/1'), 0, -1, true))"
        " ~= ''"
    )
    return editor.lines("acp://composer/1")


# ---- by key and by command


def test_the_reason_of_a_command_is_the_next_prompt_and_is_shown_at_the_question(
    editor: Editor,
) -> None:
    traffic = ask(editor)
    editor.prompt("say later")
    editor.wait("#require('acp').state().sessions[1].queue == 1")
    editor.answer("Acp refuse say use \\ | `trash`, 'please'")
    assert outcomes(traffic) == ["reject"]
    traffic.wait("session/prompt", 3)
    reason = "say use \\ | `trash`, 'please'"
    assert traffic.prompts() == ["permission", reason, "say later"]
    editor.wait_event("AcpTurnEnd", 3)
    editor.wait_screen("✗ Run p1 · refused: say use")
    chat = editor.chat(1)
    row = next(at for at, line in enumerate(chat) if "↳ Reject" in line)
    assert chat[row + 1].strip() == reason
    assert row < chat.index("## You", row)


def test_the_key_asks_for_the_reason(editor: Editor) -> None:
    install_picker(editor)
    traffic = ask(editor)
    to_card(editor)
    editor.lua("_G.acp_answers = { 'say not this' }")
    editor.press("c")
    assert outcomes(traffic) == ["reject"]
    traffic.wait("session/prompt", 2)
    assert traffic.prompts()[1] == "say not this"


def test_the_float_stays_while_a_window_asks_for_the_reason(editor: Editor) -> None:
    """The chat shows the question too, so that the float would be hidden outside of it."""
    editor.lua(lua_chunk(__file__, "input_in_float"))
    traffic = ask(editor)
    file = editor.lua("return vim.api.nvim_get_current_win()")
    editor.cmd("Acp permissions")
    editor.wait("vim.bo.filetype == 'acppermission'")
    before = editor.lua(FLOAT)
    editor.press("c")
    editor.wait_screen("Why not?")
    editor.keys("no")
    assert editor.lua(FLOAT) == before
    editor.keys("<Esc>")
    editor.wait("vim.fn.mode() == 'n' and vim.bo.filetype == 'acppermission'")
    assert traffic.answers(METHOD) == []
    editor.press("c")
    editor.wait_screen("Why not?")
    editor.keys("say not this<CR>")
    assert outcomes(traffic) == ["reject"]
    editor.wait("vim.api.nvim_get_current_win() == ...", file)


@pytest.mark.parametrize("answer", ["", "   ", None])
@pytest.mark.parametrize("place", ["card", "float", "command"])
def test_without_a_reason_nothing_is_answered(editor: Editor, answer: Any, place: str) -> None:
    install_picker(editor)
    traffic = ask(editor)
    editor.lua("_G.acp_answers = { ... }", *([] if answer is None else [answer]))
    if place == "command":
        editor.answer("Acp refuse")
    else:
        to_card(editor)
        if place == "float":
            editor.cmd("Acp permissions")
            editor.wait("vim.bo.filetype == 'acppermission'")
        editor.press("c")
    assert len(picker_questions(editor)) == 1
    editor.press(":Acp deny<CR>")
    assert outcomes(traffic) == ["reject"]
    assert traffic.prompts() == ["permission"]


def test_the_key_keeps_its_meaning_elsewhere_in_the_chat(editor: Editor) -> None:
    install_picker(editor)
    traffic = ask(editor)
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))")
    editor.keys("ggcc<Esc>")
    assert picker_questions(editor) == []
    editor.answer("Acp deny")
    assert outcomes(traffic) == ["reject"]


@pytest.mark.parametrize("way", ["key", "command"])
def test_a_question_without_a_single_refusal_is_not_answered(editor: Editor, way: str) -> None:
    install_picker(editor)
    traffic = ask(editor, text="permission_odd free_text")
    if way == "key":
        to_card(editor)
        editor.press("c")
        editor.wait_message("No option of kind reject_once. Options: Yes, and don't ask again")
    else:
        with pytest.raises(EditorError, match="No option of kind reject_once"):
            editor.answer("Acp refuse never")
        assert composer(editor) == ["never"]
    assert picker_questions(editor) == []
    assert traffic.answers(METHOD) == []
    editor.cmd("AcpCancel")
    assert outcomes(traffic) == ["cancelled"]


def test_nothing_pending_is_said_in_one_line(editor: Editor) -> None:
    editor.agent("echo")
    editor.turn("hello")
    editor.cmd("Acp refuse because")
    editor.wait_message("No pending permission")


# ---- questions that the user has seen


def test_a_young_question_is_not_refused(editor: Editor) -> None:
    install_picker(editor)
    asking = Asking(editor)
    asking.ask("one")
    to_card(editor)
    editor.later(399)
    editor.keys("c")
    editor.wait_message(NEW)
    editor.cmd("Acp refuse because")
    assert picker_questions(editor) == []
    assert asking.outcomes() == []
    asking.end()


def test_a_question_that_changes_while_the_reason_is_typed_is_not_answered(
    editor: Editor,
) -> None:
    asking = Asking(editor)
    asking.ask("one", {"rawInput": {"command": "ls"}})
    before = asking.permission()
    to_card(editor)
    editor.later(400)
    editor.keys("c")
    editor.keys("because of the name")
    asking.update("one", rawInput={"command": "rm -rf /"})
    asking.changed(before)
    editor.keys("<CR>")
    editor.wait_message(OVER)
    assert asking.outcomes() == []
    assert composer(editor) == ["because of the name"]
    asking.end()


def test_a_question_that_is_replaced_while_a_command_is_typed_is_not_refused(
    editor: Editor,
) -> None:
    asking = Asking(editor)
    asking.ask("one")
    editor.later(400)
    editor.keys(":Acp refuse not this one")
    asking.take_back("one")
    asking.ask("two")
    editor.later(400)
    editor.keys("<CR>")
    editor.wait_message(OVER)
    assert asking.outcomes() == ["cancelled"]
    asking.end()


# ---- the way to the agent


def test_two_reasons_come_in_their_order_before_queued_prompts(editor: Editor) -> None:
    traffic = editor.agent("script")
    editor.prompt("permissions 2")
    editor.prompt("say later")
    editor.wait("#require('acp').state().sessions[1].permissions == 2")
    editor.answer("Acp refuse say first")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.answer("Acp refuse say second")
    traffic.wait("session/prompt", 4)
    assert traffic.prompts()[1:] == ["say first", "say second", "say later"]
    editor.wait_event("AcpTurnEnd", 4)


def test_a_reason_of_several_lines_stays_whole(editor: Editor) -> None:
    traffic = ask(editor)
    event = editor.wait_event("AcpPermission")
    reason = "say one\nsay two"
    editor.lua(
        "local id, text = ... require('acp').answer(id, 'reject', { reason = text })",
        event["id"],
        reason,
    )
    assert outcomes(traffic) == ["reject"]
    traffic.wait("session/prompt", 2)
    assert traffic.prompts()[1] == reason
    editor.wait_event("AcpTurnEnd", 2)
    chat = [line.strip() for line in editor.chat(1)]
    row = chat.index("↳ Reject")
    assert chat[row + 1 : row + 3] == ["say one", "say two"]


@pytest.mark.parametrize(("choice", "outcome"), [("allow", "allow"), (None, "cancelled")])
def test_lua_gives_a_reason_with_any_answer(
    editor: Editor, choice: str | None, outcome: str
) -> None:
    traffic = ask(editor)
    event = editor.wait_event("AcpPermission")
    editor.lua(
        "local id, choice = ... require('acp').answer(id, choice, { reason = 'say why' })",
        event["id"],
        choice,
    )
    assert outcomes(traffic) == [outcome]
    traffic.wait("session/prompt", 2)
    assert traffic.prompts()[1] == "say why"


def test_a_reason_is_inserted_into_the_turn_of_an_agent_that_offers_it(editor: Editor) -> None:
    traffic = ask(editor, "steered", text="ask")
    editor.answer("Acp refuse use the helper")
    request = traffic.wait(STEERING)
    assert request["params"] == {
        "sessionId": "s1",
        "prompt": [{"type": "text", "text": "use the helper"}],
        "_meta": {"steering": {"idleBehavior": "promptRequired"}},
    }
    assert outcomes(traffic) == ["reject"]
    editor.wait_event("AcpTurnEnd")
    assert traffic.prompts() == ["ask"]
    until(lambda: queue(editor) == [], what="an empty queue")
    assert any("use the helper" in line for line in editor.chat(1))


@pytest.mark.parametrize("outcome", ["promptRequired", "failed", "error", "nothing", "ends"])
def test_a_reason_that_is_not_inserted_is_the_next_prompt(editor: Editor, outcome: str) -> None:
    traffic = ask(editor, "steered", outcome, text="ask")
    editor.prompt("later")
    editor.answer("Acp refuse use the helper")
    traffic.wait("session/prompt", 3)
    assert traffic.prompts() == ["ask", "use the helper", "later"]
    editor.wait_event("AcpTurnEnd", 3)


def test_version_2_gets_the_reason_at_once(editor: Editor) -> None:
    traffic = editor.agent("script", protocol=2)
    editor.prompt("permission\ntakes_one_more")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.answer("Acp refuse use the helper")
    editor.wait_event("AcpTurnEnd")
    assert traffic.prompts() == ["permission\ntakes_one_more", "use the helper"]
    assert "taken" in "\n".join(editor.chat(1))
    assert outcomes(traffic) == ["reject"]


def test_a_reason_for_a_subagent_goes_to_its_root_session(editor: Editor) -> None:
    traffic = editor.agent("script")
    editor.prompt("subagent_asks")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.answer("Acp refuse say not so")
    assert outcomes(traffic) == ["reject"]
    traffic.wait("session/prompt", 2)
    assert traffic.received("session/prompt")[1]["params"]["sessionId"] == "s1"
    assert traffic.prompts()[1] == "say not so"


def test_a_proposal_is_refused_with_a_reason_in_its_review(editor: Editor) -> None:
    path = editor.write("a.txt", "one\n")
    asking = Asking(editor)
    diff = {"type": "diff", "path": str(path), "oldText": "one\n", "newText": "ONE\n"}
    asking.ask("edit", {"kind": "edit", "content": [diff]})
    editor.cmd("Acp review")
    editor.wait("#vim.api.nvim_list_tabpages() == 2")
    editor.later(400)
    editor.see_question()
    editor.cmd("Acp refuse say keep it small")
    asking.answered("reject")
    editor.wait("#vim.api.nvim_list_tabpages() == 1")
    asking.agent.end()
    asking.traffic.wait("session/prompt", 2)
    assert asking.traffic.prompts()[1] == "say keep it small"


# ---- nothing is lost


def test_a_cancel_keeps_the_reason_in_the_queue(editor: Editor) -> None:
    asking = Asking(editor)
    asking.ask("one")
    editor.answer("Acp refuse say why")
    asking.answered("reject")
    editor.wait("#require('acp').state().sessions[1].queue == 1")
    asking.end()
    assert queue(editor) == ["say why"]
    editor.cmd("Acp queue run")
    asking.traffic.wait("session/prompt", 2)


@pytest.mark.parametrize("end", ["closed", "dies", "killed"])
def test_the_reason_comes_back_if_the_session_ends(editor: Editor, end: str) -> None:
    install_picker(editor)
    if end == "dies":
        ask(editor, "steered", "dies", text="ask")
        editor.answer("Acp refuse say why")
    else:
        asking = Asking(editor)
        asking.ask("one")
        editor.answer("Acp refuse say why")
        asking.answered("reject")
        if end == "killed":
            asking.agent.order("exits", "3")
        else:
            title = f"obeys {asking.agent._home}"
            pick(editor, "Acp sessions", title, "close")
    lines = composer(editor)
    until(lambda: "say why" in composer(editor), what=str(lines))
    assert queue(editor) == []


async def test_a_reason_that_may_have_arrived_is_on_hold() -> None:
    session, reason = Session(1, "agent", "/work"), Prompt("why", is_reason=True)
    waiting.add_at_agent(session, reason)
    conversation = Mock(session=session)
    conversation.connection.agent.steer = AsyncMock(side_effect=ConnectionClosed)
    conversation.connection.wait_ended = AsyncMock()
    await steer(conversation, reason)
    assert (session.queue, session.at_agent, session.held) == ([reason], [], True)
    conversation.send_reason.assert_not_called()
