"""The wire types agree with the JSON schema of the protocol in `tests/schema/v1`."""

from __future__ import annotations

import inspect
import json
import re
from functools import cache
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec import UNSET, Struct
from msgspec.structs import fields

from acp_nvim.protocol import codec, schema
from acp_nvim.protocol.methods import METHODS, Method, received_method, request_method
from tests.protocol.schema_values import in_schema, structs, values

FOLDER = Path(__file__).parent.parent / "schema" / "v1"
STABLE = json.loads((FOLDER / "schema.json").read_text())["$defs"]
DEFS: dict[str, Any] = json.loads((FOLDER / "schema.unstable.json").read_text())["$defs"]
META = json.loads((FOLDER / "meta.unstable.json").read_text())

# Definitions without a type in `schema`, with the reason.
ABSENT = {
    **dict.fromkeys(
        [
            *("AgentRequest", "AgentResponse", "AgentNotification"),
            *("ClientRequest", "ClientResponse", "ClientNotification"),
            *("ProxyRequest", "ProxyResponse", "ProxyNotification"),
        ],
        "the envelope is jsonrpc's",
    ),
    "ElicitationSessionScope": "its fields stand in CreateElicitationRequest",
    "ElicitationRequestScope": "its fields stand in CreateElicitationRequest",
    "ErrorStopReason": "its field stands in IdleStateUpdate",
}


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator({"$defs": DEFS, "$ref": f"#/$defs/{name}"})


def check(name: str, value: Any) -> None:
    validator(name).validate(json.loads(msgspec.json.encode(value)))


def test_every_definition_has_its_type() -> None:
    missing = {name for name in DEFS if not hasattr(schema, name)}
    assert missing == set(ABSENT)


def test_every_method_of_the_schema_is_in_the_table() -> None:
    of_schema = {
        (definition["x-method"], definition["x-side"])
        for definition in DEFS.values()
        if "x-method" in definition
    }
    ours = {(m.name, "protocol" if m.handler == "both" else m.handler) for m in METHODS}
    assert ours == of_schema


@pytest.mark.parametrize(
    ("side", "group"),
    [("agent", "agentMethods"), ("client", "clientMethods"), ("proxy", "proxyMethods")],
)
def test_every_method_is_received_by_its_side(side: Any, group: str) -> None:
    for name in META[group].values():
        assert received_method(name, side) is not None, name
    assert received_method("$/cancel_request", side) is not None or side == "proxy"
    assert received_method("no/such", side) is None


def struct_of(name: str) -> Any:
    return getattr(schema, name)


@pytest.mark.parametrize("row", METHODS, ids=lambda m: f"{m.handler}:{m.name}:{m.kind}")
def test_the_table_agrees_with_the_schema(row: Method) -> None:
    side = "protocol" if row.handler == "both" else row.handler
    of_schema = {
        name
        for name, it in DEFS.items()
        if it.get("x-method") == row.name and it.get("x-side") == side
    }
    params = next(name for name in of_schema if names(row.params) & {name})
    assert params.endswith("Request" if row.kind == "request" else "Notification")
    if row.kind == "request":
        assert names(row.result) & of_schema
        assert request_method(row.name) is row
    assert row.stable == (params in STABLE)


def names(wanted: Any) -> set[str]:
    """Return the names of a type of the table; for a union, of its members and their bases."""
    if wanted is Any:
        return {"ProxySuccessorResponse"}
    members = get_args(wanted) or (wanted,)
    return {base.__name__ for member in members for base in member.__mro__}


def test_fields_are_those_of_the_schema() -> None:
    newer = {
        ("ClientSessionCapabilities", "promptSuggestions"),
        ("ClientSessionCapabilities", "cursors"),
        ("ForkSessionRequest", "cursorId"),
    }
    for name, definition in DEFS.items():
        kind = getattr(schema, name, None)
        if not (isinstance(kind, type) and issubclass(kind, Struct)):
            continue
        properties = definition.get("properties", {})
        ours = {field.encode_name: field for field in fields(kind)}
        assert properties.keys() - ours.keys() == set(), name
        for field in ours.values():
            if field.encode_name not in properties or (name, field.encode_name) in newer:
                continue
            required = field.encode_name in definition.get("required", [])
            assert field.required == required, (name, field.name)
            assert required or field.default is UNSET, (name, field.name)


def test_tags_are_those_of_the_schema() -> None:
    unions = {
        "SessionUpdate": "sessionUpdate",
        "ContentBlock": "type",
        "ToolCallContent": "type",
        "PlanUpdateContent": "type",
        "ElicitationPropertySchema": "type",
        "StateUpdate": "state",
        "RequestPermissionOutcome": "outcome",
    }
    newer = {"session", "prompt_suggestions_update", "cursor_update"}
    for name, tag_field in unions.items():
        members = get_args(getattr(schema, name))
        tags = {member.__struct_config__.tag for member in members} - {"?"} - newer
        variants = DEFS[name].get("oneOf", DEFS[name].get("anyOf"))
        consts = {it["properties"][tag_field].get("const") for it in variants}
        assert tags == consts - {None}, name


def test_enums_are_those_of_the_schema() -> None:
    closed = ("Role", "ToolKind", "ToolCallStatus", "PlanEntryPriority", "PlanEntryStatus")
    for name in (*closed, "StringFormat"):
        assert set(get_args(getattr(schema, name))) == {it["const"] for it in DEFS[name]["oneOf"]}
    kinds = {it["const"] for it in DEFS["PermissionOptionKind"]["oneOf"]}
    assert set(get_args(schema.PermissionOptionKind)) == kinds | {"other"}
    pattern = get_args(schema.StopReason)[1].pattern
    for reason in DEFS["StopReason"]["oneOf"]:
        assert re.search(pattern, reason["const"])
    assert not re.search(pattern, "end_turn2")


def test_every_type_has_a_description_and_a_reference_to_the_spec() -> None:
    for name, kind in inspect.getmembers(schema, inspect.isclass):
        if kind.__module__ == schema.__name__ and name not in ("Wire", "Untagged"):
            assert re.search(r"\((v1|rfds)/[\w#/-]+", kind.__doc__ or ""), name


CARRIED = sorted(
    {
        name
        for row in METHODS
        for wanted in (row.params, row.result)
        if wanted is not None and wanted is not Any
        for name in [wanted.__name__ if isinstance(wanted, type) else ""]
        if name in DEFS
    }
)


@pytest.mark.parametrize("name", CARRIED)
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_sent_values_are_valid_and_decoded_unchanged(name: str, data: st.DataObject) -> None:
    value = data.draw(values(struct_of(name)))
    check(name, value)
    notes: list[str] = []
    assert codec.decode(type(value), msgspec.json.encode(value), notes) == value
    assert notes == []


@pytest.mark.parametrize("kind", get_args(schema.SessionUpdate), ids=lambda kind: kind.__name__)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_update_is_valid_and_decoded_unchanged(kind: Any, data: st.DataObject) -> None:
    value = schema.SessionNotification("s", data.draw(structs(kind)))
    if not in_schema(kind):
        if kind is not schema.UnknownUpdate:
            assert codec.decode(schema.SessionNotification, msgspec.json.encode(value)) == value
        return
    check("SessionNotification", value)
    assert codec.decode(schema.SessionNotification, msgspec.json.encode(value)) == value


@pytest.mark.parametrize(
    ("name", "union"),
    [
        ("CreateElicitationRequest", schema.ElicitationRequest),
        ("CreateElicitationResponse", schema.ElicitationResponse),
        ("AuthMethod", schema.AuthMethod),
        ("McpServer", schema.McpServer),
        ("ElicitationSchema", schema.ElicitationSchema),
        ("StateUpdate", schema.StateUpdate),
    ],
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_unions_are_valid_and_decoded_unchanged(name: str, union: Any, data: st.DataObject) -> None:
    value = data.draw(values(union))
    check(name, value)
    assert codec.decode(union, msgspec.json.encode(value)) == value


def test_absent_null_and_value_are_distinguished() -> None:
    def title(text: bytes) -> Any:
        return codec.decode(schema.SessionInfoUpdate, text).title

    assert title(b"{}") is UNSET
    assert title(b'{"title":null}') is None
    assert title(b'{"title":""}') == ""
    for text in (b"{}", b'{"title":null}', b'{"title":"t"}'):
        update = codec.decode(schema.SessionInfoUpdate, text)
        encoded = json.loads(msgspec.json.encode(update))
        assert encoded == {"sessionUpdate": "session_info_update", **json.loads(text)}


def test_given_reads_absent_and_null_as_none() -> None:
    assert schema.given(schema.SessionInfoUpdate().title) is None
    assert schema.given(schema.SessionInfoUpdate(title=None).title) is None
    assert schema.given(schema.SessionInfoUpdate(title="").title) == ""


def test_a_permission_has_an_update_without_its_tag() -> None:
    call = schema.PermissionToolCall("c1", title="run")
    request = schema.RequestPermissionRequest("s", call, [])
    assert json.loads(msgspec.json.encode(request))["toolCall"] == {
        "toolCallId": "c1",
        "title": "run",
    }
    assert isinstance(call, schema.ToolCallUpdate)


def test_the_maximal_client_capabilities_are_valid() -> None:
    capabilities = schema.ClientCapabilities(
        fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
        terminal=True,
        auth=schema.AuthCapabilities(terminal=True),
        elicitation=schema.ElicitationCapabilities(
            form=schema.ElicitationFormCapabilities(), url=schema.ElicitationUrlCapabilities()
        ),
        session=schema.ClientSessionCapabilities(
            config_options=schema.SessionConfigOptionsCapabilities(
                boolean=schema.BooleanConfigOptionCapabilities()
            ),
            notices=schema.NoticeCapabilities(),
            compaction=schema.CompactionCapabilities(),
        ),
        subagents=schema.SubagentCapabilities(),
        plan=schema.PlanCapabilities(),
    )
    check("ClientCapabilities", capabilities)
    assert json.loads(msgspec.json.encode(capabilities)) == {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": True,
        "auth": {"terminal": True},
        "elicitation": {"form": {}, "url": {}},
        "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
        "subagents": {},
        "plan": {},
    }
