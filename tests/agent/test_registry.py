"""Option `agents_file`: names and commands from the format of the public registry."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

from acp_nvim.agent import registry
from acp_nvim.agent.registry import RegistryError, lookup, read, this_platform
from acp_nvim.agent.settings import AgentSettings, Settings
from tests.support.editor import Editor

PLATFORMS = ("darwin-aarch64", "linux-aarch64", "linux-x86_64", "windows-x86_64")
AGENTS: list[dict[str, Any]] = [
    {
        "id": "node-agent",
        "name": "Node Agent",
        "version": "1.2.3",
        "authors": ["A"],
        "icon": None,
        "distribution": {
            "npx": {"package": "@a/node@1.2.3", "args": ["--acp"], "env": {"QUIET": "1"}}
        },
    },
    {
        "id": "python-agent",
        "name": "Python Agent",
        "distribution": {"uvx": {"package": "py-agent==4", "cmd": "agent", "args": ["serve"]}},
    },
    {
        "id": "binary-agent",
        "name": "Binary Agent",
        "website": "https://example.com",
        "version": "7.0.0",
        "distribution": {
            "binary": {
                name: {
                    "archive": f"https://example.com/{name}.tar.gz",
                    "cmd": "./dist/binary-agent" + (".exe" if "windows" in name else ""),
                    "args": ["acp"],
                    "sha256": "00",
                }
                for name in PLATFORMS
            }
        },
    },
    {
        "id": "both",
        "name": "Both",
        "distribution": {
            "npx": {"package": "both", "cmd": "both-acp"},
            "binary": {name: {"archive": "x", "cmd": "both"} for name in PLATFORMS},
        },
        "preview": {"version": "2", "distribution": {"npx": {"package": "both@next"}}},
    },
    {"id": "elsewhere", "distribution": {"binary": {"plan9-mips": {"cmd": "x", "archive": "y"}}}},
    {"id": "later", "distribution": {"docker": {"image": "x"}}},
    {"name": "without an id"},
    {"id": "node-agent", "name": "a second one", "distribution": {"npx": {"package": "evil"}}},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "registry.json"
    path.write_text(json.dumps({"version": "1.0.0", "agents": AGENTS, "extensions": []}))
    return path


def which(*found: str) -> registry.Which:
    return lambda name: f"/bin/{name}" if name in found else None


def test_packages(path: Path) -> None:
    node = registry.settings(path, "node-agent", which("npx"))
    assert node is not None
    assert node.command == ["npx", "--yes", "@a/node@1.2.3", "--acp"]
    assert node.env == {"QUIET": "1"}
    assert node.title == "Node Agent"
    python = registry.settings(path, "python-agent", which("uvx"))
    assert python is not None
    assert python.command == ["uvx", "--from", "py-agent==4", "agent", "serve"]


def test_an_installed_program_is_preferred_to_a_download(path: Path) -> None:
    entry = read(path)["both"]
    assert registry.settings_of(entry, which("npx", "both"), "linux-x86_64").command == ["both"]
    fetched = registry.settings_of(entry, which("npx"), "linux-x86_64")
    assert fetched.command == ["npx", "--yes", "--package", "both", "both-acp"]


def test_a_preview_is_taken_in_its_channel_only(path: Path) -> None:
    for channel, command in (
        (None, ["npx", "--yes", "--package", "both", "both-acp"]),
        ("preview", ["npx", "--yes", "both@next"]),
    ):
        agents = {"both": msgspec.convert({"channel": channel}, AgentSettings)}
        found = lookup(Settings(agents=agents, agents_file=str(path)), "both", which("npx"))
        assert found is not None
        assert found.command == command
    node = registry.settings(path, "node-agent", which("npx"), "preview")  # has no preview
    assert node is not None
    assert "@a/node@1.2.3" in node.command


def test_the_protocol_matrix_gives_the_version_unless_the_user_does(path: Path) -> None:
    rows = [{"id": "node-agent", "protocolVersion": 2}, {"id": "both", "protocolVersion": None}]
    matrix = path.with_name(registry.MATRIX)
    matrix.write_text(json.dumps({"date": "2026-11-01", "agents": rows}))
    for own, protocol in ((None, 2), (1, 1)):
        agents = {"node-agent": AgentSettings(protocol=own)}
        found = lookup(Settings(agents=agents, agents_file=str(path)), "node-agent")
        assert found is not None
        assert found.protocol == protocol
    for name in ("both", "python-agent"):
        found = registry.settings(path, name)
        assert found is not None
        assert found.protocol is None
    matrix.write_text("{")
    found = registry.settings(path, "node-agent")
    assert found is not None
    assert found.protocol is None


@pytest.mark.parametrize(
    ("platform", "program"),
    [("linux-x86_64", "binary-agent"), ("windows-x86_64", "binary-agent.exe")],
)
def test_binaries_must_be_on_path(path: Path, platform: str, program: str) -> None:
    entry = read(path)["binary-agent"]
    for finder in (which(), which(program)):
        found = registry.settings_of(entry, finder, platform)
        assert found.command == [program, "acp"]
        archive = f"https://example.com/{platform}.tar.gz"
        assert found.install == f"unpack {archive} and put {program} on PATH"


@pytest.mark.parametrize("id", ["elsewhere", "later"])
def test_no_distribution_for_this_machine(path: Path, id: str) -> None:
    with pytest.raises(RegistryError, match=f"{id} is not distributed for {this_platform()}"):
        registry.settings(path, id, which("npx"))


def test_an_unreadable_entry_leaves_the_others(path: Path) -> None:
    entries = read(path)
    assert [*entries][:3] == ["node-agent", "python-agent", "binary-agent"]
    assert "later" in entries
    assert entries["node-agent"].name == "Node Agent"
    assert registry.settings(path, "unknown") is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"agents": {}}', '{"agent": []}', "\udcff"])
def test_an_invalid_agents_file_is_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "registry.json"
    path.write_text(text, errors="surrogateescape")
    with pytest.raises(RegistryError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_a_missing_agents_file_has_no_agents(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="No such file"):
        read(tmp_path / "none.json")


def test_the_users_entry_overrides_the_registry(path: Path) -> None:
    mine = {
        "node-agent": AgentSettings(env={"KEY": "k"}, auth_method="key"),
        "binary-agent": AgentSettings(command=["my-own"]),
        "gemini": AgentSettings(command=["gemini"]),
    }
    options = Settings(agents=mine, agents_file=str(path))
    node = lookup(options, "node-agent", which("npx"))
    assert node is not None
    assert node.command[0] == "npx"
    assert node.env == {"QUIET": "1", "KEY": "k"}
    assert node.auth_method == "key"
    assert node.title == "Node Agent"
    assert lookup(options, "binary-agent") == mine["binary-agent"]
    assert lookup(options, "gemini") == mine["gemini"]
    assert lookup(options, "unknown") is None
    assert lookup(Settings(agents=mine), "node-agent") == mine["node-agent"]


# -- in Neovim


def failure(editor: Editor, text: str = "hello") -> str:
    """Prompt an agent that cannot be started, and return the reason."""
    editor.prompt(text)
    editor.wait("require('acp').state().sessions[1].status == 'failed'")
    error: str = editor.session(1)["error"]
    assert error in "\n".join(editor.chat(1))
    return error


def test_an_agent_of_the_file_can_be_used(editor: Editor, path: Path) -> None:
    program = editor.home / "bin" / "binary-agent"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec python3 -m tests.agents hello # {program}\n")
    editor.agent("hello", name="scripted")
    argv = editor.options["agents"]["scripted"]["command"]
    root = editor.options["agents"]["scripted"]["env"]["PYTHONPATH"]
    words = shlex.join(argv)
    program.write_text(f"#!/bin/sh\nexport PYTHONPATH={root}\n[ $1 = acp ] && exec {words}\n")
    program.chmod(0o755)
    editor.lua("vim.env.PATH = (...) .. ':' .. vim.env.PATH", str(program.parent))
    editor.setup({"agent": "binary-agent", "agents_file": str(path)})
    names = editor.lua("return require('acp.config').agent_names()")
    assert {"binary-agent", "node-agent", "claude"} <= set(names)
    assert editor.turn("x")["stop_reason"] == "end_turn"
    assert editor.session()["agent"] == "binary-agent"
    version = editor.state()["agents"]["binary-agent"]["info"]["version"]
    editor.cmd("checkhealth acp")
    report = editor.wait("table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')")
    assert f"binary-agent: {version} runs, agents_file has 7.0.0" in report


def test_a_missing_binary_has_an_installation_hint(editor: Editor, path: Path) -> None:
    editor.setup({"agent": "binary-agent", "agents_file": str(path)})
    why = failure(editor)
    assert why.startswith("Cannot start binary-agent: not found on PATH. To install it: unpack ")


def test_a_missing_preset_has_an_installation_hint(editor: Editor) -> None:
    editor.setup({"agent": "auggie"})
    hint = "npm install -g @augmentcode/auggie"
    assert failure(editor) == f"Cannot start auggie: not found on PATH. To install it: {hint}"


def test_an_unreadable_agents_file_is_reported(editor: Editor) -> None:
    editor.setup({"agent": "some-agent", "agents_file": str(editor.home / "none.json")})
    path = editor.home / "none.json"
    assert failure(editor) == f"agents_file: {path}: No such file or directory"


def test_every_preset_has_a_description_and_an_installation_hint(editor: Editor) -> None:
    presets = editor.lua("return require('acp.base.settings.known_agents')")
    assert {"claude", "codex", "gemini", "opencode", "kimi", "goose", "qwen"} <= set(presets)
    for name, preset in presets.items():
        assert preset["title"], name
        if name != "tutor":
            assert preset["command"], name
            assert preset["install"].startswith(("npm install ", "uv tool ", "https://")), name


def test_environment_values_may_be_numbers(editor: Editor) -> None:
    agent = editor.agent("hello", env={"LEVEL": 3})
    assert editor.turn("x")["stop_reason"] == "end_turn"
    assert agent.pids()
