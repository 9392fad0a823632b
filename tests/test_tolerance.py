"""What is forgiven, what is noted, what is refused; and that real agents' traffic is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from acp_nvim.protocol import codec, errors, schema
from acp_nvim.protocol.errors import DecodeError, RemoteProtocolError
from acp_nvim.protocol.methods import METHODS, Side, asked, received

TRANSCRIPTS = sorted((Path(__file__).parent / "data" / "transcripts").glob("*.ndjson"))


def raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


def update(**fields: Any) -> tuple[Any, list[str]]:
    """An update as the client reads it, and what was noted."""
    notes: list[str] = []
    params = raw({"sessionId": "s", "update": fields})
    return codec.decode_params("session/update", params, "client", notes).update, notes


def params(method: str, fields: dict[str, Any], side: Side = "client") -> tuple[Any, list[str]]:
    notes: list[str] = []
    return codec.decode_params(method, raw(fields), side, notes), notes


def result(method: str, value: Any) -> tuple[Any, list[str]]:
    notes: list[str] = []
    return codec.decode_result(method, raw(value), notes), notes


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def test_what_is_right_is_read_without_a_note() -> None:
    read, notes = update(sessionUpdate="agent_message_chunk", content=text("hi"), messageId=None)
    assert read == schema.AgentMessageChunk(schema.TextContent("hi"), message_id=None)
    assert notes == []


def test_unknown_fields_are_ignored() -> None:
    read, notes = update(sessionUpdate="plan_removed", planId="p", newField={"x": [1]})
    assert (read, notes) == (schema.PlanRemoved("p"), [])


# Updates


@pytest.mark.parametrize(
    "fields",
    [
        {"sessionUpdate": "tomorrow_update", "x": {"y": 1}},
        {"sessionUpdate": "?", "x": 1},
        {"sessionUpdate": "tool_call", "title": "no id"},
        {"sessionUpdate": "agent_message_chunk"},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "hologram"}, "messageId": 7},
        {"sessionUpdate": "usage_update", "used": None, "size": 3},
        {"sessionUpdate": "plan_update", "plan": {"type": "items"}},
    ],
)
def test_an_update_that_cannot_be_read_is_kept_raw(fields: dict[str, Any]) -> None:
    read, notes = update(**fields)
    if fields.get("content") is None:
        assert isinstance(read, schema.UnknownUpdate)
        assert (read.session_update, read.raw) == (fields["sessionUpdate"], fields)
    else:
        assert read.content == schema.UnknownContent("hologram", {"type": "hologram"})
        assert read.message_id is UNSET
    assert len(notes) >= 1
    assert all("\n" not in note for note in notes)


@pytest.mark.parametrize("broken", [{}, {"sessionUpdate": 7}, [], None, "x"])
def test_an_update_without_a_tag_is_refused(broken: Any) -> None:
    with pytest.raises(DecodeError, match=r"params\.update"):
        codec.decode_params("session/update", raw({"sessionId": "s", "update": broken}), "client")


def test_tool_call_enums() -> None:
    read, notes = update(
        sessionUpdate="tool_call", toolCallId="c", title="t", kind="teleport", status="paused"
    )
    assert (read.kind, read.status) == ("other", "in_progress")
    assert [note.split(":")[0] for note in notes] == ["params.update.kind", "params.update.status"]


def test_bad_optional_fields_are_left_out() -> None:
    read, notes = update(
        sessionUpdate="tool_call_update",
        toolCallId="c",
        title=["no"],
        kind=7,
        locations="nowhere",
        status="completed",
        rawOutput={"kept": True},
    )
    assert read == schema.ToolCallUpdate("c", status="completed", raw_output={"kept": True})
    assert len(notes) == 3


def test_nulls_everywhere() -> None:
    read, notes = update(
        sessionUpdate="tool_call",
        toolCallId="c",
        title=None,
        kind=None,
        status=None,
        content=None,
        locations=[{"path": "/a", "line": None}],
        rawInput=None,
    )
    assert (read.title, read.kind, read.status, read.content) == ("", UNSET, UNSET, [])
    assert read.locations == [schema.ToolCallLocation("/a", None)]
    assert read.raw_input is None
    assert len(notes) == 4


def test_null_means_unchanged_in_an_update_and_is_not_noted() -> None:
    read, notes = update(sessionUpdate="tool_call_update", toolCallId="c", content=None, title=None)
    assert (read.content, read.title, read.kind, notes) == (None, None, UNSET, [])


def test_bad_list_items_are_dropped_unknown_ones_kept() -> None:
    read, notes = update(
        sessionUpdate="tool_call_update",
        toolCallId="c",
        content=[
            {"type": "diff", "path": "/a", "newText": "x", "oldText": None},
            {"type": "diff", "path": "/a"},
            {"type": "hologram", "x": 1},
            {"type": "content", "content": {"type": "image"}},
            {"type": "session", "sessionId": "child"},
            "what",
        ],
    )
    assert read.content == [
        schema.Diff("/a", "x", old_text=None),
        schema.UnknownToolCallContent("hologram", {"type": "hologram", "x": 1}),
        schema.SessionLink("child"),
    ]
    assert len(notes) == 4


def test_a_location_at_line_zero_is_the_first_line() -> None:
    read, notes = update(
        sessionUpdate="tool_call_update",
        toolCallId="c",
        locations=[
            {"path": "/a", "line": 0},
            {"path": "/b", "line": -1},
            {"path": "/c", "line": 2.0},
        ],
    )
    lines = [location.line for location in read.locations]
    assert lines == [1, UNSET, 2]
    assert len(notes) == 2


def test_mode_update_as_in_the_documentation() -> None:
    read, _ = update(sessionUpdate="current_mode_update", modeId="code")
    assert read == schema.CurrentModeUpdate("code")


def test_plan_entries_are_kept_while_they_have_a_text() -> None:
    read, notes = update(
        sessionUpdate="plan",
        entries=[
            {"content": "a", "priority": "urgent", "status": "blocked"},
            {"content": "b"},
            {"priority": "low", "status": "pending"},
        ],
    )
    assert read.entries == [
        schema.PlanEntry("a", "medium", "pending"),
        schema.PlanEntry("b", "medium", "pending"),
    ]
    assert len(notes) == 5


def test_commands_without_description() -> None:
    read, _ = update(
        sessionUpdate="available_commands_update",
        availableCommands=[
            {"name": "a", "description": None, "input": None},
            {"name": "b", "description": "B", "input": {"hint": None}},
            {"description": "no name"},
        ],
    )
    assert read.available_commands == [
        schema.AvailableCommand("a", "", None),
        schema.AvailableCommand("b", "B", schema.UnstructuredCommandInput("")),
    ]


def test_null_for_a_required_list() -> None:
    read, notes = update(sessionUpdate="available_commands_update", availableCommands=None)
    assert read.available_commands == []
    assert len(notes) == 1


def test_a_state_of_tomorrow_is_neither_idle_nor_running() -> None:
    read, _ = update(sessionUpdate="subagent_update", sessionId="c", state={"state": "dreaming"})
    assert read.state == schema.OtherStateUpdate("dreaming", {"state": "dreaming"})


def test_an_idle_state_keeps_its_reason_and_error() -> None:
    state = {"state": "idle", "stopReason": "error", "error": {"code": -1, "message": "m"}}
    read, notes = update(sessionUpdate="subagent_update", sessionId="c", state=state)
    assert read.state == schema.IdleStateUpdate("error", schema.Error(-1, "m"))
    assert notes == []


def test_content_as_a_bare_string() -> None:
    read, notes = update(sessionUpdate="agent_message_chunk", content="hello")
    assert read.content == schema.TextContent("hello")
    assert len(notes) == 1


def test_embedded_resources_by_their_shape() -> None:
    for fields, expected in (
        ({"text": "t"}, schema.TextResourceContents("t", "file:///a")),
        ({"blob": "Yg=="}, schema.BlobResourceContents("Yg==", "file:///a")),
    ):
        block = {"type": "resource", "resource": {"uri": "file:///a", **fields}}
        read, notes = update(sessionUpdate="agent_message_chunk", content=block)
        assert (read.content, notes) == (schema.EmbeddedResource(expected), [])


def test_prompt_suggestions() -> None:
    read, notes = update(
        sessionUpdate="prompt_suggestions_update", suggestions=[{"prompt": [text("go on")]}]
    )
    wanted = [schema.PromptSuggestion([schema.TextContent("go on")])]
    assert (read, notes) == (schema.PromptSuggestionsUpdate(wanted), [])


# Requests of the agent


def test_every_permission_option_is_kept() -> None:
    fields = {
        "sessionId": "s",
        "toolCall": {"toolCallId": "c", "content": [text("bare"), {"type": "text"}]},
        "options": [
            {"optionId": "a", "name": "A", "kind": "allow_once"},
            {"optionId": "b", "name": "B", "kind": "allow_until_lunch"},
            {"optionId": "c", "kind": None},
        ],
    }
    read, notes = params("session/request_permission", fields)
    assert read.options == [
        schema.PermissionOption("a", "A", "allow_once"),
        schema.PermissionOption("b", "B", "other"),
        schema.PermissionOption("c", "c", "other"),
    ]
    wrapped: list[schema.ToolCallContent] = [
        schema.Content(schema.TextContent("bare")),
        schema.Content(schema.TextContent("")),
    ]
    assert read.tool_call == schema.PermissionToolCall("c", content=wrapped)
    assert len(notes) >= 5


@pytest.mark.parametrize(("line", "read_as"), [(0, 1), (1, 1), (None, None), (7.0, 7)])
def test_the_line_of_a_read(line: float | None, read_as: int | None) -> None:
    read, _ = params(
        "fs/read_text_file", {"sessionId": "s", "path": "/a", "line": line, "limit": 0}
    )
    assert (read.line, read.limit) == (read_as, 0)


def test_terminal_arguments() -> None:
    fields = {"sessionId": "s", "command": "ls", "args": None, "env": {"A": "1"}, "cwd": None}
    read, notes = params("terminal/create", fields)
    assert (read.args, read.env) == ([], [schema.EnvVariable("A", "1")])
    assert len(notes) == 1


@pytest.mark.parametrize(
    ("method", "fields", "named"),
    [
        ("fs/read_text_file", {"sessionId": "s"}, "params.path: missing"),
        ("fs/read_text_file", {"sessionId": "s", "path": 7}, "params.path"),
        ("fs/write_text_file", {"sessionId": "s", "path": "/a", "content": None}, "params.content"),
        ("terminal/output", {"terminalId": "t"}, "params.sessionId"),
        ("elicitation/create", {"message": "m"}, "params.mode"),
        ("session/request_permission", {"sessionId": "s", "options": []}, "params.toolCall"),
    ],
)
def test_what_cannot_be_read_names_the_field(method: str, fields: Any, named: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        codec.decode_params(method, raw(fields), "client")
    assert isinstance(caught.value, DecodeError)
    assert caught.value.code == errors.INVALID_PARAMS
    assert str(caught.value).startswith(named)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [[], 7, "x", True])
def test_params_that_are_no_object(value: Any) -> None:
    with pytest.raises(DecodeError, match="an object is wanted"):
        codec.decode_params("terminal/output", raw(value), "client")


def test_a_method_of_another_side_is_unknown() -> None:
    for method, side in (
        ("session/prompt", "client"),
        ("fs/read_text_file", "agent"),
        ("_x", "client"),
    ):
        with pytest.raises(DecodeError) as caught:
            codec.decode_params(method, raw({}), side)  # type: ignore[arg-type]
        assert caught.value.code == errors.METHOD_NOT_FOUND
    with pytest.raises(DecodeError):
        codec.decode_result("session/cancel", raw({}))


def test_one_name_may_have_two_directions() -> None:
    fields = {"serverId": "x", "requestId": "r", "method": "tools/list"}
    assert isinstance(params("mcp/message", fields)[0], schema.MessageMcpRequest)
    to_agent, _ = params("mcp/message", fields, "agent")
    assert isinstance(to_agent, schema.MessageMcpNotification)


def test_elicitation_modes() -> None:
    form = {
        "mode": "form",
        "message": "m",
        "sessionId": "s",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "format": "ipv9"},
                "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
                "plain": {"type": "array", "items": {"type": "string", "enum": ["a"]}},
                "odd": {"type": "array", "items": {"type": "colour"}},
                "new": {"type": "colour", "x": 1},
                "bad": {"type": "array"},
            },
        },
    }
    read, _ = params("elicitation/create", form)
    assert isinstance(read, schema.ElicitationFormMode)
    properties = schema.given(read.requested_schema.properties)
    assert properties is not None
    assert properties["name"] == schema.StringPropertySchema()
    titled = schema.TitledMultiSelectItems([schema.EnumOption("a", "A")])
    assert properties["tags"] == schema.MultiSelectPropertySchema(titled)
    plain = schema.MultiSelectPropertySchema(schema.StringMultiSelectItems(["a"]))
    assert properties["plain"] == plain
    odd = schema.UnknownMultiSelectItems("colour", {"type": "colour"})
    assert properties["odd"] == schema.MultiSelectPropertySchema(odd)
    assert properties["new"] == schema.UnknownPropertySchema("colour", {"type": "colour", "x": 1})
    assert isinstance(properties["bad"], schema.UnknownPropertySchema)

    read, _ = params("elicitation/create", {"mode": "dance", "message": "m", "requestId": 1})
    assert isinstance(read, schema.UnknownElicitationMode)
    assert (read.mode, read.request_id) == ("dance", 1)


# Results


@pytest.mark.parametrize(
    "method",
    [
        "session/load",
        "session/resume",
        "session/set_mode",
        "logout",
        "authenticate",
        "session/close",
    ],
)
def test_a_null_result_is_the_empty_object(method: str) -> None:
    read, notes = result(method, None)
    row = asked(method)
    assert row is not None
    assert (read, notes) == (row.result(), [])


def test_stop_reasons() -> None:
    assert result("session/prompt", {"stopReason": "end_turn"})[1] == []
    read, notes = result("session/prompt", {"stopReason": "out_of_credits", "usage": {"bad": 1}})
    assert (read.stop_reason, read.usage) == ("out_of_credits", UNSET)
    assert len(notes) == 2
    assert result("session/prompt", None)[0].stop_reason == "end_turn"


def test_an_initialize_response_full_of_mistakes() -> None:
    read, notes = result(
        "initialize",
        {
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": "yes",
                "sessionCapabilities": {"list": {}, "close": True, "resume": None},
                "promptCapabilities": None,
            },
            "authMethods": [
                {"id": "a", "name": "A", "description": None},
                {"id": "t", "name": "T", "type": "terminal", "args": None, "env": {"K": "V"}},
                {"id": "e", "name": "E", "type": "env_var", "vars": []},
                {"id": "n"},
                {"name": "no id"},
            ],
            "agentInfo": {"name": "x"},
        },
    )
    capabilities = read.agent_capabilities
    assert (capabilities.load_session, capabilities.prompt_capabilities) == (UNSET, UNSET)
    assert capabilities.session_capabilities == schema.SessionCapabilities(
        list=schema.SessionListCapabilities(), resume=None
    )
    assert read.auth_methods == [
        schema.AuthMethodAgent("a", "A", None),
        schema.AuthMethodTerminal("t", "T", args=[], env={"K": "V"}),
        schema.AuthMethodAgent("e", "E"),
        schema.AuthMethodAgent("n", "n"),
    ]
    assert read.agent_info == schema.Implementation("x", "")
    assert len(notes) == 7


def test_config_options_flat_grouped_and_of_tomorrow() -> None:
    read, _ = result(
        "session/new",
        {
            "sessionId": "s",
            "modes": None,
            "configOptions": [
                {
                    "type": "select",
                    "id": "m",
                    "name": "Model",
                    "currentValue": "a",
                    "options": [
                        {"value": "a", "name": "A"},
                        {"group": "g", "name": "G", "options": [{"value": "b"}]},
                    ],
                },
                {"type": "boolean", "id": "b", "name": "B", "currentValue": True},
                {"type": "slider", "id": "x", "name": "X", "currentValue": 3},
                {"type": "select", "id": "broken"},
            ],
        },
    )
    select, switch, slider = read.config_options
    assert select.options == [
        schema.SessionConfigSelectOption("a", "A"),
        schema.SessionConfigSelectGroup("g", "G", [schema.SessionConfigSelectOption("b", "b")]),
    ]
    assert switch.current_value is True
    assert (slider.id, slider.type, slider.raw["currentValue"]) == ("x", "slider", 3)


def test_mcp_servers_as_an_agent_reads_them() -> None:
    servers = [
        {"name": "a", "command": "/bin/a", "args": [], "env": []},
        {"type": "http", "name": "h", "url": "https://x", "headers": []},
        {"type": "acp", "name": "c", "serverId": "i"},
    ]
    read, notes = params("session/new", {"cwd": "/w", "mcpServers": servers}, "agent")
    kinds = [type(server) for server in read.mcp_servers]
    assert kinds == [schema.McpServerStdio, schema.McpServerHttp, schema.McpServerAcp]
    assert notes == []


# Whatever comes


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
TAGS = [it.__struct_config__.tag for it in schema.SessionUpdate.__args__]
NAMES = sorted(
    {
        field.encode_name
        for kind in schema.SessionUpdate.__args__
        for field in msgspec.structs.fields(kind)
        if not field.encode_name.startswith("?")
    }
)


@given(tag=st.sampled_from(TAGS), fields=st.dictionaries(st.sampled_from(NAMES), JSON, max_size=8))
def test_no_update_with_a_tag_raises(tag: str, fields: dict[str, Any]) -> None:
    read, notes = update(sessionUpdate=tag, **fields)
    assert isinstance(read, schema.SessionUpdate.__args__)
    assert all("\n" not in note for note in notes)


@given(row=st.sampled_from(METHODS), value=JSON)
def test_a_broken_message_raises_nothing_but_decode_error(row: Any, value: Any) -> None:
    side: Side = "agent" if row.handler == "both" else row.handler
    refusals = [refusal(codec.decode_params, row.name, value, side)]
    if row.result is not None:
        refusals.append(refusal(codec.decode_result, row.name, value))
    for error in filter(None, refusals):
        assert error.code == errors.INVALID_PARAMS
        assert str(error).startswith(("params", "result"))
        assert "\n" not in str(error)


def refusal(decode: Callable[..., Any], name: str, value: Any, *side: Side) -> DecodeError | None:
    try:
        decode(name, raw(value), *side)
    except DecodeError as error:
        return error
    return None


def test_nesting_beyond_reason_is_refused() -> None:
    deep = b'{"sessionId":"s","update":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}"
    with pytest.raises(DecodeError):
        codec.decode_params("session/update", msgspec.Raw(deep), "client")


# Real agents


def test_there_are_transcripts() -> None:
    assert len(TRANSCRIPTS) >= 10


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_real_traffic_is_read(path: Path) -> None:
    """All that a real agent sent, and what was sent to it; notes only where it broke the schema."""
    open_requests: dict[tuple[str, Any], str] = {}
    read = 0
    notes: list[str] = []
    for record in map(json.loads, path.read_text().splitlines()):
        message = record.get("msg")
        if message is None:
            continue
        sender = record["dir"]
        side: Side = "agent" if sender == "c2a" else "client"
        if "method" in message:
            name = message["method"]
            if "id" in message:
                open_requests[sender, message["id"]] = name
            if received(name, side) is not None:
                codec.decode_params(name, raw(message.get("params")), side, notes)
                read += 1
        elif "result" in message:
            name = open_requests.pop(("a2c" if sender == "c2a" else "c2a", message["id"]))
            if asked(name) is not None:
                codec.decode_result(name, raw(message["result"]), notes)
                read += 1
    assert read > 3
    assert set(notes) <= {
        "result.sessions: missing; read as []",
        "params.mcpServers: missing; read as []",  # of the client that was recorded
    }
