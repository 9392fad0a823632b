"""Features of version 2 of the protocol only, as a user sees them (contract section 11)."""

from __future__ import annotations

import base64
import json

from tests.support.editor import Editor
from tests.support.script_lines import update
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until


def message(kind: str, id: str, *texts: str) -> str:
    content = [{"type": "text", "text": text} for text in texts]
    return update(sessionUpdate=kind, messageId=id, content=content)


def chunk(id: str, text: str) -> str:
    block = {"type": "text", "text": text}
    return update(sessionUpdate="agent_message_chunk", messageId=id, content=block)


def test_a_message_is_rewritten_in_place(editor: Editor) -> None:
    editor.agent("script2", protocol=2)
    lines = [chunk("a", "draft"), chunk("b", "below"), message("agent_message", "a", "final")]
    editor.turn("\n".join([*lines, chunk("a", " word"), message("agent_message", "b")]))
    until(lambda: "final word" in editor.chat())
    assert not {"draft", "below"} & set(editor.chat())


def test_a_tool_call_is_patched_and_its_content_grows(editor: Editor) -> None:
    editor.agent("script2", protocol=2)
    item = {"type": "content", "content": {"type": "text", "text": "second part"}}
    editor.turn(
        "\n".join(
            [
                update(
                    sessionUpdate="tool_call_update", toolCallId="t", title="Build", kind="edit"
                ),
                update(sessionUpdate="tool_call_content_chunk", toolCallId="t", content=item),
                update(
                    sessionUpdate="tool_call_update", toolCallId="t", kind=None, status="paused"
                ),
            ]
        )
    )
    call = editor.session()["tool_calls"][0]
    assert (call["title"], call["kind"], call["status"]) == ("Build", "other", "paused")
    assert any("second part" in line for line in editor.chat())


def test_a_terminal_of_the_agent_is_shown(editor: Editor) -> None:
    editor.agent("script2", protocol=2)
    data = [base64.b64encode(part).decode() for part in ("é".encode()[:1], "é".encode()[1:])]
    script = [update(sessionUpdate="terminal_update", terminalId="x", command="make")]
    script += [
        update(sessionUpdate="terminal_output_chunk", terminalId="x", data=one) for one in data
    ]
    exited = {"exitCode": 2, "signal": None}
    script.append(update(sessionUpdate="terminal_update", terminalId="x", exitStatus=exited))
    editor.turn("\n".join(script))
    terminal = editor.session()["terminals"][0]
    assert (terminal["command"], terminal["running"], terminal["exit_code"]) == ("make", False, 2)
    assert any("é" in line for line in editor.chat())


def test_the_agent_may_work_without_a_prompt_and_in_the_background(editor: Editor) -> None:
    editor.agent("script2", protocol=2)
    work = [{"type": "terminal", "terminalId": "x"}]
    editor.prompt(update(sessionUpdate="state_update", state="running", background=work))
    editor.wait_event("AcpTurnEnd")
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    editor.turn(update(sessionUpdate="state_update", state="running", background=[]))
    editor.wait("require('acp').state().sessions[1].status == 'idle'")


def test_plans_with_ids_are_in_one_list(editor: Editor) -> None:
    editor.agent("script2", protocol=2)

    def plan(id: str, status: str) -> str:
        entry = {"content": id, "priority": "high", "status": status}
        return update(
            sessionUpdate="plan_update", plan={"type": "items", "planId": id, "entries": [entry]}
        )

    editor.turn("\n".join([plan("one", "pending"), plan("two", "cancelled")]))
    entries = editor.session()["plan"]
    assert [(it["content"], it["status"]) for it in entries] == [
        ("one", "pending"),
        ("two", "cancelled"),
    ]
    editor.turn(update(sessionUpdate="plan_removed", planId="one"))
    assert [it["content"] for it in editor.session()["plan"]] == ["two"]


def test_a_permission_about_a_command_is_shown(editor: Editor) -> None:
    editor.agent("script2", protocol=2)
    subject = {"type": "command", "command": "make clean", "cwd": "/tmp"}
    editor.prompt("asks2 " + json.dumps({"title": "Clean up?", "subject": subject}))
    permission = editor.wait_event("AcpPermission")
    assert permission["title"] == "Clean up?"
    assert any("make clean" in line for line in editor.chat())
    assert "○ Scripted asks: Clean up?" in editor.chat()
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    assert "allow" in editor.chat()


def test_a_permission_about_a_command_of_a_shown_tool_call_is_shown(editor: Editor) -> None:
    editor.agent("script2", protocol=2)
    call = update(sessionUpdate="tool_call_update", toolCallId="t", title="Tidy", kind="other")
    subject = {"type": "command", "command": "make clean", "cwd": "/tmp", "toolCallId": "t"}
    asks = {"title": "Clean up?", "description": "It is a mess.", "subject": subject}
    editor.prompt(f"{call}\nasks2 {json.dumps(asks)}")
    editor.wait_event("AcpPermission")
    chat = [line.strip() for line in editor.chat()]
    for line in ("Clean up?", "It is a mess.", "$ make clean", "in /tmp"):
        assert chat.count(line) == 1
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")


def test_a_prompt_is_sent_while_the_agent_works(editor: Editor) -> None:
    traffic = editor.agent("script2", protocol=2)
    editor.prompt("takes_one_more")
    traffic.wait("session/prompt")
    editor.cmd("Acp send and this")
    editor.wait_event("AcpTurnEnd")
    chat = editor.chat()
    assert chat.index("taken") > chat.index("and this")
    assert not editor.session()["queue"]
    assert len(editor.events("AcpTurnStart")) == 1
    agent = StepwiseAgent.at_work(editor)
    for n, text in enumerate(("one more", "and another"), 4):
        editor.cmd(f"Acp send {text}")
        traffic.wait("session/prompt", n)
    agent.order("asks2", json.dumps({"title": "Clean up?"}))
    editor.wait_event("AcpPermission")
    editor.answer("Acp refuse not now")
    traffic.wait("session/prompt", 6)
    agent.order("exits", "3")
    editor.wait("require('acp').state().sessions[1].status == 'failed'")
    assert editor.session()["queue"] == ["one more", "and another"]
    on_hold = "— 2 prompts that may have arrived are on hold. :Acp queue run sends them"
    assert editor.chat()[-1] == on_hold
    assert editor.lines("acp://composer/1")[-1] == "not now"


# ---- versions


def test_an_agent_that_answers_1_is_started_again(editor: Editor) -> None:
    traffic = editor.agent("answers_version", "1", protocol=2)
    assert editor.turn("hello")["stop_reason"] == "end_turn"
    assert editor.state()["agents"]["answers_version"]["protocol"] == 1
    versions = [f["params"]["protocolVersion"] for f in traffic.received("initialize")]
    assert versions == [2, 1]
    assert len(traffic.pids()) == 2


def test_an_agent_that_repeats_the_version_is_recognized_by_its_shape(editor: Editor) -> None:
    editor.agent("answers_version", "2", protocol=2)
    assert editor.turn("hello")["stop_reason"] == "end_turn"
    assert editor.state()["agents"]["answers_version"]["protocol"] == 1
    editor.cmd("Acp info")
    editor.wait("#vim.fn.getbufline('acp://info', 1, '$') > 3")
    warnings = [line for line in editor.lines("acp://info") if "in the shape of version 1" in line]
    assert len(warnings) == 1


def test_an_agent_of_another_version_fails_with_its_versions(editor: Editor) -> None:
    editor.errors_expected = True
    editor.agent("answers_version", "3", protocol=2)
    editor.prompt("hello")
    editor.wait("require('acp').state().agents.answers_version.status == 'failed'")
    assert "3" in editor.state()["agents"]["answers_version"]["error"]


def test_an_agent_that_refuses_all_versions_names_its_own(editor: Editor) -> None:
    editor.errors_expected = True
    editor.agent("refuses_version", protocol=2)
    editor.prompt("hello")
    editor.wait("require('acp').state().agents.refuses_version.status == 'failed'")
    assert "7, 8" in editor.state()["agents"]["refuses_version"]["error"]


def test_every_update_reaches_the_screen(editor: Editor) -> None:
    editor.agent("script2", protocol=2)
    data = base64.b64encode(b"bytes\n").decode()
    item = {"type": "content", "content": {"type": "text", "text": "grown"}}
    entry = {"content": "Step", "priority": "low", "status": "pending"}
    select = {"configId": "model", "name": "Model", "type": "select", "category": "model"}
    option = {**select, "currentValue": "m", "options": [{"value": "m", "name": "Em"}]}
    command = {"type": "command", "name": "go", "description": "Goes"}
    block = {"type": "text", "text": "x-thought"}
    other = {"type": "text", "text": "from another client"}
    lines = [
        message("user_message", "u9", "also said"),
        update(sessionUpdate="user_message_chunk", messageId="u10", content=other),
        message("agent_thought", "t1", "deep"),
        update(sessionUpdate="agent_thought_chunk", messageId="t1", content=block),
        message("agent_message", "a1", "whole"),
        chunk("a1", " and more"),
        update(sessionUpdate="tool_call_update", toolCallId="c", title="Work", status="completed"),
        update(sessionUpdate="tool_call_content_chunk", toolCallId="c", content=item),
        update(sessionUpdate="terminal_update", terminalId="t", command="make"),
        update(sessionUpdate="terminal_output_chunk", terminalId="t", data=data),
        update(
            sessionUpdate="plan_update",
            plan={"type": "items", "planId": "p", "entries": [entry]},
        ),
        update(sessionUpdate="plan_removed", planId="nothing"),
        update(sessionUpdate="available_commands_update", availableCommands=[command]),
        update(sessionUpdate="config_option_update", configOptions=[option]),
        update(sessionUpdate="session_info_update", title="Named"),
        update(sessionUpdate="usage_update", used=5, size=10),
        update(sessionUpdate="notice", severity="info", title="By the way"),
        update(sessionUpdate="compaction_update", compactionId="k", status="completed"),
        update(sessionUpdate="compaction_summary_chunk", compactionId="k", content=block),
        update(sessionUpdate="subagent_update", sessionId="kid", title="Helper"),
        update(sessionUpdate="session_message", messageId="l", senderSessionId="kid"),
        update(sessionUpdate="session_message_chunk", messageId="l", content=block),
        update(sessionUpdate="weather_update", rain=True),
    ]
    assert editor.turn("\n".join(lines))["stop_reason"] == "end_turn"
    text = "\n".join(editor.chat())
    wanted = ("also said", "from another client", "whole and more", "deep", "Work", "grown")
    for words in (*wanted, "$ make", "bytes", "Step", "By the way", "Context compacted", "Helper"):
        assert words in text, words
    assert "weather_update" in text
    session = editor.session()
    assert (session["title"], session["usage"]["used"]) == ("Named", 5)
    assert [it["name"] for it in session["commands"]] == ["go"]
    assert session["model"]["name"] == "Em"


def test_an_agent_may_name_neither_itself_nor_the_prompt(editor: Editor) -> None:
    """As in the drafts of version 2."""
    editor.agent("drafted", protocol=2)
    assert editor.turn("hello there")["stop_reason"] == "end_turn"
    assert editor.state()["agents"]["drafted"]["protocol"] == 2
    chat = editor.chat()
    assert chat.count("hello there") == 1
    assert "heard" in chat
