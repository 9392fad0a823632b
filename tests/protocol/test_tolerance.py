"""Tolerance for updates and requests: faults that are accepted, reported, or refused."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from acp_nvim.protocol import codec, errors, schema
from acp_nvim.protocol.errors import DecodeError, RemoteProtocolError
from tests.support.decoding import params, raw, text, update


def test_a_correct_message_is_decoded_without_a_note() -> None:
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


def test_optional_members_may_be_null() -> None:
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


def test_a_million_bad_items_are_reported_in_a_few_lines() -> None:
    read, notes = update(sessionUpdate="plan", entries=[1, 2, 3, *[4] * 997])
    assert read.entries == []
    assert len(notes) < 20
    assert notes[-1] == "params.update.entries: 992 more items are dropped"


def test_null_for_a_required_list() -> None:
    read, notes = update(sessionUpdate="available_commands_update", availableCommands=None)
    assert read.available_commands == []
    assert len(notes) == 1


def test_an_unknown_state_is_neither_idle_nor_running() -> None:
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


def test_a_permission_in_another_form_is_decoded() -> None:
    options = [{"id": "y", "label": "Yes"}, {"optionId": "n", "id": "x", "name": "No", "title": 1}]
    fields = {"sessionId": "s", "toolCall": {"id": 7, "title": "Run"}, "options": options}
    read, _ = params("session/request_permission", fields)
    assert read.tool_call.tool_call_id == "7"
    assert [(it.option_id, it.name) for it in read.options] == [("y", "Yes"), ("n", "No")]


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


def test_numbers_among_the_arguments_of_a_command_are_words() -> None:
    """Nothing of a command is left out: without its last word `rm -r a 7` is a different
    command.
    """
    env = [{"name": "N", "value": 2}]
    fields = {"sessionId": "s", "command": "head", "args": ["-n", 5, "f"], "env": env}
    read, _ = params("terminal/create", fields)
    assert read.args == ["-n", "5", "f"]
    assert read.env == [schema.EnvVariable("N", "2")]


@pytest.mark.parametrize(
    ("method", "fields", "named"),
    [
        ("fs/read_text_file", {"sessionId": "s"}, "params.path: missing"),
        ("fs/read_text_file", {"sessionId": "s", "path": 7}, "params.path"),
        ("fs/write_text_file", {"sessionId": "s", "path": "/a", "content": None}, "params.content"),
        ("terminal/output", {"terminalId": "t"}, "params.sessionId"),
        ("elicitation/create", {"message": "m"}, "params.mode"),
        (
            "terminal/create",
            {"sessionId": "s", "command": "rm", "args": "a"},
            "params.args: expected a list",
        ),
        (
            "terminal/create",
            {"sessionId": "s", "command": "rm", "args": ["a", None]},
            "params.args[1]",
        ),
        (
            "terminal/create",
            {"sessionId": "s", "command": "rm", "env": [{"name": 1}]},
            "params.env[0]",
        ),
        ("session/request_permission", {"sessionId": "s", "options": []}, "params.toolCall"),
    ],
)
def test_an_undecodable_request_names_the_field(method: str, fields: Any, named: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        codec.decode_params(method, raw(fields), "client")
    assert isinstance(caught.value, DecodeError)
    assert caught.value.code == errors.INVALID_PARAMS
    assert str(caught.value).startswith(named)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [[], 7, "x", True])
def test_params_that_are_not_an_object(value: Any) -> None:
    with pytest.raises(DecodeError, match="expected an object"):
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


@pytest.mark.parametrize("kind", [[], ["text"], {"x": 1}, None, 7])
def test_a_block_whose_type_is_not_text_is_dropped_alone(kind: Any) -> None:
    read, notes = update(
        sessionUpdate="tool_call_update",
        toolCallId="t",
        content=[{"type": kind, "text": "lost"}, {"type": "content", "content": text("kept")}],
    )
    assert read.content == [schema.Content(schema.TextContent("kept"))]
    assert len(notes) == 1
