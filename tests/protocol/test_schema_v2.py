"""The wire types of version 2 agree with its JSON schema in `tests/schema/v2`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import fields

from acp_nvim.protocol import schema as v1
from acp_nvim.protocol.v2 import methods
from acp_nvim.protocol.v2 import schema as v2

FOLDER = Path(__file__).parent.parent / "schema" / "v2"
DEFS: dict[str, Any] = json.loads((FOLDER / "schema.unstable.json").read_text())["$defs"]
ABSENT = {
    *("AgentRequest", "AgentResponse", "AgentNotification", "ClientRequest", "ClientResponse"),
    *("ClientNotification", "ProxyRequest", "ProxyResponse", "ProxyNotification"),
    *("ElicitationSessionScope", "ElicitationRequestScope", "ErrorStopReason"),
    *("DiffPathChange", "DiffPathPairChange"),  # parts of DiffChange
    *("BackgroundTerminal", "BackgroundToolCall", "BackgroundSubagent"),  # in BackgroundWork
    *("RunningStateUpdate", "IdleStateUpdate", "RequiresActionStateUpdate", "UnknownStateUpdate"),
}
"""Envelopes, and definitions whose fields are in another type."""
LOOSER = {"ElicitationSchema"}
"""Types of version 1 that are looser than version 2."""


def type_of(name: str) -> Any:
    """Return the type of a definition; that of version 1 if version 2 did not change it."""
    return getattr(v2, name, None) or getattr(v1, name, None)


def test_every_definition_has_its_type() -> None:
    assert {name for name in DEFS if type_of(name) is None} <= ABSENT


@pytest.mark.parametrize("name", sorted(DEFS.keys() - ABSENT))
def test_the_fields_of_a_type_are_those_of_the_schema(name: str) -> None:
    kind, definition = type_of(name), DEFS[name]
    if not (isinstance(kind, type) and issubclass(kind, Struct)):
        return
    ours = {field.encode_name: field for field in fields(kind)}
    properties = definition.get("properties", {}).keys()
    assert properties - ours.keys() <= {"_meta"}
    for required in definition.get("required", ()):
        tag = kind.__struct_config__.tag_field
        assert required == tag or required in ours, required
    if name in LOOSER:
        return
    optional = {key for key in properties & ours.keys() if not ours[key].required}
    assert not optional & set(definition.get("required", ()))


def test_every_method_is_in_the_table() -> None:
    meta = json.loads((FOLDER / "meta.unstable.json").read_text())
    ours = {(row.handler, row.name) for row in methods.METHODS}
    wanted = {("agent", name) for name in meta["agentMethods"].values()}
    wanted |= {("client", name) for name in meta["clientMethods"].values()}
    assert wanted <= ours


def test_an_update_of_an_unknown_kind_is_preserved() -> None:
    kinds = {it.__struct_config__.tag for it in v2.SessionUpdate.__args__}
    tags = {
        one["properties"]["sessionUpdate"]["const"]
        for one in DEFS["SessionUpdate"]["anyOf"]
        if "const" in one.get("properties", {}).get("sessionUpdate", {})
    }
    assert tags <= kinds
    assert "?" in kinds
    assert msgspec.json.decode(b'{"cols": 80, "rows": 24}', type=v2.TerminalSize).cols == 80
