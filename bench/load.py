"""`python -m bench.load CASE [COUNT]`: load the product, on a terminal, with one kind of data.

Run it by hand. It prints how long Neovim and the host were blocked, and their CPU time and memory.
Cases: permissions, each kind of `bench.agents.load.many`, modes, sessions, methods. `turns` and
`closed` run for a long time and print a line after every hundred.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from bench.editor import Editor, Watched
from bench.sides import ROOT, environment, lua_table, nvim, set_up
from tests.support.lua import lua_call, lua_chunk


class Load:
    """The product with an agent that sends a lot of data."""

    def __init__(self, *agent: str) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="acp-load-", ignore_cleanup_errors=True)
        home = Path(self.folder.name)
        command = [sys.executable, "-m", "bench.agents.load", *agent]
        script = home / "init.lua"
        values = lua_table(command), repr(str(ROOT))
        script.write_text(set_up() + lua_call(__file__, "set_up_load", *values))
        work = home / "work"
        work.mkdir()
        self.probe = home / "probe"
        self.editor_cwd = work
        env = environment(home) | {
            "PYTHONPATH": f"{ROOT / 'bench/probe'}:{ROOT}",
            "ACP_PROBE": str(self.probe),
        }
        self.editor = Editor([nvim(), "-n", "-i", "NONE", "-u", str(script)], env, work)
        self.editor.wait(lambda: self.editor.lua("return vim.v.vim_did_enter") == 1)

    def lua(self, code: str, *args: Any) -> Any:
        return self.editor.lua(code, *args)

    def host(self) -> int:
        pid: int = self.lua("return vim.fn.jobpid(require('acp.base.host').channel())")
        return pid

    def watch(self, code: str, done: str, *args: Any, keys: bool = False) -> tuple[Watched, float]:
        """Run Lua and watch until an expression is true. Each check costs a request."""
        started = time.monotonic()
        self.lua(code, *args)
        last = [0.0]

        def over() -> bool:
            if time.monotonic() - last[0] < 0.02:
                return False
            found = bool(self.lua(f"return {done}"))
            last[0] = time.monotonic()
            return found

        seen = self.editor.watch(over, 0.002, keys)
        return seen, time.monotonic() - started

    def ended(self, count: int) -> bool:
        return bool(self.lua("return _G.bench_ends") == count)

    def probed(self) -> list[str]:
        """Return the longest steps of the host's loop."""
        self.probe.unlink(missing_ok=True)
        os.kill(self.host(), signal.SIGUSR1)
        end = time.monotonic() + 20
        while not self.probe.exists() and time.monotonic() < end:
            self.editor.pump_for(0.02)
        return self.probe.read_text().split("\n") if self.probe.exists() else ["(no answer)"]

    def report(self, what: str, seen: Watched, took: float) -> None:
        gaps, keys = max(seen.gaps, default=0), max(seen.keys, default=0)
        rss = f"nvim {rss_mb(self.editor.server):.0f} MB, host {rss_mb(self.host()):.0f} MB"
        print(f"{what}: {took * 1000:.0f} ms; worst wait {gaps:.0f} ms, key {keys:.0f} ms; {rss}")
        for line in self.probed()[:5]:
            print(f"    host {line[:220]}")
        print(
            f"    notices {self.lua('local n = _G.bench_notices _G.bench_notices = {} return n')}",
            flush=True,
        )

    def close(self) -> None:
        self.editor.close()
        self.folder.cleanup()


def rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


LISTS = ("permissions", "options", "diffs", "form", "forms")


def much(kind: str, count: int) -> None:
    by_argument = kind in ("modes", "sessions", "methods")
    load = Load(*([kind, str(count)] if by_argument else []))
    prompt = "require('acp').prompt(...)"
    load.watch(prompt, "_G.bench_ends == 1", "work 1")
    load.report("first", Watched(), 0)
    if kind == "sessions":
        code = "vim.ui.select = function(items) _G.bench_items = #items end vim.cmd('Acp sessions')"
        load.report(kind, *load.watch(code, "_G.bench_items ~= nil"))
        print("    items", load.lua("return _G.bench_items"))
    elif not by_argument:
        lists = {"permissions": "permissions", "options": "permissions", "diffs": "permissions"}
        waits = lists.get(kind, "elicitations") if kind in LISTS else None
        number = count if kind in ("permissions", "forms") else 1
        length = lua_call(__file__, "list_length", repr(waits))
        asked = f"{length} >= {number}"
        done = "_G.bench_ends == 2" if waits is None else asked
        load.report(kind, *load.watch(prompt, done, f"{kind} {count}", keys=True))
        if waits is not None:
            (load.editor_cwd / "answered").unlink(missing_ok=True)
            load.report(
                "cancel", *load.watch("vim.cmd.AcpCancel()", "_G.bench_ends == 2", keys=True)
            )
    for place in load.editor_cwd.glob("answered"):
        print("    the agent had all answers after", place.read_text())
    snapshot = "local t = vim.uv.hrtime() require('acp').state() return (vim.uv.hrtime() - t) / 1e6"
    print(f"    state() {load.lua(snapshot):.1f} ms")
    load.report(
        "one more turn",
        *load.watch(
            prompt, f"_G.bench_ends == {2 if by_argument or kind == 'sessions' else 3}", "work 1"
        ),
    )
    load.close()


def turns(count: int) -> None:
    load = Load()
    code = lua_chunk(__file__, "prompt_work")
    took: list[float] = []
    for n in range(1, count + 1):
        started = time.monotonic()
        load.lua(code)
        load.editor.wait(lambda: load.lua("return _G.bench_ends == _G.bench_expected"))
        took.append(time.monotonic() - started)
        if n % 100 == 0:
            snapshot = """
              local first = vim.uv.hrtime() require('acp').state()
              local t = vim.uv.hrtime() require('acp').state() t = vim.uv.hrtime() - t
              return { (vim.uv.hrtime() - first) / 1e6, t / 1e6, collectgarbage('count') / 1024 }
            """
            first, again, lua_mb = load.lua(snapshot)
            last = sorted(took[-100:])
            print(
                f"{n} turns: median {last[50] * 1000:.1f} ms, worst {last[-1] * 1000:.1f}; state() "
                f"{first:.2f}, again {again:.2f} ms; nvim {rss_mb(load.editor.server):.1f} MB "
                f"(Lua {lua_mb:.1f}), host {rss_mb(load.host()):.1f} MB",
                flush=True,
            )
    print("\n".join(load.probed()))
    load.close()


def closed(count: int) -> None:
    load = Load()
    for n in range(1, count + 1):
        load.lua("require('acp').prompt('work 3', { new = true })")
        load.editor.wait(partial(load.ended, n))
        load.lua(CLOSE)
        load.editor.wait(
            lambda: load.lua("return require('acp.base.state').session().status") == "closed"
        )
        if n in (1, 2, 10, 50) or n % 50 == 0:
            left = load.lua(LEFT)
            print(
                n, left, f"nvim {rss_mb(load.editor.server):.1f} host {rss_mb(load.host()):.1f} MB"
            )
            print("   ", load.probed()[-1], flush=True)
    load.close()


CLOSE = lua_chunk(__file__, "close_session")
LEFT = lua_chunk(__file__, "leftovers")


if __name__ == "__main__":
    case = sys.argv[1]
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    {"turns": turns, "closed": closed}.get(case, lambda n: much(case, n))(number or 100)
