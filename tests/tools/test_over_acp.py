"""The editor's tools for agents that use MCP over ACP."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from acp_nvim.agent.serving.mcp_messages import MAX_CONNECTIONS, McpMessages
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import RequestError
from acp_nvim.session.session import Session
from acp_nvim.tools.server.over_acp import McpOverAcp
from acp_nvim.tools.server.toolbox import Toolbox
from tests.support.served_tools import ECHO, Waits
from tests.support.waiting import eventually

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def no_fault(name: str, error: Exception) -> None:
    raise AssertionError(f"{name}: {error}")


class Agent:
    """An agent with a session that has a server."""

    def __init__(self, *tools: Any) -> None:
        self.session = Session(1, "agent", "/")
        self.toolbox = Toolbox([ECHO, *tools], no_fault)
        self.servers = McpOverAcp(self.toolbox)
        self.id = self.servers.admit(self.session, True) or ""
        self.told: list[schema.MessageMcpNotification] = []

    async def ask(
        self, method: str, request_id: str = "r1", **params: Any
    ) -> schema.MessageMcpResponse:
        inner = {"_meta": META, **params}
        request = schema.MessageMcpRequest(self.id, request_id, method, inner)
        return await self.servers.message(request, self.told.append)


async def test_tools_are_listed_and_called() -> None:
    agent = Agent()
    listed = (await agent.ask("tools/list")).result
    assert [tool["name"] for tool in listed["tools"]] == ["echo"]
    answer = await agent.ask("tools/call", name="echo", arguments={"text": "a"})
    assert answer.error is UNSET
    assert answer.result["structuredContent"] == {"said": "a"}
    assert answer.result["resultType"] == "complete"
    assert agent.session.tools is not None
    assert (agent.session.tools.connected, agent.session.tools.calls) == (1, 1)


async def test_progress_carries_the_ids_of_its_request() -> None:
    agent = Agent()
    given = {"text": "a", "times": 2}
    meta = {**META, "progressToken": "p"}
    await agent.ask("tools/call", "r7", name="echo", arguments=given, _meta=meta)
    inner = {"progressToken": "p", "progress": 1, "message": "1 of 2"}
    notification = schema.MessageMcpNotification(agent.id, "r7", "notifications/progress", inner)
    assert agent.told == [notification]


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("resources/list", {}, -32601),
        ("tools/call", {"name": "nothing"}, -32602),
        ("tools/list", {"_meta": {**META, next(iter(META)): "2031-01-01"}}, -32022),
    ],
)
async def test_an_inner_error_is_part_of_the_answer(
    method: str, params: dict[str, Any], code: int
) -> None:
    answer = await Agent().ask(method, **params)
    assert answer.result is UNSET
    assert isinstance(answer.error, schema.McpError)
    assert answer.error.code == code


async def test_a_server_is_identified_only_by_its_id() -> None:
    agent = Agent()
    before = agent.id
    agent.id = "guessed"
    with pytest.raises(RequestError) as error:
        await agent.ask("tools/list")
    assert error.value.code == -33001
    agent.id = agent.servers.admit(agent.session, True) or ""
    assert before != agent.id
    assert (await agent.ask("tools/list")).result
    agent.servers.withdraw(agent.session)
    with pytest.raises(RequestError):
        await agent.ask("tools/list")
    assert agent.servers.admit(agent.session, False) is None


async def test_a_request_is_active_once_and_ends_with_its_session() -> None:
    wait = Waits()
    agent = Agent(wait.tool)
    call = asyncio.create_task(agent.ask("tools/call", name="wait", arguments={"text": ""}))
    await wait.began.wait()
    with pytest.raises(RequestError) as error:
        await agent.ask("tools/list")
    assert error.value.code == -32602
    assert (await agent.ask("tools/list", "r2")).result
    agent.servers.withdraw(agent.session)
    assert (await call).result["isError"]
    assert wait.ended.is_set()


async def test_a_subscribed_agent_gets_changes_to_tools_until_its_session_ends() -> None:
    """A notification needs an active request (`MessageMcpNotification`)."""
    agent = Agent()
    wanted = {"toolsListChanged": True}
    listens = asyncio.create_task(agent.ask("subscriptions/listen", "r9", notifications=wanted))
    await eventually(lambda: agent.told)
    agent.toolbox.drop("echo")
    agent.servers.refresh()
    await eventually(lambda: len(agent.told) == 2)
    meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": "r9"}}
    notification = "notifications/tools/list_changed"
    assert agent.told[1] == schema.MessageMcpNotification(agent.id, "r9", notification, meta)
    agent.servers.withdraw(agent.session)
    assert (await listens).result["resultType"] == "complete"
    assert len(agent.told) == 2


async def test_an_agent_of_an_earlier_schema_opens_a_connection() -> None:
    """The connection answers with the inner result, and notifications name it."""
    agent = Agent()
    told: list[Any] = []
    messages = McpMessages(agent.servers.message, told.append)

    async def ask(outer: str, **params: Any) -> Any:
        answer = messages.answer_earlier(outer, msgspec.Raw(msgspec.json.encode(params)))
        assert answer is not None
        return msgspec.to_builtins(await answer)

    connection = await ask("mcp/connect", serverId=agent.id)
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}
    begun = await ask("mcp/message", **connection, method="initialize", params=begin)
    assert begun["serverInfo"]["name"] == "neovim"
    call = {"name": "echo", "arguments": {"text": "a", "times": 2}, "_meta": {"progressToken": 1}}
    called = await ask("mcp/message", **connection, method="tools/call", params=call)
    assert called["structuredContent"] == {"said": "a"}
    progress = {"progressToken": 1, "progress": 1, "message": "1 of 2"}
    notification = {**connection, "method": "notifications/progress", "params": progress}
    assert msgspec.to_builtins(told) == [notification]
    with pytest.raises(RequestError, match="no tool") as error:
        await ask("mcp/message", **connection, method="tools/call", params={"name": "nothing"})
    assert error.value.code == -32602
    assert await ask("mcp/disconnect", **connection) == {}
    for outer, params in (
        ("mcp/disconnect", connection),
        ("mcp/message", {**connection, "method": "ping"}),
        ("mcp/connect", {"serverId": "guessed"}),
        ("mcp/connect", {}),
    ):
        with pytest.raises(RequestError):
            await ask(outer, **params)
    for _ in range(MAX_CONNECTIONS):
        connection = await ask("mcp/connect", serverId=agent.id)
    with pytest.raises(RequestError, match="close one"):
        await ask("mcp/connect", serverId=agent.id)
    earlier, agent.id = agent.id, agent.servers.admit(agent.session, True) or ""
    connection = await ask("mcp/connect", serverId=agent.id)  # those of the ended server are over
    assert await ask("mcp/message", **connection, method="ping") == {}
    with pytest.raises(RequestError):
        await ask("mcp/connect", serverId=earlier)
    own = {"serverId": agent.id, "requestId": "1", "method": "ping"}
    assert messages.answer_earlier("mcp/message", msgspec.Raw(msgspec.json.encode(own))) is None
