"""Tool server (`ToolSocket`) without Neovim, and relays that connect to it.

Example:

    async with serve_tools(tmp_path, [echo]) as served:
        relay = await served.relay()
        await relay.ask("tools/list")
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import anyio
from msgspec import Meta, Struct

from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks
from acp_nvim.tools.server import relay
from acp_nvim.tools.server.tool import Call, Tool, ToolError, ToolResult
from acp_nvim.tools.server.tool_socket import SocketAccess, ToolSocket
from acp_nvim.tools.server.toolbox import Enabled, Toolbox

Json = dict[str, Any]
RELAY = str(Path(relay.__file__).resolve())


class EchoArguments(Struct, frozen=True):
    """Arguments of `echo`."""

    text: Annotated[str, Meta(description="What to say")]
    times: Annotated[int, Meta(ge=1)] = 1


async def _echo(call: Call, arguments: EchoArguments) -> ToolResult:
    for at in range(arguments.times - 1):
        call.progress(f"{at + 1} of {arguments.times}")
    if arguments.text == "error":
        raise ToolError("nothing to say")
    return ToolResult(arguments.text * arguments.times, {"said": arguments.text})


ECHO: Tool[Any] = Tool("echo", "Echo", "Says a text.", EchoArguments, _echo)


class Waits:
    """Tool that runs until it is cancelled, and reports that."""

    def __init__(self, timeout_s: float | None = None) -> None:
        self.began = asyncio.Event()
        self.ended = asyncio.Event()
        self.tool: Tool[Any] = Tool(
            "wait", "Wait", "Waits.", EchoArguments, self._run, timeout_s=timeout_s
        )

    async def _run(self, call: Call, arguments: EchoArguments) -> ToolResult:
        self.began.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.set()
        return ToolResult("never")


class Relay:
    """Running relay, as an agent starts it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._last = 0

    def send(self, frame: Json) -> None:
        """Write one line."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")

    def begin(self, method: str, params: Json | None = None) -> int:
        """Send a request and return its id."""
        self._last += 1
        self.send({"id": self._last, "method": method, "params": params or {}})
        return self._last

    async def next(self) -> Json | None:
        """Return the next line; None at the end."""
        assert self.process.stdout
        line = await self.process.stdout.readline()
        frame: Json | None = json.loads(line) if line else None
        return frame

    async def ask(self, method: str, params: Json | None = None) -> Json:
        """Send a request and return its answer, which is the next line."""
        id = self.begin(method, params)
        frame = await self.next()
        assert frame is not None, "the relay has ended"
        assert frame["id"] == id
        return frame

    async def end(self) -> int:
        """Wait for its end and return the exit code."""
        return await self.process.wait()


class ServedTools:
    """Tool socket, its toolbox, and a session with access."""

    def __init__(self, socket: ToolSocket, toolbox: Toolbox, faults: list[str]) -> None:
        self.socket = socket
        self.toolbox = toolbox
        self.faults = faults
        self.session = Session(1, "agent", "/")
        self.access: SocketAccess
        self._relays: list[Relay] = []

    def admit(self, enabled: Enabled = True) -> SocketAccess:
        """Give the session access again."""
        access = self.socket.admit(self.session, enabled)
        assert access is not None
        self.access = access
        return access

    def add_tool(self, tool: Tool[Any]) -> None:
        """Add a tool."""
        self.toolbox.add(tool)
        self.socket.refresh()

    def env(self) -> Mapping[str, str]:
        """Return the environment of a relay for the session."""
        return {
            "ACP_NVIM_SOCKET": self.access.address,
            "ACP_NVIM_TOKEN": self.access.token,
        }

    async def relay(self, **env: str) -> Relay:
        """Start a relay."""
        pipe = asyncio.subprocess.PIPE
        argv = [sys.executable, "-I", "-S", RELAY]
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=pipe, stdout=pipe, stderr=pipe, env={**self.env(), **env}, limit=1 << 25
        )
        self._relays.append(Relay(process))
        return self._relays[-1]

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect a client without a relay."""
        return await asyncio.open_unix_connection(self.access.address)

    async def close(self) -> None:
        """End the remaining relays."""
        for one in self._relays:
            if one.process.returncode is None:
                one.process.kill()
            await one.process.communicate()


@asynccontextmanager
async def serve_tools(run: Path, tools: Iterable[Tool[Any]]) -> AsyncIterator[ServedTools]:
    """Yield a tool socket below the directory ``run``, with a session that has these tools."""
    faults: list[str] = []

    def fault(what: str, error: Exception) -> None:
        faults.append(f"{what}: {error!r}")

    async with anyio.create_task_group() as group:
        toolbox = Toolbox(tools, fault)
        socket = ToolSocket(toolbox, Tasks(group, fault), lambda: str(run))
        served = ServedTools(socket, toolbox, faults)
        served.admit()
        try:
            yield served
        finally:
            await served.close()
            socket.close()
            group.cancel_scope.cancel()
