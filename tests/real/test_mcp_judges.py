"""The editor's MCP server with the official `@modelcontextprotocol/inspector`, through the relay.

npm installs it under `AGENTS_DIR` on the first run, with a Node.js that is new enough for it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from tests.real import npm
from tests.real.kit import INSTALLED
from tests.support.served_tools import ECHO, RELAY, serve_tools

pytestmark = [pytest.mark.agents, pytest.mark.timeout(240)]

PLACE = INSTALLED / "mcp-judges"
PACKAGES = (
    "node@22",
    "@modelcontextprotocol/inspector@2.12.0",
)


@pytest.fixture(scope="module")
def programs() -> Path:
    """Return the folder with the programs, and install them if necessary."""
    found = PLACE / "node_modules" / ".bin"
    npm.install(PLACE, PACKAGES, found / "mcp-inspector")
    return found


async def run_program(programs: Path, *argv: str, folder: Path) -> tuple[int, str]:
    """Run a program and return its exit code and output."""
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    program = await asyncio.create_subprocess_exec(
        str(programs / argv[0]),
        *argv[1:],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PATH": path, "HOME": str(folder)},
        cwd=folder,
    )
    output, _ = await program.communicate()
    return program.returncode or 0, output.decode()


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_lists_and_calls_through_the_relay(
    programs: Path, tmp_path: Path, era: str
) -> None:
    async with serve_tools(tmp_path, [ECHO]) as served:
        env = [it for name, value in served.env().items() for it in ("-e", f"{name}={value}")]
        relay = [sys.executable, "-I", "-S", RELAY]
        await inspect_tools(programs, tmp_path, *env, "--protocol-era", era, *relay)
        assert served.session.tools is not None
        assert served.session.tools.calls == 1
        assert not served.socket.refused


async def inspect_tools(programs: Path, folder: Path, *target: str) -> None:
    """List the tools and call one."""
    argv = ["mcp-inspector", "--cli", *target, "--method"]
    code, output = await run_program(programs, *argv, "tools/list", folder=folder)
    assert code == 0, output
    (tool,) = json.loads(output)["tools"]
    assert tool["name"] == "echo"
    call = ["tools/call", "--tool-name", "echo", "--tool-arg", "text=a"]
    code, output = await run_program(programs, *argv, *call, folder=folder)
    assert code == 0, output
    assert json.loads(output)["structuredContent"] == {"said": "a"}
