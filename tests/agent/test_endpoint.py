"""The endpoint over a transport in memory: order, answers exactly once, cancellation, the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from functools import partial
from itertools import pairwise
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from acp_nvim.agent.wire.calls import IncomingCall
from acp_nvim.agent.wire.endpoint import MAX_UNREADABLE_ANSWERS
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import DecodeError, LocalProtocolError, RequestError
from tests.support.memory_endpoint import MemoryEndpoint, RecordingHandler, Running, Serve, refuse
from tests.support.waiting import eventually


@pytest.fixture
async def wire() -> AsyncIterator[MemoryEndpoint]:
    async with Running(MemoryEndpoint()) as wire:
        yield wire
    assert wire.endpoint.outgoing == []
    assert wire.endpoint._incoming == {}


# Order


async def test_everything_is_handled_in_wire_order(wire: MemoryEndpoint) -> None:
    """A response is passed on before later frames, even within one read."""
    handled = wire.handler.heard

    def on_response(result: Any, error: Exception | None) -> None:
        handled.append(result.stop_reason)

    wire.endpoint.begin(
        "session/prompt",
        schema.PromptRequest(session_id="s", prompt=[]),
        on_response=on_response,
    )
    wire.put(
        {"method": "a"},
        {"id": 0, "method": "question"},
        {"method": "b"},
        {"id": 1, "result": {"stopReason": "end_turn"}},
        {"method": "c"},
    )
    await eventually(lambda: len(handled) == 5)
    assert handled == [("a", {}), "question", ("b", {}), "end_turn", ("c", {})]


async def test_a_waiting_handler_delays_nothing(wire: MemoryEndpoint) -> None:
    released = anyio.Event()

    async def serve(method: str, params: Any, call: IncomingCall) -> Any:
        if method == "slow":
            await released.wait()
        return {"method": method}

    wire.handler.serve = serve
    wire.request(1, "slow")
    wire.request("two", "fast")
    wire.notify("note")
    assert await wire.get(1) == [{"id": "two", "result": {"method": "fast"}}]
    assert ("note", {}) in wire.handler.heard
    released.set()
    assert (await wire.get(2))[1] == {"id": 1, "result": {"method": "slow"}}


@settings(max_examples=50, deadline=None)
@given(cuts=st.lists(st.integers(0, 400)))
def test_any_split_of_the_stream_gives_the_same_events(cuts: list[int]) -> None:
    messages = [{"method": f"m{n}", "params": {"é": n}} for n in range(10)]
    stream = b"".join(json.dumps(m, ensure_ascii=False).encode() + b"\n" for m in messages)

    async def run() -> list[Any]:
        wire = MemoryEndpoint()
        async with Running(wire):
            marks = [0, *sorted({c for c in cuts if c < len(stream)}), len(stream)]
            for start, end in pairwise(marks):
                wire.far.send(stream[start:end])
        return wire.handler.heard

    assert asyncio.run(run()) == [(m["method"], m["params"]) for m in messages]


# Requests of the client


async def test_a_result_is_decoded(wire: MemoryEndpoint) -> None:
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(
            wire.endpoint.request("session/new", schema.NewSessionRequest(cwd="/", mcp_servers=[]))
        )
        assert await wire.get(1) == [
            {"id": 1, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}}
        ]
        wire.put({"id": 1, "result": {"sessionId": "s1"}})
    assert task.result() == schema.NewSessionResponse(session_id="s1")


async def test_a_result_of_an_extension_is_plain_json(wire: MemoryEndpoint) -> None:
    task = asyncio.ensure_future(wire.endpoint.request("_x/y", {"a": 1}))
    await wire.get(1)
    wire.put({"id": 1, "result": [1, {"b": None}]})
    assert await task == [1, {"b": None}]


async def test_a_refusal_is_raised_and_passed_to_on_response(wire: MemoryEndpoint) -> None:
    responses: list[Any] = []
    task = asyncio.ensure_future(
        wire.endpoint.request("logout", {}, on_response=lambda *outcome: responses.append(outcome))
    )
    await wire.get(1)
    wire.put({"id": 1, "error": {"code": -32000, "message": "log in", "data": [1]}})
    with pytest.raises(RequestError, match="log in") as caught:
        await task
    assert (caught.value.code, caught.value.data) == (-32000, [1])
    assert responses == [(None, caught.value)]


async def test_a_result_that_cannot_be_read_is_an_error_of_the_peer(wire: MemoryEndpoint) -> None:
    task = asyncio.ensure_future(wire.endpoint.request("session/new", {}))
    await wire.get(1)
    wire.put({"id": 1, "result": {"sessionId": 5}})
    with pytest.raises(DecodeError, match="session"):
        await task


async def test_params_that_are_not_json_are_a_local_error(wire: MemoryEndpoint) -> None:
    with pytest.raises(LocalProtocolError):
        await wire.endpoint.request("x", {"a": object()})
    assert wire.received() == []


async def test_a_cancelled_waiter_cancels_its_request_and_ignores_the_answer(
    wire: MemoryEndpoint,
) -> None:
    responses: list[Any] = []
    with anyio.move_on_after(0.01):
        await wire.endpoint.request("logout", {}, on_response=lambda *it: responses.append(it))
    assert (await wire.get(2))[1] == {"method": "$/cancel_request", "params": {"requestId": 1}}
    (call,) = wire.endpoint.outgoing
    assert repr(call) == "<OutgoingCall 1 logout [cancelled]>"
    wire.endpoint.cancel(call)
    assert len(wire.received()) == 2, "told once"
    wire.put({"id": 1, "error": {"code": -32800, "message": "cancelled"}})
    await eventually(lambda: responses)
    assert wire.endpoint.outgoing == []
    assert wire.handler.violations == []
    assert responses[0][1].code == -32800


async def test_an_on_response_that_raises_stops_nothing(wire: MemoryEndpoint) -> None:
    def on_response(result: Any, error: Exception | None) -> None:
        raise KeyError("ours")

    call = wire.endpoint.begin("logout", {}, on_response=on_response)
    wire.put({"id": 1, "result": {}}, {"method": "after"})
    assert await call.answer() == schema.LogoutResponse()
    await eventually(lambda: wire.handler.heard == [("after", {})])
    assert [type(error) for error in wire.handler.errors] == [KeyError]


# Requests of the agent


async def fail(method: str, params: Any, call: IncomingCall) -> Any:
    raise ValueError("no\nsuch\x1b[31m luck")


async def fail_in_a_group(method: str, params: Any, call: IncomingCall) -> Any:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(refuse, method, params, call)


def fail_at_once(method: str, params: Any, call: IncomingCall) -> Awaitable[Any]:
    raise RequestError(-32602, "at once")


async def bad_result(method: str, params: Any, call: IncomingCall) -> Any:
    return {"a": object()}


async def bad_data(method: str, params: Any, call: IncomingCall) -> Any:
    raise RequestError(-32602, "no", {"a": object()})


async def cancelled(method: str, params: Any, call: IncomingCall) -> Any:
    call.scope.cancel()
    await anyio.sleep_forever()


async def nothing(method: str, params: Any, call: IncomingCall) -> Any:
    return None


@pytest.mark.parametrize(
    ("serve", "answer", "failures"),
    [
        (refuse, (-32601, "method not found: x"), 0),
        (fail, (-32603, "internal error: ValueError: no such^[[31m luck"), 1),
        (fail_in_a_group, (-32601, "method not found: x"), 0),
        (fail_at_once, (-32602, "at once"), 0),
        (bad_result, (-32603, None), 1),
        (bad_data, (-32602, "no"), 1),
        (cancelled, (-32800, "cancelled"), 0),
        (nothing, None, 0),
    ],
)
async def test_every_request_is_answered_exactly_once(
    wire: MemoryEndpoint, serve: Serve, answer: tuple[int, str | None] | None, failures: int
) -> None:
    wire.handler.serve = serve
    wire.request(0, "x")
    (message,) = await wire.get(1)
    assert message["id"] == 0
    if answer is None:
        assert message["result"] == {}
    else:
        code, text = answer
        assert message["error"]["code"] == code
        assert text is None or message["error"]["message"] == text
        assert "\n" not in message["error"]["message"]
    assert len(wire.handler.errors) == failures


@pytest.mark.parametrize(
    ("then", "failures"),
    [(nothing, 0), (fail, 1), (refuse, 1), (cancelled, 0)],
    ids=["no more", "a failure", "a refusal", "a cancel"],
)
async def test_a_request_that_was_answered_early_is_not_answered_again(
    wire: MemoryEndpoint, then: Serve, failures: int
) -> None:
    seen: list[Any] = []

    async def serve(method: str, params: Any, call: IncomingCall) -> Any:
        if method == "other":
            return {}
        call.answer({"done": True})
        seen.append(wire.far._inbox.size)
        return await then(method, params, call)

    wire.handler.serve = serve
    wire.request(0, "x")
    assert await wire.get(1) == [{"id": 0, "result": {"done": True}}]
    assert seen[0] > 0  # before the handler has ended
    wire.request(0, "other")  # the id is free again
    assert (await wire.get(2))[1:] == [{"id": 0, "result": {}}]
    assert len(wire.handler.errors) == failures


async def test_a_request_that_the_peer_cancels_ends_its_handler(wire: MemoryEndpoint) -> None:
    ended = anyio.Event()

    async def serve(method: str, params: Any, call: IncomingCall) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            assert call.is_cancelled
            ended.set()

    wire.handler.serve = serve
    wire.request("a", "x")
    wire.notify("$/cancel_request", requestId="a")
    wire.notify("$/cancel_request", requestId="a")
    wire.notify("$/cancel_request", requestId="unknown")
    (message,) = await wire.get(1)
    assert message == {"id": "a", "error": {"code": -32800, "message": "cancelled by the agent"}}
    await ended.wait()
    assert wire.handler.heard == ["x"], "the handler gets no such notification"


async def test_a_cancel_needs_exactly_the_id_of_its_request(wire: MemoryEndpoint) -> None:
    async def serve(method: str, params: Any, call: IncomingCall) -> Any:
        await anyio.sleep_forever()

    wire.handler.serve = serve
    for number in (None, 1.5, 2.5):
        wire.request(number, "x")
    for other in ("1.5", 1, 9.5, 2**70, 1.5):
        wire.notify("$/cancel_request", requestId=other)
    (message,) = await wire.get(1)
    assert message == {"id": 1.5, "error": {"code": -32800, "message": "cancelled by the agent"}}


async def test_a_handler_may_answer_a_cancelled_request_itself(wire: MemoryEndpoint) -> None:
    decided: dict[str, anyio.Event] = {}

    async def serve(method: str, params: Any, call: IncomingCall) -> Any:
        decided["it"] = anyio.Event()
        call.when_cancelled(decided["it"].set)
        await decided["it"].wait()
        return {"outcome": {"outcome": "cancelled"}}

    wire.handler.serve = serve
    wire.request(7, "session/request_permission")
    await eventually(lambda: decided)
    wire.notify("$/cancel_request", requestId=7)
    assert await wire.get(1) == [{"id": 7, "result": {"outcome": {"outcome": "cancelled"}}}]


async def test_a_malformed_cancel_is_a_violation(wire: MemoryEndpoint) -> None:
    wire.notify("$/cancel_request", nonsense=True)
    await eventually(lambda: wire.handler.violations)
    assert wire.handler.violations[0].kind == "message"


async def test_garbage_is_reported_and_answered_and_the_rest_is_read(wire: MemoryEndpoint) -> None:
    wire.far.send(b"Traceback:\n")
    wire.notify("after")
    (answer,) = await wire.get(1)
    assert answer["id"] is None
    assert answer["error"]["code"] == -32700
    await eventually(lambda: wire.handler.heard == [("after", {})])
    assert [violation.kind for violation in wire.handler.violations] == ["json"]


async def test_errors_for_unreadable_lines_are_limited(
    wire: MemoryEndpoint,
) -> None:
    """An agent may print any amount and read nothing, so that the answers would pile up."""
    for _ in range(3):
        wire.far.send(b"2026-11-22 INFO working\n" * (MAX_UNREADABLE_ANSWERS // 2))
    wire.put({"method": "after"})
    await eventually(lambda: wire.handler.heard == [("after", {})])
    assert len(wire.handler.violations) == MAX_UNREADABLE_ANSWERS // 2 * 3
    assert len(wire.received()) == MAX_UNREADABLE_ANSWERS


async def test_a_notification_handler_that_raises_stops_nothing(wire: MemoryEndpoint) -> None:
    def broken(method: str, params: Raw) -> None:
        if method == "bad":
            raise ZeroDivisionError
        RecordingHandler.on_notification(wire.handler, method, params)

    wire.handler.on_notification = broken  # type: ignore[method-assign]
    wire.put({"method": "bad"}, {"method": "good"})
    await eventually(lambda: wire.handler.heard == [("good", {})])
    assert [type(error) for error in wire.handler.errors] == [ZeroDivisionError]


# Work that ends with a request of the client


async def test_the_end_of_a_request_is_reported_once(wire: MemoryEndpoint) -> None:
    handled: list[str] = []
    answered = wire.endpoint.begin("logout", {})
    cancelled = wire.endpoint.begin("logout", {})
    for name, call in (("answered", answered), ("cancelled", cancelled)):
        assert wire.endpoint.open_request(call.id) is call
        call.when_over(partial(handled.append, name))
    wire.put({"id": 1, "result": {}})
    await eventually(lambda: handled == ["answered"])
    assert wire.endpoint.open_request(1) is None
    assert wire.endpoint.is_over(1)
    wire.endpoint.cancel(cancelled)
    assert handled == ["answered", "cancelled"]
    assert not wire.endpoint.is_over(2), "its answer may still come"
    wire.put({"id": 2, "result": {}})
    await eventually(lambda: wire.endpoint.is_over(2))
    cancelled.when_over(lambda: handled.append("late"))
    assert handled == ["answered", "cancelled", "late"]
    assert not any(map(wire.endpoint.is_over, (0, 3, "1", None)))
