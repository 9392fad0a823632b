"""Who is let in at the port of the tools, and what ends when."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from acp_nvim.session.session import Session
from acp_nvim.tools import http_door, http_wire
from acp_nvim.tools.mcp_server import LINE_BYTES
from tests.support.http_tools import Port, message, open_port
from tests.support.tool_door import ECHO, Waits
from tests.support.waiting import eventually

CALL = {"name": "echo", "arguments": {"text": "a"}}
WAIT = {"name": "wait", "arguments": {"text": ""}}


async def test_it_listens_on_the_loopback_interface_alone() -> None:
    async with open_port([ECHO]) as port:
        host, _, number = port.address.partition(":")
        assert host == "127.0.0.1"
        assert int(number) > 0
        assert port.url == f"http://{port.address}/mcp"
        other = Session(2, "agent", "/")
        entrance = port.door.admit(other, True)
        assert entrance is not None
        assert entrance.address == port.url
        assert entrance.token != port.token
        assert port.door.admit(other, False) is None


@pytest.mark.parametrize(
    ("headers", "status", "kind"),
    [
        ({"host": "evil.example.com"}, 421, "foreign host"),
        ({"host": "127.0.0.1"}, 421, "foreign host"),
        ({"origin": "http://evil.example.com"}, 403, "foreign origin"),
        ({"origin": "null"}, 403, "foreign origin"),
        ({"authorization": None}, 401, "no token"),
        ({"authorization": "Basic dXNlcg=="}, 401, "no token"),
        ({"authorization": "Bearer"}, 401, "no token"),
        ({"authorization": "Bearer guessed"}, 401, "wrong token"),
        ({"authorization": "Bearer gu\u00e9ss".encode("latin-1")}, 401, "wrong token"),
    ],
)
async def test_a_stranger_is_refused(headers: dict[str, Any], status: int, kind: str) -> None:
    async with open_port([ECHO]) as port:
        reply = await port.post("tools/call", CALL, **headers)
        assert reply.status == status
        assert b"token" not in reply.body or status == 401
        assert ("www-authenticate" in reply.headers) == (status == 401)
        assert port.door.refused == {kind: 1}
        assert port.session.tools is not None
        assert (port.session.tools.calls, port.session.tools.ever) == (0, False)


async def test_pages_of_its_own_and_localhost_are_let_in() -> None:
    async with open_port([ECHO]) as port:
        number = port.address.partition(":")[2]
        local = f"localhost:{number}"
        reply = await port.modern("ping", host=local, origin=f"http://{local}")
        assert reply.status == 200
        preflight = await port.send("OPTIONS", origin=f"http://{local}")
        assert preflight.status == 405
        assert not [name for name in preflight.headers if name.startswith("access-control")]


async def test_a_token_ends_with_its_session_on_connections_that_go_on() -> None:
    """Two sessions of an agent share connections: each request shows its own token."""
    async with open_port([ECHO]) as port:
        other = Port(port.door, port.toolbox, [])
        other.session = Session(2, "agent", "/")
        other.admit()
        wire = await port.connect()
        for one in (port, other):
            headers = one.headers(mcp_protocol_version="2026-07-28", mcp_method="ping")
            wire.ask("POST", "/mcp", headers, ping())
            assert (await wire.answer()).status == 200
            assert one.session.tools is not None
            assert one.session.tools.connected == 1
        port.door.withdraw(port.session)
        assert port.session.tools is not None
        assert port.session.tools.connected == 0
        wire.ask("POST", "/mcp", port.headers(), ping())
        assert (await wire.answer()).status == 401


def ping() -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return message("ping", {"_meta": meta})


async def test_a_call_ends_with_its_session() -> None:
    wait = Waits()
    async with open_port([wait.tool]) as port:
        wire = await port.connect()
        headers = port.headers(
            mcp_protocol_version="2026-07-28", mcp_method="tools/call", mcp_name="wait"
        )
        params = {**json.loads(ping())["params"], **WAIT}
        wire.ask("POST", "/mcp", headers, message("tools/call", params))
        await wait.began.wait()
        port.door.withdraw(port.session)
        with pytest.raises(EOFError):
            await wire.answer()
        await wait.ended.wait()


async def test_a_call_ends_with_its_client() -> None:
    """Its answer could not be had later."""
    wait = Waits()
    async with open_port([wait.tool]) as port:
        id = await port.shake_hands()
        wire = await port.connect()
        wire.ask("POST", "/mcp", port.headers(mcp_session_id=id), message("tools/call", WAIT))
        await wait.began.wait()
        wire.writer.transport.abort()
        await wait.ended.wait()


async def test_all_ends_with_the_door() -> None:
    async with open_port([ECHO]) as port:
        wire = await port.connect()
        await port.modern("ping")
        port.door.close()
        with pytest.raises(EOFError):
            await wire.answer()
        with pytest.raises(ConnectionRefusedError):
            await eventually_refused(port)


async def eventually_refused(port: Port) -> None:
    """The listener goes with its task."""
    for _ in range(1000):
        await port.connect()


# -- clients that lie ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"garbage\r\n\r\n", 400),
        (b"GET /mcp HTTP/1.1\r\n\r\n", 400),
        (b"GET /mcp HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400),
        (b"GET /mcp HTTP/1.1\r\nx: " + b"x" * http_wire.HEAD_BYTES * 2, 431),
        (b"\x16\x03\x01\x02\x00\x01\x00", 400),
    ],
)
async def test_garbage_is_refused(sent: bytes, status: int) -> None:
    async with open_port([ECHO]) as port:
        wire = await port.connect()
        wire.writer.write(sent)
        assert (await wire.reader.readline()).startswith(b"HTTP/1.1 %d " % status)
        await eventually(lambda: port.door.refused == {f"bad request: {status}": 1})
        assert (await port.modern("ping")).status == 200


async def test_too_long_a_body_is_refused_before_it_has_come() -> None:
    async with open_port([ECHO]) as port:
        reply = await port.send("POST", b" " * (LINE_BYTES + 1))
        assert reply.status == 413
        assert (await port.modern("ping")).status == 200


async def test_a_silent_client_is_left_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_door, "TOKEN_S", 0.02)
    async with open_port([ECHO]) as port:
        wire = await port.connect()
        with pytest.raises(EOFError):
            await wire.answer()
        assert port.door.refused == {"no token": 1}


async def test_only_so_many_requests_are_served_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_door, "REQUESTS", 1)
    wait = Waits()
    async with open_port([wait.tool]) as port:
        id = await port.shake_hands()
        wire = await port.connect()
        wire.ask("POST", "/mcp", port.headers(mcp_session_id=id), message("tools/call", WAIT))
        await wait.began.wait()
        assert (await port.modern("ping")).status == 503
        wire.writer.transport.abort()
        await wait.ended.wait()
        await eventually(lambda: port.door.refused == {"too many requests": 1})


async def test_only_so_many_strangers_are_there_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_door, "STRANGERS", 1)
    async with open_port([ECHO]) as port:
        first = await port.connect()
        with pytest.raises(EOFError):
            await (await port.connect()).answer()
        first.ask("POST", "/mcp", port.headers(), ping())
        await first.answer()  # it is none now
        assert (await port.modern("ping")).status == 200


def test_what_speaks_http_is_not_loaded_without_the_option() -> None:
    code = "import sys, acp_nvim.editor.host; print('h11' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ran.stdout.strip() == b"False"
