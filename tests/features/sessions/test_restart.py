"""Restarts of an agent's process, by the user or after its death: its sessions continue."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import pick
from tests.support.stored_sessions import MODES, storing_agent
from tests.support.waiting import until


def restart(editor: Editor, count: int = 2) -> None:
    """Run `:Acp restart`, and wait until session 1 was opened this many times."""
    editor.cmd("Acp restart")
    editor.wait_event("AcpSession", count)
    editor.wait("require('acp').state().sessions[1].status == 'idle'")


def test_resume_is_tried_first(picker: Editor) -> None:
    traffic = storing_agent(picker, {})
    picker.turn("say one")
    restart(picker)
    assert picker.session(1)["id"] == "s1"
    assert any("is running again. The session was resumed" in line for line in picker.chat(1))
    assert not traffic.received("session/load")
    picker.turn("say two")
    assert [line for line in picker.chat(1) if line in ("one", "two")] == ["one", "two"]
    assert len(traffic.pids()) == 2


@pytest.mark.parametrize("scenario", ["stores", "stores_late"])
def test_without_resume_the_session_is_loaded_and_drawn_once(picker: Editor, scenario: str) -> None:
    traffic = storing_agent(picker, {}, without="resume", scenario=scenario)
    picker.turn("say one")
    restart(picker)
    traffic.wait("session/load")
    picker.turn("say two")
    chat = picker.chat(1)
    assert chat.count("say one") == 1
    assert "answered" not in chat
    assert [line for line in chat if line in ("one", "two")] == ["one", "two"]


def test_a_load_that_was_cut_off_is_drawn_once(picker: Editor) -> None:
    said = [["user", "what was it?"], ["agent", "It was so.\n"], ["tool", "t1"]]
    mark = picker.home / "died"
    traffic = storing_agent(
        picker,
        {"x1": {"title": "Old talk", "said": said}},
        without="resume",
        scenario="stores_and_dies",
        more_args=(str(mark),),
    )
    pick(picker, "Acp sessions", "Old talk", "load")
    picker.wait("(require('acp').state().sessions[1] or {}).status == 'failed'")
    assert "what was it?" in picker.chat(1)
    restart(picker, count=1)
    traffic.wait("session/load", 2)
    chat = [line for line in picker.chat(1) if line]
    assert "ended" in chat[0], "notices stay"
    assert chat[1:5] == ["## You", "what was it?", "## Scripted", "It was so."]
    assert sum("Old t1" in line for line in chat) == 1
    assert not any("Half" in line for line in chat)
    assert [call["title"] for call in picker.session(1)["tool_calls"]] == ["Old t1"]
    picker.turn("go on")
    assert picker.chat(1).count("what was it?") == 1


def test_otherwise_a_new_session_is_opened_with_the_reason(picker: Editor) -> None:
    traffic = storing_agent(picker, {}, without="resume loadSession")
    picker.turn("say one")
    restart(picker)
    assert picker.session(1)["id"] == "s2"
    assert any("can neither resume nor load" in line for line in picker.chat(1))
    picker.turn("say two")
    assert traffic.received("session/prompt")[1]["params"]["sessionId"] == "s2"


def test_chosen_values_are_set_again(picker: Editor) -> None:
    traffic = storing_agent(picker, {}, new_session=MODES, mode="ask", options={"model": "small"})
    picker.turn("say one")
    picker.cmd("Acp mode code")
    picker.cmd("Acp option fast true")
    picker.wait("require('acp').state().sessions[1].options[2].currentValue == true")
    restart(picker)
    assert picker.session(1)["modes"]["current"] == "code"
    assert [o["currentValue"] for o in picker.session(1)["options"]] == ["small", True]
    assert [f["params"]["modeId"] for f in traffic.received("session/set_mode")] == ["code"] * 2


def test_chosen_values_are_set_again_if_the_agent_does_not_report_them(
    picker: Editor,
) -> None:
    """The answers to `session/resume` and `session/load` may omit modes and options."""
    traffic = storing_agent(picker, {}, new_session=MODES, scenario="stores_quietly")
    picker.turn("say one")
    picker.cmd("Acp mode code")
    picker.cmd("Acp option fast true")
    picker.wait("require('acp').state().sessions[1].options[2].currentValue == true")
    restart(picker)
    assert picker.session(1)["modes"]["current"] == "code"
    assert picker.session(1)["options"][1]["currentValue"] is True
    assert [f["params"]["modeId"] for f in traffic.received("session/set_mode")] == ["code"] * 2
    assert len(traffic.received("session/set_config_option")) == 2


def test_values_that_were_not_chosen_are_not_set(picker: Editor) -> None:
    traffic = storing_agent(picker, {}, new_session=MODES, scenario="stores_quietly")
    picker.turn("say one")
    restart(picker)
    assert not traffic.received("session/set_mode")
    assert not traffic.received("session/set_config_option")


def test_the_chat_stays_in_its_window_and_the_focus_does_not_move(picker: Editor) -> None:
    storing_agent(picker, {})
    picker.turn("say one")
    windows = picker.lua("return { vim.api.nvim_get_current_win(), vim.api.nvim_list_wins() }")
    restart(picker)
    picker.turn("say two")
    assert windows == picker.lua(
        "return { vim.api.nvim_get_current_win(), vim.api.nvim_list_wins() }"
    )


def test_every_session_of_the_agent_is_reopened_and_no_other(picker: Editor) -> None:
    first = storing_agent(picker, {}, name="first")
    picker.turn("say one")
    picker.cmd("Acp new")
    picker.wait("(require('acp').state().sessions[2] or {}).status == 'idle'")
    other = picker.agent("script", name="other")
    picker.cmd("Acp new")
    picker.wait("(require('acp').state().sessions[3] or {}).status == 'idle'")
    picker.cmd("Acp restart first")
    picker.wait_event("AcpSession", 5)
    resumed = [f["params"]["sessionId"] for f in first.received("session/resume")]
    assert sorted(resumed) == ["s1", "s2"]
    assert len(other.pids()) == 1


def test_a_closed_session_stays_closed(picker: Editor) -> None:
    storing_agent(picker, {})
    picker.turn("say one")
    pick(picker, "Acp sessions", "say one", "close")
    picker.wait("require('acp').state().sessions[1].status == 'closed'")
    picker.cmd("Acp restart")
    picker.wait_event("AcpAgentReady", 2)
    assert picker.turn("say two")["session"] == 2
    assert picker.session(1)["status"] == "closed"


def test_stop_ends_the_process_and_the_next_prompt_starts_it(picker: Editor) -> None:
    traffic = storing_agent(picker, {})
    picker.turn("say one")
    picker.cmd("Acp stop")
    picker.wait("require('acp').state().agents.stores.status == 'exited'")
    assert picker.session(1)["status"] == "idle"
    picker.turn("say two")
    assert [line for line in picker.chat(1) if line in ("one", "two")] == ["one", "two"]
    assert len(traffic.pids()) == 2


def test_a_turn_that_is_cut_by_a_restart_ends(picker: Editor) -> None:
    traffic = storing_agent(picker, {})
    picker.prompt("wait_for_cancel")
    picker.wait("require('acp').state().sessions[1].status == 'running'")
    picker.prompt("say queued")
    picker.wait("#require('acp').state().sessions[1].queue == 1")
    restart(picker)
    assert picker.session(1)["queue"] == ["say queued"]
    assert picker.lines("acp://composer/1") == ["wait_for_cancel"]
    assert picker.events("AcpTurnEnd")[0]["data"]["error"] == "stores was stopped"
    picker.turn("say first")
    assert picker.session(1)["queue"] == ["say queued"]
    picker.cmd("Acp queue run")
    picker.wait_event("AcpTurnEnd", 3)
    assert traffic.prompts() == ["wait_for_cancel", "say first", "say queued"]


def test_a_restart_while_nothing_runs_starts_the_agent(picker: Editor) -> None:
    traffic = storing_agent(picker, {})
    assert picker.cmd("Acp restart") == "acp: No agent is running. :AcpPrompt starts one"
    assert not traffic.pids()
    picker.turn("say one")
    picker.cmd("Acp stop")
    picker.wait("require('acp').state().agents.stores.status == 'exited'")
    restart(picker)
    assert picker.session(1)["id"] == "s1"


def test_an_agent_can_be_stopped_while_it_starts(editor: Editor) -> None:
    editor.setup({"agent": "mute", "agents": {"mute": {"command": ["sleep", "100"]}}})
    editor.prompt("hello")
    until(lambda: any("sleep" in process.command for process in editor.processes()))
    editor.cmd("Acp stop")
    editor.wait("require('acp').state().sessions[1].status == 'failed'")
    assert editor.session(1)["error"] == "mute was stopped"
    editor.wait("vim.fn.bufexists('acp://composer/1') == 1")
    assert editor.lines("acp://composer/1") == ["hello"]


def test_the_next_prompt_after_a_failure_goes_to_the_agent_chosen_then(editor: Editor) -> None:
    """The prompts that waited for the failed agent wait there, too."""
    editor.agent("script")
    editor.setup({"agent": "mute", "agents": {"mute": {"command": ["sh", "-c", "exit 3"]}}})
    editor.lua("require('acp').prompt('say one') require('acp').prompt('say two')")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'failed'")
    editor.wait("vim.fn.bufexists('acp://composer/1') == 1")
    editor.cmd("Acp agent script")
    editor.wait_message("New sessions use script. Your next prompt opens one")
    editor.cmd("AcpPrompt")
    editor.keys("<Esc>:w<CR>")
    editor.wait_event("AcpTurnEnd")
    assert editor.session(2)["agent"] == "script"
    editor.wait("vim.api.nvim_buf_get_name(0):match('composer/2$')")
    assert "one" in editor.chat(2)
    assert editor.session(2)["queue"] == ["say two"]
    assert editor.session(1)["queue"] == []
    assert editor.state()["current"] == 2


def test_an_invalid_answer_to_initialize_names_the_agent(editor: Editor) -> None:
    code = """read line; echo '{"jsonrpc":"2.0","id":1,"result":[]}'; cat >/dev/null"""
    editor.setup({"agent": "odd", "agents": {"odd": {"command": ["sh", "-c", code]}}})
    editor.prompt("hello")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'failed'")
    assert editor.session(1)["error"].startswith("odd: initialize: ")


def test_several_restarts_in_a_row_are_one(picker: Editor) -> None:
    traffic = storing_agent(picker, {})
    picker.turn("say one")
    picker.lua("for _ = 1, 3 do vim.cmd('Acp restart') end")
    picker.wait_event("AcpSession", 2)
    assert picker.state()["agents"]["stores"]["status"] == "ready"
    picker.lua("for _ = 1, 3 do vim.cmd('Acp restart') end")
    picker.wait_event("AcpSession", 3)
    picker.turn("say two")
    assert len(traffic.pids()) == 3


def test_a_stop_ends_a_restart_in_progress(picker: Editor) -> None:
    traffic = storing_agent(picker, {})
    picker.turn("say one")
    picker.lua("vim.cmd('Acp restart') vim.cmd('Acp stop')")
    picker.wait_message("stores was stopped")
    assert picker.state()["agents"]["stores"]["status"] == "exited"
    picker.turn("say two")
    assert len(traffic.pids()) == 2


def test_a_prompt_that_waited_for_a_restart_returns_when_it_is_stopped(editor: Editor) -> None:
    command = ["sh", "-c", "trap '' TERM; cat >/dev/null; sleep 100 & wait"]
    editor.setup({"agent": "mute", "agents": {"mute": {"command": command}}})
    editor.setup({"timeouts": {"kill_s": 0.3}})
    editor.prompt("hello")
    until(lambda: any("cat" in process.command for process in editor.processes()))
    editor.lua("vim.cmd('Acp restart') vim.cmd('Acp stop')")
    editor.wait("require('acp').state().sessions[1].status == 'failed'")
    editor.wait("vim.fn.bufexists('acp://composer/1') == 1")
    assert editor.lines("acp://composer/1") == ["hello"]


def test_a_restart_waits_for_a_process_that_is_just_starting(editor: Editor) -> None:
    """All are for the agent that was current at the command, not that of the session after it."""
    editor.agent("script", name="other")
    command = ["sh", "-c", "trap '' TERM; cat >/dev/null; sleep 100 & wait"]
    editor.setup({"agent": "mute", "agents": {"mute": {"command": command}}})
    editor.setup({"timeouts": {"kill_s": 0.3}})
    editor.lua(
        "require('acp').prompt('hello') vim.cmd('Acp restart') vim.cmd('Acp stop')"
        "vim.cmd('Acp new other')"
    )
    editor.wait("require('acp').state().sessions[1].status == 'failed'")
    editor.wait("vim.fn.bufexists('acp://composer/1') == 1")
    assert editor.lines("acp://composer/1") == ["hello"]
    until(lambda: not any("cat" in process.command for process in editor.processes()))
    assert len(editor.events("AcpAgentExit")) == 1


def test_the_state_is_that_of_the_running_process(picker: Editor) -> None:
    """The end of the old process is noticed after the start of the new one."""
    storing_agent(picker, {})
    picker.turn("say one")
    picker.lua("vim.cmd('Acp stop') vim.cmd('Acp restart')")
    picker.wait_event("AcpSession", 2)
    picker.wait_event("AcpAgentExit")
    picker.turn("say two")
    assert picker.state()["agents"]["stores"]["status"] == "ready"


def test_a_changed_command_or_environment_is_reported_with_the_way_to_apply_it(
    editor: Editor,
) -> None:
    editor.agent("hello")
    editor.turn("one")
    editor.setup({"agents": {"hello": {"title": "Hello"}}})
    editor.cmd("AcpPrompt! two")
    editor.wait_event("AcpTurnEnd", 2)
    editor.setup({"agents": {"hello": {"env": {"NEW": "1"}}}})
    for n in (3, 4):
        editor.cmd("AcpPrompt! more")
        editor.wait_event("AcpTurnEnd", n)
    way_out = ":Acp restart hello applies the new"
    assert [n for n in range(1, 5) if way_out in "\n".join(editor.chat(n))] == [3]
    editor.cmd("Acp restart hello")
    editor.wait("require('acp').state().agents.hello.status == 'ready'")
    editor.cmd("AcpPrompt! last")
    editor.wait_event("AcpTurnEnd", 5)
    assert way_out not in "\n".join(editor.chat(5))
