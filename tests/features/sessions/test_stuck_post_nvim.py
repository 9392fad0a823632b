"""A Streamable HTTP server that accepts a request and never answers it."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.editor import Editor

Json = dict[str, Any]


class StuckServer(ThreadingHTTPServer):
    """Server for one connection; a prompt with the word `stuck` gets no answer of any kind."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.events: queue.Queue[Json | None] = queue.Queue()
        self.released = threading.Event()
        self.posted: list[str] = []

    def result(self, frame: Json) -> Json | None:
        """Return the result of a request, or None for other frames."""
        known: Json = {
            "session/new": {"sessionId": "s1"},
            "session/prompt": {"stopReason": "end_turn"},
        }
        return known.get(frame["method"], {}) if "id" in frame else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StuckServer

    def do_POST(self) -> None:
        frame = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.posted.append(frame["method"])
        if frame["method"] == "initialize":
            first = {"protocolVersion": 1, "agentCapabilities": {}}
            body = json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": first}).encode()
            self._head(200, "application/json", Acp_Connection_Id="c1", Content_Length=len(body))
            self.wfile.write(body)
            return
        if frame["method"] == "session/prompt" and "stuck" in json.dumps(frame):
            self.server.released.wait()
        result = self.server.result(frame)
        if result is not None:
            self.server.events.put({"jsonrpc": "2.0", "id": frame["id"], "result": result})
        self._head(202, "text/plain", Content_Length=0)

    def do_GET(self) -> None:
        self._head(200, "text/event-stream", Connection="close")
        while (event := self.server.events.get()) is not None:
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()

    def do_DELETE(self) -> None:
        self._head(202, "text/plain", Content_Length=0)

    def _head(self, status: int, kind: str, **headers: object) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def stuck_server() -> Iterator[StuckServer]:
    server = StuckServer()
    serving = threading.Thread(target=server.serve_forever, args=(0.05,))
    serving.start()
    try:
        yield server
    finally:
        server.released.set()
        for _ in range(8):  # one for each stream that may be open
            server.events.put(None)
        server.shutdown()
        serving.join()
        server.server_close()


def test_a_prompt_that_the_server_ignores_is_reported_and_cancelled_at_once(
    editor: Editor,
) -> None:
    with stuck_server() as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/acp"
        editor.setup(
            {"agent": "far", "agents": {"far": {"url": url}}, "timeouts": {"silent_s": 0.4}}
        )
        editor.turn("hello")
        editor.prompt("stuck")
        notice = editor.wait_event("AcpNotice")
        assert "far has been silent for 0.4 s. :AcpCancel" in notice["title"]
        editor.cmd("AcpCancel")
        assert editor.wait_event("AcpTurnEnd", 2)["stop_reason"] == "cancelled"
        assert editor.turn("hello again")["stop_reason"] == "end_turn"
        assert server.posted.count("initialize") == 1
        assert "session/cancel" in server.posted
        assert editor.session()["status"] == "idle"
        editor.cmd("Acp stop")
        editor.wait("require('acp').state().agents.far.status == 'exited'")
