"""Real agents in a real Neovim: every kind of turn as the user sees it.

Their model is a script (`tests/real/kit.py`); everything else is their own code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.real import kit
from tests.real.kit import chat_text, run_allowed, wait_chat
from tests.support import conformance
from tests.support.editor import Editor
from tests.support.served_language import serve, wait_attached
from tests.support.traffic import Traffic
from tests.support.waiting import until

pytestmark = [pytest.mark.agents, pytest.mark.timeout(150)]

NOTES = "alpha\nbeta\ngamma\n"
EDITED = ["alpha", "BETA (edited)", "gamma"]


@dataclass(frozen=True)
class Habits:
    """Differences of an agent from the others."""

    fs: bool = False  # reads and writes through the editor
    terminal: bool = False  # runs commands through the editor
    plan: bool = True  # sends plans
    tells_output: bool = True  # shows the output of its own commands
    tells_errors: bool = True  # shows errors of the model's server
    makes_files: bool = True  # can create a file
    asks: frozenset[str] = field(default=frozenset({"shell"}))  # scripts for which it asks the user


HABITS = {
    "claude-old": Habits(fs=True, terminal=True, asks=frozenset({"edit", "write", "shell"})),
    "codex-zed": Habits(asks=frozenset({"read", "edit", "write", "shell"})),
    # Takes any refused read for an unreadable file, whatever the error says.
    "gemini": Habits(
        fs=True,
        plan=False,
        tells_output=False,
        makes_files=False,
        asks=frozenset({"edit", "shell", "plan"}),
    ),
    # Asks before a write outside of a git repository.
    "kimi-code": Habits(
        fs=True, terminal=True, tells_errors=False, asks=frozenset({"edit", "write", "shell"})
    ),
}
models = pytest.mark.parametrize("name", [*HABITS])


@dataclass
class Stage:
    """An editor with a real agent, and the files of the project."""

    editor: Editor
    traffic: Traffic
    habits: Habits
    notes: Path

    def run(self, script: str, stop_reason: str = "end_turn") -> str:
        """Run a turn, allow every request, and return the transcript."""
        end = run_allowed(self.editor, f"SCRIPT:{script}")
        assert end["stop_reason"] == stop_reason, self.editor.report(repr(end))
        return chat_text(self.editor)

    def permission_count(self) -> int:
        return len(self.traffic.sent("session/request_permission"))


@pytest.fixture
def stage(edit: Callable[..., Editor], tmp_path: Path) -> Iterator[Callable[[str], Stage]]:
    """Set up an agent of the kit. At the end each of its requests must have an answer."""
    made: list[Stage] = []
    servers: list[kit.Model] = []

    def begin(name: str) -> Stage:
        try:
            agent = kit.agent(name)
            agent.command(tmp_path, "")
        except kit.Missing as missing:
            pytest.skip(str(missing))
        servers.append(kit.Model(tmp_path / "model.log"))
        editor = edit()
        traffic = agent.configure(editor, servers[0].url)
        notes = editor.write("notes.txt", NOTES)
        made.append(Stage(editor, traffic, HABITS.get(name, Habits()), notes))
        return made[0]

    yield begin
    try:
        for one in made:
            assert conformance.unanswered(one.traffic.entries()) == []
    finally:
        for server in servers:
            server.close()


def test_the_kit_is_installed() -> None:
    """Fail without kit and agents, because all other tests are skipped then."""
    try:
        agents = [kit.agent(name) for name in kit.NAMES]
    except kit.Missing as missing:
        pytest.fail(str(missing), pytrace=False)
    found = [agent for agent in agents if agent.installed()]
    assert found, f"no agent is installed under {kit.INSTALLED}; see {kit.KIT}/install.sh"


def calls(editor: Editor) -> list[dict[str, Any]]:
    """Return the session's tool calls."""
    found: list[dict[str, Any]] = editor.session()["tool_calls"]
    return found


def sleeping(editor: Editor) -> list[str]:
    """Return the processes of a cancelled command."""
    return [p.command for p in editor.processes() if "sleep 45" in p.command]


@models
def test_hello(stage: Callable[[str], Stage], name: str) -> None:
    """Two turns of Markdown, word by word, one after the other."""
    on = stage(name)
    text = on.run("hello")
    assert "Hello from the *fake* LLM." in text
    assert "- two ünïcödé ✅" in text
    assert 'print("hi")' in text
    text = on.run("hello again")
    assert text.count("Hello from the *fake* LLM.") == 2
    assert text.index("SCRIPT:hello again") > text.index("Hello from the *fake* LLM.")
    assert on.editor.session()["status"] == "idle"


@models
def test_think(stage: Callable[[str], Stage], name: str) -> None:
    """Thoughts are above the answer."""
    text = stage(name).run("think")
    assert text.index("I am thinking about the question.") < text.index("The thought is over.")


@models
def test_read(stage: Callable[[str], Stage], name: str) -> None:
    """An agent that reads through the editor gets unsaved text."""
    on = stage(name)
    on.editor.setup({"files": {"unsaved": "ignore"}})  # Gemini puts the list right after the path
    buffer = on.editor.open(on.notes)
    on.editor.lua("vim.api.nvim_buf_set_lines(..., 0, 1, false, { 'alpha unsaved' })", buffer)
    text = on.run(f"read {on.notes}")
    assert "The file says:" in text
    seen = text[text.index("The file says:") :]
    assert ("alpha unsaved" in seen) == (on.habits.fs and name != "gemini")
    assert "gamma" in seen
    assert [c["status"] for c in calls(on.editor)] == ["completed"]
    assert (on.permission_count() > 0) == ("read" in on.habits.asks)


@models
def test_edit(stage: Callable[[str], Stage], name: str) -> None:
    """The buffer and the file have the edit, and the buffer keeps its marks."""
    on = stage(name)
    buffer = on.editor.open(on.notes)
    on.run(f"edit {on.notes}")
    lines = "vim.api.nvim_buf_get_lines(..., 0, -1, false)"
    on.editor.wait(f"table.concat({lines}, '|') == '{'|'.join(EDITED)}'", buffer)
    assert on.notes.read_text() == "\n".join(EDITED) + "\n"
    assert not on.editor.lua("return vim.bo[...].modified", buffer)
    assert (on.permission_count() > 0) == ("edit" in on.habits.asks)
    assert bool(on.traffic.sent("fs/write_text_file")) == on.habits.fs
    assert {c["status"] for c in calls(on.editor)} == {"completed"}


@models
def test_edit_refused(stage: Callable[[str], Stage], name: str) -> None:
    """After a refusal the file is unchanged, and the session continues."""
    on = stage(name)
    on.editor.prompt(f"SCRIPT:edit {on.notes}")
    on.editor.wait_event("AcpPermission", timeout=60)
    on.editor.answer("Acp deny")
    end = on.editor.wait_event("AcpTurnEnd", timeout=60)
    assert end["stop_reason"] in ("end_turn", "cancelled")  # codex: a refusal ends the turn
    assert on.notes.read_text() == NOTES
    assert calls(on.editor)[-1]["status"] in ("failed", "cancelled")
    assert "Hello from the *fake* LLM." in on.run("hello")


@models
def test_write(stage: Callable[[str], Stage], name: str) -> None:
    """An agent that looks for a new file first gets the error that it does not exist."""
    on = stage(name)
    path = on.editor.work / "new.txt"
    text = on.run(f"write {path}")
    if not on.habits.makes_files:
        assert calls(on.editor)[-1]["status"] == "failed"
        assert f"Resource not found: {path}" in text.replace("\n", "")
        return
    assert path.read_text() == "line one\nline two\n"
    assert (on.permission_count() > 0) == ("write" in on.habits.asks)


@models
def test_shell(stage: Callable[[str], Stage], name: str) -> None:
    """The chat has the command's output, and the editor's terminals can be opened."""
    on = stage(name)
    text = on.run("shell echo made by hand | tr a-z A-Z; touch made.txt")
    shown = "MADE BY HAND" in text[: text.index("The command printed:")]
    assert shown == on.habits.tells_output
    assert (on.editor.work / "made.txt").exists()
    assert on.permission_count() > 0
    terminals = on.editor.session().get("terminals") or []
    assert bool(on.traffic.sent("terminal/create")) == on.habits.terminal
    if on.habits.terminal:
        assert [t["exit_code"] for t in terminals] == [0]
        assert not terminals[0]["running"]


@models
def test_shell_fails(stage: Callable[[str], Stage], name: str) -> None:
    """A failed command is shown as failed."""
    on = stage(name)
    text = on.run("shell echo gone wrong | tr a-z A-Z >&2; exit 3")
    shown = "GONE WRONG" in text[: text.index("The command printed:")]
    assert shown == on.habits.tells_output
    if on.habits.terminal:
        assert [t["exit_code"] for t in on.editor.session()["terminals"]] == [3]


@models
def test_plan(stage: Callable[[str], Stage], name: str) -> None:
    """A plan is shown and updated, or is at least a tool call."""
    on = stage(name)
    text = on.run("plan")
    assert "The plan is done." in text
    if not on.habits.plan:
        assert calls(on.editor)
        return
    plan = on.editor.session()["plan"]
    assert [entry["status"] for entry in plan] == ["completed"] * len(plan)
    assert "Change beta" in [entry["content"] for entry in plan]
    assert "Change beta" in text
    on.editor.cmd("Acp plan")
    on.editor.wait_screen("Change beta")


@models
def test_cancel_a_stream(stage: Callable[[str], Stage], name: str) -> None:
    """The stream stops, the turn ends as cancelled, and the next one works."""
    on = stage(name)
    on.editor.prompt("SCRIPT:slow 200")
    wait_chat(on.editor, "tick 2", 60)
    on.editor.cmd("AcpCancel")
    assert on.editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    assert "tick 150" not in chat_text(on.editor)
    assert "Hello from the *fake* LLM." in on.run("hello")


@models
def test_cancel_a_command(stage: Callable[[str], Stage], name: str) -> None:
    """The command ends soon after the cancel, without its later output."""
    on = stage(name)
    mark = on.editor.work / "late.txt"
    on.editor.prompt(f"SCRIPT:shell echo started; touch begun.txt; sleep 45; touch {mark}")
    on.editor.wait_event("AcpPermission", timeout=60)
    on.editor.answer("Acp allow")
    until((on.editor.work / "begun.txt").exists, 30, "the command")
    on.editor.cmd("AcpCancel")
    assert on.editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    assert {c["status"] for c in calls(on.editor)} <= {"cancelled", "failed", "completed"}
    until(lambda: not sleeping(on.editor), 20, "the end of the command")
    assert not mark.exists()
    assert "Hello from the *fake* LLM." in on.run("hello")


@models
def test_cancel_a_question(stage: Callable[[str], Stage], name: str) -> None:
    """A cancel also answers the question. Nothing was done, and the session continues."""
    on = stage(name)
    on.editor.prompt("SCRIPT:shell touch made.txt")
    on.editor.wait_event("AcpPermission", timeout=60)
    on.editor.cmd("AcpCancel")
    done = on.editor.wait_event("AcpPermissionDone")
    assert done["outcome"] == "cancelled"
    assert on.editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    assert not (on.editor.work / "made.txt").exists()
    assert on.editor.session()["permissions"] == []
    assert "Hello from the *fake* LLM." in on.run("hello")


@models
def test_an_error_of_the_model(stage: Callable[[str], Stage], name: str) -> None:
    """The error is shown, and the next turn works."""
    on = stage(name)
    on.editor.errors_expected = True
    on.editor.prompt("SCRIPT:error")
    on.editor.wait_event("AcpTurnEnd", timeout=90)
    if on.habits.tells_errors:
        until(lambda: "fake" in chat_text(on.editor).lower(), 20, "the error in the chat")
    assert "Hello from the *fake* LLM." in on.run("hello")


def test_the_typescript_example(stage: Callable[[str], Stage]) -> None:
    """The example sends tool calls and a permission without a model, and repeats ids in
    turn two.
    """
    on = stage("sdk-example")
    text = on.run("hello")
    assert "Read project files" in text
    assert "Modifying critical configuration file" in text
    assert "Perfect! I've successfully updated the configuration." in text
    assert [c["status"] for c in calls(on.editor)] == ["completed", "completed"]
    on.run("hello")
    assert [c["status"] for c in calls(on.editor)] == ["completed"] * 4


def test_the_typescript_example_cancelled(stage: Callable[[str], Stage]) -> None:
    """The example may answer a cancel with `end_turn`. The question is closed nevertheless."""
    on = stage("sdk-example")
    on.editor.prompt("x")
    on.editor.wait_event("AcpPermission")
    on.editor.cmd("AcpCancel")
    on.editor.wait_event("AcpTurnEnd")
    assert on.editor.session()["permissions"] == []
    assert "pending" not in {c["status"] for c in calls(on.editor)}


@pytest.mark.parametrize("name", ["py-example", "py-echo"])
def test_the_python_examples(stage: Callable[[str], Stage], name: str) -> None:
    """They send the prompt back."""
    on = stage(name)
    text = on.run("hello")
    assert text.count("SCRIPT:hello") == 2
    assert "SCRIPT:again" in on.run("again")


# -- the editor's own tools ------------------------------------------------------------------------


OWN_TOOLS = pytest.mark.parametrize("name", [name for name in HABITS if name != "codex-zed"])
"""Without Codex, which uses a namespace that the scripted model does not name in its calls."""


@models
def test_two_sessions_in_one_process(stage: Callable[[str], Stage], name: str) -> None:
    """Both sessions work with the editor's tools, although their tokens differ."""
    on = stage(name)
    assert "Hello from the *fake* LLM." in on.run("hello")
    process = on.editor.state()["agents"][name]["pid"]
    on.editor.cmd("Acp new")
    on.editor.wait("require('acp').state().current == 2")
    assert "Hello from the *fake* LLM." in on.run("hello")
    assert on.editor.state()["agents"][name]["pid"] == process
    assert on.editor.session(2)["tools"]["names"]
    notes = [line for n in (1, 2) for line in chat_text(on.editor, n).split("\n")]
    assert not [line for line in notes if line.startswith(("⚠", "✗"))]


@OWN_TOOLS
def test_mcp_read(stage: Callable[[str], Stage], name: str) -> None:
    """Every agent that starts MCP servers gets unsaved text without a question."""
    on = stage(name)
    buffer = on.editor.open(on.notes)
    on.editor.lua("vim.api.nvim_buf_set_lines(..., 0, 1, false, { 'alpha unsaved' })", buffer)
    text = on.run('mcp read {"path": "notes.txt"}')
    use = on.editor.session()["tools"]
    assert (use["calls"], use["failed"]) == (1, 0), text
    assert "Tool said:" in text
    assert "alpha unsaved" in text[text.index("Tool said:") :]
    assert "Read · " in text
    assert not on.editor.events("AcpPermission")


@OWN_TOOLS
def test_mcp_diagnostics(stage: Callable[[str], Stage], name: str) -> None:
    """Diagnostics of unsaved text reach the agent."""
    on = stage(name)
    serve(on.editor, name="words")
    buffer = on.editor.open(on.notes)
    wait_attached(on.editor, "notes.txt")
    on.editor.lua("vim.api.nvim_buf_set_lines(..., 0, 1, false, { 'error: unsaved' })", buffer)
    text = on.run('mcp diagnostics {"path": "notes.txt"}')
    # some agents pass the data to the model instead of the text
    said = text[text.index("Tool said:") :]
    assert re.search(r'notes.txt(:1:|".*"line":1)', said)
    assert "unsaved" in said
    assert "1 error" in text


@OWN_TOOLS
def test_mcp_rename(stage: Callable[[str], Stage], name: str) -> None:
    """A rename is pending in three files after one question."""
    on = stage(name)
    serve(on.editor, name="words")
    on.notes.write_text("def beta\n")
    for other in ("more.txt", "last.txt"):
        on.editor.write(other, "beta\n")
        on.editor.open(other)
        wait_attached(on.editor, other)
    on.editor.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'beta unsaved' })")
    on.run('mcp rename {"path": "notes.txt", "line": 1, "symbol": "beta", "new_name": "gamma"}')
    edits = on.editor.session()["edits"]
    assert {Path(it["path"]).name for it in edits} == {"notes.txt", "more.txt", "last.txt"}
    assert len(on.editor.events("AcpPermission")) == 1
    assert on.editor.lines(str(on.editor.work / "last.txt")) == ["gamma unsaved", "gamma"]


def test_codex_connects_to_the_editors_tools(stage: Callable[[str], Stage]) -> None:
    on = stage("codex-zed")
    on.run("hello")
    on.editor.wait("require('acp').state().sessions[1].tools.connected >= 1")
