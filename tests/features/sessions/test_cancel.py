"""`:AcpCancel` before there is a turn to cancel: the prompt is held."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor
from tests.support.stalled_agent import let_answer, stalled_agent
from tests.support.waiting import until

CANCEL_BEFORE = """
local module, name = require((...)), select(2, ...)
local run = module[name]
module[name] = function(...) module[name] = run vim.cmd('AcpCancel') return run(...) end
"""
"""Cancel when the host calls a Lua function, before it learns of the cancel."""

IDLE = "require('acp').state().sessions[1].status == 'idle'"


@pytest.mark.parametrize("method", ["initialize", "session/new"])
def test_a_prompt_that_waits_for_its_agent_is_held(editor: Editor, method: str) -> None:
    traffic = stalled_agent(editor, method)
    editor.prompt("one")
    traffic.wait(method)
    editor.cmd("AcpCancel")
    editor.wait_message("on hold. :Acp queue run sends")
    let_answer(editor, method)
    editor.wait(IDLE)
    assert editor.session(1)["queue"] == ["one"]
    assert traffic.prompts() == []
    editor.cmd("Acp queue run")
    editor.wait_event("AcpTurnEnd")
    assert traffic.prompts() == ["one"]


def test_a_bang_drops_the_prompt(editor: Editor) -> None:
    traffic = stalled_agent(editor, "initialize")
    editor.cmd("AcpPrompt one")
    editor.cmd("AcpCancel!")
    editor.wait("#require('acp').state().sessions[1].queue == 0")
    let_answer(editor, "initialize")
    editor.wait(IDLE)
    editor.turn("two")
    assert traffic.prompts() == ["two"]


def test_a_prompt_that_waits_for_its_checkpoint_is_held(editor: Editor) -> None:
    traffic = editor.agent("slow")
    editor.lua("vim.cmd('Acp new')")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'idle'")
    editor.lua("vim.cmd('AcpPrompt one') vim.cmd('AcpCancel')")
    editor.wait("require('acp').state().sessions[1].queue[1] == 'one'")
    assert traffic.received("session/prompt") == []
    editor.cmd("AcpCancel!")
    editor.wait("#require('acp').state().sessions[1].queue == 0")


def test_requests_outside_a_turn_are_answered_as_cancelled(editor: Editor) -> None:
    traffic = editor.agent("asks_after_turn")
    editor.turn("hello")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpPermissionDone")["outcome"] == "cancelled"
    editor.wait("#require('acp').state().sessions[1].permissions == 0")
    (answer,) = until(lambda: traffic.answers("session/request_permission"))
    assert answer["result"]["outcome"] == {"outcome": "cancelled"}
    assert traffic.received("session/cancel") == []
    assert "Nothing to cancel" not in editor.messages()


def test_an_invalid_path_does_not_stop_a_cancel(editor: Editor) -> None:
    """A path cannot contain a NUL, and the scan of a tool call's files skips it."""
    traffic = editor.agent("script")
    place = r'{"path":"/tmp/a\u0000b"}'
    diff = r'{"type":"diff","path":"/tmp/c\u0000d","oldText":"a","newText":"b"}'
    call = f'"toolCallId":"t","title":"odd","kind":"edit","locations":[{place}],"content":[{diff}]'
    editor.prompt(f'update {{"sessionUpdate":"tool_call",{call}}}\nwait_for_cancel')
    editor.wait("#require('acp').state().sessions[1].tool_calls == 1")
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    assert len(traffic.received("session/cancel")) == 1
    assert editor.session(1)["tool_calls"][0]["status"] == "cancelled"


def test_a_second_cancel_says_that_the_first_is_running(editor: Editor) -> None:
    editor.agent("ignores_cancel", "20")
    editor.prompt("one")
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    editor.cmd("AcpCancel")
    editor.wait("require('acp').state().sessions[1].status == 'cancelling'")
    editor.cmd("AcpCancel")
    editor.wait_message("Already cancelling")
    editor.prompt("two")
    editor.wait("#require('acp').state().sessions[1].queue == 1")
    editor.cmd("AcpCancel!")
    editor.wait_message("The queue is empty now")
    assert editor.session(1)["status"] == "cancelling"


def test_a_cancel_refuses_the_write_that_it_meets(editor: Editor) -> None:
    opened, closed = editor.write("a.txt", "one\n"), editor.write("b.txt", "one\n")
    traffic = editor.agent("script")
    editor.open("a.txt")
    first = editor.work / "first.txt"
    prompt = f"vim.cmd('Acp send write {first} one')"
    # The options wait for the start of the host, after a prompt that may cancel.
    editor.lua(f"{prompt} require('acp').setup(...)", editor.options)
    editor.wait_event("AcpTurnEnd")
    assert first.read_text() == "one"
    for turn, path in enumerate((opened, closed)):
        editor.lua(CANCEL_BEFORE, "acp.buffers.live", "write")
        editor.prompt(f"write {path} two")
        editor.wait_event("AcpTurnEnd", 2 * turn + 2)
        error = traffic.answers("fs/write_text_file")[-1]["error"]
        assert error["data"] == {"path": str(path), "reason": "denied"}
        assert path.read_text() == "one\n"
        editor.turn(f"write {path} two")
        assert path.read_text() == "two"
    assert editor.lines(str(opened)) == ["two"]


def test_a_cancel_refuses_the_command_that_it_meets(editor: Editor) -> None:
    """The user allows it and cancels at once, or a rule allows it."""
    traffic = editor.agent("script")
    command = {"command": "touch", "args": [str(editor.work / "started")]}
    for turn, action in enumerate(("ask", "allow")):
        editor.setup({"permission": {"rules": [{"action": action, "kind": "execute"}]}})
        if action == "allow":
            editor.lua(CANCEL_BEFORE, "acp.base.host", "is_cancelling")
        editor.prompt(f"term_create t1 {json.dumps(command)}")
        if action == "ask":
            question = editor.wait_event("AcpPermission")
            editor.lua(
                "require('acp').answer(..., 'allow_once') vim.cmd('AcpCancel')", question["id"]
            )
        editor.wait_event("AcpTurnEnd", turn + 1)
        error = traffic.answers("terminal/create")[-1]["error"]
        assert error["message"] == "the turn was cancelled"
        assert not (editor.work / "started").exists()
    editor.turn(f"term_create t1 {json.dumps(command)}\nterm_wait t1")
    assert (editor.work / "started").exists()
