"""The editor's tools over HTTP, without Neovim, and a client that says what it likes.

Example:

    async with open_port([ECHO]) as port:
        answer = await port.post("tools/list")
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import anyio
import h11

from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks
from acp_nvim.tools.http_door import HttpDoor
from acp_nvim.tools.tool import Tool
from acp_nvim.tools.toolbox import Enabled, Toolbox

Json = dict[str, Any]
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass
class Reply:
    """What came back; of a stream its events, as far as it was read."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def json(self) -> Json:
        found: Json = json.loads(self.body)
        return found

    @property
    def events(self) -> list[Json]:
        return [
            json.loads(line[6:]) for line in self.body.splitlines() if line.startswith(b"data: ")
        ]


@dataclass
class Wire:
    """A connection of a client."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    http: h11.Connection = field(default_factory=lambda: h11.Connection(h11.CLIENT))

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> None:
        """Send a request."""
        length = {"content-length": str(len(body))} if body else {}
        head = h11.Request(method=method, target=path, headers=list({**length, **headers}.items()))
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self.writer.write(self.http.send(event) or b"")

    async def head(self) -> Reply:
        """The beginning of the answer. EOFError here and below: the connection has ended."""
        event = await self._next()
        while isinstance(event, h11.InformationalResponse):
            event = await self._next()
        assert isinstance(event, h11.Response)
        names = {name.decode(): value.decode() for name, value in event.headers}
        return Reply(event.status_code, names)

    async def data(self) -> bytes | None:
        """The next piece of the answer; None at its end."""
        event = await self._next()
        return bytes(event.data) if isinstance(event, h11.Data) else None

    async def event(self) -> Json | None:
        """The next event of a stream, which comes in one piece; None at the end."""
        data = await self.data()
        return None if data is None else Reply(0, {}, data).events[0]

    async def answer(self) -> Reply:
        """All of it."""
        reply = await self.head()
        while (data := await self.data()) is not None:
            reply.body += data
        if self.http.our_state is self.http.their_state is h11.DONE:
            self.http.start_next_cycle()
        return reply

    async def _next(self) -> Any:
        while (event := self.http.next_event()) is h11.NEED_DATA:
            try:
                data = await self.reader.read(1 << 16)
            except ConnectionError:
                data = b""
            if not data:
                raise EOFError
            self.http.receive_data(data)
        return event


class Port:
    """A door at a port, and a session that was let in."""

    def __init__(self, door: HttpDoor, toolbox: Toolbox, faults: list[str]) -> None:
        self.door = door
        self.toolbox = toolbox
        self.faults = faults
        self.session = Session(1, "agent", "/")
        self.url = self.token = ""
        self.wires: list[Wire] = []

    def admit(self, enabled: Enabled = True) -> None:
        """Let the session in anew."""
        entrance = self.door.admit(self.session, enabled)
        assert entrance is not None
        self.url, self.token = entrance.address, entrance.token

    def put(self, tool: Tool[Any]) -> None:
        """There is this tool besides."""
        self.toolbox.put(tool)
        self.door.refresh()

    @property
    def address(self) -> str:
        return urlsplit(self.url).netloc

    def headers(self, **more: str | None) -> dict[str, str]:
        """What a client of the earlier era sends; None takes one away."""
        usual = {
            "host": self.address,
            "authorization": f"Bearer {self.token}",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }
        named = {name.replace("_", "-"): value for name, value in more.items()}
        return {name: value for name, value in {**usual, **named}.items() if value is not None}

    async def connect(self) -> Wire:
        """A new connection."""
        host, _, number = self.address.partition(":")
        self.wires.append(Wire(*await asyncio.open_connection(host, int(number))))
        return self.wires[-1]

    async def send(
        self, method: str, body: bytes = b"", path: str = "/mcp", **headers: Any
    ) -> Reply:
        """A request on a connection of its own, and its answer."""
        wire = await self.connect()
        wire.ask(method, path, self.headers(**headers), body)
        return await wire.answer()

    async def post(
        self, method: str, params: Json | None = None, id: Any = 1, **headers: Any
    ) -> Reply:
        """A message; without ``id`` a notification."""
        return await self.send("POST", message(method, params, id), **headers)

    async def modern(self, method: str, params: Json | None = None, **headers: Any) -> Reply:
        """A request of the era without a handshake."""
        return await self.post(
            method, {"_meta": META, **(params or {})}, **modern(method, **headers)
        )

    async def shake_hands(self) -> str:
        """Begin a session of MCP; returns its id."""
        reply = await self.post("initialize", {"protocolVersion": "2025-11-25"})
        id = reply.headers["mcp-session-id"]
        done = await self.post("notifications/initialized", id=None, mcp_session_id=id)
        assert done.status == 202
        return id


def message(method: str, params: Json | None = None, id: Any = 1) -> bytes:
    """One message as a body, laid out as people do."""
    members = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    return json.dumps(members if id is None else {**members, "id": id}, indent=1).encode()


def modern(method: str, **headers: Any) -> dict[str, Any]:
    """The headers of that era."""
    return {"mcp_protocol_version": "2026-07-28", "mcp_method": method, **headers}


@asynccontextmanager
async def open_port(tools: Iterable[Tool[Any]]) -> AsyncIterator[Port]:
    """A door with a session that has these tools."""
    faults: list[str] = []

    def fault(what: str, error: Exception) -> None:
        faults.append(f"{what}: {error!r}")

    async with anyio.create_task_group() as group:
        toolbox = Toolbox(tools, fault)
        door = HttpDoor(toolbox, Tasks(group, fault))
        port = Port(door, toolbox, faults)
        port.admit()
        try:
            yield port
        finally:
            for wire in port.wires:
                wire.writer.transport.abort()
            door.close()
            group.cancel_scope.cancel()
    assert not faults
