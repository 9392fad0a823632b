"""Agents of the official Python and TypeScript SDKs that speak versions 1 and 2 of the protocol.

Their models validate every frame. The SDKs are installed under `AGENTS_DIR` on the first run, each
in its own environment.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.real import npm
from tests.real.kit import INSTALLED
from tests.support.editor import ROOT, Editor
from tests.support.traffic import Traffic

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(240),
    pytest.mark.parametrize("version", [1, 2]),
]

PLACE = INSTALLED / "acp-sdks"
SDK = PLACE / "node_modules/@agentclientprotocol/sdk/dist"
PACKAGES = ("@agentclientprotocol/sdk@1.9.0", "zod", "node@22")
PYTHON = PLACE / "py/bin/python"
PYTHON_SDK = "agent-client-protocol==1.0.0rc3"


@pytest.fixture(scope="module")
def node() -> Path:
    """Return Node.js with the TypeScript SDK."""
    program = PLACE / "node_modules/.bin/node"
    npm.install(PLACE, PACKAGES, SDK, program)
    return program


@pytest.fixture(scope="module")
def python() -> Path:
    """Return an interpreter with the Python SDK."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PLACE / "py")], check=True, timeout=60)
        install = [str(PYTHON), "-m", "pip", "install", "-q", "--pre", PYTHON_SDK]
        subprocess.run(install, check=True, timeout=200)
    return PYTHON


def configure(editor: Editor, version: int, *argv: object) -> Traffic:
    """Configure an agent for new sessions. `editor` checks every frame at its end."""
    traffic = Traffic(editor.home / "sdk.jsonl", "sdk")
    editor.traffic.append(traffic)
    tee = [sys.executable, str(ROOT / "tests/real/tee.py"), str(traffic.path)]
    command = [*tee, *map(str, argv)]
    editor.setup({"agent": "sdk", "agents": {"sdk": {"command": command, "protocol": version}}})
    return traffic


@pytest.mark.parametrize("key", ["allow", "deny"])
def test_the_python_router_edits_with_permission(
    editor: Editor, python: Path, version: int, key: str
) -> None:
    path = editor.write("a.txt", "one\ntwo\n")
    editor.open(path)
    configure(editor, version, python, ROOT / "tests/agents_sdk/router.py")
    editor.prompt(f"edit {path}")
    asked = editor.wait_event("AcpPermission")
    assert [option["name"] for option in asked["options"]] == ["Do it", "Leave it"]
    assert asked["title"] == ("May it?" if version == 2 else f"Capitals for {path}")
    assert editor.session()["status"] == "running"
    editor.answer(f"Acp {key}")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    assert editor.state()["agents"]["sdk"]["protocol"] == version
    chat = "\n".join(editor.chat())
    allowed = key == "allow"
    assert ("Written." if allowed else "Left as it was.") in chat
    assert path.read_text() == ("ONE\nTWO\n" if allowed else "one\ntwo\n")
    session = editor.session()
    assert [call["status"] for call in session["tool_calls"]] == [
        "completed" if allowed else "failed"
    ]
    if allowed:
        editor.wait("#require('acp').state().sessions[1].edits == 1")
        assert [entry["status"] for entry in session["plan"]] == ["completed"]


def test_the_python_router_is_cancelled(editor: Editor, python: Path, version: int) -> None:
    traffic = configure(editor, version, python, ROOT / "tests/agents_sdk/router.py")
    editor.prompt("wait")
    traffic.wait("session/prompt")
    editor.wait_event("AcpTurnStart")
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    assert editor.turn("all the same")["stop_reason"] == "end_turn"
    assert "all the same" in "\n".join(editor.chat())


@pytest.mark.parametrize("key", ["allow", "deny"])
def test_the_typescript_router_asks_for_permission(
    editor: Editor, node: Path, version: int, key: str
) -> None:
    configure(editor, version, node, ROOT / "tests/agents_sdk/dual.mjs", SDK)
    editor.prompt("go")
    editor.wait_event("AcpPermission")
    editor.answer(f"Acp {key}")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    assert editor.state()["agents"]["sdk"]["protocol"] == version
    chosen = "yes" if key == "allow" else "no"
    assert f"chose {chosen}" in "\n".join(editor.chat())
    wanted = "completed" if key == "allow" else "failed"
    assert [call["status"] for call in editor.session()["tool_calls"]] == [wanted]


def test_the_typescript_example_of_two_versions(editor: Editor, node: Path, version: int) -> None:
    configure(editor, version, node, SDK / "examples/dual-version-agent.js")
    assert editor.turn("hello")["stop_reason"] == "end_turn"
    assert f"Hello from the v{version} implementation." in editor.chat()
    assert editor.turn("again")["stop_reason"] == "end_turn"
    if version == 1:
        return
    editor.prompt("stop this")
    editor.wait_event("AcpTurnStart", 3)
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd", 3)["stop_reason"] == "cancelled"


def test_the_typescript_example_with_a_permission(editor: Editor, node: Path, version: int) -> None:
    configure(editor, version, node, SDK / "examples/agent.js")
    editor.prompt("hello")
    editor.wait_event("AcpPermission")
    editor.answer("Acp allow")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    assert editor.state()["agents"]["sdk"]["protocol"] == 1
    assert "Perfect!" in "\n".join(editor.chat())
