"""Sessions after the host dies: they continue under the next host, in the same chats."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker
from tests.support.killed_host import kill_host
from tests.support.stored_sessions import MODES, storing_agent
from tests.support.waiting import until

IDLE = "require('acp').state().sessions[1].status == 'idle'"


@pytest.fixture
def picker(editor: Editor) -> Editor:
    editor.errors_expected = True
    install_picker(editor)
    return editor


def chat_lines(editor: Editor, *words: str) -> list[str]:
    return [line for line in editor.chat(1) if line in words]


def test_the_next_prompt_resumes_the_session_in_its_chat(picker: Editor) -> None:
    traffic = storing_agent(picker, {})
    picker.turn("say one")
    buffer = picker.session(1)["chat_bufnr"]
    kill_host(picker)
    assert picker.turn("say two")["session"] == 1
    assert chat_lines(picker, "one", "two") == ["one", "two"]
    assert any("The session was resumed" in line for line in picker.chat(1))
    assert picker.session(1)["id"] == "s1"
    assert picker.session(1)["chat_bufnr"] == buffer
    assert len(traffic.received("session/resume")) == 1
    assert len(traffic.received("session/new")) == 1


def test_without_resume_the_session_is_loaded_and_drawn_once(picker: Editor) -> None:
    traffic = storing_agent(picker, {}, without="resume")
    picker.turn("say one")
    kill_host(picker)
    picker.turn("say two")
    assert len(traffic.received("session/load")) == 1
    assert chat_lines(picker, "say one", "one", "say two", "two") == [
        "say one",
        "one",
        "say two",
        "two",
    ]


def test_otherwise_a_new_session_in_the_same_chat_says_why(picker: Editor) -> None:
    storing_agent(picker, {}, without="resume loadSession")
    picker.turn("say one")
    kill_host(picker)
    assert picker.turn("say two")["session"] == 1
    assert any("can neither resume nor load" in line for line in picker.chat(1))
    assert chat_lines(picker, "one", "two") == ["one", "two"]


def test_a_turn_that_was_cut_ends_and_its_prompt_returns(picker: Editor) -> None:
    storing_agent(picker, {})
    picker.prompt("wait_for_cancel")
    picker.wait("require('acp').state().sessions[1].status == 'running'")
    picker.prompt("say later")
    picker.wait("#require('acp').state().sessions[1].queue == 1")
    kill_host(picker)
    end = picker.wait_event("AcpTurnEnd")
    assert end["session"] == 1
    assert "host ended" in end["error"]
    assert picker.lines("acp://composer/1") == ["wait_for_cancel", "say later"]
    assert picker.session(1)["queue"] == []
    picker.turn("say two")
    assert any("host ended" in line for line in picker.chat(1))


def test_mode_and_options_are_restored(picker: Editor) -> None:
    traffic = storing_agent(picker, {}, new_session=MODES)
    picker.turn("say one")
    picker.cmd("Acp mode code")
    picker.cmd("Acp option fast true")
    picker.wait("require('acp').state().sessions[1].options[2].currentValue == true")
    kill_host(picker)
    picker.turn("say two")
    assert picker.session(1)["modes"]["current"] == "code"
    assert picker.session(1)["options"][1]["currentValue"] is True
    assert len(traffic.received("session/set_mode")) == 2


def test_sessions_keep_their_numbers_and_the_current_one_stays_current(picker: Editor) -> None:
    storing_agent(picker, {})
    picker.turn("say one")
    picker.cmd("AcpPrompt! say other")
    picker.wait_event("AcpTurnEnd", 2)
    picker.lua("require('acp').prompt('say back', { session = 1 })")
    picker.wait_event("AcpTurnEnd", 3)
    kill_host(picker)
    assert picker.turn("say two")["session"] == 2
    picker.lua("require('acp').prompt('say three', { session = 1 })")
    assert picker.wait_event("AcpTurnEnd", 5)["session"] == 1
    picker.cmd("AcpPrompt! say new")
    assert picker.wait_event("AcpTurnEnd", 6)["session"] == 3


def test_an_old_question_is_over_and_a_new_one_is_separate(picker: Editor) -> None:
    picker.agent("script")
    picker.prompt("permission")
    permission = picker.wait_event("AcpPermission")
    kill_host(picker)
    assert picker.wait_event("AcpPermissionDone") == {
        "session": 1,
        "id": permission["id"],
        "outcome": "cancelled",
    }
    picker.prompt("permission")
    again = picker.wait_event("AcpPermission", 2)
    assert again["session"] == 1
    assert again["id"] != permission["id"]
    picker.answer("Acp allow")
    picker.wait_event("AcpTurnEnd", 2)


def test_the_whole_chat_can_be_drawn_again(picker: Editor) -> None:
    storing_agent(picker, {})
    picker.turn("say one")
    kill_host(picker)
    picker.turn("say two")
    before = picker.chat(1)
    picker.cmd("bwipeout acp://chat/1")
    picker.turn("say three")
    until(lambda: picker.chat(1)[: len(before)] == before, what="the whole chat")


def test_the_host_may_die_twice(picker: Editor) -> None:
    storing_agent(picker, {})
    picker.turn("say one")
    kill_host(picker)
    picker.turn("say two")
    kill_host(picker)
    assert picker.turn("say three")["session"] == 1
    assert chat_lines(picker, "one", "two", "three") == ["one", "two", "three"]


def test_a_restart_reopens_the_remaining_sessions(picker: Editor) -> None:
    storing_agent(picker, {})
    picker.turn("say one")
    kill_host(picker)
    picker.cmd("Acp restart")
    picker.wait_event("AcpSession", 2)
    picker.wait(IDLE)
    assert any("The session was resumed" in line for line in picker.chat(1))


def test_a_newline_that_a_save_adds_without_a_host_is_known(picker: Editor) -> None:
    picker.agent("script")
    path = picker.write("a.txt", "one\ntwo")
    picker.open(path)
    picker.turn(f"read {path}")
    kill_host(picker)
    picker.keys("Aand a half<Esc>")
    picker.cmd("write")
    assert path.read_text() == "oneand a half\ntwo\n"
    assert picker.lua("return vim.bo.endofline")
    picker.turn(f"replace {path} two TWO")
    assert path.read_text() == "oneand a half\nTWO\n"
