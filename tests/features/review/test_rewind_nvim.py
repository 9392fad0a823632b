"""`:Acp rewind`: files and conversation from before a prompt, and back again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.checkpoints import FIRST, contents
from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick, picker_questions
from tests.support.prompt_texts import transcript_in, words
from tests.support.rpc import EditorError
from tests.support.script_lines import shell
from tests.support.stored_sessions import ALL, stored
from tests.support.traffic import Traffic

FORKS: dict[str, Any] = {
    **ALL,
    "_meta": {"claudeCode": {"rewind": True}},
}


def _edit(editor: Editor, word: str, message: str) -> None:
    """Run a turn that changes a file and sends a message."""
    command = shell(f"sed -i 's/{word}/{word.upper()}/' a.txt")
    editor.turn(f"{command}\nsay {message}")


@pytest.fixture
def agent(editor: Editor) -> Traffic:
    """Run two turns that each change a line and send a message; return the agent."""
    editor.write("a.txt", FIRST)
    agent = editor.agent("script")
    _edit(editor, "two", "the second line")
    _edit(editor, "three", "the third line")
    editor.wait("require('acp').state().sessions[1].edits[1].added == 2")
    return agent


def test_files_and_conversation_are_rewound(editor: Editor, agent: Traffic) -> None:
    editor.cmd("Acp rewind 2")
    editor.wait_message("Files restored to before prompt 2: 1 file changed")
    editor.wait("require('acp').state().current == 2")
    editor.wait("require('acp').state().sessions[2].status == 'idle'")
    assert contents(editor)["a.txt"] == "one\nTWO\nthree\n"
    chat = "\n".join(editor.chat(2))
    assert "the second line" in chat
    assert "the third line" not in chat
    windows = "return vim.tbl_map(vim.fn.bufname, vim.fn.tabpagebuflist())"
    shown = [name for name in editor.lua(windows) if name.startswith("acp://chat/")]
    assert shown == ["acp://chat/2"]
    composer = editor.lua("return require('acp').state().sessions[2].composer_bufnr")
    lines = editor.lua("return vim.api.nvim_buf_get_lines(..., 0, -1, true)", composer)
    assert "say the third line" in lines
    assert editor.session(1)["status"] == "idle"
    assert "in session 2" in "\n".join(editor.chat(1))

    editor.turn("say again")
    new, old = agent.received("session/prompt")[-1], agent.received("session/prompt")[0]
    assert new["params"]["sessionId"] != old["params"]["sessionId"]
    assert words(new) == ["say again"]
    assert "the second line" in transcript_in(new)
    assert "the third line" not in transcript_in(new)
    assert "earlier session" not in "\n".join(editor.chat(2))
    editor.turn("say once more")
    prompt = agent.received("session/prompt")[-1]
    assert (words(prompt), transcript_in(prompt)) == (["say once more"], "")


def test_a_restore_undoes_the_rewind(editor: Editor, agent: Traffic) -> None:
    editor.cmd("Acp rewind 1")
    editor.wait("require('acp').state().current == 2")
    editor.wait("require('acp').state().sessions[2].status == 'idle'")
    assert contents(editor)["a.txt"] == FIRST
    assert not any("the second line" in line for line in editor.chat(2))
    editor.cmd("Acp restore")
    editor.wait_message("The restore was undone")
    editor.wait("require('acp').state().current == 1")
    assert contents(editor)["a.txt"] == "one\nTWO\nTHREE\n"
    editor.turn("say here again")
    prompt = agent.received("session/prompt")[-1]
    assert (words(prompt), transcript_in(prompt)) == (["say here again"], "")


def test_a_rewind_to_the_first_prompt_sends_no_transcript(editor: Editor, agent: Traffic) -> None:
    editor.cmd("Acp rewind 1")
    editor.wait("require('acp').state().current == 2")
    editor.turn("say hello")
    prompt = agent.received("session/prompt")[-1]
    assert (words(prompt), transcript_in(prompt)) == (["say hello"], "")


def test_numbers_and_checkpoints_continue_in_the_branch(editor: Editor, agent: Traffic) -> None:
    editor.cmd("Acp rewind 2")
    editor.wait("require('acp').state().current == 2")
    _edit(editor, "one", "the first line")
    assert contents(editor)["a.txt"] == "ONE\nTWO\nthree\n"
    editor.wait("#require('acp').state().sessions[2].checkpoints == 2")
    editor.cmd("Acp rewind 1")
    editor.wait("require('acp').state().current == 3")
    assert contents(editor)["a.txt"] == FIRST


def test_the_users_own_changes_need_a_confirmation(editor: Editor, agent: Traffic) -> None:
    editor.write("a.txt", "one\nTWO\nTHREE\nmine\n")
    install_picker(editor)
    pick(editor, "Acp rewind 2", "Leave them unchanged")
    editor.wait("require('acp').state().current == 2")
    assert contents(editor)["a.txt"] == "one\nTWO\nTHREE\nmine\n"


def test_the_user_chooses_a_prompt_or_dismisses_the_list(editor: Editor, agent: Traffic) -> None:
    install_picker(editor)
    picker_questions = pick(editor, "Acp rewind")
    items = picker_questions[0]["items"]
    assert [item.split(":")[0] for item in items] == ["prompt 2", "prompt 1"]
    assert "say the second line" in items[1]
    assert editor.state()["current"] == 1
    pick(editor, "Acp rewind", picker_questions[0]["items"][1])
    editor.wait("require('acp').state().current == 2")
    assert contents(editor)["a.txt"] == FIRST
    editor.cmd("Acp rewind 7")
    editor.wait_message("No prompts to go back to")
    with pytest.raises(EditorError, match="Rewind takes the number of a prompt, not 'two'"):
        editor.cmd("Acp rewind two")
    assert editor.state()["current"] == 2


def test_a_rewind_during_a_turn_is_refused(editor: Editor, agent: Traffic) -> None:
    editor.prompt("wait_for_cancel")
    editor.wait_event("AcpTurnStart", 3)
    install_picker(editor)
    editor.cmd("Acp rewind")
    editor.wait_message("The agent is still working. Run :AcpCancel first, then rewind")
    assert not picker_questions(editor), "there is nothing to choose"
    assert editor.state()["current"] == 1
    assert contents(editor)["a.txt"] == "one\nTWO\nTHREE\n"
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd", 3)


def test_an_agent_that_forks_at_a_message_does_so(editor: Editor) -> None:
    agent = editor.agent("stores", stored(editor, {}), capabilities=FORKS)
    editor.turn("messages")
    editor.turn("say the end")
    editor.cmd("Acp rewind 2")
    editor.wait("require('acp').state().current == 2")
    editor.wait("require('acp').state().sessions[2].status == 'idle'")
    fork = agent.wait("session/fork")
    assert fork["params"]["_meta"] == {"claudeCode": {"rewindTo": "m2"}}
    assert "second message" in "\n".join(editor.chat(2))
    assert "the end" not in "\n".join(editor.chat(2))
    editor.turn("say go on")
    prompt = agent.received("session/prompt")[-1]
    assert (words(prompt), transcript_in(prompt)) == (["say go on"], "")


CURSORS: dict[str, Any] = {"sessionCapabilities": {"fork": {}}}


@pytest.mark.parametrize(("side", "protocol"), [("after", 1), ("before", 1), ("after", 2)])
def test_an_agent_forks_at_its_cursors(editor: Editor, side: str, protocol: int) -> None:
    agent = editor.agent("forks_at_cursors", side, capabilities=CURSORS, protocol=protocol)
    for prompt in ("one", "two", "three"):
        editor.turn(prompt)
    for n, prompt, cursor in ((3, "three", "c3"), (2, "two", "s2-c2")):
        current = editor.state()["current"]
        editor.cmd(f"Acp rewind {n}")
        editor.wait("require('acp').state().current == ...", current + 1)
        editor.wait(f"require('acp').state().sessions[{current + 1}].status == 'idle'")
        fork = agent.wait("session/fork", current)["params"]
        expected = cursor if side == "before" else cursor.replace(f"c{n}", f"c{n - 1}")
        assert fork["cursorId"] == expected
        assert f"answer to {prompt}" not in "\n".join(editor.chat(current + 1))
    assert "answer to one" in "\n".join(editor.chat(3))
    editor.turn("go on")
    sent = agent.received("session/prompt")[-1]
    assert (words(sent), transcript_in(sent)) == (["go on"], "")


def test_a_withdrawn_cursor_is_not_used(editor: Editor) -> None:
    agent = editor.agent("forks_at_cursors", capabilities=CURSORS)
    editor.turn("withdraw")
    editor.turn("two")
    editor.cmd("Acp rewind 2")
    editor.wait("require('acp').state().current == 2")
    editor.turn("go on")
    assert agent.received("session/fork") == []
    assert "answer to withdraw" in transcript_in(agent.received("session/prompt")[-1])


def test_an_agent_that_forks_whole_sessions_only_gets_an_instruction_instead(
    editor: Editor,
) -> None:
    agent = editor.agent("stores", stored(editor, {}), capabilities=ALL)
    editor.turn("messages")
    editor.turn("say the end")
    editor.cmd("Acp rewind 2")
    editor.wait("require('acp').state().current == 2")
    editor.turn("say go on")
    assert agent.received("session/fork") == []
    prompt = agent.received("session/prompt")[-1]
    assert words(prompt) == ["say go on"]
    assert "second message" in transcript_in(prompt)
    assert "the end" not in transcript_in(prompt)
