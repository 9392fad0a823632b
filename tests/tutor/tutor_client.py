"""A bare client for the embedded agent: the protocol's peer over the pipes of a real process.

Example:

    client = TutorClient(tmp_path)
    assert "tutor" in client.prompt("hello")
    assert client.close() == 0
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from acp_nvim.protocol.jsonrpc import Event, Notification, Peer, Request, Response, Violation
from tests.support import conformance
from tests.support.waiting import PATIENCE_S

Json = dict[str, Any]

CAPABILITIES = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}


class TutorClient:
    """Client that starts the tutor and opens a session with it. `files` are its files, `choice` is
    its answer.

    Every frame of the tutor is checked against the schema.
    """

    def __init__(
        self,
        cwd: Path,
        capabilities: Mapping[str, Any] = CAPABILITIES,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.cwd = cwd
        self.files: dict[str, str] = {}
        self.choice: str | None = "allow_once"  # None leaves the question open
        self.exit_code = 0
        self.updates: list[Json] = []
        self.requests: list[tuple[str, Json]] = []
        self.open: list[Request] = []
        self.withdrawn: list[Json] = []
        self.results: dict[object, Response] = {}
        self.violations: list[Violation] = []
        self.refuse: dict[str, str] = {}
        self.peer = Peer()
        argv = [sys.executable, "-m", "acp_nvim.tutor"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, cwd=cwd, stdin=pipe, stdout=pipe)
        params = {"protocolVersion": 1, "clientCapabilities": dict(capabilities)}
        self.initialized = self.ask("initialize", params)
        new: Json = {"cwd": str(cwd), "mcpServers": []}
        opened = self.ask("session/new", {**new, "_meta": dict(meta)} if meta else new)
        self.opened = opened
        self.session = opened["sessionId"]

    def send(self, method: str, params: Json) -> int:
        """Send a request and return its id."""
        number, line = self.peer.request(method, params)
        self.write(line)
        return number

    def ask(self, method: str, params: Json) -> Json:
        """Send a request and return its result. Raise AssertionError if it is refused."""
        response = self.response(self.send(method, params))
        assert response.error is None, response
        result: Json = json.loads(bytes(response.result or b"null"))
        return result

    def notify(self, method: str, params: Json) -> None:
        self.write(self.peer.notify(method, params))

    def response(self, number: int) -> Response:
        """Wait for the response to that request."""
        self.until(lambda: number in self.results)
        return self.results[number]

    def begin(self, text: str, *blocks: Json) -> int:
        """Send a prompt and return the id of its request."""
        prompt = [{"type": "text", "text": text}, *blocks]
        return self.send("session/prompt", {"sessionId": self.session, "prompt": prompt})

    def end(self, number: int) -> str:
        """Wait for the end of that turn, and return the stop reason."""
        response = self.response(number)
        assert response.error is None, response
        reason: str = json.loads(bytes(response.result or b"{}"))["stopReason"]
        return reason

    def prompt(self, text: str, *blocks: Json) -> str:
        """Run a whole turn and return the tutor's text. The stop reason must be `end_turn`."""
        self.updates.clear()
        assert self.end(self.begin(text, *blocks)) == "end_turn"
        return self.said()

    def hurry(self) -> None:
        """Remove the pauses between chunks."""
        params = {"sessionId": self.session, "configId": "pace", "value": "instant"}
        self.ask("session/set_config_option", params)

    def of(self, kind: str) -> list[Json]:
        """Return the updates of that kind since the last prompt."""
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    def said(self) -> str:
        """Return the message text since the last prompt."""
        return "".join(chunk["content"]["text"] for chunk in self.of("agent_message_chunk"))

    def asked(self, method: str) -> list[Json]:
        """Return the params of the tutor's requests of that method."""
        return [params for name, params in self.requests if name == method]

    def until(self, condition: Callable[[], object], timeout: float = PATIENCE_S) -> None:
        """Read events until the condition is true."""
        assert self.process.stdout is not None
        end = time.monotonic() + timeout
        while not condition():
            left = end - time.monotonic()
            assert left > 0, f"not in time; said: {self.said()[-300:]}"
            if select.select([self.process.stdout], [], [], left)[0]:
                data = self.process.stdout.read1(1 << 16)  # type: ignore[attr-defined]
                assert data, "the tutor is gone"
                for event in self.peer.receive(data):
                    self._take(event)

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def close(self) -> int:
        """Close the tutor's input and return its exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        return code

    def _take(self, event: Event) -> None:
        match event:
            case Response():
                self.results[event.id] = event
            case Notification(method="session/update"):
                params = json.loads(bytes(event.params))
                if params["update"]["sessionUpdate"] != "cursor_update":  # newer than the schema
                    assert conformance.against("SessionNotification", params) == []
                self.updates.append(params["update"])
            case Notification():
                self.withdrawn.append(json.loads(bytes(event.params)))
            case Request():
                self._serve(event)
            case Violation():
                self.violations.append(event)

    def _serve(self, request: Request) -> None:
        params: Json = json.loads(bytes(request.params))
        self.requests.append((request.method, params))
        if request.method in self.refuse:
            reason = self.refuse[request.method]
            self.write(self.peer.refuse(request.id, -32603, reason))
            return
        result = self._result(request.method, params)
        if result is None:
            self.open.append(request)
        else:
            self.write(self.peer.respond(request.id, result))

    def _result(self, method: str, params: Json) -> Json | None:
        match method:
            case "fs/read_text_file":
                return {"content": self.files[params["path"]]}
            case "fs/write_text_file":
                self.files[params["path"]] = params["content"]
                return {}
            case "session/request_permission" if self.choice is not None:
                return {"outcome": {"outcome": "selected", "optionId": self.choice}}
            case "terminal/create":
                return {"terminalId": "t1"}
            case "terminal/wait_for_exit" if self.choice is not None:
                return {"exitCode": self.exit_code, "signal": None}
            case "terminal/output":
                return {"output": "ran well\n", "truncated": False}
            case "terminal/release":
                return {}
            case "elicitation/create":
                return {"action": "accept", "content": {"name": "Ada", "years": 3}}
        return None
