"""The official client of the Model Context Protocol, in both eras, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ToolsListChanged
from mcp.types import ToolListChangedNotification

from tests.support.http_tools import Port, open_port
from tests.support.tool_door import ECHO, Waits
from tests.support.waiting import eventually

MODES = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
OTHER = msgspec.structs.replace(ECHO, name="other")


@asynccontextmanager
async def official(
    port: Port, mode: str, token: str | None = None, **options: Any
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token or port.token}"}
    async with create_mcp_http_client(headers) as http:
        transport = streamable_http_client(port.url, http_client=http)
        async with Client(transport, mode=mode, **options) as client:
            yield client


@pytest.mark.parametrize("mode", MODES)
async def test_it_lists_and_calls_tools(mode: str) -> None:
    told: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with open_port([ECHO]) as port:
        async with official(port, mode) as client:
            assert client.protocol_version == MODES[mode]
            (tool,) = (await client.list_tools()).tools
            assert tool.name == "echo"
            given = {"text": "a", "times": 2}
            result: Any = await client.call_tool("echo", given, progress_callback=hear)
            assert result.structured_content == {"said": "a"}
            assert told == ["1 of 2"]
            result = await client.call_tool("echo", {"times": 2})
            assert (result.is_error, result.content[0].text) == (True, "text: missing")
        assert port.session.tools is not None
        assert port.session.tools.connected == (mode != "legacy")  # it has ended its session
        assert not port.door.refused


@pytest.mark.parametrize("mode", MODES)
async def test_it_takes_a_call_back(mode: str) -> None:
    wait = Waits()
    async with open_port([wait.tool, ECHO]) as port, official(port, mode) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "wait", {"text": ""})
            await wait.began.wait()
            group.cancel_scope.cancel()
        await wait.ended.wait()
        result: Any = await client.call_tool("echo", {"text": "still here"})
        assert result.content[0].text == "still here"


async def test_it_hears_of_other_tools_after_a_handshake() -> None:
    heard = anyio.Event()

    async def hear(message: Any) -> None:
        assert isinstance(message, ToolListChangedNotification)
        heard.set()

    async with open_port([ECHO]) as port, official(port, "legacy", message_handler=hear) as client:
        (grant,) = port.door._grants.values()
        await eventually(lambda: grant.tools.changes.waiting)  # it opens its stream by itself
        port.put(OTHER)
        await heard.wait()
        assert len((await client.list_tools()).tools) == 2


async def test_it_hears_of_other_tools_when_it_listens() -> None:
    async with (
        open_port([ECHO]) as port,
        official(port, "2026-07-28") as client,
        client.listen(tools_list_changed=True) as news,
    ):
        port.put(OTHER)
        assert isinstance(await anext(news), ToolsListChanged)
        assert len((await client.list_tools()).tools) == 2


@pytest.mark.parametrize("mode", MODES)
async def test_it_is_refused_with_a_wrong_token(mode: str) -> None:
    async with open_port([ECHO]) as port:
        with pytest.raises((MCPError, ExceptionGroup)):
            async with official(port, mode, token="guessed") as client:
                await client.list_tools()
        assert port.door.refused["wrong token"] > 0
