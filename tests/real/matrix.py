"""`make test-agents`, second part: try each real agent, and write `docs/agents.md`.

`python -m tests.real.matrix` tries all agents that are installed, one after the other. With names
it tries only these, and keeps the earlier results of the others. `python -m tests.real.matrix
--page` only writes the page. The model of the agents is a script (`tests/real/kit.py`); all else is
their own code.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.real import agents_page, kit
from tests.real.field import FIELD
from tests.support.editor import ROOT, Editor
from tests.support.rpc import EditorError
from tests.support.traffic import Traffic
from tests.support.waiting import until

RESULTS = ROOT / "tests/data/agents.json"
PAGE = ROOT / "docs/agents.md"
PRESETS: Final = {"claude-acp": "claude", "codex-acp": "codex", "kimi-code": "kimi"}
"""Presets of agents that have another name here."""
TURN_S: Final = 120.0
NOTES: Final = "alpha\nbeta\ngamma\n"
NO: Final = "–"
NAMES_BY_MINUTE: Final = ("gemini",)
"""Agents that lose a session which they load in the minute of its start."""

Cells = dict[str, str]


def _minute() -> str:
    return datetime.now(UTC).strftime("%H:%M")


class Trial:
    """One agent in a Neovim."""

    def __init__(self, editor: Editor, traffic: Traffic, name: str) -> None:
        self.editor, self.traffic, self.name = editor, traffic, name
        self.notes = editor.write("notes.txt", NOTES)
        self.minute = _minute()

    def turn(self, script: str) -> str:
        """Run a turn, allow all requests, and return its stop reason."""
        end = kit.run_allowed(self.editor, f"SCRIPT:{script}", TURN_S)
        reason: str = end.get("stop_reason") or str(end.get("error"))
        return reason

    def sent(self, method: str) -> int:
        return len(self.traffic.sent(method))

    def asked(self, script: str) -> bool:
        """Run a turn, and return whether the agent asked for a permission in it."""
        before = self.sent("session/request_permission")
        self.turn(script)
        return self.sent("session/request_permission") > before

    def capabilities(self) -> dict[str, Any]:
        found: dict[str, Any] = self.editor.state()["agents"][self.name]["capabilities"] or {}
        return found

    def wait_text(self, text: str) -> None:
        until(lambda: self.notes.read_text("utf-8") == text, 30, "the text of the file")


def hello(trial: Trial) -> str:
    reason = trial.turn("hello")
    assert reason == "end_turn", reason
    return "✓"


def edit(trial: Trial) -> str:
    """Edit a file, see it pending, and reject it."""
    trial.editor.open(trial.notes)
    asks = trial.asked(f"edit {trial.notes}")
    trial.wait_text(NOTES.replace("beta", "BETA (edited)"))
    trial.editor.wait("#require('acp').state().sessions[1].edits > 0")
    trial.editor.cmd("Acp reject file")
    trial.wait_text(NOTES)
    way = "editor" if trial.sent("fs/write_text_file") else "disk"
    return f"{way}, asks" if asks else way


def unsaved(trial: Trial) -> str:
    """Ask for a file that has unsaved changes."""
    before = trial.sent("fs/read_text_file")
    buffer = trial.editor.open(trial.notes)
    trial.editor.lua("vim.api.nvim_buf_set_lines(..., 0, 1, false, { 'alpha unsaved' })", buffer)
    try:
        trial.turn(f"read {trial.notes}")
    finally:
        trial.editor.lua("vim.api.nvim_buf_call(..., vim.cmd.undo)", buffer)
    if trial.sent("fs/read_text_file") > before:
        return "reads"
    prompt = json.dumps(trial.traffic.received("session/prompt")[-1])
    assert "alpha unsaved" in prompt, "it read the file on disk, and got no diff"
    return "diff"


def command(trial: Trial) -> str:
    """Run a command."""
    made = trial.editor.work / "made.txt"
    asks = trial.asked("shell echo made by hand; touch made.txt")
    assert made.exists(), "the command did not run"
    way = "editor" if trial.sent("terminal/create") else "itself"
    return f"{way}, asks" if asks else way


def cancel(trial: Trial) -> str:
    """Cancel a long answer; the next turn works."""
    ended = len(trial.editor.events("AcpTurnEnd"))
    trial.editor.prompt("SCRIPT:slow 200")
    kit.wait_chat(trial.editor, "tick 2", TURN_S)
    trial.editor.cmd("AcpCancel")
    end = trial.editor.wait_event("AcpTurnEnd", ended + 1, 60)
    assert "tick 190" not in kit.chat_text(trial.editor), "it wrote its answer to the end"
    hello(trial)
    return "✓" if end["stop_reason"] == "cancelled" else str(end["stop_reason"])


def plan(trial: Trial) -> str:
    trial.turn("plan")
    return "✓" if trial.editor.session().get("plan") else NO


def usage(trial: Trial) -> str:
    session = trial.editor.session()
    found = session.get("usage") or {}
    parts = [name for name, key in (("context", "used"), ("cost", "cost")) if found.get(key)]
    parts += ["tokens"] if session.get("turn_usage") else []
    return ", ".join(parts) or NO


def tools(trial: Trial) -> str:
    """Call a tool of the editor."""
    trial.turn('mcp read {"path": "notes.txt"}')
    use = trial.editor.session()["tools"]
    return "✓" if use["calls"] > use["failed"] else "offered" if use["connected"] else NO


def resume(trial: Trial) -> str:
    """Restart the agent, and continue in the same session."""
    if trial.name in NAMES_BY_MINUTE:
        until(lambda: _minute() != trial.minute, 61, "the next minute")
    trial.editor.cmd("Acp restart")
    hello(trial)
    ways = ("session/new", "session/resume", "session/load")
    used = [frame["method"] for frame in trial.traffic.received() if frame.get("method") in ways]
    return NO if used[-1] == "session/new" else str(used[-1]).removeprefix("session/")


def fork(trial: Trial) -> str:
    known = trial.capabilities().get("sessionCapabilities") or {}
    return "✓" if known.get("fork") is not None else NO


TASKS: Final[dict[str, Callable[[Trial], str]]] = {
    "hello": hello,
    "edit": edit,
    "unsaved": unsaved,
    "command": command,
    "cancel": cancel,
    "plan": plan,
    "tools": tools,
    "usage": usage,
    "resume": resume,
    "fork": fork,
}
EXAMPLES: Final = ("sdk-example", "py-example", "py-echo", "sdk-python", "sdk-typescript", "tutor")
"""Agents without a model: only the tasks that they can do are tried."""
TASKS_OF_EXAMPLES: Final = ("hello", "resume", "fork", "usage")


def agent_of(name: str) -> kit.RealAgent:
    """Return an agent by its name."""
    if name == "tutor":
        return kit.RealAgent(name, {"cmd": [sys.executable, "-P", "-m", "acp_nvim.tutor"]})
    return kit.RealAgent(name, FIELD[name]) if name in FIELD else kit.agent(name)


def attempt(trial: Trial, task: Callable[[Trial], str]) -> tuple[str, str]:
    """Return the cell of a task, and the reason if it failed."""
    try:
        return task(trial), ""
    except (AssertionError, EditorError, KeyError, OSError) as error:
        # An unmet condition says for how long, and then the whole condition.
        reason = re.sub(r" s: .*", " s", str(error).split("\n")[0])[:200]
        warned = re.findall(r"⚠ (.*)", kit.chat_text(trial.editor))
        reason += f" ({warned[-1]})" if warned else ""
        trial.editor.cmd("AcpCancel!")
        return "✗", f"{task.__name__}: {reason}"


def configured(name: str, editor: Editor, url: str) -> Traffic:
    """Make an agent the one for new sessions; return its traffic."""
    editor.errors_expected = True
    return agent_of(name).configure(editor, url)


def speaks_version_2(name: str, home: Path, url: str) -> str:
    """Return whether an agent that is asked for version 2 speaks it."""
    editor = Editor(home)
    try:
        configured(name, editor, url)
        editor.setup({"agents": {name: {"protocol": 2}}})
        editor.cmd("AcpPrompt SCRIPT:hello")
        ready = f"(require('acp').state().agents['{name}'] or {{}}).status == 'ready'"
        editor.wait(ready, timeout=TURN_S)
        return "✓" if editor.state()["agents"][name]["protocol"] == 2 else NO
    finally:
        ended(editor)


def ended(editor: Editor) -> str:
    """End the editor, and return a fault that its end has shown, or ""."""
    try:
        editor.close()
    except AssertionError as error:
        return str(error).split("\n")[0][:200]
    return ""


def result(name: str, home: Path, url: str) -> dict[str, Any]:
    """Try an agent, and return its row."""
    editor = Editor(home / "one")
    faults: list[str] = []
    cells: Cells = {}
    try:
        trial = Trial(editor, configured(name, editor, url), name)
        for task, function in TASKS.items():
            if name not in EXAMPLES or task in TASKS_OF_EXAMPLES:
                cells[task], fault = attempt(trial, function)
                faults += [fault] if fault else []
                print(f"  {task}: {cells[task]} {fault}", flush=True)
                if task == "hello" and fault:
                    break
        known = editor.state()["agents"].get(name) or {}
        preset = PRESETS.get(name, name)
        chosen = "local it = require('acp.config').defaults.agents[...] or {} return it.command"
        argv = editor.lua(chosen, preset)
    finally:
        fault = ended(editor)
        faults += [f"end: {fault}"] if fault else []
    if not cells["hello"].startswith("✗"):
        cells["v2"] = speaks_version_2(name, home / "two", url)
    info = known.get("info") or {}
    return {
        "title": info.get("title") or info.get("name") or name,
        "version": re.sub(r"\s.*", "", info.get("version") or ""),
        "protocol": known.get("protocol"),
        "preset": preset if argv or name == "tutor" else None,
        "command": argv,
        "date": datetime.now(UTC).date().isoformat(),
        "cells": cells,
        "faults": faults,
    }


def installed() -> list[str]:
    """Return the names of all agents that can be started."""
    return [name for name in ("tutor", *kit.NAMES, *FIELD) if agent_of(name).installed()]


def write(results: dict[str, Any]) -> None:
    """Write the results and the page."""
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    PAGE.write_text(agents_page.page(results), encoding="utf-8")


def main(names: list[str]) -> int:
    """Try agents, and write the page; return 1 if one did not even say hello."""
    results: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if names else {}
    silent = []
    for name in [] if names == ["--page"] else names or installed():
        print(name, flush=True)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            model = kit.Model(Path(folder, "model.log"))
            try:
                results[name] = result(name, Path(folder), model.url)
            finally:
                model.close()
        silent += [name] if results[name]["cells"]["hello"] == "✗" else []
        write(results)
    write(results)
    print(f"agents: no answer from {', '.join(silent)}" if silent else "agents: all answered")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
