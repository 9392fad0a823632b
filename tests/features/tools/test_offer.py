"""Offers of the editor's own tools to sessions."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import msgspec
import pytest

from acp_nvim.agent.opening.session_params import tools_route
from acp_nvim.features.tools import WRITES
from acp_nvim.features.tools.tool_list import own_tools
from acp_nvim.host.editor_tools import RELAY, EditorTools
from acp_nvim.host.observers import HostObservers
from acp_nvim.protocol import schema
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Line
from acp_nvim.tasks import Tasks
from acp_nvim.tools.server import arguments
from acp_nvim.tools.server.over_acp import McpOverAcp
from acp_nvim.tools.server.tool import Tool
from acp_nvim.tools.server.tool_socket import ToolSocket
from acp_nvim.tools.server.toolbox import Toolbox, ToolList
from tests.support.fake_workspace import fake_workspace
from tests.support.served_tools import ECHO
from tests.support.waiting import eventually

PLAIN = {"ignore_case"}
"""Argument names that need no description."""


def no_fault(name: str, error: Exception) -> None:
    raise AssertionError(f"{name}: {error}")


@asynccontextmanager
async def tools_of(run: Path, patience_s: float) -> AsyncIterator[EditorTools]:
    async with anyio.create_task_group() as group:
        tasks = Tasks(group, no_fault)
        toolbox = Toolbox([ECHO], no_fault)
        tools = EditorTools(toolbox, lambda: str(run), tasks, patience_s)
        yield tools
        tools.close()
        group.cancel_scope.cancel()


def test_tools_are_loaded_when_an_agent_lists_them() -> None:
    loads: list[str] = []

    def loaded() -> Iterator[Tool[Any]]:
        loads.append("all")
        yield ECHO

    toolbox = Toolbox((), no_fault, late=[ToolList({"echo": False}, loaded)])
    session = Session(1, "agent", "/")
    assert McpOverAcp(toolbox).admit(session, False) is None
    over_acp = McpOverAcp(toolbox)
    assert over_acp.admit(session, True) is not None
    toolbox.add(msgspec.structs.replace(ECHO, name="mine"))
    over_acp.refresh()
    assert session.tools is not None
    assert session.tools.offered().names == ["echo", "mine"]
    assert McpOverAcp(toolbox).admit(session, ["other"]) is None
    assert loads == []
    assert [tool.name for tool in toolbox.list_tools(True)] == ["echo", "mine"]
    assert [tool.name for tool in toolbox.list_tools(["echo"])] == ["echo"]
    assert loads == ["all"]


def chat_lines(session: Session) -> list[str]:
    return [entry.title for entry in session.transcript.entries if isinstance(entry, Line)]


async def test_every_tool_is_described_and_can_be_called(tmp_path: Path) -> None:
    """Some agents show only the name of a tool."""
    nobody: Any = None
    async with fake_workspace(tmp_path) as fake:
        host: Any = SimpleNamespace(
            workspace=fake.core,
            options=SimpleNamespace(files=lambda: fake.options),
            observers=HostObservers(),
            nvim=SimpleNamespace(bridge=None, async_calls=None),
        )
        tools = own_tools(host, nobody, nobody)
    assert len(tools) > 10
    assert [(tool.name, tool.writes) for tool in tools] == list(WRITES.items())
    for tool in tools:
        assert tool.name.startswith("nvim_")
        assert len(tool.title.split()) <= 2
        schema = arguments.input_schema(tool.arguments)
        bare = {name for name, it in schema["properties"].items() if "description" not in it}
        assert bare <= PLAIN, tool.name
        msgspec.json.Decoder(tool.arguments)  # raises if a bound does not fit its type


async def test_the_server_is_the_relay_with_the_address_in_its_environment(tmp_path: Path) -> None:
    session = Session(1, "agent", "/")
    async with tools_of(tmp_path, 30) as tools:
        offered = tools.offer(session, True, "relay")
    assert offered is not None
    server = offered.server
    assert isinstance(server, schema.McpServerStdio)
    assert (server.name, server.command) == ("neovim", sys.executable)
    assert server.args == ["-I", "-S", RELAY]
    assert [it.name for it in server.env] == ["ACP_NVIM_SOCKET", "ACP_NVIM_TOKEN"]
    assert offered.secrets == [server.env[1].value]


@pytest.mark.parametrize(("acp", "kind"), [(False, "relay"), (True, "acp")])
def test_an_agent_gets_the_tools_over_its_connection_if_it_can(acp: bool, kind: str) -> None:
    assert tools_route(schema.McpCapabilities(acp=acp, http=True)) == kind


async def test_an_agent_that_does_not_connect_is_reported_once(tmp_path: Path) -> None:
    session = Session(1, "agent", "/")
    async with tools_of(tmp_path, 0.01) as tools:
        tools.offer(session, True, "relay")
        tools.on_prompt_sent(session, Prompt("Hello"))
        tools.on_prompt_sent(session, Prompt("Hello"))
        await eventually(lambda: chat_lines(session))
        tools.offer(session, True, "relay")
        tools.on_prompt_sent(session, Prompt("Hello"))
    assert chat_lines(session) == ["Agent has not connected to the editor's tools (:Acp info)"]


async def test_an_agent_that_has_connected_is_not_reported(tmp_path: Path) -> None:
    session, silent = Session(1, "agent", "/"), Session(2, "agent", "/")
    async with tools_of(tmp_path, 0.01) as tools:
        for one in (session, silent):
            tools.offer(one, True, "relay")
            tools.on_prompt_sent(one, Prompt("Hello"))
        assert session.tools is not None
        session.tools.connect(1)
        session.tools.connect(0)
        await eventually(lambda: chat_lines(silent))
    assert not chat_lines(session)


async def test_a_session_without_tools_has_no_timer(tmp_path: Path) -> None:
    session = Session(1, "agent", "/")
    async with tools_of(tmp_path, 0) as tools:
        before = len(asyncio.all_tasks())
        assert tools.offer(session, False, "relay") is None
        tools.on_prompt_sent(session, Prompt("Hello"))
        assert len(asyncio.all_tasks()) == before
    assert session.tools is None


async def test_a_socket_that_cannot_be_made_is_reported_and_does_not_block(
    tmp_path: Path, monkeypatch: Any
) -> None:
    def full(tool_socket: ToolSocket) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ToolSocket, "_directory", full)
    session = Session(1, "agent", "/")
    async with tools_of(tmp_path, 0) as tools:
        assert tools.offer(session, True, "relay") is None
    assert chat_lines(session) == [
        "The editor's own tools are not offered: [Errno 28] No space left on device"
    ]
