"""MCP servers and the system prompt: sent in a form that the agent accepts, without secrets in
logs.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_nvim.agent.opening import mcp
from acp_nvim.protocol import schema
from tests.support.editor import Editor
from tests.support.traffic import Traffic

SH = str(shutil.which("sh"))
ENV = {"PATH": str(Path(SH).parent), "TOKEN": "s3cret-value", "HOST": "example.org"}
BOTH = schema.McpCapabilities(http=True, sse=True)
NONE = schema.McpCapabilities()


def found(
    *entries: dict[str, Any], capabilities: schema.McpCapabilities = BOTH, cwd: str = "/nowhere"
) -> mcp.Servers:
    return mcp.servers(entries, cwd, capabilities, ENV, lambda project: True)


def test_a_stdio_server_has_an_absolute_command_and_all_its_arrays() -> None:
    [server] = found({"name": "a", "command": "sh"}).passed
    assert server == schema.McpServerStdio("a", SH, [], [])


@pytest.mark.parametrize(
    "env", [{"KEY": "$ENV{TOKEN}"}, [{"name": "KEY", "value": "${TOKEN}"}], {"KEY": "${env:TOKEN}"}]
)
def test_values_of_the_environment_are_filled_in_and_treated_as_secrets(env: Any) -> None:
    result = found({"name": "a", "command": "sh", "args": ["--at", "${HOST}"], "env": env})
    [server] = result.passed
    assert isinstance(server, schema.McpServerStdio)
    assert server.env == [schema.EnvVariable("KEY", "s3cret-value")]
    assert server.args == ["--at", "example.org"]
    assert {"s3cret-value", "example.org"} <= set(result.secrets)


def test_a_default_replaces_an_unset_variable() -> None:
    [server] = found({"name": "a", "command": "sh", "args": ["${NO_SUCH:-8080}"]}).passed
    assert isinstance(server, schema.McpServerStdio)
    assert server.args == ["8080"]


def test_remote_servers_with_headers_of_either_shape() -> None:
    listed = [{"name": "A", "value": "Bearer $ENV{TOKEN}"}]
    result = found(
        {"name": "h", "type": "http", "url": "https://${HOST}/mcp", "headers": listed},
        {"name": "s", "type": "sse", "url": "http://localhost", "headers": {"A": "1"}},
        {"name": "t", "url": "https://x.org"},
    )
    header = [schema.HttpHeader("A", "Bearer s3cret-value")]
    assert result.passed == [
        schema.McpServerHttp("h", "https://example.org/mcp", header),
        schema.McpServerSse("s", "http://localhost", [schema.HttpHeader("A", "1")]),
        schema.McpServerHttp("t", "https://x.org", []),
    ]
    assert "Bearer s3cret-value" in result.secrets


def test_a_full_path_of_a_program_is_unchanged() -> None:
    result = found({"name": "a", "command": "/opt/elsewhere/server"})
    assert result.passed == [schema.McpServerStdio("a", "/opt/elsewhere/server", [], [])]
    assert result.left_out == []


def test_a_missing_program_is_unchanged_and_reported() -> None:
    result = found({"name": "a", "command": "no-such-program"})
    assert result.passed == [schema.McpServerStdio("a", "no-such-program", [], [])]
    assert result.doubts == ["The MCP server a: program no-such-program not found"]
    assert result.left_out == []


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"name": "a", "type": "http", "url": "https://x.org"}, "accepts no servers of type http"),
        ({"name": "a", "type": "sse", "url": "https://x.org"}, "accepts no servers of type sse"),
        ({"name": "a", "type": "carrier"}, "its type carrier is not"),
        ({"name": "a"}, "it has no command"),
        ({"name": "a", "command": "sh", "args": "x"}, "args are not a list"),
        ({"name": "a", "command": "sh", "env": {"A": None}}, "env are not names"),
        ({"name": "a", "command": "sh", "env": {"A": "$ENV{NOPE}"}}, "variable NOPE is not set"),
        ({"command": "sh"}, "without a name"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_the_others(entry: dict[str, Any], why: str) -> None:
    good = {"name": "good", "command": "sh"}
    result = found(entry, good, capabilities=NONE)
    assert [server.name for server in result.passed] == ["good"]
    [line] = result.left_out
    assert why in line
    assert "\n" not in line


def test_the_projects_file_comes_after_the_configuration(tmp_path: Path) -> None:
    table = {
        "mine": {"command": "sh", "args": ["file"]},
        "theirs": {"command": "./run", "cwd": "x"},
        "off": {"command": "sh", "disabled": True},
    }
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": table}))
    (tmp_path / "mcp.json").write_text(json.dumps({"servers": {"last": {"command": "sh"}}}))
    (tmp_path / "run").write_text("#!/bin/sh\n")
    (tmp_path / "run").chmod(0o755)
    result = found({"name": "mine", "command": "sh"}, cwd=str(tmp_path))
    servers = [s for s in result.passed if isinstance(s, schema.McpServerStdio)]
    assert [(s.name, s.command, s.args) for s in servers] == [
        ("mine", SH, []),
        ("theirs", str(tmp_path / "run"), []),
        ("last", SH, []),
    ]


@pytest.mark.parametrize(
    ("content", "why"),
    [("{", "not JSON"), ("[]", "no mcpServers"), ('{"mcpServers": {"a": 1}}', "server a is no")],
)
def test_an_unreadable_servers_file_is_reported(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / ".mcp.json").write_text(content)
    [line] = found(cwd=str(tmp_path)).left_out
    assert line.startswith(f"{tmp_path / '.mcp.json'} was not read")
    assert why in line


# -- in a real Neovim -----------------------------------------------------------------------------


def setup_of(agent: Traffic, method: str = "session/new") -> dict[str, Any]:
    params: dict[str, Any] = agent.wait(method)["params"]
    return params


def test_a_pipe_in_place_of_the_servers_file_is_reported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".mcp.json")
    [line] = found(cwd=str(tmp_path)).left_out
    assert line == f"{tmp_path / '.mcp.json'} was not read: is not a regular file"


def test_values_of_servers_reach_the_session_but_not_the_log(edit: Any) -> None:
    editor: Editor = edit(env={"ACP_TEST_TOKEN": "t0ken-from-outside"})
    editor.errors_expected = True
    server = {
        "name": "one",
        "command": sys.executable,
        "args": ["--key=$ENV{ACP_TEST_TOKEN}"],
        "env": [{"name": "PLAIN", "value": "literal-secret"}],
    }
    editor.setup({"mcp_servers": [server]})
    two = {"two": {"url": "https://x.org"}, "three": {"command": "sh"}}
    file = editor.write(".mcp.json", json.dumps({"mcpServers": two}))
    agent = editor.agent("hello", mcp_servers=[{"name": "zero", "command": "sh"}])
    editor.turn("hi")
    editor.answer("Acp allow")
    editor.wait("#require('acp').state().sessions[1].questions == 0")
    editor.cmd("AcpPrompt! hi")
    editor.wait_event("AcpTurnEnd", 2)
    own, *servers = agent.received("session/new")[1]["params"]["mcpServers"]
    assert own["name"] == "neovim"
    assert servers == [
        {"name": "zero", "command": shutil.which("sh"), "args": [], "env": []},
        {
            "name": "one",
            "command": sys.executable,
            "args": ["--key=t0ken-from-outside"],
            "env": [{"name": "PLAIN", "value": "literal-secret"}],
        },
        {"name": "three", "command": shutil.which("sh"), "args": [], "env": []},
    ]
    assert any(f"MCP servers in {file}: three" in line for line in editor.chat())
    left_out = "The MCP server two was left out: the agent accepts no servers of type http"
    assert any(left_out in line for line in editor.chat())
    for redact in (True, False):
        editor.setup({"log": {"redact": redact, "level": "debug"}})
        editor.cmd("Acp log")
        editor.wait("#vim.fn.getbufline('acp://log/hello', 1, '$') > 3")
        log = "\n".join(editor.lines("acp://log/hello"))
        assert "session/new" in log
        assert "t0ken-from-outside" not in log
        assert "literal-secret" not in log
        editor.cmd("bwipeout! acp://log/hello")
    saved = editor.home / "log.txt"
    editor.cmd(f"Acp log save {saved}")
    editor.wait(f"vim.uv.fs_stat('{saved}')")
    assert "t0ken-from-outside" not in saved.read_text()


@pytest.mark.parametrize(
    ("capability", "wanted", "mode"),
    [
        ({}, "Be brief.", "append"),
        ({}, {"text": "Be brief.", "mode": "override"}, "append"),
        ({"mode": {"override": {}}}, {"text": "Be brief.", "mode": "override"}, "override"),
        (None, "Be brief.", None),
    ],
)
def test_the_system_prompt_is_sent_only_with_its_capability(
    editor: Editor, capability: Any, wanted: Any, mode: str | None
) -> None:
    capabilities = {"sessionCapabilities": {"systemPrompt": capability} if mode else {}}
    agent = editor.agent("hello", capabilities=capabilities, system_prompt=wanted)
    editor.turn("hi")
    content = [{"type": "text", "text": "Be brief."}]
    expected = {"mode": mode, "content": content} if mode else None
    assert setup_of(agent).get("systemPrompt") == expected
    if mode is None:
        assert any("The system prompt was left out" in line for line in editor.chat())


def test_the_default_system_prompt_describes_the_editors_tools(editor: Editor) -> None:
    agent = editor.agent("hello", capabilities={"sessionCapabilities": {"systemPrompt": {}}})
    editor.turn("hi")
    prompt = setup_of(agent)["systemPrompt"]
    assert prompt["mode"] == "append"
    assert "nvim_read" in prompt["content"][0]["text"]
    editor.setup({"tools": False})
    editor.cmd("AcpPrompt! hi")
    editor.wait_event("AcpTurnEnd", 2)
    assert "systemPrompt" not in agent.received("session/new")[1]["params"]


def test_the_setup_is_the_same_when_a_session_is_resumed(editor: Editor) -> None:
    agent = editor.agent(
        "hello",
        capabilities={"sessionCapabilities": {"resume": {}, "systemPrompt": {}}},
        system_prompt="Be brief.",
        mcp_servers=[{"name": "zero", "command": "sh"}],
        meta={"theirs": 1},
    )
    editor.turn("hi")
    editor.cmd("Acp restart")
    again, first = setup_of(agent, "session/resume"), setup_of(agent)
    for key in ("systemPrompt", "_meta", "cwd"):
        assert again[key] == first[key]
    assert [it["name"] for it in first["mcpServers"]] == ["neovim", "zero"]
    assert again["mcpServers"][1:] == first["mcpServers"][1:]
    own, own_again = first["mcpServers"][0], again["mcpServers"][0]
    assert {**own_again, "env": own["env"]} == own  # with its own token


def test_the_state_of_each_server_is_known_without_its_values() -> None:
    twice = {"name": "twice", "url": "https://x.org"}
    result = found(
        {"name": "filled", "command": "sh", "args": ["${HOST}"], "env": {"KEY": "$ENV{TOKEN}"}},
        {"name": "remote", "type": "sse", "url": "https://x.org"},
        {"name": "gone", "command": "no-such-program"},
        {"name": "unset", "command": "sh", "env": {"KEY": "$ENV{NO_SUCH}"}},
        {"name": "off", "command": "sh", "disabled": True},
        {"command": "sh"},
        *(twice, twice),
        capabilities=schema.McpCapabilities(http=True, sse=False),
    )
    assert result.outcomes == [
        mcp.ServerOutcome("filled", "stdio", variables=("TOKEN", "HOST")),
        mcp.ServerOutcome("remote", left_out="the agent accepts no servers of type sse"),
        mcp.ServerOutcome("gone", "stdio", missing="no-such-program"),
        mcp.ServerOutcome("unset", left_out="the environment variable NO_SUCH is not set"),
        mcp.ServerOutcome("off", left_out="it is disabled"),
        mcp.ServerOutcome("?", left_out="it has no name"),
        mcp.ServerOutcome("twice", "http"),
        mcp.ServerOutcome("twice", left_out="another server has that name"),
    ]
    assert "s3cret" not in repr(result.outcomes)


def test_servers_of_a_project_need_the_users_consent(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"theirs": {"command": "sh"}}}')
    answers = {None: "you have not allowed it yet", False: "you declined it"}
    for said, why in answers.items():
        result = mcp.servers([], str(tmp_path), BOTH, ENV, lambda project, said=said: said)  # type: ignore[misc]
        assert result.outcomes == [mcp.ServerOutcome("theirs", left_out=why)]


def test_info_lists_the_servers_of_a_session(editor: Editor) -> None:
    editor.agent(
        "script",
        mcp_servers=[
            {"name": "docs", "command": "sh", "env": {"A": "$ENV{HOME}"}},
            {"name": "far", "type": "http", "url": "https://x.org"},
        ],
    )
    editor.turn("say hi")
    editor.cmd("Acp info")
    editor.wait("vim.fn.bufexists('acp://info') == 1")
    editor.wait("#vim.fn.getbufline('acp://info', 1, '$') > 3")
    lines = editor.lines("acp://info")
    at = lines.index("  MCP servers:")
    assert lines[at + 1 : at + 4] == [
        "    neovim: passed (stdio)",
        "    docs: passed (stdio), HOME filled in",
        "    far: left out, the agent accepts no servers of type http",
    ]
