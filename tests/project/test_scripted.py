"""Every scenario of the scripted agents runs and does what its docstring says."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.agents import exits, files, garbage, permissions, quick_json, turns
from tests.agents.loop import SCENARIOS
from tests.support import conformance
from tests.support.editor import ROOT
from tests.support.traffic import Traffic
from tests.support.waiting import PATIENCE_S

Json = dict[str, Any]

# Arguments of scenarios without defaults, or with defaults that are too big.
ARGS: dict[str, tuple[str, ...]] = {
    "announces": ("p1", '{"title": "x"}'),
    "asks_about": ("p1",),
    "permission_taken_back_later": ("/",),
    "takes_back": ("p1",),
    "tells_more": ("p1", '{"title": "x"}'),
    "closes_input": ("0",),
    "notify": ("_vendor/hello",),
    "oversize": ("100000",),
    "permission_json": ('{"toolCall": {"toolCallId": "j"}, "options": []}',),
    "uses": ('{"totalTokens":3,"inputTokens":2,"outputTokens":1}',),
    "raw": ("no json",),
    "read": ("/tmp/x", "1", "2"),
    "read_growing": ("/tmp/x", "3"),
    "reads": ("/tmp/x", "3"),
    "replace": ("/tmp/x", "a", "b"),
    "request": ("fs/read_text_file", '{"path": "/tmp/x"}'),
    "say": ("a word",),
    "shell": ("echo", "x"),
    "slow": ("3", "0.01"),
    "tool_cumulative": ("3", "6"),
    "tools": ("3",),
    "update": ('{"sessionUpdate": "usage_update", "used": 1, "size": 2}',),
    "write": ("/tmp/x", '"text"'),
    "ignores_cancel": ("0",),
}
ENDS = {
    "closes_input": 0,
    "closes_output": 0,
    "exit": 1,
    "die": -signal.SIGKILL,
    "ends_in_a_line": 0,
    "permission_and_exit": 3,
}
CANCELLED = {"wait_for_cancel", "late_cancel", "wrong_cancel"}
ELSEWHERE = {"write_disk"}  # has its own test below


class Host:
    """A plain client that answers every request of a scripted agent."""

    def __init__(self, log: Path, *args: str) -> None:
        self.traffic = Traffic(log)
        argv = [sys.executable, "-m", "tests.agents", "--log", str(log), *args]
        pipe = subprocess.PIPE
        with log.with_suffix(".stderr").open("wb") as stderr:
            self.process = subprocess.Popen(argv, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=stderr)
        assert self.process.stdin
        assert self.process.stdout
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._buffer = b""

    def send(self, frame: Json) -> None:
        line = json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n"
        with suppress(BrokenPipeError):  # some agents exit while a question is open
            os.write(self._in, line)

    def run(self, until_id: int) -> Json | None:
        """Answer requests until the response with that id. Return None at the end of the output."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            while b"\n" not in self._buffer:
                if not select.select([self._out], [], [], PATIENCE_S)[0]:
                    raise AssertionError("the agent is silent")
                data = os.read(self._out, 1 << 16)
                if not data:
                    return None
                self._buffer += data
            line, _, self._buffer = self._buffer.partition(b"\n")
            found = self._take(line, until_id)
            if found is not None:
                return found
        raise AssertionError("not in time")

    def prompt(self, text: str, servers: Sequence[Json] = ()) -> Json | None:
        """Run the handshake and one prompt, in a session with those MCP servers."""
        self.send({"id": 1, "method": "initialize", "params": {"protocolVersion": 1}})
        assert self.run(1)
        session = {"cwd": "/", "mcpServers": list(servers)}
        self.send({"id": 2, "method": "session/new", "params": session})
        assert self.run(2)
        prompt = [{"type": "text", "text": text}]
        params = {"sessionId": "s1", "prompt": prompt}
        self.send({"id": 3, "method": "session/prompt", "params": params})
        if text in CANCELLED:
            self.send({"method": "session/cancel", "params": {"sessionId": "s1"}})
        return self.run(3)

    def _take(self, line: bytes, until_id: int) -> Json | None:
        try:
            frame = json.loads(line)
        except ValueError:
            return None
        if isinstance(frame, list):
            self.send({"id": None, "error": {"code": -32600, "message": "no batches"}})
        elif isinstance(frame, dict) and "method" in frame and "id" in frame:
            self.send({"id": frame["id"], **self._answer(frame["method"], frame["params"])})
        elif isinstance(frame, dict) and frame.get("id") == until_id:
            return frame
        return None

    def _answer(self, method: str, params: Json) -> Json:
        wanted = conformance.types().get(("client", method, "Request"))
        if wanted is None:
            return {"error": {"code": -32601, "message": "no such method"}}
        if conformance.against(wanted, params) and "options" not in params.get("toolCall", params):
            return {"error": {"code": -32602, "message": "bad params"}}
        if method == "session/request_permission":
            options = params["options"]
            if not isinstance(options, list):
                return {"error": {"code": -32602, "message": "bad params"}}
            chosen = {"outcome": "selected", "optionId": options[0]["optionId"]} if options else {}
            return {"result": {"outcome": chosen or {"outcome": "cancelled"}}}
        results: Json = {
            "fs/read_text_file": {"content": "abc\n"},
            "terminal/create": {"terminalId": "t"},
            "terminal/output": {"output": "x\n", "truncated": False},
            "terminal/wait_for_exit": {"exitCode": 0},
        }
        return {"result": results.get(method, {})}

    def close(self) -> int:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            stream.close()
        self.process.wait(PATIENCE_S)
        return self.process.returncode


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Host]]:
    hosts: list[Host] = []

    def begin(*args: str) -> Host:
        hosts.append(Host(tmp_path / "agent.jsonl", *args))
        return hosts[-1]

    yield begin
    for host in hosts:
        host.process.kill()
        host.close()


def turn_scenarios() -> Iterator[str]:
    modules = {m.__name__ for m in (exits, files, garbage, permissions, turns)}
    for name, entry in sorted(SCENARIOS.items()):
        if not entry.whole and name not in ELSEWHERE and entry.run.__module__ in modules:
            yield name


@pytest.mark.parametrize("name", [*turn_scenarios()])
def test_a_scenario_runs_to_its_end(name: str, start: Callable[..., Host]) -> None:
    host = start(name, *ARGS.get(name, ()))
    answer = host.prompt(name)
    code = host.close()
    if name in ENDS:
        assert answer is None
        assert code == ENDS[name]
        return
    assert code == 0
    assert answer is not None
    assert ("error" in answer) == (name == "wrong_cancel")
    assert not conformance.violations(host.traffic.entries())
    if SCENARIOS[name].run.__module__ == turns.__name__:
        for frame in host.traffic.sent("session/update"):
            assert conformance.against("SessionNotification", frame["params"]) == []


@pytest.mark.parametrize("name", ["early_updates", "grandchildren", "withholds"])
def test_a_whole_life_serves_prompts(name: str, start: Callable[..., Host]) -> None:
    host = start(name, *(["initialize", sys.executable, "hello"] if name == "withholds" else []))
    answer = host.prompt("hello")
    assert answer is not None
    assert answer["result"]["stopReason"] == "end_turn"
    for note in host.traffic.notes():
        if note.startswith("child "):
            os.kill(int(note.split()[1]), signal.SIGKILL)
    assert host.close() == 0


def test_an_agent_that_ignores_signals_must_be_killed(start: Callable[..., Host]) -> None:
    host = start("will_not_die")
    assert host.prompt("x")
    host.process.terminate()
    assert host.process.stdin
    host.process.stdin.close()
    host.traffic.wait_note("will not die")
    assert host.process.poll() is None


def test_an_agent_writes_on_disk_without_the_client(
    start: Callable[..., Host], tmp_path: Path
) -> None:
    path = tmp_path / "own.txt"
    host = start("write_disk", str(path), '"a\\r\\nb"')
    assert host.prompt("x")
    assert host.close() == 0
    assert path.read_bytes() == b"a\r\nb"


TOOL_SERVER = """
import json, os, sys
for line in sys.stdin:
    frame = json.loads(line)
    if "id" not in frame:
        continue
    results = {
        "initialize": {"protocolVersion": frame["params"].get("protocolVersion")},
        "tools/list": {"tools": [{"name": "one"}, {"name": "two"}]},
        "tools/call": {"content": [{"type": "text", "text": json.dumps(frame["params"])}]},
    }
    answer = {"id": frame["id"], "result": {**results[frame["method"]], "env": os.environ["WHO"]}}
    print(json.dumps(answer), flush=True)
"""


def test_an_agent_calls_the_tools_of_its_session(start: Callable[..., Host]) -> None:
    env = [{"name": "WHO", "value": "me"}]
    server = {"name": "neovim", "command": sys.executable, "args": ["-c", TOOL_SERVER], "env": env}
    host = start("script")
    text = 'mcp_tools\nmcp one {"a": 1}\nmcp_together [["one", {}], ["two", {"b": 2}]]\nmcp_leave'
    assert host.prompt(text, [server])
    assert host.close() == 0
    said = "".join(
        frame["params"]["update"]["content"]["text"]
        for frame in host.traffic.sent("session/update")
    )
    assert said == (
        'tools: one, two\none: ok\n{"name": "one", "arguments": {"a": 1}}\n'
        'one: ok\n{"name": "one", "arguments": {}}\n'
        'two: ok\n{"name": "two", "arguments": {"b": 2}}\n'
    )
    assert "mcp exit 0" in host.traffic.notes()


def test_scripted_agents_read_and_write_json_as_the_library_does() -> None:
    for text in ('{"a": [1, 2.5, -3e2, null, true, "é\\u20ac\\n"]}', " [] ", '"\\ud800"'):
        value = quick_json.loads(text)
        assert value == json.loads(text)
        for is_ascii in (True, False):
            found = quick_json.dumps(value, ensure_ascii=is_ascii)
            assert found == json.dumps(value, ensure_ascii=is_ascii)
    for text in ("", "{", "1 2", '{"a"}', "\ufeff1"):
        with pytest.raises(ValueError, match=r"JSON|char"):
            quick_json.loads(text)
