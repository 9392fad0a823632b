"""`:AcpCancel` before there is a turn to cancel: what was about to be sent waits."""

from __future__ import annotations

from tests.editor import Editor


def test_a_prompt_that_waits_for_its_agent_is_held(editor: Editor) -> None:
    traffic = editor.agent("slow_start", "0.5")
    editor.cmd("AcpPrompt one")
    editor.cmd("AcpCancel")
    editor.wait("require('acp').state().sessions[1].status == 'idle'")
    assert editor.session(1)["queue"] == ["one"]
    assert traffic.received("session/prompt") == []
    editor.cmd("Acp queue run")
    editor.wait_event("AcpTurnEnd")
    assert editor.session(1)["queue"] == []


def test_a_bang_drops_it(editor: Editor) -> None:
    traffic = editor.agent("slow_start", "0.5")
    editor.cmd("AcpPrompt one")
    editor.cmd("AcpCancel!")
    editor.wait("require('acp').state().sessions[1].status == 'idle'")
    assert editor.session(1)["queue"] == []
    editor.turn("two")
    sent = [frame["params"]["prompt"][0]["text"] for frame in traffic.received("session/prompt")]
    assert sent == ["two"]


def test_a_prompt_whose_files_are_being_kept_is_held(editor: Editor) -> None:
    traffic = editor.agent("slow")
    editor.lua("vim.cmd('Acp new')")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'idle'")
    editor.lua("vim.cmd('AcpPrompt one') vim.cmd('AcpCancel')")
    editor.wait("require('acp').state().sessions[1].queue[1] == 'one'")
    assert traffic.received("session/prompt") == []
    editor.cmd("AcpCancel!")
    editor.wait("#require('acp').state().sessions[1].queue == 0")
