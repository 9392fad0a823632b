"""A real Neovim under test, driven from plain (not async) tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support import conformance
from tests.support.grid import Grid
from tests.support.lua import lua_call, lua_chunk
from tests.support.lua_bytecode import bytecode
from tests.support.processes import MARK, Process, marked, outlasting, process_ids, wait_end
from tests.support.rpc import Connection, EditorBlocked, EditorError, EditorGone
from tests.support.traffic import Traffic
from tests.support.waiting import PATIENCE_S, until

ROOT = Path(__file__).resolve().parent.parent.parent
PROTOCOL = int(os.environ.get("ACP_TEST_PROTOCOL", "1"))
"""Version of the protocol that scripted agents use unless a test says otherwise."""
HURRIED_HOST = {"PYTHONPATH": ""}
"""Environment of an editor whose host sends a prompt without waiting for the scan of the files."""
RUN_AGENT = (
    *("-S", "-P", "-c"),
    "import os, sys, tests.agents.__main__ as it; it.main(sys.argv[1:]); os._exit(0)",
)
"""Arguments of Python that do the same as `-m tests.agents`, without the imports of `-m` and
without freeing all objects at the end.
"""

CHECK = """
local code = ...
local condition = loadstring('return ' .. code) or assert(loadstring(code))
return { pcall(condition, select(2, ...)) }
"""

BUFFER_LINES = lua_chunk(__file__, "buffer_lines")
QUESTION_SHOWN = lua_chunk(__file__, "is_question_shown")
LATER = lua_chunk(__file__, "advance_clock")


@cache
def nvim_binary() -> str:
    """Return the Neovim under test, found as `make try` finds it."""
    found = subprocess.run([ROOT / ".ci/nvim"], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` updated with `over`, with nested tables merged."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        result[key] = merged(old, value) if both and old is not None else value
    return result


class Editor:
    """One Neovim with the plugin in `root` on 'runtimepath', a screen, and a project directory
    `work`.

    All of its files are in `home`. `close` fails the test if a process of it survives, if the
    client sent a scripted agent a frame against the schema, or if `:messages` has an error (unless
    `errors_expected` is set).
    """

    def __init__(
        self,
        home: Path,
        *,
        init: str = "",
        args: tuple[str, ...] = (),
        screen: tuple[int, int] | None = (120, 40),
        env: Mapping[str, str] | None = None,
        work: Path | None = None,
        root: Path = ROOT,
    ) -> None:
        self.home = home
        self.work = work or home / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.mark = uuid.uuid4().hex
        self._earlier_processes = process_ids()
        self.options: dict[str, Any] = {}
        self.traffic: list[Traffic] = []
        self.errors_expected = False
        self._events: Counter[str] = Counter()  # those reported so far, by name
        self.grid = Grid(*(screen or (80, 24)))
        config = home / "init.lua"
        compiled = f"[[{bytecode(nvim_binary(), ROOT).name}]]" if root == ROOT else "nil"
        first = lua_call(__file__, "init", f"[[{root}]]", compiled)
        config.write_text(f"{first}\n{init}\n", encoding="utf-8")
        argv = [nvim_binary(), "--embed", "-n", "-i", "NONE", "-u", str(config), *args]
        if screen is None:
            argv.append("--headless")
        environment = self._environment() | dict(env or {})
        self.rpc = Connection(argv, environment, self.work, home / "nvim.stderr")
        self.rpc.on_notification = self._on_notification
        if screen is not None:
            self.rpc.request("nvim_ui_attach", *screen, {"ext_linegrid": True, "rgb": True})
        self.wait("vim.v.vim_did_enter == 1")

    # ---- driving

    def lua(self, code: str, *args: Any, timeout: float = PATIENCE_S) -> Any:
        """Run a Lua chunk (`...` are the arguments) and return its value."""
        return self.rpc.request("nvim_exec_lua", code, list(args), timeout=timeout)

    def cmd(self, command: str) -> str:
        """Run an Ex command and return its output. Raise EditorError if it fails."""
        output: str = self.rpc.request("nvim_exec2", command, {"output": True})["output"]
        return output

    def keys(self, keys: str) -> None:
        """Type keys (`<CR>`, `<Esc>`, … notation) as a user does; mappings apply.

        Return once they are processed, or at once if Neovim then waits for another key.
        """
        left = keys.encode()
        while left:
            left = left[self.rpc.request("nvim_input", left) :]
        taken_up = self.rpc.send("nvim_eval", "1")
        try:
            self.rpc.answer(taken_up)
        except EditorBlocked:
            return

    def click(self, text: str, times: int = 1) -> None:
        """Click on the beginning of `text`, in the first row of the screen that has it."""
        self.wait_screen(text)
        rows = self.grid.lines()
        row = next(at for at, line in enumerate(rows) if text in line)
        for action in ("press", "release") * times:
            where = (0, row, rows[row].index(text))
            self.rpc.request("nvim_input_mouse", "left", action, "", *where)
        self.keys("")

    def press_ctrl_c(self) -> None:
        """Press CTRL-C as any other key.

        While Neovim runs Lua code, it treats a typed one as an interrupt, before all mappings.
        """
        self.lua("vim.api.nvim_feedkeys('\\3', 'mt', false)")

    def setup(self, options: Mapping[str, Any]) -> None:
        """Call `require('acp').setup` with all options given to this editor so far."""
        self.options = merged(self.options, options)
        self.lua("require('acp').setup(...)", self.options)

    def agent(
        self,
        scenario: str,
        *args: str,
        name: str = "",
        capabilities: Mapping[str, Any] | None = None,
        new_session: Mapping[str, Any] | None = None,
        elsewhere: Callable[[list[str], dict[str, str]], str] | None = None,
        **entry: Any,
    ) -> Traffic:
        """Make a scripted agent (tests/agents) the agent for new sessions; return its traffic.

        `capabilities` are merged into its agentCapabilities, `new_session` into its answers to
        `session/new` (modes, configOptions), and `entry` into its entry of the `agents` option.
        `elsewhere` starts the agent from a command and an environment, and returns its address.
        """
        name = name or scenario
        if PROTOCOL == 2:
            entry.setdefault("protocol", 2)
        traffic = Traffic(self.home / f"agent-{len(self.traffic)}-{name}.jsonl", scenario)
        self.traffic.append(traffic)
        command = [sys.executable, *RUN_AGENT, "--log", str(traffic.path)]
        if capabilities is not None:
            command += ["--capabilities", json.dumps(capabilities)]
        if new_session is not None:
            command += ["--new-session", json.dumps(new_session)]
        if entry.get("protocol") == 2:
            command += ["--speaks", "2"]
        entry["command"] = [*command, scenario, *args]
        entry["env"] = {"PYTHONPATH": str(ROOT), **entry.get("env", {})}
        if elsewhere is not None:
            entry["url"] = elsewhere(entry.pop("command"), entry.pop("env"))
        self.setup({"agent": name, "agents": {name: entry}})
        return traffic

    def prompt(self, text: str) -> None:
        """Send a prompt: one line by `:AcpPrompt`, several by `require('acp').prompt`."""
        if "\n" in text:
            self.lua("require('acp').prompt(...)", text)
        else:
            self.cmd(f"AcpPrompt {text}")

    def turn(self, text: str, timeout: float = PATIENCE_S) -> dict[str, Any]:
        """Send a prompt, wait for the end of its turn, and return the data of its `AcpTurnEnd`."""
        before = len(self.events("AcpTurnEnd"))
        self.prompt(text)
        return self.wait_event("AcpTurnEnd", before + 1, timeout)

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file of the project without adding or changing a newline."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def open(self, path: Path | str) -> int:
        """`:edit` a file and return its buffer."""
        buffer: int = self.lua(
            "vim.cmd.edit(vim.fn.fnameescape(...)) return vim.api.nvim_get_current_buf()",
            str(self.work / path),
        )
        return buffer

    # ---- waiting

    def wait(self, condition: str, *args: Any, timeout: float = PATIENCE_S) -> Any:
        """Wait until a Lua expression (or chunk with `return`) is truthy, and return its value.

        An error in it counts as false. Fail with the screen when time is up or Neovim blocks.
        """
        end = time.monotonic() + timeout
        pause = 0.005
        while True:
            try:
                found = self.lua(CHECK, condition, *args)
            except EditorBlocked as error:
                raise AssertionError(self.report(f"{condition}: {error}")) from error
            if found[0] and len(found) > 1 and found[1] not in (None, False):
                return found[1]
            if time.monotonic() > end:
                last = found[1] if len(found) > 1 else None
                raise AssertionError(self.report(f"not within {timeout} s: {condition}\n{last!r}"))
            self.rpc.pump(pause)
            pause = min(pause * 1.3, 0.03)  # the awaited process needs the processor too

    def wait_event(self, name: str, count: int = 1, timeout: float = PATIENCE_S) -> dict[str, Any]:
        """Wait for the `count`-th event of that name since the start, and return its data.

        Neovim reports each event, because polling would cost more than most turns do.
        """
        now = time.monotonic()
        end, look = now + timeout, now + 1
        while self._events[name] < count:
            self.rpc.pump(max(0.0, min(end, look) - time.monotonic()))
            if time.monotonic() > look:
                self.wait("true")  # fails if Neovim blocks
                look = time.monotonic() + 1
            if time.monotonic() > end:
                raise AssertionError(self.report(f"not within {timeout} s: {count} x {name}"))
        data: dict[str, Any] = self.events(name)[count - 1]["data"] or {}
        return data

    def wait_screen(self, text: str, timeout: float = PATIENCE_S) -> None:
        """Wait until a row of the screen contains `text`, even while Neovim blocks."""

        def seen() -> bool:
            self.rpc.mode()
            return any(text in row for row in self.grid.lines())

        try:
            until(seen, timeout)
        except AssertionError as error:
            raise AssertionError(self.report(f"not on the screen: {text!r}")) from error

    def wait_message(self, text: str, timeout: float = PATIENCE_S) -> None:
        """Wait until `:messages` contains this text."""
        self.wait("vim.fn.execute('messages'):find(..., 1, true)", text, timeout=timeout)

    # ---- questions

    def see_question(self) -> None:
        """Wait until the oldest question (and the one under the cursor, if any) is on the screen,
        then set Neovim's clock forward, so that they may be answered.

        A key, a map or a command answers only a question that has been on the screen for 400 ms
        (docs/security.md). So call this before each such key or command, and again for the next
        question; `answer` and `press` do. `require('acp').answer` by id needs no such wait.
        """
        self.wait(QUESTION_SHOWN)
        self.later(400)

    def answer(self, command: str) -> str:
        """Call `see_question`, then run `Acp allow`, `Acp deny` or the like, and return its
        output.
        """
        self.see_question()
        return self.cmd(command)

    def press(self, keys: str) -> None:
        """Call `see_question`, then type keys that answer it: `press("y")` with the cursor on a
        card.
        """
        self.see_question()
        self.keys(keys)

    def later(self, ms: int) -> None:
        """Set the clock of the plugin's Lua forward."""
        self.lua(LATER, ms)

    # ---- looking

    def state(self) -> dict[str, Any]:
        """Return `require('acp').state()`."""
        state: dict[str, Any] = self.lua("return require('acp').state()")
        return state

    def session(self, n: int | None = None) -> dict[str, Any]:
        """Return the snapshot of session n, or of the current one."""
        session: dict[str, Any] = self.lua(
            "local n, s = ..., require('acp').state() return s.sessions[n or s.current]",
            *([] if n is None else [n]),
        )
        return session

    def events(self, name: str | None = None) -> list[dict[str, Any]]:
        """Return the `User Acp*` events so far, `{name, data}` each, of one name or all."""
        events: list[dict[str, Any]] = self.lua(
            "local name = ... return vim.tbl_filter(function(e) "
            "return not name or e.name == name end, _G.acp_events)",
            *([] if name is None else [name]),
        )
        return events

    def lines(self, name: str) -> list[str]:
        """Return the lines of the buffer with exactly this name. Raise KeyError if there is
        none.
        """
        lines: list[str] | None = self.lua(BUFFER_LINES, name)
        if lines is None:
            raise KeyError(name)
        return lines

    def chat(self, n: int | None = None) -> list[str]:
        """Return the lines of the transcript of session n, or of the current session."""
        number = n or self.lua("return require('acp').state().current")
        return self.lines(f"acp://chat/{number}")

    def messages(self) -> str:
        return self.cmd("messages")

    def screen(self) -> list[str]:
        """Return the rows of the screen as a user sees them now."""
        if not self.rpc.mode()["blocking"]:
            self.lua("vim.cmd.redraw()")
        return self.grid.lines()

    def processes(self) -> list[Process]:
        """Return every living process that this editor started, and its own."""
        return marked(self.mark, self._earlier_processes)

    def report(self, reason: str) -> str:
        """Return a report for a failed test: screen, stderr, messages and events."""
        parts = [reason, "--- screen", *self.grid.lines(), "--- stderr"]
        parts.append((self.home / "nvim.stderr").read_text(errors="replace"))
        try:
            parts += ["--- messages", self.messages(), "--- events", repr(self.events()[-10:])]
        except (AssertionError, EditorError) as error:
            parts.append(repr(error))
        return "\n".join(parts)

    # ---- ending

    def kill(self) -> None:
        """End Neovim with SIGKILL, without its child processes."""
        self.rpc.process.kill()
        self.rpc.process.wait(PATIENCE_S)

    def quit(self) -> None:
        """Run `:qa!`, and wait for the end of Neovim, its host and its agents.

        The host writes the history after the end of Neovim.
        """
        self._quit_neovim()
        outlasting(self.mark, PATIENCE_S, self._earlier_processes)

    def _quit_neovim(self, timeout: float = PATIENCE_S) -> None:
        self.rpc.notify("nvim_command", "qa!")
        end = time.monotonic() + timeout
        while self.rpc.process.poll() is None:
            if time.monotonic() > end:
                report = self.report(f"still there {timeout} s after :qa!")
                self.kill()
                raise AssertionError(report)
            try:
                self.rpc.pump(0.02)
            except EditorGone:
                wait_end(self.rpc.process.pid, timeout)  # `Popen.wait` with a timeout polls
                self.rpc.process.wait(timeout)

    def close(self, patience: float = PATIENCE_S) -> None:
        """End everything; raise AssertionError for each fault.

        `patience`: seconds after the end of Neovim in which its processes must end.
        """
        wrong: list[str] = []
        try:
            if self.rpc.process.poll() is None:
                self._close_politely(wrong)
        finally:
            self.kill()
            self.rpc.close()
            wrong += self._survivors(patience)
        for traffic in self.traffic:
            wrong += conformance.violations(traffic.entries())
        assert not wrong, "\n".join(wrong)

    def _close_politely(self, wrong: list[str]) -> None:
        if self.rpc.mode()["blocking"]:
            wrong.append(self.report("Neovim waits for a key at the end of the test"))
            return
        messages = self.messages()
        if not self.errors_expected and ("traceback" in messages or "Error " in messages):
            wrong.append(f":messages hold an error\n{messages}")
        self._quit_neovim()

    def _survivors(self, timeout: float) -> list[str]:
        left = outlasting(self.mark, timeout, self._earlier_processes)
        for process in left:
            process.kill()
        return [f"survived the editor: {process.pid} {process.command}" for process in left]

    def _environment(self) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("NVIM", "XDG_", "VIM"))}
        for name in ("config", "data", "state", "cache"):
            env[f"XDG_{name.upper()}_HOME"] = str(self.home / name)
        run = self.home / "run"
        run.mkdir(mode=0o700, exist_ok=True)
        env |= {"XDG_RUNTIME_DIR": str(run), "HOME": str(self.home), MARK: self.mark}
        env["PYTHONPATH"] = str(ROOT / "tests/support/patient_host")
        return env

    def _on_notification(self, name: str, args: list[Any]) -> None:
        if name == "redraw":
            self.grid.redraw(args)
        elif name == "acp_event":
            self._events[args[0]] += 1


def has_parser(editor: Editor, language: str) -> bool:
    """Return whether Neovim has a fitting tree-sitter parser: Debian's packages have none."""
    return bool(editor.lua("return require('acp.base.compat').has_parser(...)", language))


def serves_during_substitution(editor: Editor) -> bool:
    """Return whether Neovim serves requests while `:s///c` waits for a key."""
    return bool(editor.lua("return vim.fn.has('nvim-0.11') == 1"))


def skip_if_substitution_blocks(editor: Editor) -> None:
    """Skip a test on a Neovim that serves no requests while `:s///c` waits for a key."""
    if not serves_during_substitution(editor):
        pytest.skip("Neovim 0.10 answers nobody while a substitution asks")
