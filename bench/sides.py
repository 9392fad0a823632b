"""The two sides of a comparison, product and floor. Each runs a workload in its own editor."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Literal

from bench import process
from bench.editor import Editor, Watched
from tests.support.lua import lua_call

ROOT = Path(__file__).resolve().parent.parent

Name = Literal["product", "floor"]

START = {
    "product": "require('acp').prompt(..., { new = true })",
    "floor": "require('bench.floor').prompt(..., { new = true })",
}
CANCEL = {
    "product": "vim.cmd.AcpCancel()",
    "floor": "require('bench.floor').cancel()",
}
CHANNEL = {
    "product": "return require('acp.base.host').channel()",
    "floor": "return require('bench.floor').channel()",
}
CHAT = {
    "product": "return vim.fn.bufnr('acp://chat/' .. require('acp').state().current .. '$')",
    "floor": "return require('bench.floor').bufnr()",
}


@cache
def nvim() -> str:
    found = subprocess.run([ROOT / ".ci/nvim"], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def nvim_version() -> str:
    """Return the version line of Neovim."""
    found = subprocess.run([nvim(), "--version"], capture_output=True, text=True, check=True)
    return found.stdout.split("\n", 1)[0]


def set_up() -> str:
    """Return Lua for the common part of all sides."""
    return lua_call(__file__, "set_up", repr(str(ROOT))) + "\n"


def lua_table(words: list[str]) -> str:
    """Return a list of words as a Lua expression."""
    return "{" + ", ".join(repr(word) for word in words) + "}"


def init(name: Name, agent: list[str], *, history: bool = True) -> str:
    """Return the `init.lua` of a side."""
    command = [sys.executable, "-m", "bench.agents.fast", *agent]
    floor = [sys.executable, "-m", "bench.floor", *command]
    root = repr(str(ROOT))
    if name == "product":
        values = lua_table(command), root, str(history).lower()
        return set_up() + lua_call(__file__, "set_up_product", *values)
    return set_up() + (
        f"vim.env.PYTHONPATH = {root}\n_G.bench_floor_command = {lua_table(floor)}\n"
    )


def environment(home: Path) -> dict[str, str]:
    """Return an environment without the user's settings for Neovim."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NVIM", "XDG_", "VIM"))}
    for kind in ("CONFIG", "DATA", "STATE", "CACHE", "RUNTIME"):
        env[f"XDG_{kind}_{'DIR' if kind == 'RUNTIME' else 'HOME'}"] = str(home)
    return env | {"TERM": "xterm-256color", "HOME": str(home)}


class Side:
    """The product or the floor, with an agent that runs one workload."""

    def __init__(
        self, name: Name, *agent: str, history: bool = True, home: Path | None = None
    ) -> None:
        """`home` is an existing directory of an earlier side. It is not removed."""
        self.name = name
        self._home = tempfile.TemporaryDirectory(prefix="acp-bench-", ignore_cleanup_errors=True)
        self.home = home or Path(self._home.name)
        script = self.home / "init.lua"
        script.write_text(init(name, list(agent), history=history), encoding="utf-8")
        self.work = self.home / "work"  # without files that Neovim writes itself
        self.work.mkdir(exist_ok=True)
        argv = [nvim(), "-n", "-i", "NONE", "-u", str(script)]
        self.editor = Editor(argv, environment(self.home), self.work)
        # Neovim creates its socket before it loads plugins.
        self.editor.wait(lambda: self.editor.lua("return vim.v.vim_did_enter") == 1)
        self.editor.lua("_G.bench_channel = ...", self.editor.channel)
        self.host = 0

    def close(self) -> None:
        self.editor.close()
        self._home.cleanup()

    def run(
        self, prompt: str = "go", *, every: float = 0.002, keys: bool = False, new: bool = True
    ) -> Watched:
        """Run one turn in a new chat, until all of it is on the screen."""
        start = START[self.name] if new else START[self.name].replace(", { new = true }", "")
        return self.measure(start, prompt, every=every, keys=keys)

    def asked(self, count: int) -> Watched:
        """Run a turn in a new chat until this number of permissions is open."""
        self.editor.lua("_G.bench_questions = ...", count)
        return self.run()

    def cancel(self) -> Watched:
        """Cancel the turn and wait for its end."""
        return self.measure(CANCEL[self.name])

    def measure(self, code: str, *args: str, every: float = 0.002, keys: bool = False) -> Watched:
        """Run Lua, and measure until Neovim reports the end of the turn."""
        editor = self.editor
        editor.messages.clear()
        before = self._cpu()
        editor.lua(f"_G.bench_started = vim.uv.hrtime() {code}", *args)
        seen = editor.watch(lambda: ("done", []) in editor.messages, every, keys)
        editor.pump_for(0.06)
        after = self._cpu()
        seen.wall = editor.lua("return (_G.bench_ended - _G.bench_started) / 1e6")
        seen.cpu_nvim, seen.cpu_host = (b - a for a, b in zip(before, after, strict=True))
        return seen

    def chat(self) -> list[str]:
        """Return the lines of the newest chat."""
        number = self.editor.lua(CHAT[self.name])
        lines: list[str] = self.editor.request("nvim_buf_get_lines", number, 0, -1, True)
        return lines

    def memory(self) -> tuple[float, float]:
        """Return the peak memory of Neovim and host, in MB."""
        return process.peak_mb(self.editor.server), process.peak_mb(self.host_pid())

    def host_pid(self) -> int:
        """Return the process id of the host, or 0 if none runs."""
        if not self.host:
            code = (
                f"local c = (function() {CHANNEL[self.name]} end)() return c and vim.fn.jobpid(c)"
            )
            self.host = self.editor.lua(code) or 0
        return self.host

    def _cpu(self) -> tuple[float, float]:
        host = self.host_pid()
        return process.cpu_s(self.editor.server), process.cpu_s(host) if host else 0.0
