"""The composer starts its agent and session before the first prompt."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.waiting import until

COMMANDS = "#((require('acp').state().sessions[1] or {}).commands or {}) > 0"


def test_commands_and_modes_are_known_before_the_first_prompt(editor: Editor) -> None:
    editor.cmd("AcpPrompt")
    editor.wait(COMMANDS)
    editor.wait_screen("Message Tutor · Ask first ")
    editor.cmd("Acp mode explain")
    editor.wait_screen("Message Tutor · Explain only ")
    editor.keys("/help<C-s>")
    editor.wait_event("AcpTurnEnd")
    assert len(editor.state()["sessions"]) == 1


@pytest.mark.parametrize("keys", ["say hi<C-s>", "<Esc>:AcpPrompt say hi<CR>"])
def test_a_prompt_sent_at_once_does_not_start_a_second_session(editor: Editor, keys: str) -> None:
    agent = editor.agent("script")
    editor.keys(":AcpPrompt<CR>" + keys)
    editor.wait_event("AcpTurnEnd")
    assert agent.prompts() == ["say hi"]
    assert len(agent.received("session/new")) == 1
    assert len(editor.state()["sessions"]) == 1


def test_a_composer_for_a_new_session_belongs_to_that_session(editor: Editor) -> None:
    agent = editor.agent("script")
    editor.turn("say one")
    editor.cmd("AcpPrompt!")
    editor.keys("say two<C-s>")
    editor.wait_event("AcpTurnEnd", 2)
    assert editor.events("AcpTurnEnd")[-1]["data"]["session"] == 2
    assert len(agent.received("session/new")) == 2

    # Each later press of the key sends all lines of the same composer.
    for turn, word in enumerate(["three", "four"], 3):
        editor.keys(f"say {word}<CR>say more<C-s>")
        editor.wait_event("AcpTurnEnd", turn)
    assert agent.prompts()[1:] == ["say two", "say three\nsay more", "say four\nsay more"]
    assert editor.events("AcpTurnEnd")[-1]["data"]["session"] == 2


def test_an_agent_that_cannot_start_is_named_in_the_bar_only(editor: Editor) -> None:
    editor.agent("script")
    editor.setup({"agent": "gone", "agents": {"gone": {"command": ["no-such-program"]}}})
    editor.keys(":AcpPrompt<CR>precious")
    editor.wait("require('acp').state().sessions[1].status == 'failed'")
    editor.wait_screen("Gone · Cannot start ")
    assert editor.lines("acp://composer/1") == ["precious"]
    assert editor.messages() == ""


def test_quitting_right_after_it_leaves_no_process(editor: Editor) -> None:
    editor.agent("script")
    editor.cmd("AcpPrompt")
    until(editor.processes)
    editor.quit()


def test_maps_that_a_user_sets_for_a_filetype_win(editor: Editor) -> None:
    editor.lua(lua_chunk(__file__, "map_help_key"))
    editor.agent("script")
    editor.prompt("wait_for_cancel")
    editor.wait_event("AcpTurnStart")
    editor.prompt("later")
    editor.wait("#require('acp').state().sessions[1].queue == 1")
    for command, name in (("AcpPrompt", "acp://composer/1"), ("Acp queue", "acp://queue/1")):
        editor.cmd(command)
        editor.wait("vim.api.nvim_buf_get_name(0) == ...", name)
        described = "return vim.fn.maparg(..., 'n', false, true).desc"
        assert editor.lua(described, "g?") == "mine"
        assert editor.lua(described, "<C-s>").startswith("acp: ")
        editor.keys("<Esc>")
