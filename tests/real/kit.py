"""The kit of real agents: its place, the commands of the agents, and their model server.

The kit is a folder outside of this repository (`agents.py`, `fake_llm.py`, `install.sh`):
`ACP_AGENT_KIT`, or else `../shared/agents` beside the repository. Its `install.sh` installs the
agents under `AGENTS_DIR`, default `~/.cache/acp-agents`.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.support.editor import ROOT, Editor
from tests.support.traffic import Traffic
from tests.support.waiting import PATIENCE_S, until

KIT = Path(os.environ.get("ACP_AGENT_KIT", ROOT.parent / "shared" / "agents"))
INSTALLED = Path(os.environ.get("AGENTS_DIR", Path.home() / ".cache" / "acp-agents"))
NAMES = (
    *("claude-old", "codex-zed", "gemini", "kimi-code"),
    *("sdk-example", "py-example", "py-echo"),
)


class Missing(Exception):
    """The kit or one of its agents is missing. The message says how to get it."""


@cache
def _agents() -> ModuleType:
    """Import `agents.py` of the kit."""
    path = KIT / "agents.py"
    if not path.is_file():
        raise Missing(f"no kit of agents in {KIT}; name its folder with ACP_AGENT_KIT")
    spec = importlib.util.spec_from_file_location("acp_agent_kit", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Model:
    """The scripted model server (`fake_llm.py`) in its own process, on a free port."""

    def __init__(self, log: Path) -> None:
        """Start it with this log. Raise `Missing` without a kit."""
        _agents()
        log.touch()
        program = [sys.executable, str(KIT / "fake_llm.py"), "--port", "0", "--log", str(log)]
        self._process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        name, _, port = self._process.stdout.readline().strip().partition("=")
        assert name == "PORT", name
        self.url = f"http://127.0.0.1:{port}"
        self.log = log

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        assert self._process.stdout
        self._process.stdout.close()


@dataclass(frozen=True)
class RealAgent:
    """One agent of the kit, ready to be configured in an editor."""

    name: str
    spec: Mapping[str, Any]

    def _fill(self, text: str, home: Path, url: str) -> str:
        for name, value in (("$A", INSTALLED), ("$URL", url), ("$HOME", home)):
            text = text.replace(name, str(value))
        return text

    def command(self, home: Path, url: str) -> list[str]:
        """Return its argv. Raise `Missing` if one of its programs or scripts is not installed."""
        argv = [self._fill(word, home, url) for word in self.spec["cmd"]]
        for word in argv:
            if word.startswith(str(INSTALLED)) and not Path(word).exists():
                raise Missing(f"{self.name} is not installed ({word}); see {KIT}/install.sh")
        return argv

    def installed(self) -> bool:
        """Return whether it can be started."""
        try:
            return bool(self.command(Path(), ""))
        except Missing:
            return False

    def configure(self, editor: Editor, url: str) -> Traffic:
        """Make it the agent for new sessions, with its own home, and return its traffic."""
        home = editor.home / "agent-home"
        home.mkdir(parents=True, exist_ok=True)
        argv = self.command(home, url)
        given: dict[str, str] = {**self.spec.get("env", {})}
        if "setup" in self.spec:
            given |= self.spec["setup"](home=home, url=url) or {}
        env = {key: self._fill(value, home, url) for key, value in given.items()}
        env = {**_agents().base_env(str(home), str(INSTALLED)), **env}
        traffic = Traffic(editor.home / f"traffic-{self.name}.jsonl", self.name)
        editor.traffic.append(traffic)
        tee = [sys.executable, str(ROOT / "tests/real/tee.py"), str(traffic.path)]
        entry: dict[str, Any] = {"command": [*tee, *argv], "env": env}
        if "auth" in self.spec:
            entry["auth_method"] = self.spec["auth"]
        for method, params in self.spec.get("mode", ()):
            assert method == "session/set_config_option"
            entry["options"] = {params["configId"]: params["value"]}
        editor.setup({"agent": self.name, "agents": {self.name: entry}})
        return traffic


def agent(name: str) -> RealAgent:
    """Return an agent of the kit by its name. Raise `Missing` without a kit."""
    return RealAgent(name, _agents().AGENTS[name])


def run_allowed(editor: Editor, text: str, timeout: float = 50.0) -> dict[str, Any]:
    """Send a prompt and allow every request. Return the data of its `AcpTurnEnd`."""
    ended, asked = len(editor.events("AcpTurnEnd")), len(editor.events("AcpPermissionDone"))
    editor.prompt(text)
    while True:
        editor.wait(
            "local ended, s = ..., require('acp').state() s = s.sessions[s.current] "
            "local n = #vim.tbl_filter(function(e) return e.name == 'AcpTurnEnd' end, acp_events) "
            "return n > ended or #s.permissions > 0",
            ended,
            timeout=timeout,
        )
        events = editor.events("AcpTurnEnd")
        if len(events) > ended:
            data: dict[str, Any] = events[ended]["data"]
            return data
        editor.answer("Acp allow")
        asked += 1
        editor.wait_event("AcpPermissionDone", asked)


def chat_text(editor: Editor, n: int | None = None) -> str:
    """Return the transcript as one text, or ""."""
    try:
        return "\n".join(editor.chat(n))
    except KeyError:
        return ""


def wait_chat(editor: Editor, text: str, timeout: float = PATIENCE_S) -> None:
    """Wait until the transcript contains that text."""
    until(lambda: text in chat_text(editor), timeout, f"{text!r} in the chat")
