"""An agent behind Streamable HTTP, with servers that do all that a server may do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from acp_nvim.agent.transport.reach import Reach
from tests.support.http_server import HttpServer, Reply, Request
from tests.support.remote_client import reached
from tests.support.streaming_agent import (
    EVENTS,
    JSON,
    StreamingAgent,
    answer,
    prompt,
    shake_hands,
)
from tests.support.waiting import eventually


async def test_a_session_has_a_stream_of_its_own_and_headers_say_what_is_meant() -> None:
    agent = StreamingAgent()
    async with HttpServer(agent) as server:
        async with reached(server.url, {"Authorization": "Bearer t"}) as client:
            await shake_hands(client)
            client.send(id=2, method="session/new", params={"cwd": "/", "mcpServers": []})
            agent.say(answer(2, {"sessionId": "s1"}))
            assert (await client.message())["result"] == {"sessionId": "s1"}
            prompt(client, 3)
            agent.say('{"method":"session/update","params":{"sessionId":"s1"}}', "s1")
            assert (await client.message())["method"] == "session/update"
            agent.say('{"id":"q","method":"session/request_permission","params":{}}', "s1")
            assert (await client.message())["id"] == "q"
            client.send(id="q", result={})
            await eventually(lambda: len(agent.posted) == 4)
        first, *posts = server.of("POST")
        assert "acp-connection-id" not in first.headers
        assert {p.headers["acp-connection-id"] for p in posts} == {"c1"}
        assert [p.headers.get("acp-session-id") for p in posts] == [None, "s1", "s1"]
        assert {p.headers["acp-protocol-version"] for p in posts} == {"1"}
        assert [g.headers.get("acp-session-id") for g in server.of("GET")] == [None, "s1"]
        assert {r.headers["authorization"] for r in server.requests} == {"Bearer t"}
        assert len(server.of("DELETE")) == 1


async def test_the_stream_of_a_session_is_open_before_the_session_is_loaded() -> None:
    agent = StreamingAgent()
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        client.send(id=2, method="session/load", params={"sessionId": "s1", "cwd": "/"})
        await eventually(lambda: len(agent.posted) == 2)
        seen = [(r.method, r.headers.get("acp-session-id")) for r in server.requests]
        assert seen[-2:] == [("GET", "s1"), ("POST", "s1")]


async def test_a_server_that_knows_no_session_before_its_load_gets_no_header_then() -> None:
    agent = StreamingAgent()
    known: set[str] = set()

    def strict(request: Request) -> Reply | None:
        session = request.headers.get("acp-session-id")
        return Reply(404) if session is not None and session not in known else None

    agent.gets = strict
    agent.posts = lambda request, message: strict(request)
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        client.send(id=2, method="session/resume", params={"sessionId": "s1", "cwd": "/"})
        await eventually(lambda: len(agent.posted) == 2)
        known.add("s1")
        agent.say(answer(2, {}))
        assert (await client.message())["id"] == 2
        prompt(client, 3)
        agent.say(answer(3, {"stopReason": "end_turn"}), "s1")
        assert (await client.message())["id"] == 3
        await eventually(lambda: [message["id"] for message in agent.posted] == [1, 2, 3])


async def test_the_answer_to_a_load_waits_for_the_history_on_the_other_stream() -> None:
    agent = StreamingAgent()
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        client.send(id=2, method="session/load", params={"sessionId": "s1", "cwd": "/"})
        await eventually(lambda: len(agent.posted) == 2)
        agent.say(answer(2, {}))
        for n in range(50):
            agent.say(json.dumps({"method": "session/update", "params": {"n": n}}), "s1")
        told = [await client.message() for _ in range(51)]
        assert [message.get("id") for message in told] == [None] * 50 + [2]


async def test_a_stream_whose_head_comes_with_its_first_event_holds_nothing_up() -> None:
    agent = StreamingAgent()
    there = asyncio.Event()

    async def late() -> Reply:
        await there.wait()
        return Reply(200, headers=EVENTS, pieces=agent.events(None))

    agent.gets = lambda request: late()
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        for id in (2, 3, 4):
            client.send(id=id, method="_x")
        await eventually(lambda: len(agent.posted) == 4)
        assert agent.posted_at[3] - agent.posted_at[1] < 2  # one wait, not three
        agent.say('{"method":"_a"}')
        there.set()
        assert (await client.message())["method"] == "_a"


async def test_a_stream_that_ends_is_taken_up_again_after_the_last_event() -> None:
    agent = StreamingAgent()
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        agent.say('{"method":"_a"}', id="7")
        assert (await client.message())["method"] == "_a"
        agent.end(None)
        await eventually(lambda: len(server.of("GET")) == 2)
        agent.say('{"method":"_b"}')
        assert (await client.message())["method"] == "_b"
        assert [g.headers.get("last-event-id") for g in server.of("GET")] == [None, "7"]


async def test_a_stream_that_ends_after_each_event_is_taken_up_for_as_long_as_events_come() -> None:
    agent = StreamingAgent()

    async def one(last: int) -> AsyncIterator[bytes]:
        yield b'id: %d\ndata: {"method": "_%d"}\n\n' % (last + 1, last + 1)

    def gets(request: Request) -> Reply | None:
        if "acp-session-id" not in request.headers:
            return None
        last = int(request.headers.get("last-event-id", "0"))
        return Reply(200, headers=EVENTS, pieces=one(last))

    agent.gets = gets
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        prompt(client, 2)
        came = [(await client.message())["method"] for _ in range(7)]
        assert came == [f"_{number}" for number in range(1, 8)]


async def test_a_stream_that_somebody_else_still_holds_is_asked_for_again() -> None:
    agent = StreamingAgent()
    held = 2

    def gets(request: Request) -> Reply | None:
        nonlocal held
        held -= 1
        return Reply(409) if held >= 0 else None

    agent.gets = gets
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        agent.say('{"method":"_a"}')
        assert (await client.message())["method"] == "_a"
        assert len(server.of("GET")) == 3


async def test_a_connection_that_the_server_has_forgotten_is_lost_and_worth_another() -> None:
    agent = StreamingAgent()
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        await eventually(lambda: len(server.of("GET")) == 1)
        agent.gets = lambda request: Reply(404)
        agent.end(None)
        assert "does not know the connection" in await client.end()
        assert client.transport.lost is not None
        assert client.transport.lost.again
    assert not server.of("DELETE")


async def test_a_session_that_the_server_has_forgotten_fails_that_request_alone() -> None:
    agent = StreamingAgent()
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        await eventually(lambda: len(server.of("GET")) == 1)
        agent.posts = lambda request, message: Reply(404) if message["id"] == 2 else None
        prompt(client, 2)
        assert (await client.message())["error"]["code"] == -32002
        prompt(client, 3, "s2")
        await eventually(lambda: len(agent.posted) == 2)
        assert client.transport.lost is None


async def test_a_busy_server_is_asked_again_and_a_message_is_taken_once() -> None:
    agent = StreamingAgent()
    busy = iter([Reply(503, headers={"Retry-After": "0"}), Reply(429)])
    agent.posts = lambda request, message: next(busy, None) if message["id"] == 2 else None
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        prompt(client, 2)
        client.send(id=3, method="_after")
        await eventually(lambda: len(agent.posted) == 3)
        assert [message["id"] for message in agent.posted] == [1, 2, 3]


async def test_a_long_pause_that_a_server_asks_for_is_said_and_holds_no_cancel_up() -> None:
    agent = StreamingAgent()
    later = Reply(429, headers={"Retry-After": "120"})
    agent.posts = lambda request, message: later if message.get("id") == 2 else None
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        prompt(client, 2)
        client.send(method="session/cancel", params={"sessionId": "s1"})
        error = (await client.message())["error"]
        assert error["message"] == f"{server.url} answers HTTP 429 (retry after 120 s)"
        await eventually(lambda: len(agent.posted) == 2)


@pytest.mark.parametrize("status", [400, 413, 500])
async def test_a_message_that_the_server_refuses_is_answered_with_that(status: int) -> None:
    agent = StreamingAgent()
    agent.posts = lambda request, message: Reply(status) if message["id"] != 1 else None
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        prompt(client, 2)
        error = (await client.message())["error"]
        assert error["code"] == -32603
        assert f"HTTP {status}" in error["message"]
        client.send(id=9, result={})  # an answer of ours: nobody waits for one to it
        await eventually(lambda: f"POST of an answer: {server.url}" in "".join(client.remarks))
        assert client.transport.lost is None


@pytest.mark.parametrize("status", [401, 403])
async def test_who_is_not_let_in_is_told_about_headers(status: int) -> None:
    agent = StreamingAgent()
    agent.initialized = Reply(status, b"go away")
    async with HttpServer(agent) as server, reached(server.url, {"X-Key": "s3cret"}) as client:
        client.send(id=1, method="initialize", params={})
        why = await client.end()
        assert f"HTTP {status}: " in why
        assert "See agents.*.headers" in why
        assert client.transport.lost is not None
        assert not client.transport.lost.again
        assert "s3cret" not in why + "".join(client.remarks)


async def test_a_message_that_may_have_arrived_is_not_sent_again() -> None:
    agent = StreamingAgent()
    agent.posts = lambda request, message: (
        Reply(202, abort=True, headers={"Content-Length": "5"}) if message["id"] == 2 else None
    )
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        prompt(client, 2)
        assert "broke while sending" in await client.end()
        client.send(id=3, method="_too_late")
        sent = [json.loads(r.body)["id"] for r in server.of("POST")]
        assert sent == [1, 2]
    assert len(server.of("DELETE")) == 1  # the agent's work for it ends there


async def test_messages_leave_in_order_but_a_late_answer_holds_no_cancel_up() -> None:
    agent = StreamingAgent()
    held = asyncio.Event()

    def slow(request: Request, message: dict[str, Any]) -> Reply | None:
        async def pieces() -> AsyncIterator[bytes]:
            await held.wait()
            yield b""

        agent.posted.append(message) if message.get("id") == 2 else None
        return Reply(202, pieces=pieces()) if message.get("id") == 2 else None

    agent.posts = slow
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        prompt(client, 2)
        for n in range(20):
            client.send(method="session/cancel", params={"sessionId": "s1", "n": n})
        await eventually(lambda: len(agent.posted) == 22)
        assert [m.get("id") for m in agent.posted[:2]] == [1, 2]
        assert [m["params"]["n"] for m in agent.posted[2:]] == [*range(20)]
        held.set()


def held(until: asyncio.Event, body: bytes = b"") -> Reply:
    """An answer that does not come before `until`."""

    async def pieces() -> AsyncIterator[bytes]:
        await until.wait()
        yield body

    return Reply(200, headers=JSON, pieces=pieces())


async def test_a_cancel_ends_a_prompt_that_the_server_does_not_take() -> None:
    agent, never = StreamingAgent(), asyncio.Event()
    agent.posts = lambda request, message: held(never) if message.get("id") == 2 else None
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        prompt(client, 2)
        await eventually(lambda: len(server.of("POST")) == 2)
        client.send(method="session/cancel", params={"sessionId": "other"})
        client.send(method="session/cancel", params={"sessionId": "s1"})
        answer = await client.message()
        assert (answer["id"], answer["error"]["code"]) == (2, -32800)
        await eventually(lambda: len(agent.posted) == 3)  # it may have arrived
        prompt(client, 3)
        await eventually(lambda: agent.posted[-1].get("id") == 3)
        assert client.transport.lost is None


async def test_a_cancel_waits_for_the_answer_of_an_agent_that_is_at_work() -> None:
    """Some servers answer the POST of a prompt with the end of its turn."""
    agent, cancelled = StreamingAgent(), asyncio.Event()
    end = answer(2, {"stopReason": "cancelled"})
    agent.posts = lambda request, message: held(cancelled, end) if message.get("id") == 2 else None
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        prompt(client, 2)
        await eventually(lambda: len(server.of("POST")) == 2)
        agent.say('{"method":"session/update","params":{"sessionId":"s1"}}', "s1")
        assert (await client.message())["method"] == "session/update"
        client.send(method="session/cancel", params={"sessionId": "s1"})
        await eventually(lambda: agent.posted[-1]["method"] == "session/cancel")
        cancelled.set()
        assert (await client.message())["result"] == {"stopReason": "cancelled"}


async def test_an_answer_to_a_post_that_is_too_long_is_refused_and_the_connection_goes_on() -> None:
    agent = StreamingAgent()
    long = Reply(200, answer(2, "x" * 5000), JSON)
    agent.posts = lambda request, message: long if message.get("id") == 2 else None
    async with HttpServer(agent) as server, reached(server.url, message_bytes=1000) as client:
        await shake_hands(client)
        prompt(client, 2)
        error = (await client.message())["error"]["message"]
        assert error == "the answer is longer than 1000 bytes (limits.message_bytes)"
        line = await client.line()
        assert (len(line) > 1000, b'"id": 2' in line) == (True, True)
        prompt(client, 3)
        await eventually(lambda: agent.posted[-1].get("id") == 3)
        assert client.transport.lost is None


async def test_cookies_are_kept_also_for_the_next_connection() -> None:
    agent = StreamingAgent()
    agent.initialized = Reply(
        200, headers={**JSON, "Acp-Connection-Id": "c1", "Set-Cookie": "node=7; Path=/"}
    )
    reach = Reach()
    async with HttpServer(agent) as server:
        for _ in range(2):
            async with reached(server.url, reach=reach) as client:
                await shake_hands(client)
                await eventually(lambda: bool(server.of("GET")))
        cookies = [r.headers.get("cookie") for r in server.requests]
        assert cookies[0] is None
        assert set(cookies[1:]) == {"node=7"}


async def test_a_redirect_at_home_is_followed_by_all_requests() -> None:
    agent = StreamingAgent()
    agent.posts = lambda request, message: (
        Reply(307, headers={"Location": "/moved"}) if request.path == "/acp" else None
    )
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        await eventually(lambda: bool(server.of("GET")))
        assert [r.path for r in server.requests] == ["/acp", "/moved", "/moved"]


async def test_a_redirect_abroad_takes_nothing_along() -> None:
    agent, other = StreamingAgent(), StreamingAgent()
    async with HttpServer(other) as abroad, HttpServer(agent) as server:
        away = abroad.url.replace("127.0.0.1", "localhost")
        agent.posts = lambda request, message: Reply(308, headers={"Location": away})
        async with reached(server.url, {"Authorization": "s3cret"}) as client:
            client.send(id=1, method="initialize", params={})
            assert f"redirects to {away}" in await client.end()
        assert not abroad.requests


async def test_nobody_there_is_said_in_words() -> None:
    async with HttpServer(StreamingAgent()) as server:
        url = server.url
    async with reached(url) as client:
        client.send(id=1, method="initialize", params={})
        assert await client.end() == f"cannot reach {url}: Connection refused"
        assert client.transport.lost is not None
        assert client.transport.lost.again


async def test_an_answer_without_a_connection_or_without_a_stream_is_no_agent() -> None:
    agent = StreamingAgent()
    agent.initialized = Reply(200, b"<html>", {"Content-Type": "text/html"})
    async with HttpServer(agent) as server, reached(server.url) as client:
        client.send(id=1, method="initialize", params={})
        assert "there is no Acp-Connection-Id" in await client.end()
    agent = StreamingAgent()
    agent.gets = lambda request: Reply(200, b"<html>", {"Content-Type": "text/html"})
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        assert "text/html instead of an event stream" in await client.end()


async def test_garbage_on_a_stream_is_handed_on_line_by_line_within_the_limit() -> None:
    agent = StreamingAgent()
    async with HttpServer(agent) as server, reached(server.url, message_bytes=1000) as client:
        await shake_hands(client)
        agent.say(b"\xff garbage")
        agent.say("x" * 5000)
        agent.say('{"method":\ndata: "_a"}')
        assert await client.line() == b"\xff garbage"
        line = await client.line()
        assert len(line) > 1000
        assert line.startswith(b"x" * 1000)
        assert (await client.message())["method"] == "_a"


async def test_while_nobody_receives_the_server_has_to_wait() -> None:
    agent = StreamingAgent()
    sent = 0

    async def flood() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            yield b'data: {"method":"_' + b"x" * 100_000 + b'"}\n\n'
            sent += 1

    agent.gets = lambda request: Reply(200, headers=EVENTS, pieces=flood())
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        await client.line()
        assert await client.is_held_back(lambda: sent)
