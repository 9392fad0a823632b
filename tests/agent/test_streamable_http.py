"""An agent behind Streamable HTTP, with servers that use all freedoms of the protocol."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from http.cookiejar import CookieJar
from typing import Any

import pytest

from acp_nvim.agent.transport import http
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


async def test_a_session_has_its_own_stream_and_headers() -> None:
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


async def test_a_load_can_do_without_the_session_header() -> None:
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


async def test_a_stream_with_a_late_head_delays_nothing() -> None:
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


async def test_an_ended_stream_resumes_after_the_last_event() -> None:
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


async def test_a_session_id_may_have_any_letters() -> None:
    agent = StreamingAgent()
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        prompt(client, 2, "s-é-会")
        await eventually(lambda: len(agent.posted) == 2)
        sent = server.of("POST")[-1].headers["acp-session-id"]
        assert sent.encode("latin-1").decode() == "s-é-会"
        assert client.transport.lost is None


async def test_an_event_id_that_no_header_can_have_is_ignored() -> None:
    agent = StreamingAgent()
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        for id in ("é1", "\x01", "i" * 100_000):
            agent.say('{"method":"_a"}', id=id)
            assert (await client.message())["method"] == "_a"
        agent.end(None)
        await eventually(lambda: len(server.of("GET")) == 2)
        assert server.of("GET")[1].headers["last-event-id"].encode("latin-1").decode() == "é1"
        assert client.transport.lost is None


async def test_a_stream_that_ends_after_each_event_resumes_while_events_come() -> None:
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


async def test_a_stream_that_is_still_in_use_is_requested_again() -> None:
    agent = StreamingAgent()
    delayed_reply = 2

    def gets(request: Request) -> Reply | None:
        nonlocal delayed_reply
        delayed_reply -= 1
        return Reply(409) if delayed_reply >= 0 else None

    agent.gets = gets
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        agent.say('{"method":"_a"}')
        assert (await client.message())["method"] == "_a"
        assert len(server.of("GET")) == 3


async def test_a_forgotten_connection_is_lost_and_tried_again() -> None:
    agent = StreamingAgent()
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        await eventually(lambda: len(server.of("GET")) == 1)
        agent.gets = lambda request: Reply(404)
        agent.end(None)
        assert "no longer knows the connection" in await client.end()
        assert client.transport.lost is not None
        assert client.transport.lost.again
    assert not server.of("DELETE")


async def test_a_forgotten_session_fails_only_its_request() -> None:
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


async def test_a_message_to_a_busy_server_is_sent_again_but_accepted_once() -> None:
    agent = StreamingAgent()
    busy = iter([Reply(503, headers={"Retry-After": "0"}), Reply(429)])
    agent.posts = lambda request, message: next(busy, None) if message["id"] == 2 else None
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        prompt(client, 2)
        client.send(id=3, method="_after")
        await eventually(lambda: len(agent.posted) == 3)
        assert [message["id"] for message in agent.posted] == [1, 2, 3]


async def test_a_long_pause_is_reported_and_does_not_delay_a_cancel() -> None:
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
async def test_a_refused_message_is_answered_with_the_refusal(status: int) -> None:
    agent = StreamingAgent()
    agent.posts = lambda request, message: Reply(status) if message["id"] != 1 else None
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        prompt(client, 2)
        error = (await client.message())["error"]
        assert error["code"] == -32603
        assert f"HTTP {status}" in error["message"]
        client.send(id=9, result={})  # an answer of the client, which has no answer itself
        await eventually(lambda: f"POST of an answer: {server.url}" in "".join(client.remarks))
        if status == 500:  # otherwise the agent would wait forever
            assert "HTTP 500" in await client.end()
        assert (client.transport.lost is None) == (status < 500)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_client_gets_a_hint_about_headers(status: int) -> None:
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
    assert len(server.of("DELETE")) == 1  # which ends the agent's work for it


async def test_a_server_cannot_make_the_client_open_connections_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise the host could not open files at last."""
    monkeypatch.setattr(http, "ORDER_S", 0)
    agent, never = StreamingAgent(), asyncio.Event()
    agent.posts = lambda request, message: delayed_reply(never) if message["id"] == "q" else None
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        for n in range(20):
            agent.say(answer(n, {"sessionId": f"x{n}"}))
            assert (await client.message())["id"] == n
        assert len(server.of("GET")) == 1, "no request asked for these sessions"
        for _ in range(2 * http.MAX_PENDING):
            client.send(id="q", result={})
        assert "does not answer" in await client.end()
        assert len(server.of("POST")) <= http.MAX_PENDING + 1


async def test_messages_are_sent_in_order_and_a_late_answer_delays_no_cancel() -> None:
    agent = StreamingAgent()
    delayed_reply = asyncio.Event()

    def slow(request: Request, message: dict[str, Any]) -> Reply | None:
        async def pieces() -> AsyncIterator[bytes]:
            await delayed_reply.wait()
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
        delayed_reply.set()


def delayed_reply(until: asyncio.Event, body: bytes = b"") -> Reply:
    """Return a reply that comes after `until`."""

    async def pieces() -> AsyncIterator[bytes]:
        await until.wait()
        yield body

    return Reply(200, headers=JSON, pieces=pieces())


async def test_a_cancel_ends_a_prompt_that_the_server_does_not_accept() -> None:
    agent, never = StreamingAgent(), asyncio.Event()
    agent.posts = lambda request, message: delayed_reply(never) if message.get("id") == 2 else None
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


async def test_a_cancel_waits_for_the_answer_of_a_working_agent() -> None:
    """Some servers answer the POST of a prompt at the end of its turn."""
    agent, cancelled = StreamingAgent(), asyncio.Event()
    end = answer(2, {"stopReason": "cancelled"})
    agent.posts = lambda request, message: (
        delayed_reply(cancelled, end) if message.get("id") == 2 else None
    )
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


async def test_a_long_answer_to_a_post_is_refused_without_ending_the_connection() -> None:
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


async def test_cookies_are_sent_with_the_next_connection() -> None:
    agent = StreamingAgent()
    agent.initialized = Reply(
        200, headers={**JSON, "Acp-Connection-Id": "c1", "Set-Cookie": "node=7; Path=/"}
    )
    cookies: dict[str, CookieJar] = {}
    async with HttpServer(agent) as server:
        for _ in range(2):
            async with reached(server.url, cookies=cookies) as client:
                await shake_hands(client)
                await eventually(lambda: bool(server.of("GET")))
        sent = [r.headers.get("cookie") for r in server.requests]
        assert sent[0] is None
        assert set(sent[1:]) == {"node=7"}


async def test_a_redirect_within_the_origin_is_followed_by_all_requests() -> None:
    agent = StreamingAgent()
    agent.posts = lambda request, message: (
        Reply(307, headers={"Location": "/moved"}) if request.path == "/acp" else None
    )
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        await eventually(lambda: bool(server.of("GET")))
        assert [r.path for r in server.requests] == ["/acp", "/moved", "/moved"]


async def test_a_redirect_to_another_origin_gets_no_secrets() -> None:
    agent, other = StreamingAgent(), StreamingAgent()
    async with HttpServer(other) as abroad, HttpServer(agent) as server:
        away = abroad.url.replace("127.0.0.1", "localhost")
        agent.posts = lambda request, message: Reply(308, headers={"Location": away})
        async with reached(server.url, {"Authorization": "s3cret"}) as client:
            client.send(id=1, method="initialize", params={})
            assert f"redirects to {away}" in await client.end()
        assert not abroad.requests


async def test_an_unreachable_server_is_reported_in_plain_words() -> None:
    async with HttpServer(StreamingAgent()) as server:
        url = server.url
    async with reached(url) as client:
        client.send(id=1, method="initialize", params={})
        assert await client.end() == f"cannot reach {url}: Connection refused"
        assert client.transport.lost is not None
        assert client.transport.lost.again


async def test_a_server_without_a_connection_or_a_stream_is_not_an_agent() -> None:
    agent = StreamingAgent()
    agent.initialized = Reply(200, b"<html>", {"Content-Type": "text/html"})
    async with HttpServer(agent) as server, reached(server.url) as client:
        client.send(id=1, method="initialize", params={})
        assert "has no Acp-Connection-Id" in await client.end()
    agent = StreamingAgent()
    agent.gets = lambda request: Reply(200, b"<html>", {"Content-Type": "text/html"})
    async with HttpServer(agent) as server, reached(server.url) as client:
        await shake_hands(client)
        assert "text/html instead of an event stream" in await client.end()


async def test_garbage_on_a_stream_is_passed_on_line_by_line_within_the_limit() -> None:
    agent = StreamingAgent()
    async with HttpServer(agent) as server, reached(server.url, message_bytes=10_000) as client:
        await shake_hands(client)
        agent.say(b"\xff garbage")
        agent.say('{"a":' + "[" * 9_000)
        agent.say("x" * 50_000)
        agent.say('{"method":\ndata: "_a"}')
        assert await client.line() == b"\xff garbage"
        assert (await client.line()).endswith(b"[[[")
        line = await client.line()
        assert len(line) > 10_000
        assert line.startswith(b"x" * 1_000)
        assert (await client.message())["method"] == "_a"


async def test_the_server_must_wait_for_a_slow_receiver() -> None:
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
