"""Other descriptions of ACP are translated in both directions, and nothing else changes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from acp_nvim.protocol import codec, schema
from acp_nvim.protocol.dialects.dialect import Dialect
from acp_nvim.protocol.dialects.requests import wants_string_version
from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.jsonrpc import Event, Notification, Peer, Response

Frame = dict[str, Any]


def raw(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))


def answered(dialect: Dialect, method: str, result: Any, before: str = "") -> list[Event]:
    """Return the events of an answer to one of the client's requests."""
    dialect.on_sent(7, method, schema.PromptRequest("s1", []))
    return dialect.response(Response(7, method, raw(result), None), lambda _: before)


def result_of(events: list[Event]) -> Any:
    """Return the decoded result of the answer, which is last."""
    response = events[-1]
    assert isinstance(response, Response)
    assert response.result is not None
    return json.loads(bytes(response.result))


def updates_of(events: list[Event]) -> list[Frame]:
    """Return the updates among the events, each in the form of version 1."""
    found = []
    for event in events:
        if isinstance(event, Notification):
            notes: list[str] = []
            message = codec.decode_params(event.method, event.params, "client", notes)
            assert not isinstance(message.update, schema.UnknownUpdate)
            assert notes == []
            found.append(json.loads(bytes(event.params))["update"])
    return found


def odd(update: Any, dialect: Dialect | None = None, **around: Any) -> list[Frame]:
    """Return the translation of an odd update."""
    dialect = dialect or Dialect()
    params = raw(update if around else {"sessionId": "s1", "update": update})
    return updates_of(
        [Notification("session/update", it) for it in dialect.translate_unreadable(params)]
    )


def chunk(text: str, kind: str = "agent_message_chunk") -> Frame:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


def whole(text: str, kind: str = "agent_message_chunk") -> Frame:
    """Return the first message of an agent that sends whole messages."""
    return {**chunk(text, kind), "messageId": "acp.nvim-message-1"}


# ---- updates of other descriptions


@pytest.mark.parametrize(
    ("update", "wanted"),
    [
        (
            {"sessionUpdate": "message", "role": "assistant", "content": [chunk("a")["content"]]},
            [whole("a")],
        ),
        (
            {"sessionUpdate": "message", "role": "user", "content": [chunk("q")["content"]]},
            [whole("q", "user_message_chunk")],
        ),
        (
            {"sessionUpdate": "message", "role": "thought", "content": "hm"},
            [whole("hm", "agent_thought_chunk")],
        ),
        (
            {"sessionUpdate": "message", "role": "assistant", "content": ["a", {"text": "b"}]},
            [whole("a"), whole("b")],
        ),
        ({"sessionUpdate": "message", "role": "assistant", "content": []}, []),
        ({"type": "messageChunk", "role": "assistant", "chunk": "a"}, [chunk("a")]),
        ({"type": "messageChunk", "chunk": {"type": "text", "text": "a"}}, [chunk("a")]),
        (
            {"type": "messageChunk", "role": "user", "chunk": "q", "messageId": "m"},
            [{**chunk("q", "user_message_chunk"), "messageId": "m"}],
        ),
    ],
)
def test_messages_are_translated(update: Frame, wanted: list[Frame]) -> None:
    assert odd(update) == wanted


@pytest.mark.parametrize(
    ("status", "wanted"),
    [("running", "in_progress"), ("completed", "completed"), ("error", "failed")],
)
def test_a_tool_call_is_created_once_and_then_changed(status: str, wanted: str) -> None:
    dialect = Dialect()
    running = {"id": "t", "name": "grep", "status": "running", "input": {"q": "x"}}
    [first] = odd({"type": "toolCall", "toolCall": running}, dialect)
    assert first == {
        "sessionUpdate": "tool_call",
        "toolCallId": "t",
        "title": "grep",
        "name": "grep",
        "status": "in_progress",
        "rawInput": {"q": "x"},
    }
    later = {"id": "t", "name": "grep", "status": status, "output": "3 hits"}
    [second] = odd({"type": "toolCall", "toolCall": later}, dialect)
    assert (second["sessionUpdate"], second["status"]) == ("tool_call_update", wanted)
    assert second["content"] == [{"type": "content", "content": chunk("3 hits")["content"]}]
    assert second["rawOutput"] == "3 hits"


def test_a_finished_tool_call_that_runs_again_is_a_new_one() -> None:
    dialect = Dialect()
    kinds = [
        odd({"type": "toolCall", "toolCall": {"id": "t", "name": "n", "status": status}}, dialect)
        for status in ("running", "completed", "completed", "running")
    ]
    assert [update["sessionUpdate"] for [update] in kinds] == [
        "tool_call",
        "tool_call_update",
        "tool_call_update",
        "tool_call",
    ]


def test_the_output_of_a_tool_call_may_be_json() -> None:
    call = {"id": "t", "name": "n", "status": "completed", "output": {"rows": 3}}
    [update] = odd({"type": "toolCall", "toolCall": call})
    assert json.loads(update["content"][0]["content"]["text"]) == {"rows": 3}
    assert update["rawOutput"] == {"rows": 3}


@pytest.mark.parametrize("key", ["entries", "steps", "items"])
@pytest.mark.parametrize("wrapped", [True, False])
def test_a_plan_is_translated(key: str, wrapped: bool) -> None:
    steps = {key: ["look", {"title": "act", "status": "running", "priority": "high"}]}
    update = {"type": "planUpdate", **({"plan": steps} if wrapped else steps)}
    assert odd(update) == [
        {
            "sessionUpdate": "plan",
            "entries": [
                {"content": "look", "priority": "medium", "status": "pending"},
                {"content": "act", "priority": "high", "status": "in_progress"},
            ],
        }
    ]


def test_an_update_without_an_envelope_is_translated() -> None:
    params = {"session": {"id": "s9"}, "type": "messageChunk", "chunk": "a"}
    assert odd(params, raw=True) == [chunk("a")]
    [translated] = Dialect().translate_unreadable(raw(params))
    assert json.loads(bytes(translated))["sessionId"] == "s9"


@pytest.mark.parametrize(
    "update", [{"sessionUpdate": "moon_phase"}, {"type": "delta"}, {}, {"sessionUpdate": 3}]
)
def test_a_wrong_update_does_not_show_a_dialect(update: Frame) -> None:
    dialect = Dialect()
    assert odd(update, dialect) == []
    assert (dialect.active, dialect.name) == (False, "acp")


def test_the_first_odd_frame_shows_the_dialect() -> None:
    dialect = Dialect()
    odd({"type": "messageChunk", "chunk": "a"}, dialect)
    assert dialect.active
    assert dialect.name == 'acp with updates "messageChunk"'
    right = Notification("session/update", raw({"sessionId": "s1", "update": chunk("b")}))
    wrong = {"type": "messageChunk", "chunk": "c"}
    events = [right, Notification("session/update", raw({"sessionId": "s1", "update": wrong}))]
    assert updates_of(dialect.events(events)) == [chunk("b"), chunk("c")]


# ---- answers


def test_an_initialize_answer_of_another_description() -> None:
    dialect = Dialect()
    events = answered(
        dialect,
        "initialize",
        {
            "protocolVersion": "0.4",
            "serverInfo": {"name": "other", "version": "2"},
            "capabilities": {"loadSession": True},
        },
    )
    assert result_of(events) == {
        "protocolVersion": 1,
        "agentInfo": {"name": "other", "version": "2"},
        "agentCapabilities": {"loadSession": True},
    }
    assert dialect.active
    assert dialect.is_request_only("session/cancel")
    assert not dialect.is_request_only("session/update")
    assert dialect.name == "acp with string protocolVersion, serverInfo, capabilities"


@pytest.mark.parametrize("given", [{}, {"protocolVersion": None}])
def test_an_answer_without_a_version_has_version_1(given: dict[str, Any]) -> None:
    dialect = Dialect()
    result = {**given, "agentCapabilities": {"loadSession": True}}
    assert result_of(answered(dialect, "initialize", result)) == {
        "protocolVersion": 1,
        "agentCapabilities": {"loadSession": True},
    }
    assert dialect.name == "acp with no protocolVersion"


def test_an_unknown_version_number_stays() -> None:
    events = answered(Dialect(), "initialize", {"protocolVersion": 2, "agentCapabilities": {}})
    assert result_of(events)["protocolVersion"] == 2


@pytest.mark.parametrize("method", ["session/new", "session/fork"])
def test_the_session_id_within_a_session(method: str) -> None:
    result = {"session": {"id": "x1", "modes": {"modeId": "a", "availableModes": []}}}
    assert result_of(answered(Dialect(), method, result)) == {
        "sessionId": "x1",
        "session": result["session"],
        "modes": {"modeId": "a", "currentModeId": "a", "availableModes": []},
    }


@pytest.mark.parametrize(
    ("reason", "wanted"),
    [
        ("endTurn", "end_turn"),
        ("maxTokens", "max_tokens"),
        ("maxTurnRequests", "max_turn_requests"),
        ("canceled", "cancelled"),
        ("cancelled", "cancelled"),
        ("refusal", "refusal"),
        ("end_turn", "end_turn"),
    ],
)
def test_stop_reasons(reason: str, wanted: str) -> None:
    assert result_of(answered(Dialect(), "session/prompt", {"stopReason": reason})) == {
        "stopReason": wanted
    }


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"error": {"message": "no tokens"}}, "no tokens"),
        ({"error": "broken"}, "broken"),
        ({"message": "late"}, "late"),
        ({}, "the agent reports an error"),
    ],
)
def test_the_stop_reason_error_is_an_error(more: Frame, message: str) -> None:
    [response] = answered(Dialect(), "session/prompt", {"stopReason": "error", **more})
    assert isinstance(response, Response)
    assert response.error is not None
    assert (response.result, response.error.message) == (None, message)


@pytest.mark.parametrize(
    ("before", "shown"), [("", True), ("Something else", True), ("Well: the answer.", False)]
)
def test_content_beside_the_stop_reason_is_shown_once(before: str, shown: bool) -> None:
    dialect = Dialect()
    result = {"stopReason": "end_turn", "content": [{"type": "text", "text": "the answer."}]}
    events = answered(dialect, "session/prompt", result, before)
    assert updates_of(events) == ([whole("the answer.")] if shown else [])
    assert isinstance(events[-1], Response)
    assert result_of(events)["stopReason"] == "end_turn"


def test_the_removed_models_are_shown_and_stay() -> None:
    dialect = Dialect()
    models = {"currentModelId": "s", "availableModels": [{"modelId": "s", "name": "Small"}]}
    events = answered(dialect, "session/new", {"sessionId": "s1", "models": models})
    assert result_of(events) == {"sessionId": "s1", "models": models}
    assert (dialect.name, dialect.active) == ("acp with models", False)


# ---- agents that speak the protocol


RIGHT: list[tuple[str, Frame]] = [
    ("initialize", {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}),
    ("session/new", {"sessionId": "s1"}),
    ("session/prompt", {"stopReason": "end_turn"}),
    ("session/list", {"sessions": []}),
    ("session/load", {}),
]


@pytest.mark.parametrize(("method", "result"), RIGHT)
def test_correct_results_pass_unchanged(method: str, result: Frame) -> None:
    dialect = Dialect()
    response = Response(1, method, raw(result), None)
    [passed] = dialect.response(response, lambda _: "")
    assert passed is response
    assert (dialect.active, dialect.name) == (False, "acp")


@pytest.mark.parametrize("result", [None, [], 3, "x"])
def test_answers_that_are_not_objects_pass(result: Any) -> None:
    dialect = Dialect()
    response = Response(1, "session/new", raw(result), None)
    assert dialect.response(response, lambda _: "") == [response]


def test_requests_of_an_agent_pass_while_updates_are_translated() -> None:
    dialect = Dialect()
    dialect.active = True
    line = b'{"jsonrpc":"2.0","id":0,"method":"fs/read_text_file","params":{"path":"/a"}}\n'
    events = Peer().receive(line)
    assert dialect.events(events) == events


@pytest.mark.parametrize("odd", [{"type": ["text"]}, {"type": "text", "text": None}, 5])
def test_members_beside_the_stop_reason_may_be_anything(odd: Any) -> None:
    events = answered(
        Dialect(), "session/prompt", {"stopReason": "endTurn", "content": [odd, "said"]}
    )
    assert result_of(events)["stopReason"] == "end_turn"
    assert isinstance(events[-2], Notification)
    chunk = json.loads(bytes(events[-2].params))["update"]["content"]
    assert chunk == {"type": "text", "text": "said"}


# ---- requests to an agent with a version in words


def outgoing(dialect: Dialect, method: str, params: Any) -> Frame:
    """Return the params as the agent gets them."""
    found: Frame = json.loads(msgspec.json.encode(dialect.translate_outgoing(method, params)[1]))
    return found


def agent_with_string_version() -> Dialect:
    return Dialect(string_version=True, branch_of=lambda cwd: "main" if cwd == "/w" else None)


def initialize() -> schema.InitializeRequest:
    return schema.InitializeRequest(
        1,
        schema.ClientCapabilities(fs=schema.FileSystemCapabilities(True, True), terminal=False),
        schema.Implementation("acp.nvim", "1"),
    )


def prompted(*blocks: Any, dialect: Dialect | None = None) -> Frame:
    request = schema.PromptRequest("s1", list(blocks))
    return outgoing(dialect or agent_with_string_version(), "session/prompt", request)


def test_a_version_in_words_has_flat_capabilities() -> None:
    sent = outgoing(agent_with_string_version(), "initialize", initialize())
    assert sent["protocolVersion"] == "2025-01-01"
    assert sent["capabilities"] == {
        "terminal": False,
        "fs.readTextFile": True,
        "fs.writeTextFile": True,
    }
    assert sent["clientInfo"]["name"] == "acp.nvim"


def test_a_new_session_gets_the_working_directory() -> None:
    sent = outgoing(
        agent_with_string_version(),
        "session/new",
        schema.NewSessionRequest(cwd="/w", mcp_servers=[]),
    )
    assert sent["metadata"] == {"workDir": "/w", "branch": "main"}
    sent = outgoing(
        agent_with_string_version(),
        "session/new",
        schema.NewSessionRequest(cwd="/x", mcp_servers=[]),
    )
    assert sent["metadata"] == {"workDir": "/x"}


def test_an_agent_of_version_1_gets_the_standard_form() -> None:
    assert outgoing(Dialect(), "initialize", initialize())["protocolVersion"] == 1
    sent = outgoing(Dialect(), "session/new", schema.NewSessionRequest(cwd="/w", mcp_servers=[]))
    assert "metadata" not in sent
    assert "command" not in prompted(schema.TextContent("/plan x"), dialect=Dialect())


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/search  all of it", {"name": "search", "input": "all of it"}),
        ("/fix a\nb", {"name": "fix", "input": "a\nb"}),
        ("/clear", {"name": "clear"}),
        ("/mcp:tool.x go", {"name": "mcp:tool.x", "input": "go"}),
        ("/usr/bin/env fails", None),
        ("say /clear", None),
        ("/", None),
    ],
)
def test_a_slash_command_is_sent_as_a_command(text: str, command: Frame | None) -> None:
    sent = prompted(schema.TextContent(text))
    assert sent.get("command") == command
    assert sent["prompt"][0] == {"type": "text", "text": text}


def test_only_advertised_commands_are_sent_as_commands() -> None:
    dialect = agent_with_string_version()
    update = {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [{"name": "plan", "description": "Plan"}],
    }
    dialect.translate_unreadable(raw({"sessionId": "s1", "update": update}))
    assert "command" in prompted(schema.TextContent("/plan x"), dialect=dialect)
    assert "command" not in prompted(schema.TextContent("/tmp x"), dialect=dialect)


def test_parts_are_only_text_image_and_audio() -> None:
    text = schema.TextResourceContents(uri="file:///w/a%20b.py#L3-L9", text="x = 1\n")
    blob = schema.BlobResourceContents(uri="file:///w/a.bin", blob="aGk=")
    sent = prompted(
        schema.TextContent("look"),
        schema.EmbeddedResource(text),
        schema.EmbeddedResource(blob),
        schema.ResourceLink(name="b.py", uri="file:///w/b.py"),
        schema.ResourceLink(name="page", uri="https://example.com/x#top"),
        schema.ImageContent("aGk=", "image/png", uri="file:///w/i.png"),
        schema.AudioContent("aGk=", "audio/wav"),
    )
    assert [part["type"] for part in sent["prompt"]] == ["text"] * 5 + ["image", "audio"]
    texts = [part["text"].strip() for part in sent["prompt"][:5]]
    assert texts == [
        "look",
        "/w/a b.py:3-9:\n```\nx = 1\n```",
        "/w/a.bin",
        "/w/b.py",
        "https://example.com/x#top",
    ]
    assert sent["prompt"][5] == {"type": "image", "data": "aGk=", "mimeType": "image/png"}


def test_a_cancel_is_a_request_to_such_an_agent() -> None:
    assert agent_with_string_version().is_request_only("session/cancel")
    assert not Dialect().is_request_only("session/cancel")


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (RequestError(-32602, "Invalid params"), True),
        (RequestError(-32600, "Invalid Request"), True),
        (RequestError(-32603, "protocolVersion must be a string"), True),
        (RequestError(-32603, "x", {"reason": "json: cannot unmarshal number into …"}), True),
        (RequestError(-32022, "Unsupported protocol version", {"supported": [7]}), False),
        (RequestError(-32603, "not today"), False),
        (RequestError(-32000, "log in"), False),
        (ValueError("protocolVersion"), False),
    ],
)
def test_which_refusals_may_be_about_the_number(error: Exception, wanted: bool) -> None:
    assert wants_string_version(error) is wanted


def test_servers_are_sent_only_if_the_agent_supports_them() -> None:
    dialect = agent_with_string_version()
    assert not dialect.starts_servers
    answered(dialect, "initialize", {"protocolVersion": "1.0", "capabilities": {}})
    assert not dialect.starts_servers
    offered = {"mcpCapabilities": {"http": False}}
    answered(dialect, "initialize", {"protocolVersion": "1.0", "agentCapabilities": offered})
    assert dialect.starts_servers
