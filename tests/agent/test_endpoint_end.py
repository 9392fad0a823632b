"""The end of a connection, from either side, and flow control."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from acp_nvim.agent.wire.calls import ConnectionClosed, IncomingCall
from acp_nvim.agent.wire.endpoint import CALM_READS, SMALL_READ
from acp_nvim.agent.wire.traffic import Traffic
from acp_nvim.protocol.jsonrpc import Peer
from tests.support.memory_endpoint import MemoryEndpoint, Running
from tests.support.waiting import eventually


async def forever(method: str, params: Any, call: IncomingCall) -> Any:
    await anyio.sleep_forever()


async def test_the_end_of_the_stream_fails_open_requests_and_ends_handlers() -> None:
    ended: list[Any] = []
    responses: list[Any] = []

    async def serve(method: str, params: Any, call: IncomingCall) -> Any:
        call.when_cancelled(lambda: ended.append("that is for an answer, there is none to give"))
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(call.reason)

    async with Running(MemoryEndpoint()) as wire:
        wire.handler.serve = serve
        wire.request(1, "x")
        call = wire.endpoint.begin("logout", {}, on_response=lambda *it: responses.append(it))
        await eventually(lambda: wire.handler.heard)
        wire.far.send(b'{"half":')
    with pytest.raises(ConnectionClosed, match="the agent closed the connection"):
        await call.answer()
    assert ended == ["the agent closed the connection"]
    assert [type(error) for _, error in responses] == [ConnectionClosed]
    assert [violation.kind for violation in wire.handler.violations] == ["eof"]
    assert [message.get("method") for message in wire.received()] == ["logout"]
    with pytest.raises(ConnectionClosed):
        await wire.endpoint.request("logout", {})
    wire.endpoint.notify("session/cancel", {})


async def test_a_last_answer_without_a_newline_counts() -> None:
    async with Running(MemoryEndpoint()) as wire:
        answered = wire.endpoint.begin("logout", {})
        wire.endpoint.begin("logout", {})
        wire.far.send(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    assert await answered.answer() is not None
    assert wire.handler.violations == []
    assert wire.endpoint.outgoing == []


async def test_the_last_line_of_stderr_is_the_reason() -> None:
    async def last_words() -> str:
        return "codex: exit code 3"

    async with Running(MemoryEndpoint(last_words=last_words)) as wire:
        call = wire.endpoint.begin("logout", {})
    with pytest.raises(ConnectionClosed, match="codex: exit code 3"):
        await call.answer()


async def test_a_local_close_answers_open_requests() -> None:
    async with Running(MemoryEndpoint()) as wire:
        wire.handler.serve = forever
        wire.request(1, "x")
        await eventually(lambda: wire.handler.heard)
        wire.endpoint.close("stopped by the user")
        wire.endpoint.close("again")
    assert wire.endpoint.closed == "stopped by the user"
    (answer,) = wire.received()
    assert answer["error"] == {"code": -32800, "message": "stopped by the user"}


async def test_a_cancelled_run_answers_open_requests() -> None:
    wire = MemoryEndpoint()
    wire.handler.serve = forever
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.endpoint.run)
        wire.request(1, "x")
        call = wire.endpoint.begin("logout", {})
        await eventually(lambda: wire.handler.heard)
        tasks.cancel_scope.cancel()
    assert wire.received()[-1]["error"]["code"] == -32800
    assert wire.endpoint.outgoing == []
    with pytest.raises(ConnectionClosed):
        await call.answer()


async def test_nothing_is_handled_after_a_handler_closed_the_connection() -> None:
    async with Running(MemoryEndpoint()) as wire:

        def on_response(result: Any, error: Exception | None) -> None:
            wire.endpoint.close("enough")

        wire.endpoint.begin("logout", {}, on_response=on_response)
        wire.endpoint.begin("logout", {})
        wire.put({"id": 1, "result": {}}, {"id": 2, "result": {}}, {"method": "late"})
    assert wire.handler.heard == []
    assert wire.handler.errors == []


class Full:
    """A flow that has no room before `free` is set."""

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self.free = anyio.Event()

    async def room(self) -> None:
        self.asked.set()
        await self.free.wait()


class Calm:
    """A flow that has room and wants half a second between reads."""

    async def room(self) -> float:
        return 0.5


async def test_nothing_is_read_while_there_is_no_room() -> None:
    flow = Full()
    async with Running(MemoryEndpoint(flow=flow)) as wire:
        wire.notify("a")
        await flow.asked.wait()
        await anyio.wait_all_tasks_blocked()
        assert wire.handler.heard == []
        flow.free.set()
        await eventually(lambda: wire.handler.heard == [("a", {})])


async def test_reading_pauses_while_the_peer_sends_only_a_few_notifications() -> None:
    """Reading does not pause while the peer asks, answers, or sends much at once."""
    rests: list[float] = []

    async with Running(MemoryEndpoint(flow=Calm(), rest=rests.append)) as wire:

        async def responses(method: str, **params: Any) -> None:
            wire.notify(method, **params)
            await eventually(lambda: wire.handler.heard[-1:] == [(method, params)])

        for number in range(CALM_READS):
            assert rests == []
            await responses(f"few{number}")
        await eventually(lambda: rests == [0.5])
        wire.request(1, "x")
        await wire.get(1)
        await responses("after", text="a question")
        await responses("much", text="x" * SMALL_READ)
        assert rests == [0.5]


async def test_the_traffic_log_has_both_directions() -> None:
    traffic = Traffic()
    async with Running(MemoryEndpoint(traffic=traffic, peer=Peer(message_bytes=1000))) as wire:
        wire.request(1, "x")
        wire.notify("y")
        await wire.get(1)
    lines = [line.split(" ", 1)[1] for line in traffic.lines()]
    assert lines[0].startswith("<- x #1")
    assert any(line.startswith("-> x #1") and " ms error " in line for line in lines)
    assert any(line.startswith("<- y") for line in lines)


async def test_a_flood_does_not_starve_others() -> None:
    """Other tasks run many times while it is read."""
    turns = 0
    async with Running(MemoryEndpoint()) as wire:
        for _ in range(40):
            wire.put(*({"method": "m"} for _ in range(1000)))
        while len(wire.handler.heard) < 40_000:
            await anyio.lowlevel.checkpoint()
            turns += 1
    assert turns >= 10
