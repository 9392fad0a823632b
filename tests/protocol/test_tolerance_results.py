"""Tolerance for results, and that only `DecodeError` is ever raised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from acp_nvim.protocol import codec, errors, schema
from acp_nvim.protocol.errors import DecodeError
from acp_nvim.protocol.methods import METHODS, Side, request_method
from tests.support.decoding import params, raw, result, update

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
    row = request_method(method)
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
        schema.AuthMethodEnvVar("e", "E", vars=[]),
        schema.AuthMethodAgent("n", "n"),
    ]
    assert read.agent_info == schema.Implementation("x", "")
    assert len(notes) == 7


def test_config_options_may_be_flat_grouped_or_unknown() -> None:
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


def test_mcp_servers_are_decoded_as_an_agent_reads_them() -> None:
    servers = [
        {"name": "a", "command": "/bin/a", "args": [], "env": []},
        {"type": "http", "name": "h", "url": "https://x", "headers": []},
        {"type": "acp", "name": "c", "serverId": "i"},
    ]
    read, notes = params("session/new", {"cwd": "/w", "mcpServers": servers}, "agent")
    kinds = [type(server) for server in read.mcp_servers]
    assert kinds == [schema.McpServerStdio, schema.McpServerHttp, schema.McpServerAcp]
    assert notes == []


# Any input


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


def test_extreme_nesting_is_refused() -> None:
    deep = b'{"sessionId":"s","update":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}"
    with pytest.raises(DecodeError):
        codec.decode_params("session/update", msgspec.Raw(deep), "client")
