"""The editor's MCP server for an agent without an SDK: a relay with one call after the other."""

from __future__ import annotations

import json
import os
import subprocess
import time
from statistics import median
from typing import Any

Message = dict[str, Any]
VERSION = "2025-11-25"


class Relay:
    """A running relay after the handshake."""

    def __init__(self, entry: Message) -> None:
        env = {**os.environ, **{it["name"]: it["value"] for it in entry["env"]}}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [entry["command"], *entry["args"]], stdin=pipe, stdout=pipe, env=env
        )
        self._last = 0
        info = {"name": "bench", "version": "1"}
        self.ask("initialize", protocolVersion=VERSION, capabilities={}, clientInfo=info)
        self._send(method="notifications/initialized")

    def ask(self, method: str, **params: Any) -> Message:
        """Send a request and wait for its result."""
        self._last += 1
        self._send(id=self._last, method=method, params=params)
        assert self.process.stdout
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self._last, answer
        result: Message = answer["result"]
        return result

    def _send(self, **frame: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")
        self.process.stdin.flush()

    def close(self) -> None:
        """Close its input and wait for its exit."""
        self.process.communicate()


def timed(entry: Message, tool: str, count: int, arguments: Message) -> str:
    """Call a tool this number of times. Return nanoseconds of a call, the median and the worst."""
    relay = Relay(entry)
    took = []
    for _ in range(count):
        began = time.monotonic_ns()
        result = relay.ask("tools/call", name=tool, arguments=arguments)
        took.append(time.monotonic_ns() - began)
        assert not result.get("isError"), result
    relay.close()
    return f"{median(took):.0f} {max(took)}"
