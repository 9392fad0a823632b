"""Real agents of other people, in a real Neovim: what a user sees of every kind of turn.

The model behind them is a script (`tests/real/kit.py`); what they say and do is their own code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.real import kit
from tests.real.kit import chat_text, see_through, wait_chat
from tests.support import conformance
from tests.support.editor import Editor
from tests.support.served_language import attached, serve
from tests.support.traffic import Traffic
from tests.support.waiting import until

pytestmark = [pytest.mark.agents, pytest.mark.timeout(150)]

NOTES = "alpha\nbeta\ngamma\n"
EDITED = ["alpha", "BETA (edited)", "gamma"]


@dataclass(frozen=True)
class Habits:
    """What sets an agent apart from the others."""

    fs: bool = False  # reads and writes through the editor
    terminal: bool = False  # runs commands through the editor
    plan: bool = True  # sends plans
    tells_output: bool = True  # says what its own commands printed
    tells_errors: bool = True  # says what the model's server said
    makes_files: bool = True  # understands that a file is not there yet
    asks: frozenset[str] = field(default=frozenset({"shell"}))  # scripts it asks the user about


HABITS = {
    "claude-old": Habits(fs=True, terminal=True, asks=frozenset({"edit", "write", "shell"})),
    "codex-zed": Habits(asks=frozenset({"read", "edit", "write", "shell"})),
    # It takes any refused read for an unreadable file, whatever the refusal says.
    "gemini": Habits(
        fs=True,
        plan=False,
        tells_output=False,
        makes_files=False,
        asks=frozenset({"edit", "shell", "plan"}),
    ),
    # Outside of a git repository it asks before it writes.
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
        """A turn; what is asked is allowed. Returns the transcript."""
        end = see_through(self.editor, f"SCRIPT:{script}")
        assert end["stop_reason"] == stop_reason, self.editor.report(repr(end))
        return chat_text(self.editor)

    def asked(self) -> int:
        return len(self.traffic.sent("session/request_permission"))


@pytest.fixture
def stage(edit: Callable[..., Editor], tmp_path: Path) -> Iterator[Callable[[str], Stage]]:
    """Set up an agent of the kit; at the end every request of it must have been answered."""
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


def test_the_kit_is_here() -> None:
    """Without kit and agents all else is skipped: that must not look like success."""
    try:
        agents = [kit.agent(name) for name in kit.NAMES]
    except kit.Missing as missing:
        pytest.fail(str(missing), pytrace=False)
    found = [agent for agent in agents if agent.installed()]
    assert found, f"no agent is installed under {kit.INSTALLED}; see {kit.KIT}/install.sh"


def calls(editor: Editor) -> list[dict[str, Any]]:
    """The session's tool calls."""
    found: list[dict[str, Any]] = editor.session()["tool_calls"]
    return found


def sleeping(editor: Editor) -> list[str]:
    """Processes that still wait for the end of what was cancelled."""
    return [p.command for p in editor.processes() if "sleep 45" in p.command]


@models
def test_hello(stage: Callable[[str], Stage], name: str) -> None:
    """Two turns of Markdown, word by word; the second after the first."""
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
    """Thoughts stand before the answer."""
    text = stage(name).run("think")
    assert text.index("I am thinking about the question.") < text.index("The thought is over.")


@models
def test_read(stage: Callable[[str], Stage], name: str) -> None:
    """An agent that reads through the editor sees what is not saved."""
    on = stage(name)
    on.editor.setup({"files": {"unsaved": "ignore"}})  # Gemini puts it right behind the path
    buffer = on.editor.open(on.notes)
    on.editor.lua("vim.api.nvim_buf_set_lines(..., 0, 1, false, { 'alpha unsaved' })", buffer)
    text = on.run(f"read {on.notes}")
    assert "The file says:" in text
    seen = text[text.index("The file says:") :]
    assert ("alpha unsaved" in seen) == (on.habits.fs and name != "gemini")
    assert "gamma" in seen
    assert [c["status"] for c in calls(on.editor)] == ["completed"]
    assert (on.asked() > 0) == ("read" in on.habits.asks)


@models
def test_edit(stage: Callable[[str], Stage], name: str) -> None:
    """The buffer that is open shows the edit, and so does the disk; nobody loses a mark."""
    on = stage(name)
    buffer = on.editor.open(on.notes)
    on.run(f"edit {on.notes}")
    lines = "vim.api.nvim_buf_get_lines(..., 0, -1, false)"
    on.editor.wait(f"table.concat({lines}, '|') == '{'|'.join(EDITED)}'", buffer)
    assert on.notes.read_text() == "\n".join(EDITED) + "\n"
    assert not on.editor.lua("return vim.bo[...].modified", buffer)
    assert (on.asked() > 0) == ("edit" in on.habits.asks)
    assert bool(on.traffic.sent("fs/write_text_file")) == on.habits.fs
    assert {c["status"] for c in calls(on.editor)} == {"completed"}


@models
def test_edit_refused(stage: Callable[[str], Stage], name: str) -> None:
    """Denied, the file stays as it was, and the session goes on."""
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
    """A new file: an agent that looks first whether it is there understands that it is not."""
    on = stage(name)
    path = on.editor.work / "new.txt"
    text = on.run(f"write {path}")
    if not on.habits.makes_files:
        assert calls(on.editor)[-1]["status"] == "failed"
        assert f"Resource not found: {path}" in text.replace("\n", "")
        return
    assert path.read_text() == "line one\nline two\n"
    assert (on.asked() > 0) == ("write" in on.habits.asks)


@models
def test_shell(stage: Callable[[str], Stage], name: str) -> None:
    """What the command printed stands in the chat; terminals of ours can be opened."""
    on = stage(name)
    text = on.run("shell echo made by hand | tr a-z A-Z; touch made.txt")
    shown = "MADE BY HAND" in text[: text.index("The command printed:")]
    assert shown == on.habits.tells_output
    assert (on.editor.work / "made.txt").exists()
    assert on.asked() > 0
    terminals = on.editor.session().get("terminals") or []
    assert bool(on.traffic.sent("terminal/create")) == on.habits.terminal
    if on.habits.terminal:
        assert [t["exit_code"] for t in terminals] == [0]
        assert not terminals[0]["running"]


@models
def test_shell_fails(stage: Callable[[str], Stage], name: str) -> None:
    """A command that fails is seen to have failed."""
    on = stage(name)
    text = on.run("shell echo gone wrong | tr a-z A-Z >&2; exit 3")
    shown = "GONE WRONG" in text[: text.index("The command printed:")]
    assert shown == on.habits.tells_output
    if on.habits.terminal:
        assert [t["exit_code"] for t in on.editor.session()["terminals"]] == [3]


@models
def test_plan(stage: Callable[[str], Stage], name: str) -> None:
    """A plan is shown and followed; one that goes by a plain tool is at least a tool call."""
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
    """The stream stops, the turn ends as cancelled, the next one works."""
    on = stage(name)
    on.editor.prompt("SCRIPT:slow 200")
    wait_chat(on.editor, "tick 2", 60)
    on.editor.cmd("AcpCancel")
    assert on.editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    assert "tick 150" not in chat_text(on.editor)
    assert "Hello from the *fake* LLM." in on.run("hello")


@models
def test_cancel_a_command(stage: Callable[[str], Stage], name: str) -> None:
    """The command is gone soon after the cancel, and with it what it would have printed."""
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
    """A cancel answers the question too; nothing was done, and the session goes on."""
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
    """It is said somehow, and the next turn works."""
    on = stage(name)
    on.editor.errors_expected = True
    on.editor.prompt("SCRIPT:error")
    on.editor.wait_event("AcpTurnEnd", timeout=90)
    if on.habits.tells_errors:
        until(lambda: "fake" in chat_text(on.editor).lower(), 20, "the error in the chat")
    assert "Hello from the *fake* LLM." in on.run("hello")


def test_the_typescript_example(stage: Callable[[str], Stage]) -> None:
    """Tool calls and a permission without any model; ids come again in the second turn."""
    on = stage("sdk-example")
    text = on.run("hello")
    assert "Read project files" in text
    assert "Modifying critical configuration file" in text
    assert "Perfect! I've successfully updated the configuration." in text
    assert [c["status"] for c in calls(on.editor)] == ["completed", "completed"]
    on.run("hello")
    assert [c["status"] for c in calls(on.editor)] == ["completed"] * 4


def test_the_typescript_example_cancelled(stage: Callable[[str], Stage]) -> None:
    """It may answer `end_turn` to a cancel; the question is closed all the same."""
    on = stage("sdk-example")
    on.editor.prompt("x")
    on.editor.wait_event("AcpPermission")
    on.editor.cmd("AcpCancel")
    on.editor.wait_event("AcpTurnEnd")
    assert on.editor.session()["permissions"] == []
    assert "pending" not in {c["status"] for c in calls(on.editor)}


@pytest.mark.parametrize("name", ["py-example", "py-echo"])
def test_the_python_examples(stage: Callable[[str], Stage], name: str) -> None:
    """They say the prompt again."""
    on = stage(name)
    text = on.run("hello")
    assert text.count("SCRIPT:hello") == 2
    assert "SCRIPT:again" in on.run("again")


# -- the editor's own tools ------------------------------------------------------------------------


OWN_TOOLS = pytest.mark.parametrize("name", [name for name in HABITS if name != "codex-zed"])
"""Codex puts them into a namespace, which the scripted model does not name when it calls one."""


@models
def test_two_sessions_in_one_process(stage: Callable[[str], Stage], name: str) -> None:
    """The editor's tools cost neither of them anything, whatever differs in their tokens."""
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
    """Every agent that starts MCP servers sees unsaved text, and nobody is asked for that."""
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
    """What the language server says of text that is not saved."""
    on = stage(name)
    serve(on.editor, name="words")
    buffer = on.editor.open(on.notes)
    attached(on.editor, "notes.txt")
    on.editor.lua("vim.api.nvim_buf_set_lines(..., 0, 1, false, { 'error: unsaved' })", buffer)
    text = on.run('mcp diagnostics {"path": "notes.txt"}')
    said = text[text.index("Tool said:") :]  # some agents hand the model the data, not the text
    assert re.search(r'notes.txt(:1:|".*"line":1)', said)
    assert "unsaved" in said
    assert "1 error" in text


@OWN_TOOLS
def test_mcp_rename(stage: Callable[[str], Stage], name: str) -> None:
    """A rename is pending in three files, asked for once."""
    on = stage(name)
    serve(on.editor, name="words")
    on.notes.write_text("def beta\n")
    for other in ("more.txt", "last.txt"):
        on.editor.write(other, "beta\n")
        on.editor.open(other)
        attached(on.editor, other)
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
