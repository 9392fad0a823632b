"""Servers built with the official SDKs, over WebSocket and Streamable HTTP.

npm installs the TypeScript SDK under `AGENTS_DIR` on the first run.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from acp_nvim.agent.transport.base import TransportError
from tests.real import npm
from tests.real.kit import INSTALLED
from tests.support.editor import Editor
from tests.support.remote_client import reached
from tests.support.remote_server import RemoteServer

PLACE = INSTALLED / "sdk-servers"
PACKAGES = ("@agentclientprotocol/sdk@1.9.0", "ws", "zod")
IDLE = "require('acp').state().sessions[1].status == 'idle'"


WAITS = (
    "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://chat/1'), 0, -1, true))"
    ":find('Thought') ~= nil"
)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def check_reconnect(editor: Editor, server: RemoteServer, prompt: str, turns: int) -> None:
    """Kill the server during a turn with that prompt and start it again.

    The queue must continue.
    """
    editor.prompt(prompt)
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    editor.prompt("after that")
    server.kill()
    assert "Connecting again" in editor.wait_event("AcpTurnEnd", turns, 30)["error"]
    server.start()
    assert editor.wait_event("AcpTurnEnd", turns + 1, 30)["stop_reason"] == "end_turn"
    assert any("after that" in line for line in editor.chat())


def python_sdk(*more: str) -> RemoteServer:
    """Return the Python SDK's server on hypercorn, with the agent of
    `tests/agents_sdk/example.py`.
    """
    argv = [sys.executable, "-m", "tests.agents_sdk.http_server"]
    return RemoteServer((), server=lambda port: [*argv, str(port), *more])


@pytest.fixture(scope="module")
def typescript() -> Path:
    """Return the example server of the TypeScript SDK."""
    program = PLACE / "node_modules/@agentclientprotocol/sdk/dist/examples/http-server.js"
    npm.install(PLACE, PACKAGES, program)
    return program


@pytest.fixture
def certified(tmp_path: Path) -> Iterator[tuple[RemoteServer, Path]]:
    """Start the Python SDK's server over TLS, and yield it with the file of its authority."""
    authority = trustme.CA()
    made = authority.issue_cert("localhost", "127.0.0.1")
    certificate, key, root = (tmp_path / name for name in ("cert.pem", "key.pem", "ca.pem"))
    made.private_key_pem.write_to_path(str(key))
    for blob in made.cert_chain_pems:
        blob.write_to_path(str(certificate), append=True)
    authority.cert_pem.write_to_path(str(root))
    with python_sdk(str(certificate), str(key)) as server:
        yield server, root


async def test_certificates_are_verified_and_http_2_is_used(
    certified: tuple[RemoteServer, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, root = certified
    for scheme in ("ws", "http"):
        wanted = f"the certificate of {server.url(scheme)} is not accepted"
        assert wanted in await refusal(server.url(scheme))
    monkeypatch.setenv("SSL_CERT_FILE", str(root))
    for scheme in ("ws", "http"):
        async with reached(server.url(scheme)) as client:
            client.send(id=1, method="initialize", params={"protocolVersion": 1})
            assert (await client.message())["result"]["protocolVersion"] == 1
    assert "POST HTTP/2 200" in server.wait_output("POST")


async def refusal(url: str) -> str:
    """Return the reason why an agent cannot be reached: at its start, or at the first message."""
    try:
        async with reached(url) as client:
            client.send(id=1, method="initialize", params={"protocolVersion": 1})
            return await client.end()
    except TransportError as error:
        return str(error)


@pytest.mark.agents
@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_a_day_with_the_python_sdk(editor: Editor, scheme: str) -> None:
    with python_sdk() as server:
        editor.setup({"agent": "sdk", "agents": {"sdk": {"url": server.url(scheme)}}})
        assert editor.turn("hello there")["stop_reason"] == "end_turn"
        assert any("hello there" in line for line in editor.chat())
        path = editor.write("a.txt", "one\n")
        editor.prompt(f"edit {path}")
        editor.wait_event("AcpPermission")
        editor.answer("Acp allow")
        assert editor.wait_event("AcpTurnEnd", 2)["stop_reason"] == "end_turn"
        assert path.read_text() == "ONE\n"
        editor.turn("shell echo out; exit 3")
        assert any("Code 3, 4 characters." in line for line in editor.chat())
        editor.prompt("wait")
        editor.wait("vim.fn.bufnr('acp://chat/1') > 0 and " + WAITS)
        editor.cmd("AcpCancel")
        assert editor.wait_event("AcpTurnEnd", 4)["stop_reason"] == "cancelled"
        check_reconnect(editor, server, "wait", 5)
        assert any("New session" in line for line in editor.chat())


@pytest.mark.agents
@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_a_day_with_the_typescript_sdk(editor: Editor, typescript: Path, scheme: str) -> None:
    node = shutil.which("node") or "node"
    port = free_port()
    env = {**os.environ, "PORT": str(port)}
    with RemoteServer((), env, server=lambda _: [node, str(typescript)]) as server:
        editor.setup({"agent": "ts", "agents": {"ts": {"url": server.url(scheme)}}})
        assert editor.turn("hello")["stop_reason"] == "end_turn"
        assert any("Hello from the ACP HTTP/WebSocket example" in line for line in editor.chat())
        editor.cmd("Acp restart")
        editor.wait_event("AcpSession", 2)
        editor.wait(IDLE)
        assert any("is connected again. The session was loaded" in line for line in editor.chat())
        assert editor.turn("hello again")["stop_reason"] == "end_turn"
        assert sum("Hello from" in line for line in editor.chat()) == 2
        server.kill()
        editor.wait("require('acp').state().sessions[1].status == 'starting'")
        editor.prompt("hello, server")
        server.start()
        assert editor.wait_event("AcpTurnEnd", 3)["stop_reason"] == "end_turn"
