"""An emoji whose surrogates come in two chunks is joined again."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from acp_nvim.protocol.jsonrpc import Notification, Peer, Updates

SMILE, SAD = "\ud83d\ude00", "\ud83d\ude22"
WHOLE = "\U0001f600"
CHUNKS: dict[str, dict[str, Any]] = {
    "agent_message_chunk": {"messageId": "m", "content": {"type": "text", "text": ""}},
    "agent_thought_chunk": {"content": {"type": "text", "text": ""}},
    "tool_call_content_chunk": {
        "toolCallId": "t",
        "content": {"type": "content", "content": {"type": "text", "text": ""}},
    },
    "tool_call_update": {
        "toolCallId": "t",
        "_meta": {"terminal_output": {"terminal_id": "x", "data": ""}},
    },
}


def line(kind: str, text: str, session: str = "s") -> bytes:
    update = json.dumps({"sessionUpdate": kind, **CHUNKS[kind]})
    for empty in ('"text": ""', '"data": ""'):
        update = update.replace(empty, empty[:-2] + json.dumps(text))
    params = {"sessionId": session, "update": json.loads(update)}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return json.dumps(message).encode() + b"\n"


def texts(events: list[Any]) -> list[str]:
    """Return the texts of all updates, in order."""
    found: list[str] = []

    def look(value: Any) -> None:
        if isinstance(value, dict):
            found.extend(value[key] for key in ("text", "data") if key in value)
            for one in value.values():
                look(one)
        if isinstance(value, list):
            for one in value:
                look(one)

    for event in events:
        if isinstance(event, Notification):
            look(msgspec.json.decode(event.params))
        if isinstance(event, Updates):
            look(msgspec.to_builtins(event.messages))
    return found


@pytest.mark.parametrize("kind", CHUNKS)
def test_halves_of_one_text_are_joined(kind: str) -> None:
    peer = Peer()
    assert texts(peer.receive(line(kind, "a" + SMILE[0]))) == ["a"]
    assert texts(peer.receive(line(kind, SMILE[1] + "b"))) == [WHOLE + "b"]
    assert texts(peer.receive(line(kind, "c"))) == ["c"]


def test_each_text_has_its_own_half() -> None:
    peer = Peer(reads_updates=True)
    peer.receive(line("agent_message_chunk", SMILE[0]))
    peer.receive(line("agent_thought_chunk", SAD[0]))
    peer.receive(line("agent_message_chunk", "x" + SAD[0], "other"))
    block = line("agent_message_chunk", SMILE[1]) + line("agent_thought_chunk", SAD[1])
    assert texts(peer.receive(block)) == [WHOLE, "\U0001f622"]
    assert texts(peer.receive(line("agent_message_chunk", SAD[1], "other"))) == ["\U0001f622"]


def test_a_half_without_the_other_is_a_replacement_character() -> None:
    peer = Peer()
    peer.receive(line("agent_message_chunk", "a" + SMILE[0]))
    assert texts(peer.receive(line("agent_message_chunk", "b"))) == ["\ufffdb"]
    assert texts(peer.receive(line("agent_message_chunk", SMILE[1] + "c"))) == ["\ufffdc"]


def test_a_half_is_shown_when_the_turn_or_the_stream_ends() -> None:
    peer = Peer()
    number, _ = peer.request("session/prompt", {})
    peer.receive(line("agent_message_chunk", SMILE[0]))
    events = peer.receive(b'{"jsonrpc":"2.0","id":%d,"result":{}}\n' % number)
    assert texts(events[:1]) == ["\ufffd"]
    assert len(events) == 2
    peer.receive(line("agent_message_chunk", SMILE[0]))
    idle = {"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "idle"}}
    ended = {"jsonrpc": "2.0", "method": "session/update", "params": idle}
    assert texts(peer.receive(json.dumps(ended).encode() + b"\n")) == ["\ufffd"]
    peer.receive(line("agent_message_chunk", SMILE[0]))
    assert texts(peer.close()) == ["\ufffd"]


def test_the_number_of_stored_halves_is_limited() -> None:
    peer = Peer()
    found: list[str] = []
    for n in range(150):
        found += texts(peer.receive(line("agent_message_chunk", SMILE[0], f"s{n}")))
    assert found == ["\ufffd"] * 50
