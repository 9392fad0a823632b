"""MCP over HTTP, message by message: the earlier era and the present one."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from acp_nvim.tools import http_answer, http_mcp
from tests.support.http_tools import META, Port, message, modern, open_port
from tests.support.tool_door import ECHO, Waits
from tests.support.waiting import eventually

CALL = {"name": "echo", "arguments": {"text": "a"}}
WAIT = {"name": "wait", "arguments": {"text": ""}}
OTHER = msgspec.structs.replace(ECHO, name="other")
CHANGED = "notifications/tools/list_changed"


# -- with a handshake ------------------------------------------------------------------------------


async def test_a_session_begins_lists_calls_and_ends() -> None:
    async with open_port([ECHO]) as port:
        id = await port.shake_hands()
        assert port.session.tools is not None
        assert port.session.tools.connected == 1
        listed = await port.post("tools/list", mcp_session_id=id, mcp_protocol_version="2025-06-18")
        assert listed.headers["content-type"] == "application/json"
        assert [tool["name"] for tool in listed.json["result"]["tools"]] == ["echo"]
        called = await port.post("tools/call", CALL, id="x", mcp_session_id=id)
        assert called.json["id"] == "x"
        assert called.json["result"]["structuredContent"] == {"said": "a"}
        unknown = await port.post("resources/list", mcp_session_id=id)
        assert (unknown.status, unknown.json["error"]["code"]) == (200, -32601)
        assert (await port.send("DELETE", mcp_session_id=id)).status == 200
        assert port.session.tools.connected == 0
        assert (await port.post("ping", mcp_session_id=id)).status == 404
        assert (await port.send("DELETE", mcp_session_id=id)).status == 404


async def test_requests_follow_one_another_on_a_connection() -> None:
    async with open_port([ECHO]) as port:
        id = await port.shake_hands()
        wire = await port.connect()
        headers = port.headers(mcp_session_id=id)
        for number in range(3):
            wire.ask("POST", "/mcp", headers, message("tools/call", CALL, number))
            assert (await wire.answer()).json["id"] == number
        wire.ask("DELETE", "/mcp", headers)
        assert (await wire.answer()).status == 200
        assert not port.door.refused


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"mcp_session_id": None}, 400),
        ({"mcp_session_id": "guessed"}, 404),
        ({"content_type": "text/plain"}, 415),
        ({"accept": "text/html"}, 406),
        ({"mcp_protocol_version": "1.0"}, 400),
        ({"path": "/other"}, 404),
    ],
)
async def test_what_a_request_lacks_is_told_by_its_status(
    headers: dict[str, Any], status: int
) -> None:
    async with open_port([ECHO]) as port:
        headers = {"mcp_session_id": await port.shake_hands(), **headers}
        assert (await port.send("POST", message("ping"), **headers)).status == status


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"garbage", -32700),
        (b"", -32700),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b"\xff", -32700),
    ],
)
async def test_a_body_is_one_message(body: bytes, code: int) -> None:
    async with open_port([ECHO]) as port:
        reply = await port.send("POST", body, mcp_session_id=await port.shake_hands())
        assert (reply.status, reply.json["error"]["code"]) == (400, code)


async def test_progress_makes_the_answer_a_stream() -> None:
    params = {**CALL, "arguments": {"text": "a", "times": 3}, "_meta": {"progressToken": "p"}}
    async with open_port([ECHO]) as port:
        id = await port.shake_hands()
        reply = await port.post("tools/call", params, mcp_session_id=id)
        assert reply.headers["content-type"] == "text/event-stream"
        first, second, result = reply.events
        assert (first["params"]["progress"], second["params"]["progress"]) == (1, 2)
        assert result["result"]["structuredContent"] == {"said": "a"}
        plain = await port.post("tools/call", params, mcp_session_id=id, accept="application/json")
        assert plain.json["result"]["structuredContent"] == {"said": "a"}


async def test_a_client_that_waits_long_hears_that_it_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_answer, "PING_S", 0.01)
    wait = Waits()
    async with open_port([wait.tool]) as port:
        wire = await port.connect()
        headers = port.headers(mcp_session_id=await port.shake_hands())
        wire.ask("POST", "/mcp", headers, message("tools/call", WAIT))
        assert (await wire.head()).headers["content-type"] == "text/event-stream"
        assert (await wire.data() or b"").startswith(b":")


async def test_a_call_is_taken_back() -> None:
    wait = Waits()
    async with open_port([wait.tool]) as port:
        id = await port.shake_hands()
        wire = await port.connect()
        headers = port.headers(mcp_session_id=id)
        wire.ask("POST", "/mcp", headers, message("tools/call", WAIT, 7))
        await wait.began.wait()
        other = await port.shake_hands()
        for session in (other, id):
            cancel = "notifications/cancelled"
            told = await port.post(cancel, {"requestId": 7}, None, mcp_session_id=session)
            assert told.status == 202
            assert wait.ended.is_set() == (session == id)
        assert (await wire.answer()).json["error"]["code"] == -32800


async def test_its_stream_tells_of_other_tools_until_the_session_ends() -> None:
    async with open_port([ECHO]) as port:
        id = await port.shake_hands()
        headers = port.headers(mcp_session_id=id)
        wire = await port.connect()
        wire.ask("GET", "/mcp", headers)
        assert (await wire.head()).headers["content-type"] == "text/event-stream"
        assert (await port.send("GET", mcp_session_id=id)).status == 409
        port.put(OTHER)
        assert await wire.event() == {"jsonrpc": "2.0", "method": CHANGED, "params": {}}
        await port.send("DELETE", mcp_session_id=id)
        with pytest.raises(EOFError):
            await wire.event()
        assert (await port.send("GET", mcp_session_id=id)).status == 404
        await eventually(lambda: listening(port) == 0)


def listening(port: Port) -> int:
    """How many clients wait for news."""
    (grant,) = port.door._grants.values()
    return grant.tools.changes.waiting


async def test_a_stream_makes_room_for_the_next_one_when_its_client_is_gone() -> None:
    async with open_port([ECHO]) as port:
        headers = port.headers(mcp_session_id=await port.shake_hands())
        for _ in range(2):
            wire = await port.connect()
            wire.ask("GET", "/mcp", headers)
            assert (await wire.head()).status == 200
            wire.writer.transport.abort()
            await eventually(lambda: listening(port) == 0)


async def test_the_oldest_session_makes_room() -> None:
    async with open_port([ECHO]) as port:
        ids = [await port.shake_hands() for _ in range(http_mcp.SESSIONS + 1)]
        assert [(await port.post("ping", mcp_session_id=id)).status for id in ids[:2]] == [404, 200]


# -- without a handshake ---------------------------------------------------------------------------


async def test_each_request_stands_for_itself() -> None:
    async with open_port([ECHO]) as port:
        found = (await port.modern("server/discover")).json["result"]
        assert found["capabilities"] == {"tools": {"listChanged": True}}
        called = await port.modern("tools/call", CALL, mcp_name="echo")
        assert called.json["result"]["structuredContent"] == {"said": "a"}
        assert called.json["result"]["resultType"] == "complete"
        assert "mcp-session-id" not in called.headers
        assert port.session.tools is not None
        assert port.session.tools.connected == 1
        told = await port.post(
            "notifications/anything", id=None, **modern("notifications/anything")
        )
        assert told.status == 202


@pytest.mark.parametrize(
    ("method", "params", "headers", "status", "code"),
    [
        ("resources/list", {}, {}, 404, -32601),
        ("tools/call", {"name": "nothing"}, {"mcp_name": "nothing"}, 400, -32602),
        ("tools/call", CALL, {}, 400, -32020),
        ("tools/call", CALL, {"mcp_name": "other"}, 400, -32020),
        ("tools/call", CALL, {"mcp_name": "=?base64?%%?="}, 400, -32020),
        ("tools/list", {}, {"mcp_method": "ping"}, 400, -32020),
        ("tools/list", {}, {"mcp_method": None}, 400, -32020),
        ("tools/list", {}, {"mcp_protocol_version": "2031-01-01"}, 400, -32020),
        ("tools/list", {"_meta": {}}, {}, 400, -32602),
        ("tools/list", {"_meta": {next(iter(META)): "2026-07-28"}}, {}, 400, -32602),
    ],
)
async def test_an_error_has_its_status(
    method: str, params: dict[str, Any], headers: dict[str, Any], status: int, code: int
) -> None:
    async with open_port([ECHO]) as port:
        reply = await port.modern(method, params, **headers)
        assert (reply.status, reply.json["error"]["code"]) == (status, code)
        assert reply.json["id"] == 1


async def test_a_version_of_the_future_is_told_which_are_served() -> None:
    version = "2031-01-01"
    async with open_port([ECHO]) as port:
        params = {"_meta": {**META, next(iter(META)): version}}
        reply = await port.modern("tools/list", params, mcp_protocol_version=version)
        assert (reply.status, reply.json["error"]["code"]) == (400, -32022)
        assert "2026-07-28" in reply.json["error"]["data"]["supported"]
        headers = modern("notifications/anything", mcp_protocol_version=version)
        assert (await port.post("notifications/anything", id=None, **headers)).status == 400


async def test_a_name_that_http_cannot_carry_comes_wrapped() -> None:
    name = "grüß"
    tool = msgspec.structs.replace(ECHO, name=name)
    wrapped = f"=?base64?{base64.b64encode(name.encode()).decode()}?="
    async with open_port([tool]) as port:
        reply = await port.modern("tools/call", {**CALL, "name": name}, mcp_name=wrapped)
        assert reply.json["result"]["structuredContent"] == {"said": "a"}


async def test_who_listens_is_told_of_other_tools_on_the_stream_of_the_request() -> None:
    params = {"_meta": META, "notifications": {"toolsListChanged": True}}
    async with open_port([ECHO]) as port:
        wire = await port.connect()
        headers = port.headers(**modern("subscriptions/listen"))
        wire.ask("POST", "/mcp", headers, message("subscriptions/listen", params, 5))
        assert (await wire.head()).headers["content-type"] == "text/event-stream"
        first = await wire.event()
        assert first is not None
        assert first["method"] == "notifications/subscriptions/acknowledged"
        port.put(OTHER)
        meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": 5}}
        assert await wire.event() == {"jsonrpc": "2.0", "method": CHANGED, "params": meta}
        wire.writer.transport.abort()
        await eventually(lambda: listening(port) == 0)
        deaf = await port.modern("subscriptions/listen", params, accept="application/json")
        assert deaf.status == 406
