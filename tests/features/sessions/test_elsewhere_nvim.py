"""Agents with a `url`: messages when one cannot be reached, its entry in reports, lazy imports."""

from __future__ import annotations

import http
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from tests.support.editor import ROOT, Editor
from tests.support.remote_server import TUTOR, RemoteServer
from tests.support.waiting import until

RESUMES: dict[str, Any] = {"sessionCapabilities": {"resume": {}}}
REMOTE = ("websockets", "httpx", "h2", "http.cookiejar", "acp_nvim.agent.transport.remote")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def error_of(editor: Editor) -> str:
    """Return the error of the first prompt to the agent `far`."""
    editor.prompt("hello")
    editor.wait("(require('acp').state().agents.far or {}).status == 'failed'")
    editor.wait("require('acp').state().sessions[1].status == 'failed'")
    return str(editor.state()["agents"]["far"]["error"])


def until_error(editor: Editor, text: str) -> None:
    """Wait until the agent `far` has this error."""
    editor.wait("(require('acp').state().agents.far.error or ''):find(..., 1, true)", text)


def info_of(editor: Editor) -> str:
    """Return the text of `:Acp info`."""
    editor.cmd("Acp info")
    editor.wait("#vim.fn.win_findbuf(vim.fn.bufnr('acp://info')) > 0")
    return "\n".join(editor.lines("acp://info"))


def test_an_unreachable_agent_is_one_line_and_the_prompt_returns(editor: Editor) -> None:
    editor.errors_expected = True
    url = f"ws://me:pa55@127.0.0.1:{free_port()}/acp?token=t0ken"
    editor.setup({"agent": "far", "agents": {"far": {"url": url}}})
    error = error_of(editor)
    assert re.fullmatch(r"far: cannot reach ws://127\.0\.0\.1:\d+/acp: Connection refused", error)
    composer = editor.session()["composer_bufnr"]
    assert editor.lua("return vim.api.nvim_buf_get_lines(..., 0, -1, true)", composer) == ["hello"]
    shown = info_of(editor)
    assert "  url: ws://127.0.0.1:" in shown
    assert "pa55" not in shown
    assert "t0ken" not in shown
    editor.setup({"agents": {"far": {"url": "carrier-pigeon://roof"}}})
    editor.prompt("hello")
    until_error(editor, "no transport for carrier-pigeon:// is installed")


def test_a_server_that_is_busy_at_first_is_tried_again_and_gets_the_prompt_once(
    editor: Editor,
) -> None:
    busy = iter([http.HTTPStatus.SERVICE_UNAVAILABLE, http.HTTPStatus.TOO_MANY_REQUESTS])
    prompts: list[str] = []

    def check(socket: ServerConnection, request: Request) -> Response | None:
        status = next(busy, None)
        return None if status is None else socket.respond(status, "")

    def serve_client(socket: ServerConnection) -> None:
        for message in socket:
            frame = json.loads(message)
            results = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}}
            if frame["method"] == "session/prompt":
                prompts.append(frame["params"]["prompt"][0]["text"])
            result = results.get(frame["method"], {"stopReason": "end_turn"})
            socket.send(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": result}))

    with sync_server(serve_client, check) as url:
        editor.setup({"agent": "far", "agents": {"far": {"url": url}}})
        assert editor.turn("hello")["stop_reason"] == "end_turn"
        assert prompts == ["hello"]
        lines = [line for line in editor.chat() if "Next attempt in" in line]
        assert len(lines) == 1
        assert "answers HTTP 503" in lines[0]
        assert not editor.events("AcpAgentExit")


def test_a_missing_extra_is_named_with_its_remedy(edit: Callable[..., Editor]) -> None:
    hidden = edit(env={"PYTHONPATH": str(ROOT / "tests/support/without_remote")})
    hidden.errors_expected = True
    for scheme in ("ws", "http"):
        hidden.setup({"agent": "far", "agents": {"far": {"url": f"{scheme}://127.0.0.1:1/acp"}}})
        error = error_of(hidden)
        assert error == "far: its url needs the extra acp-nvim[remote]. Run :Acp install"


def test_remote_modules_are_not_loaded_for_started_agents(
    edit: Callable[..., Editor], tmp_path: Path
) -> None:
    modules = tmp_path / "modules"
    folder = str(ROOT / "tests/support/recorded_modules")
    editor = edit(env={"PYTHONPATH": folder, "ACP_TEST_MODULES": str(modules)})
    editor.agent("script")
    editor.turn("say hello")
    editor.quit()
    until(modules.exists)
    loaded = modules.read_text().split()
    assert "acp_nvim.agent.connection" in loaded
    assert not [name for name in REMOTE if name in loaded]


@contextmanager
def sync_server(
    serve_client: Callable[[ServerConnection], None],
    check: Callable[[ServerConnection, Request], Response | None],
) -> Iterator[str]:
    """Serve each client that passes the check; return the address."""
    with serve(serve_client, "127.0.0.1", 0, process_request=check) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}/acp"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def gate(token: str) -> Iterator[str]:
    """Serve clients with the token only; return the address."""

    def check(socket: ServerConnection, request: Request) -> Response | None:
        if request.headers.get("Authorization") == f"Bearer {token}":
            return None
        return socket.respond(http.HTTPStatus.UNAUTHORIZED, "")

    def serve_client(socket: ServerConnection) -> None:
        for message in socket:
            socket.send(f'{{"method": "_echo", "params": {{"text": "Bearer {token}"}}}}')
            socket.send(str(message).replace('"method"', '"result":{"protocolVersion":1},"m"'))

    with sync_server(serve_client, check) as url:
        yield url


def test_a_header_comes_from_the_environment_and_is_in_no_log(
    edit: Callable[..., Editor],
) -> None:
    editor = edit(env={"FAR_TOKEN": "quite-secret-17"})
    editor.errors_expected = True
    with gate("quite-secret-17") as url:
        entry = {"url": url, "headers": {"Authorization": "Bearer $ENV{FAR_NONE}"}}
        editor.setup({"agent": "far", "agents": {"far": entry}})
        assert "needs the variable FAR_NONE, which is not set" in error_of(editor)
        editor.setup({"agents": {"far": {"headers": {"Authorization": "Bearer wrong"}}}})
        editor.prompt("hello")
        until_error(editor, "HTTP 401: it requires a login. See agents.*.headers")
        editor.setup({"agents": {"far": {"headers": {"Authorization": "Bearer $ENV{FAR_TOKEN}"}}}})
        editor.prompt("hello")
        editor.wait("require('acp').state().agents.far.status == 'ready'")
        info = info_of(editor)
        assert "  headers: Authorization" in info
        saved = editor.work / "log.jsonl"
        editor.cmd(f"Acp log save {saved}")
        until(lambda: saved.exists() and "_echo" in saved.read_text())
        for text in (info, saved.read_text(), str(editor.state())):
            assert "quite-secret-17" not in text


def test_a_lost_server_is_reported_in_the_chat_and_a_restart_does_not_wait(
    editor: Editor,
) -> None:
    with RemoteServer(list(TUTOR)) as server:
        editor.setup({"agent": "tutor", "agents": {"tutor": {"url": server.url("ws")}}})
        editor.turn("hello")
        server.kill()
        editor.wait("(require('acp').state().agents.tutor.error or ''):find('Next attempt in')")
        assert editor.state()["agents"]["tutor"]["status"] == "starting"
        assert any("Connecting again" in line for line in editor.chat())
        editor.prompt("hello again")
        editor.wait("#require('acp').state().sessions[1].queue == 1")
        editor.cmd("Acp stop")
        editor.wait("require('acp').state().agents.tutor.status == 'exited'")
        server.start()
        editor.cmd("Acp restart")
        editor.wait("require('acp').state().agents.tutor.status == 'ready'")


def test_an_agent_that_refuses_to_reconnect_is_given_up(
    editor: Editor,
) -> None:
    editor.errors_expected = True
    opens = iter([True])

    def check(socket: ServerConnection, request: Request) -> Response | None:
        return None if next(opens, False) else socket.respond(http.HTTPStatus.FORBIDDEN, "")

    def serve_client(socket: ServerConnection) -> None:
        for message in socket:
            frame = json.loads(message)
            if frame["method"] == "session/prompt":
                return  # the connection ends during the turn
            results = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}}
            answer = {"jsonrpc": "2.0", "id": frame["id"], "result": results[frame["method"]]}
            socket.send(json.dumps(answer))

    with sync_server(serve_client, check) as url:
        editor.setup({"agent": "far", "agents": {"far": {"url": url}}})
        editor.lua("require('acp').prompt('one') require('acp').prompt('two')")
        exit = editor.wait_event("AcpAgentExit")
        assert (exit["agent"], exit.get("code")) == ("far", None)
        until_error(editor, "HTTP 403: the server refuses access")
        editor.wait("require('acp').state().sessions[1].status == 'failed'")
        assert len(editor.events("AcpAgentExit")) == 1
        composer = editor.session()["composer_bufnr"]
        back = editor.lua("return vim.api.nvim_buf_get_lines(..., 0, -1, true)", composer)
        assert "one" in back
        assert "two" in [*back, *editor.session()["queue"]]


def test_a_prompt_waits_when_the_connection_breaks_as_its_session_is_opened(
    editor: Editor,
) -> None:
    opens = iter([True])

    def serve_client(socket: ServerConnection) -> None:
        broken = next(opens, False)
        for message in socket:
            frame = json.loads(message)
            if broken and frame["method"] == "session/new":
                return
            results = {
                "initialize": {"protocolVersion": 1},
                "session/new": {"sessionId": "s"},
                "session/prompt": {"stopReason": "end_turn"},
            }
            answer = {"jsonrpc": "2.0", "id": frame["id"], "result": results[frame["method"]]}
            socket.send(json.dumps(answer))

    with sync_server(serve_client, lambda socket, request: None) as url:
        editor.setup({"agent": "far", "agents": {"far": {"url": url}}})
        assert editor.turn("hello")["stop_reason"] == "end_turn"
        assert len(editor.events("AcpAgentReady")) == 2
        assert editor.events("AcpAgentExit") == []


def test_a_stop_is_named_as_the_end_of_a_silent_agent(editor: Editor) -> None:
    """The server answers one request more for each connection."""
    answered = iter(range(2))
    silent: list[str] = []

    def serve_client(socket: ServerConnection) -> None:
        count = next(answered)
        for n, message in enumerate(socket):
            frame = json.loads(message)
            if n < count:
                answer = {"jsonrpc": "2.0", "id": frame["id"], "result": {"protocolVersion": 1}}
                socket.send(json.dumps(answer))
            else:
                silent.append(frame["method"])

    with sync_server(serve_client, lambda socket, request: None) as url:
        editor.setup({"agent": "far", "agents": {"far": {"url": url}}})
        for n, method in enumerate(("initialize", "session/new"), 1):
            editor.cmd(f"AcpPrompt! hello {n}")
            until(partial(silent.__contains__, method))
            editor.cmd("Acp stop")
            editor.wait("require('acp').state().sessions[...].error", n)
            assert editor.session(n)["error"] == "far was stopped"
            editor.wait("require('acp').state().agents.far.status == 'exited'")
            assert "error" not in editor.state()["agents"]["far"]
    assert editor.messages().count("far was stopped") == 2


def test_a_login_in_a_terminal_is_not_offered(editor: Editor) -> None:
    requests: list[dict[str, Any]] = []
    methods = [
        {"id": "tty", "name": "In a terminal", "type": "terminal", "args": ["login"]},
        {"id": "web", "name": "In the browser"},
    ]

    def serve_client(socket: ServerConnection) -> None:
        for message in socket:
            frame = json.loads(message)
            requests.append(frame)
            answer = {"jsonrpc": "2.0", "id": frame["id"]}
            if frame["method"] == "session/new":
                answer["error"] = {"code": -32000, "message": "log in first"}
            else:
                answer["result"] = {"protocolVersion": 1, "authMethods": methods}
            socket.send(json.dumps(answer))

    with sync_server(serve_client, lambda socket, request: None) as url:
        editor.setup({"agent": "far", "agents": {"far": {"url": url}}})
        editor.prompt("hello")
        offered = editor.wait_event("AcpAuthRequired")["methods"]
        assert [method["id"] for method in offered] == ["web"]
        editor.cmd("Acp login")
        until(lambda: any(frame["method"] == "authenticate" for frame in requests))
        (params,) = [f["params"] for f in requests if f["method"] == "authenticate"]
        assert params == {"methodId": "web"}
        assert requests[0]["params"]["clientCapabilities"]["auth"] == {"terminal": False}


PAD = "x" * 9000


def test_a_message_over_the_limit_is_reported_and_the_chat_continues(
    editor: Editor,
) -> None:
    connections = 0

    def serve_client(socket: ServerConnection) -> None:
        nonlocal connections
        connections += 1
        for message in socket:
            frame = json.loads(message)
            if frame["method"] == "session/prompt" and "long answer" in message:
                socket.send(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": "x" * 9000}))
            else:
                if frame["method"] == "session/prompt" and "long update" in message:
                    socket.send(json.dumps({"method": "session/update", "params": PAD}))
                results = {
                    "initialize": {"protocolVersion": 1, "agentCapabilities": RESUMES},
                    "session/new": {"sessionId": "s"},
                    "session/prompt": {"stopReason": "end_turn"},
                }
                result = results.get(frame["method"], {})
                socket.send(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": result}))

    with sync_server(serve_client, lambda socket, request: None) as url:
        limits = {"message_bytes": 8000}
        editor.setup({"agent": "far", "agents": {"far": {"url": url}}, "limits": limits})
        editor.turn("hello")
        assert editor.turn("long update")["stop_reason"] == "end_turn"
        assert "more than 8000" in editor.turn("long answer")["error"]
        assert editor.turn("hello")["stop_reason"] == "end_turn"
        (hit,) = [line for line in info_of(editor).split("\n") if "limits hit" in line]
        assert "none" not in hit
        assert connections == 1, "it is the same connection"
