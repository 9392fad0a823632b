"""The tutor as a server: several clients at a time, over WebSocket and Streamable HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.agent_server.event_streams import EventStreams
from tests.support.remote_client import Json, RemoteClient, reached
from tests.support.remote_server import TUTOR, RemoteServer


@pytest.fixture(scope="module")
def server() -> Iterator[RemoteServer]:
    with RemoteServer(list(TUTOR)) as running:
        yield running


async def ask(client: RemoteClient, id: int, method: str, **params: Any) -> Json:
    """Send a request and return its result. Drop other messages."""
    client.send(id=id, method=method, params=params)
    while (message := await client.message()).get("id") != id:
        pass
    result: Json = message["result"]
    return result


async def open_session(client: RemoteClient, cwd: Path) -> str:
    """Do the handshake and open a session."""
    told = await ask(client, 1, "initialize", protocolVersion=1, clientCapabilities={})
    assert told["agentCapabilities"]["sessionCapabilities"]["resume"] == {}
    new = await ask(client, 2, "session/new", cwd=str(cwd), mcpServers=[])
    pace = {"sessionId": new["sessionId"], "configId": "pace", "value": "instant"}
    await ask(client, 3, "session/set_config_option", **pace)
    return str(new["sessionId"])


async def run_turn(client: RemoteClient, id: int, session: str) -> str:
    """Run a whole turn and return the text of the tutor."""
    text = [{"type": "text", "text": "hello"}]
    client.send(id=id, method="session/prompt", params={"sessionId": session, "prompt": text})
    told = ""
    while (message := await client.message()).get("id") != id:
        update = message["params"]["update"]
        if update["sessionUpdate"] == "agent_message_chunk":
            told += update["content"]["text"]
    assert message["result"] == {"stopReason": "end_turn"}
    return told


async def test_several_clients_are_served_at_a_time_by_both_transports(
    server: RemoteServer, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(reached(server.url(scheme)))
            for scheme in ("ws", "http", "ws", "http")
        ]
        sessions = [await open_session(client, tmp_path) for client in clients]
        assert len(set(sessions)) == 4
        for client, session in zip(clients, sessions, strict=True):
            assert "Welcome" in await run_turn(client, 9, session)


async def test_a_session_survives_its_connection_and_changes_its_transport(
    server: RemoteServer, tmp_path: Path
) -> None:
    async with reached(server.url("ws")) as client:
        session = await open_session(client, tmp_path)
    async with reached(server.url("http")) as client:
        await ask(client, 1, "initialize", protocolVersion=1, clientCapabilities={})
        params = {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}
        again = await ask(client, 2, "session/resume", **params)
        pace = next(o for o in again["configOptions"] if o["id"] == "pace")
        assert pace["currentValue"] == "instant"
        assert "Welcome" in await run_turn(client, 3, session)


async def test_requests_that_break_the_rules_get_their_status(server: RemoteServer) -> None:
    url, json = server.url("http"), {"Content-Type": "application/json"}
    begin = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
    async with httpx.AsyncClient() as client:
        made = await client.post(url, content=begin, headers=json)
        known = {"Acp-Connection-Id": made.headers["Acp-Connection-Id"]}
        events = {"Accept": "text/event-stream"}
        statuses = [
            made.status_code,
            (await client.post(url, content=begin)).status_code,
            (await client.post(url, content="{", headers=json)).status_code,
            (await client.post(url, content="[]", headers={**json, **known})).status_code,
            (await client.post(url, content='{"method":"_x"}', headers=json)).status_code,
            (await client.get(url, headers=events)).status_code,
            (await client.get(url, headers={**events, "Acp-Connection-Id": "no"})).status_code,
            (await client.get(url, headers={"Accept": "text/html", **known})).status_code,
            (await client.post(url, content=begin, headers={**json, "Origin": "x"})).status_code,
            (await client.put(url, headers=known)).status_code,
            (await client.delete(url)).status_code,
            (await client.delete(url, headers=known)).status_code,
            (await client.delete(url, headers=known)).status_code,
        ]
    assert statuses == [200, 415, 400, 501, 400, 400, 404, 406, 403, 405, 400, 202, 404]


def test_lost_events_are_read_again_by_their_numbers() -> None:
    streams = EventStreams()
    for n in range(4):
        streams.write(b'{"method":"session/update","params":{"sessionId":"s","n":%d}}\n' % n)
    outbox = streams.get("s")
    with outbox.open_reader(None):
        first = b"".join(outbox.pop_events())
    assert first.count(b"data: ") == 4
    streams.write(b'{"method":"session/update","params":{"sessionId":"s","n":4}}\n')
    with outbox.open_reader(2):
        again = b"".join(outbox.pop_events()).split(b"\n\n")[:-1]
    assert [event.split(b"\n")[0] for event in again] == [b"id: 3", b"id: 4", b"id: 5"]


async def test_an_answer_uses_the_stream_of_its_session_except_for_a_load() -> None:
    streams = EventStreams()
    streams.expect({"id": 1, "method": "session/prompt"}, "s")
    streams.expect({"id": 2, "method": "session/load"}, "s")
    streams.expect({"id": 3, "method": "session/new"}, None)
    initialized = streams.answer_to({"id": 4})
    for number in (1, 2, 3, 4):
        streams.write(b'{"id":%d,"result":{}}\n' % number)
    assert b'"id":1' in b"".join(streams.get("s").pop_events())
    assert b"".join(streams.get(None).pop_events()).count(b'"id":') == 2
    assert b'"id":4' in await initialized
