"""Blocks of updates are decoded in one pass, with the same result as in two passes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.protocol import codec, schema
from acp_nvim.protocol.errors import DecodeError
from acp_nvim.protocol.jsonrpc import Notification, Peer, Response, Updates
from tests.support.jsonrpc_events import plain
from tests.support.memory_endpoint import MemoryEndpoint, Running
from tests.support.waiting import eventually


def update(kind: str, **fields: Any) -> dict[str, Any]:
    return {"sessionId": "s", "update": {"sessionUpdate": kind, **fields}}


def line(**members: Any) -> bytes:
    return json.dumps(members).encode() + b"\n"


def notification(params: Any, **members: Any) -> bytes:
    return line(jsonrpc="2.0", method="session/update", params=params, **members)


TEXT = {"type": "text", "text": "ü\u2028\U0001f600"}
GOOD = [
    notification(update("agent_message_chunk", content=TEXT)),
    notification(
        update("tool_call", toolCallId="c", title="t", status="pending"), extra=[1, {"id": 2}]
    ),
    notification(
        update("tool_call_update", toolCallId="c", content=None, rawOutput={"a": [1.5, None]})
    ),
    notification(update("session_info_update", title=None)),
    json.dumps({"params": update("plan", entries=[]), "method": "session/update"}).encode() + b"\n",
]
ODD = [
    notification(update("never_heard_of", more=1)),
    notification(update("tool_call", title="without an id")),
    notification(update("plan", entries=[{"content": 1}])),
    notification({"sessionId": "s"}),
    notification(update("agent_message_chunk", content=TEXT), id=5),
    notification(update("agent_message_chunk", content=TEXT), id=None),
    notification(update("agent_message_chunk", content=TEXT), id="x"),
    line(method="session/update"),
    line(method="session/updates", params={}),
    line(jsonrpc="2.0", id=1, result={}),
    notification(update("plan", entries=[])).replace(b'"s"', b'"\\ud800"'),
    b'{"method":"session/update","params":\n{}}\n',
    b"[]\n",
    b"no JSON\n",
    b'{"a":"\xff"}\n',
]


def read(peer: Peer, parts: list[bytes]) -> list[Any]:
    """Return the events, with updates as messages in either way of decoding."""
    found: list[Any] = []
    for part in parts:
        for event in peer.receive(part):
            if isinstance(event, Updates):
                found += event.messages
            elif isinstance(event, Notification) and event.method == "session/update":
                found.append(_decoded(event.params))
            else:
                found.append(plain(event))
    return found


def _decoded(params: msgspec.Raw) -> Any:
    notes: list[str] = []
    try:
        message = codec.decode_params("session/update", params, "client", notes)
    except DecodeError as error:
        return str(error)
    return (message, notes) if notes else message


def peer(*, reads_updates: bool) -> Peer:
    made = Peer()
    made.reads_updates = reads_updates
    made.request("session/new", {})
    return made


@given(
    lines=st.lists(st.sampled_from(GOOD + GOOD + ODD), max_size=9),
    cuts=st.lists(st.integers(0, 1500), max_size=9),
)
def test_both_ways_of_reading_agree(lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(lines)
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    parts = [data[a:b] for a, b in pairwise(ends)]
    assert read(peer(reads_updates=True), parts) == read(peer(reads_updates=False), [data])


def test_updates_come_together() -> None:
    data = b"".join(GOOD)
    (event,) = peer(reads_updates=True).receive(data)
    assert isinstance(event, Updates)
    assert event.size == len(data)
    assert [type(message.update) for message in event.messages] == [
        schema.AgentMessageChunk,
        schema.ToolCall,
        schema.ToolCallUpdate,
        schema.SessionInfoUpdate,
        schema.Plan,
    ]


@pytest.mark.parametrize("odd", ODD)
def test_a_line_that_is_not_an_update_is_read_unchanged(odd: bytes) -> None:
    for event in peer(reads_updates=True).receive(odd + GOOD[0]):
        assert not isinstance(event, Updates)


def test_an_answer_comes_in_one_block_with_its_updates() -> None:
    answer = line(jsonrpc="2.0", id=1, result={})
    notification, answered = peer(reads_updates=True).receive(b"".join(GOOD) + answer)
    assert isinstance(notification, Updates)
    assert isinstance(answered, Response)
    assert (len(notification.messages), notification.size) == (len(GOOD), len(b"".join(GOOD)))


async def test_a_handler_that_fails_gets_the_next_updates() -> None:
    own = Peer()
    own.reads_updates = True
    async with Running(MemoryEndpoint(peer=own)) as wire:
        heard: list[str] = []

        def updated(messages: Sequence[schema.SessionNotification], size: int) -> None:
            heard.extend(type(message.update).__name__ for message in messages)
            if len(heard) == 2:
                raise KeyError("first")

        wire.handler.on_updates = updated  # type: ignore[method-assign]
        wire.far.send(GOOD[0] + GOOD[1])
        await eventually(lambda: len(heard) == 2)
        wire.far.send(GOOD[2])
        await eventually(lambda: len(heard) == 3)
        assert heard == ["AgentMessageChunk", "ToolCall", "ToolCallUpdate"]
        assert [str(error) for error in wire.handler.errors] == ["'first'"]
