"""The editor's MCP server before the official judges: `@modelcontextprotocol/conformance` over HTTP
and `@modelcontextprotocol/inspector` through the relay.

npm puts them under `AGENTS_DIR` on the first run, with a Node.js that is new enough for them.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_nvim.tools.tool import AnyArguments, Call, Tool, ToolError, ToolResult
from tests.real.kit import INSTALLED
from tests.real.token_proxy import token_proxy
from tests.support.http_tools import open_port
from tests.support.tool_door import ECHO, RELAY, open_door

pytestmark = [pytest.mark.agents, pytest.mark.timeout(240)]

PLACE = INSTALLED / "mcp-judges"
PACKAGES = (
    "node@22",
    "@modelcontextprotocol/conformance@0.1.16",
    "@modelcontextprotocol/inspector@2.12.0",
)

SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "tools-call-with-progress",
    "json-schema-2020-12",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)
"""Those that apply. The rest are about what this server does not offer: pictures, sound and
resources in results, logging, sampling, elicitation, completion, resources, prompts, and streams
that can be taken up again (`server-sse-polling`).
"""
SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}


async def _says(call: Call, given: AnyArguments) -> ToolResult:
    return ToolResult("This is a simple text response for testing.")


async def _fails(call: Call, given: AnyArguments) -> ToolResult:
    raise ToolError("This tool intentionally returns an error for testing")


async def _goes_on(call: Call, given: AnyArguments) -> ToolResult:
    for text in ("begun", "half way", "done"):
        call.progress(text)
        await anyio.lowlevel.checkpoint()
    return ToolResult("It is done.")


ASKED_FOR: list[Tool[Any]] = [
    Tool("test_simple_text", "Text", "Says a text.", AnyArguments, _says),
    Tool("test_error_handling", "Error", "Fails.", AnyArguments, _fails),
    Tool("test_tool_with_progress", "Progress", "Goes on.", AnyArguments, _goes_on),
    Tool("json_schema_2020_12_tool", "Schema", "Has one.", AnyArguments, _says, schema=SCHEMA),
]


@pytest.fixture(scope="module")
def programs() -> Path:
    """The folder with the judges' programs."""
    found = PLACE / "node_modules" / ".bin"
    if not (found / "mcp-inspector").exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not on PATH")
        PLACE.mkdir(parents=True, exist_ok=True)
        quiet = ["--no-audit", "--no-fund", "--silent", "--prefix", str(PLACE)]
        subprocess.run([npm, "install", *quiet, *PACKAGES], check=True, timeout=200)
    return found


async def judged(programs: Path, *argv: str, folder: Path) -> tuple[int, str]:
    """Run one of them: its exit code, and what it says."""
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    program = await asyncio.create_subprocess_exec(
        str(programs / argv[0]),
        *argv[1:],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PATH": path, "HOME": str(folder)},
        cwd=folder,
    )
    said, _ = await program.communicate()
    return program.returncode or 0, said.decode()


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_scenario_of_the_conformance_suite_passes(
    programs: Path, tmp_path: Path, scenario: str
) -> None:
    async with open_port(ASKED_FOR) as port:
        number = int(port.address.partition(":")[2])
        async with token_proxy(number, port.token) as before:
            url = f"http://127.0.0.1:{before}/mcp"
            argv = ["conformance", "server", "--url", url, "--scenario", scenario]
            code, said = await judged(programs, *argv, folder=tmp_path)
    assert code == 0, said
    passed = re.search(r"Passed: (\d+)/(\d+), 0 failed, 0 warnings", said)
    assert passed, said
    assert passed[1] == passed[2] != "0"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_lists_and_calls_through_the_relay(
    programs: Path, tmp_path: Path, era: str
) -> None:
    async with open_door(tmp_path, [ECHO]) as house:
        env = [it for name, value in house.env().items() for it in ("-e", f"{name}={value}")]
        relay = [sys.executable, "-I", "-S", RELAY]
        await inspected(programs, tmp_path, *env, "--protocol-era", era, *relay)
        assert house.session.tools is not None
        assert house.session.tools.calls == 1
        assert not house.door.refused


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_lists_and_calls_over_http(
    programs: Path, tmp_path: Path, era: str
) -> None:
    async with open_port([ECHO]) as port:
        header = f"Authorization: Bearer {port.token}"
        target = ["--protocol-era", era, port.url, "--transport", "http", "--header", header]
        await inspected(programs, tmp_path, *target)
        assert not port.door.refused


async def inspected(programs: Path, folder: Path, *target: str) -> None:
    """List the tools and call one."""
    argv = ["mcp-inspector", "--cli", *target, "--method"]
    code, said = await judged(programs, *argv, "tools/list", folder=folder)
    assert code == 0, said
    (tool,) = json.loads(said)["tools"]
    assert tool["name"] == "echo"
    call = ["tools/call", "--tool-name", "echo", "--tool-arg", "text=a"]
    code, said = await judged(programs, *argv, *call, folder=folder)
    assert code == 0, said
    assert json.loads(said)["structuredContent"] == {"said": "a"}
