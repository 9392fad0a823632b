"""MCP servers of a session: started as processes, with calls of their tools.

This uses none of the product's code: raw JSON lines, as an agent without an SDK writes them.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
from pathlib import Path
from typing import Any

from tests.agents.agent import Agent, Frame
from tests.agents.loop import scenario, update_of
from tests.agents.permissions import METHOD, question, report

VERSION = "2025-11-25"


class Server:
    """A connection to a stdio server."""

    def __init__(self, agent: Agent, entry: Frame) -> None:
        """Start the server with the agent's environment and its own."""
        self.agent = agent
        self.name = entry["name"]
        env = {**os.environ, **{it["name"]: it["value"] for it in entry.get("env") or ()}}
        argv = [entry["command"], *entry.get("args", ())]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, env=env)
        assert self.process.stdin
        assert self.process.stdout
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._buffer = b""
        self._last = 0
        self._early: dict[int, Frame] = {}
        """Answers that came before a call of `answer`."""
        agent.note(f"mcp process {self.process.pid}")

    def shake_hands(self) -> None:
        """Run the handshake of MCP versions before 2026-07."""
        info = {"name": "scripted", "version": "1"}
        asked = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": info}
        answer = self.answer(self.ask("initialize", asked))
        self.agent.note(f"mcp initialized {json.dumps(answer)}")
        self.send({"method": "notifications/initialized"})

    def send(self, frame: Frame) -> None:
        """Write one line."""
        data = json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n"
        while data:
            data = data[os.write(self._in, data) :]

    def ask(self, method: str, params: Frame) -> int:
        """Send a request and return its id without waiting."""
        self._last += 1
        self.send({"id": self._last, "method": method, "params": params})
        return self._last

    def answer(self, id: int) -> Frame:
        """Wait for the answer `{result}` or `{error}`. Raise `Cancelled` if the user cancels."""
        while True:
            frame = self._early.pop(id) if id in self._early else self._read()
            if frame is None:
                return {"error": {"code": 0, "message": "the server has ended"}}
            if "method" in frame:
                self.agent.note(f"mcp told {json.dumps(frame)}")
            elif frame.get("id") == id:
                return {key: frame[key] for key in ("result", "error") if key in frame}
            else:
                self._early[frame["id"]] = frame

    def leave(self) -> None:
        """Close the server's input and wait for its exit."""
        assert self.process.stdin
        self.process.stdin.close()
        self.agent.note(f"mcp exit {self.process.wait()}")

    def _read(self) -> Frame | None:
        while b"\n" not in self._buffer:
            self.agent.check_cancel()
            if self._out in select.select([0, self._out], [], [])[0]:
                data = os.read(self._out, 1 << 16)
                if not data:
                    return None
                self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        frame: Frame = json.loads(line)
        return frame


RUNNING: dict[tuple[str, str], list[Server]] = {}
"""Connections by session and name of the server, the newest last."""


def connect(agent: Agent, name: str = "neovim") -> Server | None:
    """Start a server of the session once more. Return None if the session has no such server."""
    entry = next((it for it in agent.servers[agent.session] if it["name"] == name), None)
    if entry is None:
        agent.note(f"mcp no server {name}")
        agent.say(f"no MCP server {name}\n")
        return None
    server = Server(agent, entry)
    server.shake_hands()
    RUNNING.setdefault((agent.session, name), []).append(server)
    return server


def connected(agent: Agent, name: str = "neovim") -> Server | None:
    """Return the newest connection of this session, or make one."""
    running = RUNNING.get((agent.session, name))
    return running[-1] if running else connect(agent, name)


def report_call(agent: Agent, what: str, outcome: Frame) -> None:
    """Note the answer, and print its texts or the error."""
    agent.note(f"mcp {what} {json.dumps(outcome)}")
    if "error" in outcome:
        agent.say(f"{what}: error {outcome['error']['code']} {outcome['error']['message']}\n")
        return
    result: Any = outcome["result"]
    kind = "failed" if result.get("isError") else "ok"
    texts = [it["text"] for it in result.get("content", ()) if it["type"] == "text"]
    agent.say(f"{what}: {kind}\n" + "".join(f"{text}\n" for text in texts))


@scenario
def mcp(agent: Agent, tool: str, arguments: str = "{}") -> None:
    """Call TOOL of the server `neovim` with those arguments (JSON), and print the text of its
    result.
    """
    server = connected(agent)
    if server is not None:
        params = {"name": tool, "arguments": json.loads(arguments)}
        report_call(agent, tool, server.answer(server.ask("tools/call", params)))


@scenario
def mcp_together(agent: Agent, calls: str) -> None:
    """Call several tools at once: a list of `[tool, arguments]` (JSON)."""
    server = connected(agent)
    if server is not None:
        asked = [
            (tool, server.ask("tools/call", {"name": tool, "arguments": arguments}))
            for tool, arguments in json.loads(calls)
        ]
        for tool, id in asked:
            report_call(agent, tool, server.answer(id))


@scenario
def mcp_tools(agent: Agent, name: str = "neovim") -> None:
    """List the tools of a server and print their names."""
    server = connected(agent, name)
    if server is not None:
        answer = server.answer(server.ask("tools/list", {}))
        agent.note(f"mcp tools/list {json.dumps(answer)}")
        agent.say("tools: " + ", ".join(it["name"] for it in answer["result"]["tools"]) + "\n")


@scenario
def mcp_connect(agent: Agent, count: str = "1") -> None:
    """Connect to the server `neovim` COUNT more times, as some agents do."""
    for _ in range(int(count)):
        connect(agent)


@scenario
def mcp_leave(agent: Agent) -> None:
    """Close all connections of this session."""
    for (session, _), servers in RUNNING.items():
        while session == agent.session and servers:
            servers.pop().leave()


@scenario
def mcp_asked(agent: Agent, tool: str, arguments: str = "{}") -> None:
    """Call a tool after a permission request, in a tool call with the server's name."""
    call = {"toolCallId": f"m{tool}", "title": f"mcp__neovim__{tool}", "kind": "other"}
    agent.update(update_of("tool_call", **call, status="pending"))
    asked = question(call["toolCallId"], None, title=call["title"], kind=call["kind"])
    choice = report(agent, tool, agent.ask(METHOD, asked))
    if choice == "allow":
        mcp(agent, tool, arguments)
    status = "completed" if choice == "allow" else "failed"
    agent.update(update_of("tool_call_update", toolCallId=call["toolCallId"], status=status))


@scenario
def mcp_announced(agent: Agent, tool: str, arguments: str = "{}") -> None:
    """Call a tool and show it as a tool call, without a permission request.

    With an argument `_wait`, wait until that file exists.
    """
    given = json.loads(arguments)
    wait = given.pop("_wait", "")
    call = {"toolCallId": f"a{tool}", "title": f"mcp__neovim__{tool}", "kind": "other"}
    agent.update(update_of("tool_call", **call, status="in_progress"))
    while wait and not Path(wait).exists():
        agent.check_cancel(0.01)
    mcp(agent, tool, json.dumps(given))
    text = [{"type": "content", "content": {"type": "text", "text": "said\nin two lines"}}]
    end = {"toolCallId": call["toolCallId"], "status": "completed", "content": text}
    agent.update(update_of("tool_call_update", **end))
