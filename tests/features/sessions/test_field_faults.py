"""Behaviour seen in real agents, and its effect for the user."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents.permissions import OPTIONS
from tests.support.editor import Editor
from tests.support.fake_picker import pick
from tests.support.stored_sessions import storing_agent
from tests.support.waiting import until
from tests.support.windows import chat_bar

CLOSED = "require('acp').state().sessions[1].status == 'closed'"
BAR = f"{chat_bar()}.str"


@pytest.mark.parametrize("when", ["before", "after"])
def test_history_that_is_replayed_on_resume_is_drawn_once(picker: Editor, when: str) -> None:
    path = str(picker.home / "stored.json")
    capabilities: dict[str, Any] = {"sessionCapabilities": {"resume": {}}}
    picker.agent("stores_and_replays", path, "load resume", when, capabilities=capabilities)
    picker.turn("say one")
    picker.cmd("Acp restart")
    picker.wait_event("AcpSession", 2)
    picker.wait("require('acp').state().sessions[1].status == 'idle'")
    picker.turn("say two")
    chat = picker.chat(1)
    assert chat.count("say one") == 1
    assert "answered" not in chat
    assert [line for line in chat if line in ("one", "two")] == ["one", "two"]


@pytest.mark.parametrize("action", ["load", "resume"])
def test_a_closed_session_is_shown_when_its_agent_replays_nothing(
    picker: Editor, action: str
) -> None:
    storing_agent(picker, {}, scenario="stores_and_replays", more_args=("none",))
    picker.turn("say one")
    pick(picker, "Acp sessions", "say one", "close")
    picker.wait(CLOSED)
    pick(picker, "Acp sessions", "say one", action)
    picker.wait("require('acp').state().sessions[2].status == 'idle'")
    until(lambda: "one" in picker.chat(2))
    assert picker.chat(2).count("say one") == 1
    picker.turn("say two")
    assert [line for line in picker.chat(2) if line in ("one", "two")] == ["one", "two"]


def test_a_closed_session_is_shown_once_when_it_is_replayed_late(picker: Editor) -> None:
    storing_agent(picker, {}, scenario="stores_and_replays", more_args=("load", "after"))
    picker.turn("say one")
    pick(picker, "Acp sessions", "say one", "close")
    picker.wait(CLOSED)
    pick(picker, "Acp sessions", "say one", "load")
    picker.wait("require('acp').state().sessions[2].status == 'idle'")
    picker.turn("say two")
    assert picker.chat(2).count("say one") == 1
    assert "answered" in picker.chat(2)


def test_the_bar_shows_that_an_agent_tries_again(editor: Editor) -> None:
    traffic = editor.agent("script")
    go = editor.home / "go"
    params = json.dumps({"sessionId": "s1", "reason": "is_rate_limited", "attempt": 1})
    editor.prompt(f"notify _session/retrying {params}\nuntil_there {go}\nsay on\nuntil_there {go}2")
    editor.wait(f"{BAR}:find('rate limited, retrying', 1, true)")
    assert editor.session()["retrying"] == "rate limited, retrying"
    go.touch()
    traffic.wait_note("waiting")
    editor.wait(f"{BAR}:find('running', 1, true)")
    editor.wait("not require('acp').state().sessions[1].retrying")
    (editor.home / "go2").touch()
    editor.wait_event("AcpTurnEnd")


def test_the_bar_shows_model_and_usage(editor: Editor) -> None:
    select = {"type": "select", "category": "model"}
    values = [{"value": "x", "name": "Fable 9"}, {"value": "y", "name": "Tale 3"}]
    provider = {"id": "provider", "name": "Provider", "currentValue": "p"}
    options = [
        {**provider, **select, "options": [{"value": "p", "name": "Some Provider"}]},
        {"id": "model", "name": "Model", "currentValue": "x", **select, "options": values},
    ]
    traffic = editor.agent("chooser", new_session={"configOptions": options})
    editor.cmd("set columns=200")
    editor.turn("say one")
    editor.wait(f"{BAR}:find('Fable 9', 1, true)")
    editor.cmd("Acp model y")
    assert traffic.wait("session/set_config_option")["params"]["configId"] == "model"
    editor.wait(f"{BAR}:find('Tale 3', 1, true)")
    usage = {"totalTokens": 1234, "inputTokens": 1000, "outputTokens": 234}
    editor.agent("script", name="counts")
    editor.cmd(f"AcpPrompt! uses {json.dumps(usage)}")
    ended: dict[str, Any] = editor.wait_event("AcpTurnEnd", 2)
    assert ended["usage"] == {"total": 1234, "input": 1000, "output": 234}
    assert editor.session(2)["turn_usage"]["total"] == 1234
    bar = f"{chat_bar(2)}.str"
    editor.wait(f"{bar}:find('1.2k tokens', 1, true)")


def test_an_overwrite_without_the_old_text_is_counted_from_the_live_text(editor: Editor) -> None:
    path = editor.write("a.txt", "one\ntwo\nthree\n")
    bufnr = editor.open(path)
    editor.lua("vim.api.nvim_buf_set_lines(..., 0, 1, false, { 'ONE' })", bufnr)
    editor.agent("script")
    diff = {"type": "diff", "path": str(path), "newText": "ONE\ntwo\n3\n"}
    call = {"toolCallId": "w", "title": "Write a.txt", "kind": "edit", "content": [diff]}
    request = {"toolCall": call, "options": OPTIONS}
    editor.prompt(f"permission_json {json.dumps(request)}")
    editor.wait_event("AcpPermission")
    until(lambda: any("(+1 -1)" in line for line in editor.chat()))
    shown = [line.strip() for line in editor.chat()]
    assert [line for line in shown if line[:2] in ("+ ", "- ")] == ["- three", "+ 3"]
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    assert any("+1 -1" in line for line in editor.chat())
