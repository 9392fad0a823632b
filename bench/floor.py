"""The floor: the minimal loop of a host in Python. `python -m bench.floor AGENT…`.

It reads the agent's pipe line by line, decodes each line with msgspec, and sends one frame to
Neovim every 30 ms: text to append to a buffer. It has no state, no Markdown, no folds, no
back-pressure, and no error handling. 10,000 chunks take about 20 to 25 ms and the same CPU time,
100,000 chunks take ten times as long. The budgets refer to this loop. A faster one would read large
blocks and split them, as the product does.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import msgspec

from acp_nvim.nvim.bridge import Bridge

FRAME_S = 0.03


class Block(msgspec.Struct):
    """A content block, or an item of a tool call that has one."""

    text: str = ""
    content: Block | None = None


class Update(msgspec.Struct, rename="camel"):
    """Any `session/update`."""

    session_update: str
    content: Block | list[Block] | None = None
    tool_call_id: str = ""
    title: str = ""
    status: str = ""


class Call(msgspec.Struct):
    """The tool call of a permission request."""

    title: str = ""


class Choice(msgspec.Struct, rename="camel"):
    """An option of a permission request."""

    option_id: str = ""
    name: str = ""
    kind: str = ""


class Params(msgspec.Struct, rename="camel"):
    """Members of all messages of an agent."""

    update: Update | None = None
    path: str = ""
    content: str = ""
    tool_call: Call | None = None
    options: list[Choice] = []


class Line(msgspec.Struct):
    """Any message of an agent: one line."""

    id: int | None = None
    method: str = ""
    params: Params | None = None
    result: dict[str, Any] | None = None


class Floor:
    """The loop. Text of a turn is in `pending`, its tool calls are in `tools`."""

    def __init__(self, bridge: Bridge, command: list[str]) -> None:
        self.bridge = bridge
        self.command = command
        self.decode = msgspec.json.Decoder(Line).decode
        self.process: asyncio.subprocess.Process
        self.started: asyncio.Task[None] | None = None
        self.answers: dict[int, asyncio.Future[Any]] = {}
        self.pending: list[str] = []
        self.tools: dict[str, list[str]] = {}
        self.drawn: set[str] = set()
        self.session = ""
        self.asked: list[int] = []
        self.questions: list[tuple[int, str, list[dict[str, str]]]] = []
        self.timer: asyncio.TimerHandle | None = None
        self.last = 0.0
        self.tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        await asyncio.Event().wait()

    def on_verb(self, name: str, args: dict[str, Any]) -> None:
        if name == "cancel":
            self.cancel()
        else:
            self.task(self.prompt(args["text"], is_new=args["new"]))

    def cancel(self) -> None:
        """Cancel the turn and all its questions."""
        params = {"sessionId": self.session}
        self.send({"jsonrpc": "2.0", "method": "session/cancel", "params": params})
        for id in self.asked:
            self.send({"jsonrpc": "2.0", "id": id, "result": {"outcome": {"outcome": "cancelled"}}})
        self.asked.clear()
        self.bridge.notify("nvim_exec_lua", "require('bench.floor').cancelled()", [])

    def task(self, work: Any) -> None:
        task = self.bridge.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def prompt(self, text: str, *, is_new: bool) -> None:
        if self.started is None:
            self.started = self.bridge.loop.create_task(self.start())
        await self.started
        is_new = is_new or not self.session
        if is_new:
            answer = await self.ask(1, "session/new", cwd="/", mcpServers=[])
            self.session = answer["sessionId"]
            self.drawn.clear()
        block = [{"type": "text", "text": text}]
        answered = self.ask(2, "session/prompt", sessionId=self.session, prompt=block)
        self.bridge.notify("nvim_exec_lua", "require('bench.floor').begin(...)", [text, is_new])
        await answered
        self.flush()
        self.bridge.notify("nvim_exec_lua", "require('bench.floor').done()", [])

    async def start(self) -> None:
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=pipe, stdout=pipe, limit=1 << 26
        )
        self.task(self.read())
        await self.ask(0, "initialize", protocolVersion=1)

    def ask(self, id: int, method: str, **params: Any) -> asyncio.Future[Any]:
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        self.answers[id] = self.bridge.loop.create_future()
        return self.answers[id]

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.take(self.decode(line))

    def take(self, line: Line) -> None:
        if line.result is not None and line.id is not None:
            self.answers.pop(line.id).set_result(line.result)
        elif line.params is not None and line.params.update is not None:
            self.update(line.params.update)
        elif line.params is not None and line.params.tool_call is not None:
            self.question(line.id, line.params.tool_call.title, line.params.options)
        elif line.params is not None:
            self.task(self.file(line.id, line.method, line.params))

    def update(self, update: Update) -> None:
        content = update.content
        if isinstance(content, Block):
            self.pending.append(content.text)
        elif content is not None:
            first = content[0].content
            lines = first.text.split("\n", 8)[:8] if first else []
            self.tools[update.tool_call_id] = [f"{update.status} {update.title}", *lines]
        if self.timer is None:
            loop = self.bridge.loop
            at = max(loop.time(), self.last + FRAME_S)
            self.timer = loop.call_at(at, self.flush)

    def question(self, id: int | None, title: str, options: list[Choice]) -> None:
        assert id is not None
        self.asked.append(id)
        offered = [{"id": it.option_id, "name": it.name, "kind": it.kind} for it in options]
        self.questions.append((id, title, offered))
        # The agent is waiting: send now, with everything that arrived in the same read.
        if len(self.questions) == 1:
            self.bridge.loop.call_soon(self.flush)

    def flush(self) -> None:
        """Send the pending text, tool calls and questions to Neovim."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        self.last = self.bridge.loop.time()
        if self.pending:
            text = "".join(self.pending)
            self.pending.clear()
            self.call("append", text.split("\n"))
        if self.tools:
            self.call("tools", list(self.tools.items()))
            self.tools.clear()
        if self.questions:
            self.call("questions", self.questions)
            self.questions.clear()

    def call(self, function: str, value: Any) -> None:
        code = "require('bench.floor')[...](select(2, ...))"
        self.bridge.notify("nvim_exec_lua", code, [function, value])

    async def file(self, id: int | None, method: str, params: Params) -> None:
        result: dict[str, Any] = {}
        if method == "fs/read_text_file":
            lines = await self.bridge.call("bench.floor", "read", params.path)
            result = {"content": "\n".join(lines) + "\n"}
        else:
            await self.bridge.call("bench.floor", "write", params.path, params.content)
        self.send({"jsonrpc": "2.0", "id": id, "result": result})


if __name__ == "__main__":
    bridge = Bridge.stdio()
    floor = Floor(bridge, sys.argv[1:])
    bridge.run(floor.run(), floor.on_verb)
