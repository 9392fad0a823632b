"""The test harness: a Neovim that answers, blocks and exits; a scripted agent over its pipe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.loop import SCENARIOS, split
from tests.support import conformance
from tests.support.editor import ROOT, Editor
from tests.support.killed_host import HOST_PID
from tests.support.processes import is_alive
from tests.support.rpc import EditorBlocked, EditorError
from tests.support.traffic import Traffic
from tests.support.waiting import PATIENCE_S, until


def test_an_editor_answers_types_and_shows(editor: Editor) -> None:
    editor.keys("ihello<Esc>")
    editor.wait("vim.api.nvim_get_current_line() == ...", "hello")
    assert editor.screen()[0] == "hello"
    assert editor.cmd("echo 1 + 1") == "2"
    assert editor.lua("return { ... }", 1, "two") == [1, "two"]
    with pytest.raises(EditorError, match="E492"):
        editor.cmd("NoSuchCommand")
    assert editor.processes()


def test_a_blocked_editor_is_detected_and_its_screen_is_readable(editor: Editor) -> None:
    editor.keys(":echo 'one' | echo 'two'<CR>")
    editor.wait_screen("Press ENTER")
    with pytest.raises(EditorBlocked):
        editor.lua("return 1")
    editor.keys("<CR>")
    editor.wait("true")


def test_user_events_are_recorded_with_their_data(editor: Editor) -> None:
    editor.lua(
        "vim.api.nvim_exec_autocmds('User', { pattern = 'AcpTest', data = { session = 1 } })"
    )
    assert editor.events("AcpTest") == [{"name": "AcpTest", "data": {"session": 1}}]
    assert editor.wait_event("AcpTest") == {"session": 1}
    assert len(editor.events()) == 1


def test_a_surviving_process_fails_the_test_and_is_killed(edit: Callable[..., Editor]) -> None:
    editor = edit()
    editor.lua("vim.fn.jobstart({ 'setsid', 'sleep', '600' }, { detach = true })")
    until(lambda: any(process.command == "sleep 600" for process in editor.processes()))
    with pytest.raises(AssertionError, match="sleep 600"):
        editor.close(patience=0.5)
    until(lambda: not editor.processes())


JOB_PID = "return vim.fn.jobpid(require('acp.base.host').channel())"


@pytest.mark.skipif("ACP_TEST_OWN_HOSTS" in os.environ, reason="hosts are not forks")
def test_a_forked_host_ends_with_the_process_that_it_replaces(editor: Editor) -> None:
    editor.errors_expected = True
    editor.agent("script")
    editor.turn("say one")
    job, host = editor.lua(JOB_PID), editor.lua(HOST_PID)
    assert job != host
    os.kill(job, signal.SIGKILL)
    editor.wait("require('acp').state().host == 'failed'")
    until(lambda: not is_alive(host))
    editor.turn("say two")
    os.kill(editor.lua(HOST_PID), signal.SIGKILL)
    editor.wait("require('acp').state().host == 'failed'")
    codes = [line for line in editor.messages().splitlines() if "exit code 137" in line]
    assert len(codes) == 2


def test_a_host_in_other_circumstances_is_a_process_of_its_own(edit: Callable[..., Editor]) -> None:
    editor = edit(env={"TZ": "Asia/Tokyo"})
    editor.agent("script")
    editor.turn("say one")
    assert editor.lua(JOB_PID) == editor.lua(HOST_PID)


class Client:
    """A minimal client of a scripted agent."""

    def __init__(self, tmp_path: Path, *args: str) -> None:
        self.traffic = Traffic(tmp_path / "agent.jsonl")
        argv = [sys.executable, "-m", "tests.agents", "--log", str(self.traffic.path), *args]
        self.process = subprocess.Popen(
            argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def send(self, **frame: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        frame: dict[str, Any] = json.loads(self.process.stdout.readline())
        return frame

    def start(self, text: str) -> None:
        self.send(id=0, method="initialize", params={"protocolVersion": 1})
        assert self.receive()["result"]["protocolVersion"] == 1
        self.send(id=1, method="session/new", params={"cwd": "/tmp", "mcpServers": []})
        assert self.receive()["result"]["sessionId"] == "s1"
        prompt = [{"type": "text", "text": text}]
        self.send(id=2, method="session/prompt", params={"sessionId": "s1", "prompt": prompt})

    def until_answer(self) -> list[dict[str, Any]]:
        frames = [self.receive()]
        while "method" in frames[-1]:
            frames.append(self.receive())
        return frames

    def close(self) -> None:
        self.process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    clients: list[Client] = []

    def start(*args: str) -> Client:
        clients.append(Client(tmp_path, *args))
        return clients[-1]

    yield start
    for client in clients:
        client.close()


def test_an_agent_runs_the_lines_of_a_prompt(client: Callable[..., Client]) -> None:
    agent = client("script")
    agent.start('say one\nplan 2\nupdate {"sessionUpdate": "x y", "z": [1]}\nstop max_tokens')
    frames = agent.until_answer()
    assert [f["params"]["update"]["sessionUpdate"] for f in frames[:-1]] == [
        "agent_message_chunk",
        "plan",
        "x y",
    ]
    assert frames[-1] == {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "max_tokens"}}
    assert agent.traffic.prompts()[0].startswith("say one\n")
    assert not conformance.violations(agent.traffic.entries())


def test_an_agent_asks_and_ends_as_cancelled(client: Callable[..., Client]) -> None:
    agent = client("permission")
    agent.start("go")
    asked = [agent.receive() for _ in range(2)][1]
    assert asked["method"] == "session/request_permission"
    assert len(conformance.unanswered(agent.traffic.entries())) == 1
    agent.send(method="session/cancel", params={"sessionId": "s1"})
    agent.send(id=asked["id"], result={"outcome": {"outcome": "cancelled"}})
    assert agent.until_answer()[-1]["result"]["stopReason"] == "cancelled"
    assert agent.traffic.answers("session/request_permission")[0]["result"]
    assert not conformance.violations(agent.traffic.entries())
    assert not conformance.unanswered(agent.traffic.entries())


@pytest.mark.parametrize(
    ("frame", "wrong"),
    [
        ({"id": 0, "method": "initialize", "params": {"protocolVersion": 1}}, "an id used twice"),
        ({"id": 3, "method": "session/new", "params": {"cwd": "/x"}}, "mcpServers"),
        ({"id": 3, "method": "session/new", "params": {"cwd": "x", "mcpServers": []}}, "absolute"),
        ({"id": 3, "method": "session/list", "params": {}}, "gated"),
        (
            {"id": 3, "method": "session/prompt", "params": {"sessionId": "s1", "prompt": []}},
            "empty",
        ),
        ({"id": 77, "result": {}}, "an answer to nothing"),
        ({"method": "session/cancel", "params": {"sessionId": "s1", "odd": 1}}, "odd"),
        ({"method": "session/cancelled", "params": {}}, "no such notification"),
        ({"id": None, "method": "session/close", "params": {"sessionId": "s1"}}, "neither number"),
    ],
)
def test_a_frame_that_breaks_the_rules_is_reported(frame: dict[str, Any], wrong: str) -> None:
    hello = {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
    result = {"protocolVersion": 1, "agentCapabilities": {}}
    entries = [
        {"dir": "in", "frame": {"jsonrpc": "2.0", **hello}},
        {"dir": "out", "frame": {"jsonrpc": "2.0", "id": 0, "result": result}},
    ]
    assert conformance.violations(entries) == []
    found = conformance.violations([*entries, {"dir": "in", "frame": {"jsonrpc": "2.0", **frame}}])
    assert any(wrong in line for line in found), found


def test_all_scenarios_are_listed() -> None:
    argv = [sys.executable, "-m", "tests.agents", "--list"]
    listed = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    SCENARIOS.load()
    assert [line.split()[0] for line in listed.splitlines()] == sorted(SCENARIOS)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("say a b", ["say", "a", "b"]),
        ("read '/a b' 1 2", ["read", "/a b", "1", "2"]),
        ('write /a "b c\\n"', ["write", "/a", '"b c\\n"']),
        ('request m {"a": "b c"}', ["request", "m", '{"a": "b c"}']),
    ],
)
def test_a_line_of_a_script_is_split_like_a_shell(line: str, words: list[str]) -> None:
    assert split(line) == words
