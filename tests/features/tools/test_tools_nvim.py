"""The editor's own tools, called by an agent through the relay, in a real Neovim."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick
from tests.support.killed_host import HOST_PID, kill_host
from tests.support.processes import marked
from tests.support.stored_sessions import storing_agent
from tests.support.traffic import Traffic
from tests.support.waiting import until

READ = 'mcp nvim_read {"path": "app.py"}'


def result(agent: Traffic, tool: str = "nvim_read", nth: int = 0) -> dict[str, Any]:
    """Return the result of the nth call of a tool."""
    head = f"mcp {tool} "
    results = [note.removeprefix(head) for note in agent.notes() if note.startswith(head)]
    outcome: dict[str, Any] = json.loads(results[nth])["result"]
    return outcome


def text(agent: Traffic, nth: int = 0) -> str:
    """Return the text of the nth read."""
    (content,) = result(agent, nth=nth)["content"]
    return str(content["text"])


def servers_in(agent: Traffic, method: str = "session/new", nth: int = 0) -> list[dict[str, Any]]:
    """Return the servers in the nth request of a method."""
    servers: list[dict[str, Any]] = agent.received(method)[nth]["params"]["mcpServers"]
    return servers


def variable(server: dict[str, Any], name: str) -> str:
    """Return a variable of a server's environment."""
    return str(next(it["value"] for it in server["env"] if it["name"] == name))


def relays(editor: Editor) -> list[int]:
    """Return the running relays."""
    return [it.pid for it in marked(editor.mark) if "relay.py" in it.command]


def info(editor: Editor) -> str:
    """Return the text of `:Acp info`."""
    editor.cmd("Acp info")
    editor.wait("vim.bo.filetype == 'acpinfo' or vim.api.nvim_buf_line_count(0) > 5")
    return "\n".join(editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)"))


def test_an_agent_reads_unsaved_text(editor: Editor) -> None:
    path = editor.write("app.py", "one\ntwo\n")
    editor.open(path)
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, {'unsaved'})")
    agent = editor.agent("script")
    editor.turn(f'{READ}\nmcp nvim_read {{"path": "{path}", "line": 2, "limit": 1}}')
    assert result(agent) == {
        "content": [{"type": "text", "text": "unsaved\ntwo\n"}],
        "structuredContent": {"path": str(path), "line": 1, "text": "unsaved\ntwo\n"},
    }
    assert text(agent, 1) == "two\n"
    tools = editor.session()["tools"]
    assert tools.pop("slowest_ms") >= 0
    assert "nvim_read" in tools.pop("names")
    assert tools == {"connected": 1, "calls": 2, "failed": 0}


def test_the_official_client_can_call_the_tools(editor: Editor) -> None:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    editor.write("app.py", "one\n")
    agent = editor.agent("hello")
    editor.turn("hi")
    (server,) = servers_in(agent)
    env = {it["name"]: it["value"] for it in server["env"]}
    program = StdioServerParameters(command=server["command"], args=server["args"], env=env)

    async def life(mode: str) -> tuple[list[str], str]:
        async with Client(stdio_client(program), mode=mode) as client:
            listed = (await client.list_tools()).tools
            read: Any = await client.call_tool("nvim_read", {"path": "app.py"})
            return [tool.name for tool in listed], read.content[0].text

    for mode in ("legacy", "auto"):
        names, text = asyncio.run(life(mode))
        assert names == editor.session()["tools"]["names"]
        assert text == "one\n"


def test_a_read_text_is_the_base_of_the_next_write(editor: Editor) -> None:
    path = editor.write("app.py", "one\ntwo\nthree\n")
    editor.open(path)
    agent = editor.agent("script")
    editor.turn(READ)
    editor.lua("vim.api.nvim_buf_set_lines(0, 2, 3, true, {'mine'})")
    editor.turn(f'write {path} "ONE\\ntwo\\nthree\\n"')
    assert not [note for note in agent.notes() if "error" in note]
    assert editor.lines(str(path)) == ["ONE", "two", "mine"]


def test_a_failed_read_is_one_line(editor: Editor) -> None:
    editor.setup({"files": {"outside": "deny"}})
    agent = editor.agent("script")
    editor.turn(
        "\n".join(
            f"mcp nvim_read {it}"
            for it in ('{"path": "no.py"}', '{"path": "/etc/passwd"}', '{"file": "x"}')
        )
    )
    assert [result(agent, nth=nth)["isError"] for nth in range(3)] == [True] * 3
    assert text(agent, 0).startswith(f"{editor.work / 'no.py'}: ")
    assert text(agent, 1).startswith("/etc/passwd: ")
    assert text(agent, 2) == "file: unknown argument; known: path, line, limit"
    assert editor.session()["tools"]["failed"] == 3


def test_a_secret_needs_a_permission_as_usual(editor: Editor) -> None:
    editor.write(".env", "KEY=1\n")
    agent = editor.agent("script")
    editor.prompt('mcp nvim_read {"path": ".env"}')
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")
    assert result(agent)["isError"]
    editor.prompt('mcp nvim_read {"path": ".env"}')
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd", 2)
    editor.wait("require('acp').state().sessions[1].tools.failed == 2")


def test_every_request_that_opens_a_session_offers_the_tools(editor: Editor) -> None:
    agent = storing_agent(editor, {})
    editor.turn("say one")
    editor.cmd("Acp restart")
    agent.wait("session/resume")
    first, again = servers_in(agent)[0], servers_in(agent, "session/resume")[0]
    assert first["name"] == again["name"] == "neovim"
    assert first["args"][:2] == ["-I", "-S"]
    assert os.path.isabs(first["command"])  # noqa: PTH117
    assert variable(first, "ACP_NVIM_TOKEN") not in json.dumps(again)
    assert variable(first, "ACP_NVIM_SOCKET") == variable(again, "ACP_NVIM_SOCKET")


@pytest.mark.parametrize("tools", [False, [], ["nvim_write"]])
def test_an_option_turns_the_tools_off(editor: Editor, tools: Any) -> None:
    editor.setup({"tools": tools})
    agent = editor.agent("hello")
    editor.turn("hi")
    assert servers_in(agent) == []
    assert "tools" not in editor.session()
    assert "tools:" not in info(editor)


def test_an_option_of_the_agent_takes_precedence(editor: Editor) -> None:
    editor.setup({"tools": False})
    agent = editor.agent("hello", tools=["nvim_read"])
    editor.turn("hi")
    assert [server["name"] for server in servers_in(agent)] == ["neovim"]


def test_a_server_of_the_user_replaces_the_editors(editor: Editor) -> None:
    editor.setup({"mcp_servers": [{"name": "neovim", "command": "/bin/mine"}]})
    agent = editor.agent("hello")
    editor.turn("hi")
    assert [server["command"] for server in servers_in(agent)] == ["/bin/mine"]
    assert sum("Your MCP server neovim replaces" in line for line in editor.chat()) == 1


def test_no_log_shows_the_token(editor: Editor) -> None:
    editor.write("app.py", "one\n")
    agent = editor.agent("script")
    editor.turn(READ)
    token = variable(servers_in(agent)[0], "ACP_NVIM_TOKEN")
    for redact in (True, False):
        editor.setup({"log": {"redact": redact, "level": "debug"}})
        editor.cmd("Acp log")
        editor.wait("#vim.fn.getbufline('acp://log/script', 1, '$') > 3")
        log = "\n".join(editor.lines("acp://log/script"))
        assert "ACP_NVIM_TOKEN" in log
        assert token not in log
        editor.cmd("bwipeout! acp://log/script")
    saved = editor.home / "log.txt"
    editor.cmd(f"Acp log save {saved}")
    editor.wait(f"vim.uv.fs_stat('{saved}')")
    assert token not in saved.read_text()


def test_info_shows_connections_and_calls(editor: Editor) -> None:
    editor.write("app.py", "one\n")
    editor.agent("script")
    editor.turn("say hi")
    assert "tools: not connected" in info(editor)
    editor.cmd("bwipeout!")
    editor.turn(f"{READ}\nmcp_connect 1\nmcp nvim_read {{}}")
    assert "  tools: 2 connections, 2 calls, 1 failed, slowest " in info(editor)


def test_sessions_have_separate_connections(editor: Editor) -> None:
    editor.write("app.py", "one\n")
    agent = editor.agent("script")
    editor.turn(READ)
    editor.cmd("AcpPrompt! mcp_connect 2")
    editor.wait_event("AcpTurnEnd", 2)
    editor.wait("require('acp').state().sessions[2].tools.connected == 2")
    assert editor.session(1)["tools"]["connected"] == 1
    first, second = servers_in(agent), servers_in(agent, nth=1)
    assert variable(first[0], "ACP_NVIM_TOKEN") != variable(second[0], "ACP_NVIM_TOKEN")


# -- the end of a relay


def connected(editor: Editor) -> tuple[Traffic, Path]:
    """Return a connected agent and the socket that it uses."""
    editor.write("app.py", "one\n")
    agent = editor.agent("script")
    editor.turn(READ)
    assert len(relays(editor)) == 1
    return agent, Path(variable(servers_in(agent)[0], "ACP_NVIM_SOCKET"))


def wait_gone(editor: Editor) -> None:
    until(lambda: not relays(editor), what="the relays have ended")


def test_a_relay_ends_with_its_agent(editor: Editor) -> None:
    agent, socket = connected(editor)
    os.kill(agent.pids()[0], signal.SIGKILL)
    wait_gone(editor)
    editor.wait("require('acp').state().sessions[1].tools.connected == 0")
    editor.wait_event("AcpAgentExit")  # an earlier prompt would still be sent to the dead agent
    assert socket.exists()
    editor.turn(READ)
    assert text(agent, 1) == "one\n"


def test_a_relay_ends_with_its_session(editor: Editor) -> None:
    agent, socket = connected(editor)
    install_picker(editor)
    pick(editor, "Acp sessions", READ, "close")
    wait_gone(editor)
    editor.wait("require('acp').state().sessions[1].status == 'closed'")
    assert "tools" not in editor.session(1)
    assert socket.exists()
    editor.cmd(f"AcpPrompt! {READ}")
    editor.wait_event("AcpTurnEnd", 2)
    assert text(agent, 1) == "one\n"


def test_a_relay_ends_with_neovim(edit: Callable[..., Editor]) -> None:
    editor = edit()
    _, socket = connected(editor)
    editor.quit()
    wait_gone(editor)
    assert not socket.exists()


def test_a_relay_ends_with_a_killed_neovim(edit: Callable[..., Editor]) -> None:
    editor = edit()
    _, socket = connected(editor)
    editor.kill()
    wait_gone(editor)
    until(lambda: not socket.exists(), what="the socket is gone")


def test_a_relay_ends_with_its_host_and_the_session_continues(editor: Editor) -> None:
    agent, socket = connected(editor)
    before = editor.lua(HOST_PID)
    kill_host(editor)
    wait_gone(editor)
    editor.turn(READ)
    assert text(agent, 1) == "one\n"
    again = Path(variable(servers_in(agent, nth=-1)[0], "ACP_NVIM_SOCKET"))
    assert again != socket
    assert not socket.exists()
    assert again.name.startswith(f"{editor.lua(HOST_PID)}-")
    assert before != editor.lua(HOST_PID)


@pytest.mark.parametrize("protocol", [1, 2])
def test_an_agent_that_takes_servers_over_its_connection_gets_one(
    editor: Editor, protocol: int
) -> None:
    editor.write("app.py", "one\n")
    capabilities = {"mcpCapabilities": {"acp": True}}
    agent = editor.agent("script", capabilities=capabilities, protocol=protocol)
    editor.turn("say hi")
    (server,) = servers_in(agent)
    assert server == {"type": "acp", "name": "neovim", "serverId": server["serverId"]}
    inner = {"name": "nvim_read", "arguments": {"path": "app.py"}}
    message = {"serverId": server["serverId"], "requestId": "1", "method": "tools/call"}
    editor.turn(f"request mcp/message {json.dumps({**message, 'params': inner})}")
    (answer,) = agent.answers("mcp/message")
    assert answer["result"]["result"]["content"] == [{"type": "text", "text": "one\n"}]
    assert not relays(editor)
    tools = editor.session()["tools"]
    assert (tools["connected"], tools["calls"]) == (1, 1)
    editor.turn(f"request mcp/message {json.dumps({**message, 'serverId': 'guessed'})}")
    assert agent.answers("mcp/message")[1]["error"]["code"] == -33001
