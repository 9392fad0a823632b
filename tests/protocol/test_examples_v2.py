"""The examples in the documentation of version 2 can be decoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from acp_nvim.protocol import codec, updates
from acp_nvim.protocol import schema as v1
from acp_nvim.protocol.jsonrpc import Response
from acp_nvim.protocol.v2 import incoming, methods
from acp_nvim.protocol.v2 import schema as v2
from acp_nvim.protocol.v2.translation import Version2

EXAMPLES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "data" / "v2_examples.json").read_text()
)
PARAMS = {row.name: row.params for row in methods.METHODS}


def _update(raw: bytes) -> Any:
    wanted: Any = v2.SessionUpdate  # a union, which mypy does not count as a type
    return codec.decode(wanted, raw, [])


ASKED = [example for example in EXAMPLES if "params" in example]
ANSWERED = [example for example in EXAMPLES if "result" in example]


@pytest.mark.parametrize("example", ANSWERED, ids=lambda example: example["where"])
def test_an_example_of_an_answer_is_decoded(example: dict[str, Any]) -> None:
    counted: list[tuple[str, str]] = []
    agent = Version2(lambda *note: counted.append(note))
    agent.on_sent(1, MEANT.get(example["method"], example["method"]), {})
    answer = Response(1, "", msgspec.Raw(json.dumps(example["result"]).encode()), None)
    found = agent.events([answer])
    assert found
    assert not any(isinstance(it, Response) and it.error for it in found), found
    assert not agent.has_old_shape


MEANT = {
    "auth/login": "authenticate",
    "auth/logout": "logout",
    "session/resume": "session/load",
}
"""The requests of version 1 that have these answers."""


@pytest.mark.parametrize("example", ASKED, ids=lambda example: example["where"])
def test_an_example_of_a_message_is_decoded(example: dict[str, Any]) -> None:
    raw = json.dumps(example["params"]).encode()
    decoded = codec.decode(PARAMS[example["method"]], raw, [], "params")
    if isinstance(decoded, v2.UpdateSessionNotification):
        assert not isinstance(decoded.update, v1.UnknownUpdate)
        assert incoming.update(decoded.update) is not None
    elif isinstance(decoded, v2.RequestPermissionRequest):
        assert incoming.permission(decoded).options


def test_a_command_of_a_draft_has_no_type() -> None:
    raw = b'{"sessionUpdate":"available_commands_update","availableCommands":'
    raw += b'[{"name":"web","description":"Search","input":{"hint":"query"}}]}'
    decoded = incoming.update(_update(raw))
    assert isinstance(decoded, v1.AvailableCommandsUpdate)
    commands: Any = decoded.available_commands
    assert [(it.name, it.input.hint) for it in commands] == [("web", "query")]


def test_a_chunk_without_an_id_continues_as_in_version_1() -> None:
    raw = b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}'
    decoded = incoming.update(_update(raw))
    assert isinstance(decoded, v1.AgentMessageChunk)
    assert not isinstance(decoded, updates.MessageChunk)


def test_a_login_of_an_unknown_type_is_reported_and_not_offered() -> None:
    counted: list[tuple[str, str]] = []
    agent = Version2(lambda *note: counted.append(note))
    agent.on_sent(1, "initialize", {})
    methods = [
        {"methodId": "finger", "type": "_biometric", "name": "Fingerprint"},
        {"methodId": "browser", "type": "agent", "name": "Browser"},
    ]
    result = {"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "capabilities": {}}
    raw = msgspec.Raw(json.dumps({**result, "authMethods": methods}).encode())
    [answer] = agent.events([Response(1, "", raw, None)])
    assert isinstance(answer, Response)
    assert answer.result is not None
    found = msgspec.json.decode(answer.result)
    assert [one["id"] for one in found["authMethods"]] == ["browser"]
    assert ("unknown login", "Fingerprint: type _biometric") in counted
