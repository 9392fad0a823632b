"""The official client of the Model Context Protocol, in both eras, through the real relay.

Its import takes a second, so only its tests import it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
import pytest

from tests.support.served_tools import ECHO, RELAY, ServedTools, Waits, serve_tools

if TYPE_CHECKING:
    from mcp import Client

MODES = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}


OTHER = msgspec.structs.replace(ECHO, name="other")


def official(served: ServedTools, mode: str, **options: Any) -> Client:
    """Return the official client, which starts its own relay."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    argv = ["-I", "-S", RELAY]
    program = StdioServerParameters(command=sys.executable, args=argv, env=dict(served.env()))
    return Client(stdio_client(program), mode=mode, **options)


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_lists_and_calls_tools(tmp_path: Path, mode: str) -> None:
    from mcp.types import TextContent

    told: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with serve_tools(tmp_path, [ECHO]) as served, official(served, mode) as client:
        assert client.protocol_version == MODES[mode]
        # if the client has asked for them
        assert bool(client.instructions) == (mode != "2026-07-28")
        (tool,) = (await client.list_tools()).tools
        assert (tool.name, tool.title) == ("echo", "Echo")
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        result: Any = await client.call_tool(
            "echo", {"text": "a", "times": 2}, progress_callback=hear
        )
        assert result.content == [TextContent(type="text", text="aa")]
        assert result.structured_content == {"said": "a"}
        assert told == ["1 of 2"]
        result = await client.call_tool("echo", {"times": 2})
        assert result.is_error
        assert result.content[0].text == "text: missing"


async def test_the_official_client_gets_changes_to_tools_after_a_handshake(tmp_path: Path) -> None:
    from mcp.types import ToolListChangedNotification

    heard = anyio.Event()

    async def hear(message: Any) -> None:
        assert isinstance(message, ToolListChangedNotification)
        heard.set()

    async with (
        serve_tools(tmp_path, [ECHO]) as served,
        official(served, "legacy", message_handler=hear) as client,
    ):
        tools = client.server_capabilities.tools
        assert tools
        assert tools.list_changed
        await client.list_tools()
        served.add_tool(OTHER)
        await heard.wait()
        assert len((await client.list_tools()).tools) == 2


async def test_the_official_client_gets_changes_to_tools_by_subscription(tmp_path: Path) -> None:
    from mcp.shared.subscriptions import ToolsListChanged

    async with (
        serve_tools(tmp_path, [ECHO]) as served,
        official(served, "2026-07-28") as client,
        client.listen(tools_list_changed=True) as news,
    ):
        assert news.honored.tools_list_changed
        served.add_tool(OTHER)
        assert isinstance(await anext(news), ToolsListChanged)
        assert len((await client.list_tools()).tools) == 2


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_cancels_a_call(tmp_path: Path, mode: str) -> None:
    wait = Waits()
    async with serve_tools(tmp_path, [wait.tool, ECHO]) as served, official(served, mode) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "wait", {"text": ""})
            await wait.began.wait()
            group.cancel_scope.cancel()
        await wait.ended.wait()
        result: Any = await client.call_tool("echo", {"text": "still here"})
        assert result.content[0].text == "still here"


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_is_refused_with_a_wrong_token(tmp_path: Path, mode: str) -> None:
    from mcp.shared.exceptions import MCPError

    async with serve_tools(tmp_path, [ECHO]) as served:
        stranger = ServedTools(served.socket, served.toolbox, [])
        stranger.access = type(served.access)(served.access.address, "guessed")
        with pytest.raises((MCPError, ExceptionGroup)):
            async with official(stranger, mode) as client:
                await client.list_tools()
        assert served.socket.refused["wrong token"] == 1
