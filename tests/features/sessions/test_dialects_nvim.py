"""Agents built to other descriptions of ACP, in a real Neovim."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.support.editor import Editor

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def dialect(editor: Editor, name: str) -> str:
    """Return the agent's dialect from `:Acp info`."""
    editor.cmd("Acp info")
    editor.wait("vim.fn.bufexists('acp://info') == 1")
    lines = editor.wait(
        "#vim.fn.getbufline('acp://info', 1, '$') > 3 and vim.fn.getbufline('acp://info', 1, '$')"
    )
    start = next(at for at, line in enumerate(lines) if line.startswith(f"agent {name}:"))
    found: str = next(line for line in lines[start:] if line.startswith("  dialect: "))
    return found.removeprefix("  dialect: ")


def test_messages_with_a_role_and_a_list_of_content_are_shown(editor: Editor) -> None:
    editor.agent("dialect_message")
    end = editor.turn("hello")
    assert (end["stop_reason"], end.get("error")) == ("end_turn", None)
    assert editor.chat().count("You said hello.") == 1, "said once, not again at the end"
    agent = editor.state()["agents"]["dialect_message"]
    assert agent["info"] == {"name": "messenger", "title": "Messenger", "version": "3"}
    assert "## Messenger" in editor.chat()
    assert agent["protocol"] == 1
    assert "serverInfo" in dialect(editor, "dialect_message")
    editor.turn("silent")
    assert "You said silent." in editor.chat(), "what stands only beside the stop reason is said"


def test_typed_updates_are_shown(editor: Editor) -> None:
    editor.agent("dialect_typed")
    end = editor.turn("search")
    assert end["stop_reason"] == "end_turn"
    session = editor.session()
    assert session["id"] == "t1"
    assert session["plan"] == [{"content": "Search", "priority": "medium", "status": "in_progress"}]
    calls = [(call["id"], call["title"], call["status"]) for call in session["tool_calls"]]
    assert calls == [("g1", "grep", "completed"), ("g2", "sed", "failed")]
    chat = "\n".join(editor.chat())
    assert "Typed words." in chat
    assert "three hits" in chat
    assert "no such file" in chat
    assert editor.state()["agents"]["dialect_typed"]["protocol"] == 1
    name = dialect(editor, "dialect_typed")
    for trait in ("string protocolVersion", "session.id", 'updates "toolCall"', "stop reason"):
        assert trait in name


def test_a_cancel_can_be_a_request(editor: Editor) -> None:
    traffic = editor.agent("dialect_typed")
    editor.prompt("wait")
    editor.wait("vim.tbl_contains(vim.fn.getbufline('acp://chat/1', 1, '$'), 'waiting')")
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    [cancel] = traffic.received("session/cancel")
    assert "id" in cancel
    editor.turn("go on")
    assert "Typed words." in "\n".join(editor.chat())


def test_an_error_as_a_stop_reason_is_shown(editor: Editor) -> None:
    editor.agent("dialect_typed")
    end = editor.turn("fail")
    assert end["error"] == "out of tokens"
    assert "✗ out of tokens" in editor.chat()
    assert editor.session()["status"] == "idle"


def test_a_dialect_is_recognized_in_the_first_update(editor: Editor) -> None:
    editor.agent("dialect_late")
    editor.turn("one")
    assert "late words" in editor.chat()
    editor.turn("two")
    assert editor.chat().count("late words") == 2
    assert dialect(editor, "dialect_late") == 'acp with updates "messageChunk"'


def test_models_and_modes_of_an_earlier_form_work(editor: Editor) -> None:
    traffic = editor.agent("dialect_models")
    editor.turn("one")
    [option] = editor.session()["options"]
    assert (option["category"], option["currentValue"]) == ("model", "small")
    assert editor.session()["modes"]["current"] == "ask"
    editor.cmd("Acp model large")
    assert traffic.wait_note("model") == "model large"
    editor.wait("require('acp').state().sessions[1].options[1].currentValue == 'large'")
    assert dialect(editor, "dialect_models") == "acp with modeId, models"


def test_an_agent_that_speaks_the_protocol_has_no_dialect(editor: Editor) -> None:
    editor.agent("hello")
    editor.turn("hi")
    assert dialect(editor, "hello") == "acp"
    assert editor.state()["agents"]["hello"]["dialect"] == "acp"


@pytest.mark.parametrize(
    ("refusal", "version"),
    [
        ("-32602", 1),
        ("-32600", 1),
        ("unread", 1),
        ("fatal", 1),
        ("silent", 1),
        ("fatal", 2),
        ("-32603", 2),
    ],
)
def test_an_agent_that_wants_its_version_as_a_string_gets_one(
    editor: Editor, refusal: str, version: int
) -> None:
    traffic = editor.agent("strict_go", refusal, protocol=version)
    end = editor.turn("look around")
    assert (end["stop_reason"], end.get("error")) == ("end_turn", None)
    versions = [frame["params"]["protocolVersion"] for frame in traffic.received("initialize")]
    assert versions == [version, "2025-01-01"]
    assert len(traffic.pids()) == (2 if version == 2 or refusal in ("fatal", "silent") else 1)
    [opened] = traffic.received("session/new")
    assert opened["params"]["metadata"]["workDir"] == str(editor.work)
    session = editor.session()
    assert session["plan"][0]["content"] == "Search"
    assert "First search, then mend." in "\n".join(editor.chat())
    assert [(c["title"], c["status"]) for c in session["tool_calls"]] == [("search", "completed")]
    assert "parts text" in editor.chat()
    assert "no command" in editor.chat()

    editor.write("i.png", PNG)
    editor.lua("require('acp').prompt('/find the bug', { attach = { 'i.png' } })")
    editor.wait_event("AcpTurnEnd", 2)
    assert "command find: the bug" in editor.chat()
    assert f"image of {len(base64.b64encode(PNG))}" in editor.chat()

    editor.prompt("/wait here")
    editor.wait("vim.tbl_contains(vim.fn.getbufline('acp://chat/1', 1, '$'), 'waiting')")
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd", 3)["stop_reason"] == "cancelled"
    assert "string protocolVersion" in dialect(editor, "strict_go")
    assert editor.state()["agents"]["strict_go"]["protocol"] == 1


def test_an_agent_of_that_dialect_that_accepts_a_number_gets_a_number(editor: Editor) -> None:
    traffic = editor.agent("strict_go", "number")
    editor.turn("/find the bug")
    versions = [frame["params"]["protocolVersion"] for frame in traffic.received("initialize")]
    assert versions == [1]
    [opened] = traffic.received("session/new")
    assert opened["params"]["metadata"]["workDir"] == str(editor.work)
    assert "command find: the bug" in editor.chat()


def test_whole_messages_are_separate_paragraphs(editor: Editor) -> None:
    editor.agent("dialect_messages")
    editor.turn("look")
    expected = ["I am looking.", "", "I have found it."]
    chat = editor.chat()
    at = chat.index(expected[0])
    assert chat[at : at + 3] == expected
    assert sum("found it" in line for line in chat) == 1, "the end repeats what was said"
    editor.turn("mend")
    chat = editor.chat()
    at = len(chat) - chat[::-1].index(expected[0]) - 1
    assert chat[at : at + 5] == [*expected, "", "It is mended."]


def test_a_prompt_that_the_agent_cancels_is_not_an_error(editor: Editor) -> None:
    editor.agent("dialect_withdrawn")
    end = editor.turn("go")
    assert (end["stop_reason"], end.get("error")) == ("cancelled", None)
    assert editor.session()["status"] == "idle"
    assert not [line for line in editor.chat() if line.startswith("✗")]


@pytest.mark.parametrize(
    "usage",
    [
        {"tokenUsage": {"inputTokens": 7, "outputTokens": 5, "totalTokens": 12}},
        {"token_usage": {"prompt_tokens": 7, "completion_tokens": 5}},
        {"_meta": {"usage": {"input_tokens": 7, "output_tokens": 5}}},
        {"usage": {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}},
        {"_meta": {"tokenUsage": {"input": 7, "output": 5, "total": 12}}},
    ],
)
def test_token_counts_of_a_turn_are_found(editor: Editor, usage: dict[str, Any]) -> None:
    editor.agent("dialect_tokens", json.dumps(usage))
    editor.turn("go")
    tokens = editor.session()["turn_usage"]
    assert (tokens["input"], tokens["output"], tokens["total"]) == (7, 5, 12)


def test_a_question_about_a_call_shows_its_input(editor: Editor) -> None:
    editor.agent("dialect_asks")
    editor.prompt("go")
    editor.wait_event("AcpPermission")
    editor.wait_screen("make deploy")
    [permission] = editor.session()["permissions"]
    assert permission["title"] == "shell"
    editor.cmd("AcpCancel!")
    editor.wait_event("AcpTurnEnd")


@pytest.mark.parametrize("how", ["answers", "refuses"])
def test_an_agent_with_version_2_only_is_initialized_with_it(editor: Editor, how: str) -> None:
    traffic = editor.agent("only_version_2", how, protocol=1)
    assert editor.turn("go")["stop_reason"] == "end_turn"
    assert "heard in version 2" in editor.chat()
    assert editor.state()["agents"]["only_version_2"]["protocol"] == 2
    versions = [frame["params"]["protocolVersion"] for frame in traffic.received("initialize")]
    assert versions == [1, 2]
    editor.cmd("Acp info")
    editor.wait("vim.fn.bufexists('acp://info') == 1")
    editor.wait("#vim.fn.getbufline('acp://info', 1, '$') > 3")
    assert '"teleport":{"range":7}' in "\n".join(editor.lines("acp://info"))


def test_unknown_capabilities_are_listed_in_the_info(editor: Editor) -> None:
    editor.agent("hello", capabilities={"teleport": {"range": 7}, "loadSession": True})
    editor.turn("go")
    editor.cmd("Acp info")
    editor.wait("vim.fn.bufexists('acp://info') == 1")
    editor.wait("#vim.fn.getbufline('acp://info', 1, '$') > 3")
    usage = "\n".join(editor.lines("acp://info"))
    assert '"teleport":{"range":7}' in usage
    assert '"loadSession":true' in usage


@pytest.mark.parametrize("kind", ["agent_message_chunk", "agent_thought_chunk"])
def test_annotations_of_a_text_are_shown_once(editor: Editor, kind: str) -> None:
    editor.agent("script")
    annotations = {"audience": ["user"], "priority": 0.9}
    content = {"type": "text", "annotations": annotations}
    lines = [
        "update " + json.dumps({"sessionUpdate": kind, "content": {**content, "text": text}})
        for text in ("Read ", "this.")
    ]
    editor.turn("\n".join(lines))
    chat = "\n".join(editor.chat())
    assert chat.count("for you, priority 0.9") == 1
    assert "Read this." in chat
