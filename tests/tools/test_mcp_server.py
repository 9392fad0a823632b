"""The server side of an MCP connection: each request has one answer, in both eras."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import anyio
import msgspec
import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim import __version__
from acp_nvim.session.session import Session
from acp_nvim.tools.server import mcp_methods
from acp_nvim.tools.server.mcp_server import LINE_BYTES, MAX_VIOLATIONS, McpServer
from acp_nvim.tools.server.session_tools import SessionTools
from acp_nvim.tools.server.toolbox import Toolbox
from tests.support.served_tools import ECHO, Waits

Json = dict[str, Any]
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
WHO = {"name": "neovim", "version": __version__, "title": "Neovim"}


def no_fault(name: str, error: Exception) -> None:
    raise AssertionError(f"{name}: {error}")


async def turns() -> None:
    """Let other tasks run."""
    for _ in range(5):
        await anyio.lowlevel.checkpoint()


class Client:
    """The client side, with the sent frames as values."""

    def __init__(self, *tools: Any) -> None:
        self.box = Toolbox([ECHO, *tools], no_fault)
        self.wire = b""
        self.tasks: list[asyncio.Task[None]] = []
        self.faults: list[str] = []
        self.own = SessionTools(self.box, Session(1, "agent", "/"), True)
        self.server = McpServer(self.own, self._take, self._start, self.faults.append)

    def _take(self, line: bytes) -> None:
        self.wire += line

    def _start(self, call: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.tasks.append(asyncio.create_task(call()))

    @property
    def lines(self) -> list[Json]:
        return [json.loads(line) for line in self.wire.splitlines()]

    def say(self, *frames: Json) -> None:
        messages = ({"jsonrpc": "2.0", **frame} for frame in frames)
        self.server.receive(b"".join(json.dumps(frame).encode() + b"\n" for frame in messages))

    async def change(self, *tools: Any) -> None:
        """Add these tools."""
        for tool in tools:
            self.box.add(tool)
        self.own.refresh()
        await turns()

    async def ask(self, method: str, params: Any = None, id: Any = 1) -> Json:
        """Return the answer to a request, without the members that all answers have."""
        before = len(self.lines)
        self.say({"id": id, "method": method, **({} if params is None else {"params": params})})
        await self.server.idle()
        (answer,) = self.lines[before:]
        assert answer.pop("jsonrpc") == "2.0"
        assert answer.pop("id") == id
        return answer


@pytest_asyncio.fixture
async def client() -> AsyncIterator[Client]:
    client = Client()
    yield client
    for task in client.tasks:
        task.cancel()


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1.0", "2025-11-25"),
    ],
)
async def test_a_handshake_settles_the_version(client: Client, asked: str, answered: str) -> None:
    params = {"protocolVersion": asked, "capabilities": {"roots": {}}, "clientInfo": {"name": "x"}}
    result = (await client.ask("initialize", params))["result"]
    assert result.pop("instructions")
    assert result == {
        "protocolVersion": answered,
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": WHO,
    }
    client.say({"method": "notifications/initialized"}, {"method": "notifications/unheard/of"})
    assert len(client.lines) == 1
    assert await client.ask("ping") == {"result": {}}


async def test_a_server_without_a_handshake_is_discovered(client: Client) -> None:
    result = (await client.ask("server/discover", {"_meta": MODERN}))["result"]
    assert result.pop("instructions")
    assert result == {
        "supportedVersions": [
            "2026-07-28",
            "2025-11-25",
            "2025-06-18",
            "2025-03-26",
            "2024-11-05",
        ],
        "capabilities": {"tools": {"listChanged": True}},
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": WHO},
    }


async def test_an_unsupported_version_is_refused_with_the_supported_ones(client: Client) -> None:
    meta = {**MODERN, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    error = (await client.ask("tools/list", {"_meta": meta}))["error"]
    assert error["code"] == -32022
    assert error["data"]["requested"] == "2031-01-01"
    assert "2026-07-28" in error["data"]["supported"]


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}},
        {"_meta": {**MODERN, "io.modelcontextprotocol/protocolVersion": 3}},
        {"_meta": []},
        [],
    ],
)
async def test_an_incomplete_request_is_refused(client: Client, params: Any) -> None:
    assert (await client.ask("server/discover", params))["error"]["code"] == -32602


@pytest.mark.parametrize("meta", [{}, MODERN])
async def test_tools_are_listed(client: Client, meta: Json) -> None:
    result = (await client.ask("tools/list", {"_meta": meta}))["result"]
    (tool,) = result["tools"]
    assert tool["inputSchema"]["required"] == ["text"]
    assert tool["annotations"] == {
        "title": "Echo",
        "readOnlyHint": True,
        "destructiveHint": False,
        "openWorldHint": False,
    }
    assert ("resultType" in result) == bool(meta)
    assert result.get("cacheScope") == ("private" if meta else None)


@pytest.mark.parametrize("meta", [{}, MODERN])
async def test_a_call_gives_text_and_data(client: Client, meta: Json) -> None:
    params = {"name": "echo", "arguments": {"text": "a", "times": 2}, "_meta": meta}
    result = (await client.ask("tools/call", params))["result"]
    assert result["content"] == [{"type": "text", "text": "aa"}]
    assert result["structuredContent"] == {"said": "a"}
    assert "isError" not in result
    assert result.get("resultType") == ("complete" if meta else None)


async def test_a_failure_of_a_tool_is_a_result(client: Client) -> None:
    params = {"name": "echo", "arguments": {"text": "error"}}
    assert (await client.ask("tools/call", params))["result"] == {
        "content": [{"type": "text", "text": "nothing to say"}],
        "isError": True,
    }


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/call", {"name": "nothing"}, -32602),
        ("tools/call", {"arguments": {}}, -32602),
        ("tools/call", None, -32602),
        ("initialize", {}, -32602),
        ("resources/list", {}, -32601),
        ("prompts/list", None, -32601),
        ("x" * 100_000, None, -32601),
    ],
)
async def test_an_unsupported_request_is_refused(
    client: Client, method: str, params: Any, code: int
) -> None:
    answer = await client.ask(method, params)
    assert answer["error"]["code"] == code
    assert len(answer["error"]["message"]) < 1000


@pytest.mark.parametrize("token", ["p", 7])
async def test_progress_is_sent_on_request(client: Client, token: str | int) -> None:
    params = {"name": "echo", "arguments": {"text": "a", "times": 3}}
    client.say({"id": 1, "method": "tools/call", "params": params})
    await client.server.idle()
    assert len(client.lines) == 1
    client.say(
        {"id": 2, "method": "tools/call", "params": {**params, "_meta": {"progressToken": token}}}
    )
    await client.server.idle()
    messages = [line["params"] for line in client.lines[1:-1]]
    assert messages == [
        {"progressToken": token, "progress": 1, "message": "1 of 3"},
        {"progressToken": token, "progress": 2, "message": "2 of 3"},
    ]


async def test_a_cancelled_call_has_no_answer_and_frees_its_id() -> None:
    wait = Waits()
    client = Client(wait.tool)
    call = {"name": "wait", "arguments": {"text": ""}}
    client.say({"id": 1, "method": "tools/call", "params": call})
    await wait.began.wait()
    client.say({"method": "notifications/cancelled", "params": {"requestId": 1, "reason": "no"}})
    await client.server.idle()
    assert wait.ended.is_set()
    assert client.lines == []
    assert await client.ask("ping", id=1) == {"result": {}}


async def test_a_call_may_be_cancelled_before_it_begins() -> None:
    wait = Waits()
    client = Client(wait.tool)
    client.say(
        {"id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {"text": ""}}},
        {"method": "notifications/cancelled", "params": {"requestId": 1}},
        {"method": "notifications/cancelled", "params": {"requestId": 9}},
    )
    await client.server.idle()
    assert client.lines == []
    assert not client.faults


async def test_a_cancel_of_nothing_is_counted(client: Client) -> None:
    client.say({"method": "notifications/cancelled", "params": {}})
    assert client.faults == ["message"]


async def test_a_long_line_is_refused_and_later_ones_are_served(client: Client) -> None:
    head = b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","x":"'
    client.server.receive(head + b"x" * LINE_BYTES)
    assert client.lines == []
    client.server.receive(b'"}}\n{"jsonrpc":"2.0","id":6,"method":"ping"}\n')
    assert [(it["id"], "error" in it) for it in client.lines] == [(5, True), (6, False)]
    assert client.faults == ["oversize"]


async def test_a_client_that_sends_garbage_is_disconnected(client: Client) -> None:
    for _ in range(MAX_VIOLATIONS):
        client.server.receive(b"garbage\n")
    assert not client.server.has_too_many_faults
    assert await client.ask("ping") == {"result": {}}
    client.server.receive(b"garbage\n")
    assert client.server.has_too_many_faults


IDS = st.integers(-3, 3) | st.sampled_from(["a", "1"])
FRAMES = st.fixed_dictionaries(
    {"id": IDS, "method": st.sampled_from(["ping", "tools/list", "tools/call", "nothing"])},
    optional={"params": st.sampled_from([{}, None, {"name": "echo", "arguments": {"text": "a"}}])},
)


@given(st.lists(FRAMES, max_size=12), st.integers(1, 50))
def test_each_request_is_answered_exactly_once(frames: list[Json], size: int) -> None:
    async def life() -> None:
        client = Client()
        messages = b"".join(json.dumps({"jsonrpc": "2.0", **it}).encode() + b"\n" for it in frames)
        for at in range(0, len(messages), size):
            client.server.receive(messages[at : at + size])
        await client.server.idle()
        asked = [json.dumps(frame["id"]) for frame in frames]
        assert sorted(json.dumps(line["id"]) for line in client.lines) == sorted(asked)

    asyncio.run(life())


# -- changes to the list of tools -----------------------------------------------------------------

OTHER = msgspec.structs.replace(ECHO, name="other")
CHANGED = "notifications/tools/list_changed"


async def test_a_client_gets_changes_to_tools_after_its_handshake(client: Client) -> None:
    await client.ask("initialize", {"protocolVersion": "2025-11-25"})
    await client.change(OTHER)
    assert len(client.lines) == 1  # the client is not initialized yet
    client.say({"method": "notifications/initialized"}, {"method": "notifications/initialized"})
    await turns()
    client.box.drop("other")
    await client.change()
    assert client.lines[1:] == [{"jsonrpc": "2.0", "method": CHANGED, "params": {}}]
    listed = (await client.ask("tools/list", id=2))["result"]["tools"]
    assert [tool["name"] for tool in listed] == ["echo"]


async def test_the_same_tools_with_other_functions_are_not_a_change(client: Client) -> None:
    client.say({"method": "notifications/initialized"})
    await client.ask("tools/list")
    same = msgspec.structs.replace(ECHO, run=Waits().tool.run)
    await client.change(same)
    assert len(client.lines) == 1
    await client.change(msgspec.structs.replace(same, description="Says it."))
    assert [line["method"] for line in client.lines[1:]] == [CHANGED]


async def test_a_client_without_a_handshake_gets_its_subscriptions(client: Client) -> None:
    await client.change(OTHER)
    assert not client.lines
    wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["x"]}
    listen = {"method": "subscriptions/listen", "params": {"_meta": MODERN}}
    listen["params"]["notifications"] = wanted  # type: ignore[index]
    client.say({"id": "a", **listen}, {"id": 2, **listen})
    await turns()
    client.box.drop("other")
    await client.change()
    messages = [(line["method"].rpartition("/")[2], line["params"]) for line in client.lines]
    meta = [{"_meta": {"io.modelcontextprotocol/subscriptionId": id}} for id in ("a", 2)]
    granted = {"notifications": {"toolsListChanged": True}}
    assert messages == [
        ("acknowledged", {**meta[0], **granted}),
        ("acknowledged", {**meta[1], **granted}),
        ("list_changed", meta[0]),
        ("list_changed", meta[1]),
    ]
    client.say({"method": "notifications/cancelled", "params": {"requestId": "a"}})
    await turns()
    await client.change(OTHER)
    assert [line["params"] for line in client.lines[4:]] == [meta[1]]
    client.own.changes.close()
    await turns()
    assert client.lines[5] == {
        "jsonrpc": "2.0",
        "id": 2,
        "result": {
            "resultType": "complete",
            "_meta": {"io.modelcontextprotocol/serverInfo": WHO, **meta[1]["_meta"]},
        },
    }


async def test_a_client_with_other_subscriptions_gets_nothing(client: Client) -> None:
    params = {"_meta": MODERN, "notifications": {"promptsListChanged": True}}
    client.say({"id": 1, "method": "subscriptions/listen", "params": params})
    await turns()
    await client.change(OTHER)
    assert [line["params"]["notifications"] for line in client.lines] == [{}]


async def test_subscriptions_are_limited_and_belong_to_the_new_era(client: Client) -> None:
    params = {"_meta": MODERN, "notifications": {}}
    for id in range(mcp_methods.LISTENERS + 1):
        client.say({"id": id, "method": "subscriptions/listen", "params": params})
    await turns()
    assert client.lines[-1]["error"]["code"] == -32603
    refused = await client.ask("subscriptions/listen", {"notifications": {}}, id="old")
    assert refused["error"]["code"] == -32601
    assert len(client.lines) == mcp_methods.LISTENERS + 2
