"""The editor's tools with real language servers: basedpyright, TypeScript's and ruff.

npm installs the first two under `AGENTS_DIR` on the first run, with a Node.js that is new enough
for them. ruff is a dependency of the tests. lua-language-server is in no registry.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.real import npm
from tests.real.kit import INSTALLED
from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.pending_edits import edits_by_name
from tests.support.tool_caller import Caller

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

PLACE = INSTALLED / "language-servers"
PACKAGES = (
    "node@22",
    "basedpyright@1.40.1",
    "typescript@5.9.3",
    "typescript-language-server@5.1.3",
)

START = lua_chunk(__file__, "start_server")
WARM = lua_chunk(__file__, "wait_warm")
# Counts the documents outside of Neovim's buffers that the servers get.
WATCH = lua_chunk(__file__, "note_documents")
OPENED, CLOSED = "_G.opened", "_G.closed"
NAMES = "vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())"

LIB = '''
class Box:
    """Holds a number."""

    def __init__(self, size: int) -> None:
        self.size = size

    def grow(self, by: int) -> int:
        """Make it larger."""
        self.size += by
        return self.size
'''.lstrip()
APP = """
from lib import Box


def main() -> None:
    box = Box(3)
    naïve = "🦆"; print(naïve, box.grow(2))
""".lstrip()
OTHER = "from lib import Box\n\nprint(Box(1).grow(1))\n"

LIB_TS = """
/** Holds a number. */
export class Box {
  constructor(public size: number) {}
  /** Make it larger. */
  grow(by: number): number {
    return (this.size += by);
  }
}
""".lstrip()
APP_TS = """
import { Box } from "./lib";

export function main(): void {
  const box = new Box(3);
  const naïve = "🦆"; console.log(naïve, box.grow(2));
}
""".lstrip()
CONFIG_TS = {"compilerOptions": {"strict": True, "lib": ["es2020", "dom"], "types": []}}


@pytest.fixture(scope="module")
def programs() -> Path:
    """Return the folder with the servers' programs, and install them if necessary."""
    found = PLACE / "node_modules" / ".bin"
    npm.install(PLACE, PACKAGES, found / "typescript-language-server")
    return found


class Project:
    """Files for a language server, and an agent that calls tools."""

    def __init__(self, editor: Editor, **files: str) -> None:
        self.editor = editor
        for name, text in files.items():
            editor.write(name.replace("__", "."), text)
        self.caller = Caller(editor)

    def serve(self, programs: Path, pattern: str, first: str, *command: str) -> None:
        """Start a server as a user's configuration does, and open a file."""
        program = programs / command[0]
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        argv = [str(program) if program.exists() else command[0], *command[1:]]
        self.editor.lua(WATCH)
        self.editor.lua(START, argv, pattern, path)
        self.editor.open(first)
        self.editor.wait("#vim.lsp.get_clients({ bufnr = 0 }) >= 1", timeout=60)
        self.editor.lua(WARM)
        self.editor.wait("_G.warm", timeout=120)

    def lines(self, tool: str, **arguments: Any) -> list[str]:
        return self.caller.text(tool, **arguments).split("\n")

    def call_allowed(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that asks, allow it, and return the result."""
        turns = len(self.editor.events("AcpTurnEnd"))
        self.editor.prompt(f"mcp nvim_{tool} {json.dumps(arguments)}")
        self.editor.wait("#require('acp').state().sessions[1].permissions > 0", timeout=60)
        self.editor.answer("Acp allow")
        self.editor.wait_event("AcpTurnEnd", turns + 1, 60)
        found = self.caller.results(tool)[-1]
        assert not found.get("isError"), found
        return found

    def check_proposal(self, path: str, old: str, new: str, words: str) -> None:
        """Let the agent ask for an edit, check the card for its effect, and check that no trace is
        left.
        """
        before = self.editor.lua("return vim.diagnostic.get()")
        edits = {"path": path, "edits": [{"old": old, "new": new}]}
        self.editor.prompt(f"mcp nvim_edit {json.dumps(edits)}")
        self.editor.wait_screen(words, 60)
        turns = len(self.editor.events("AcpTurnEnd"))
        self.editor.answer("Acp deny")
        self.editor.wait_event("AcpTurnEnd", turns + 1)
        assert not [name for name in self.editor.lua(f"return {NAMES}") if "proposed" in name]
        opened = self.editor.lua(f"return {OPENED}")
        assert opened
        assert opened == self.editor.lua(f"return {CLOSED}")
        assert self.editor.lua("return vim.diagnostic.get()") == before


@pytest.fixture
def python(editor: Editor, programs: Path) -> Project:
    config = json.dumps({"typeCheckingMode": "standard"})
    files = {"lib__py": LIB, "app__py": APP, "other__py": OTHER, "pyrightconfig__json": config}
    project = Project(editor, **files)
    project.serve(programs, "python", "lib.py", "basedpyright-langserver", "--stdio")
    return project


@pytest.fixture
def typescript(editor: Editor, programs: Path) -> Project:
    config = json.dumps(CONFIG_TS)
    project = Project(editor, lib__ts=LIB_TS, app__ts=APP_TS, tsconfig__json=config)
    project.serve(programs, "typescript", "lib.ts", "typescript-language-server", "--stdio")
    return project


# -- basedpyright ---------------------------------------------------------------------------------


def test_basedpyright_answers_each_reading_tool(python: Project) -> None:
    at = {"path": "lib.py", "line": 7, "symbol": "grow"}
    assert python.lines("definition", path="app.py", line=6, symbol="box.grow") == [
        "lib.py:7:9 def grow(self, by: int) -> int:"
    ]
    assert python.lines("references", **at) == [
        'app.py:6:35 naïve = "🦆"; print(naïve, box.grow(2))',
        "lib.py:7:9 def grow(self, by: int) -> int:",
        "other.py:3:14 print(Box(1).grow(1))",
    ]
    assert "Make it larger" in python.caller.text("hover", path="app.py", line=6, symbol="grow")
    assert python.lines("symbols", path="lib.py", kinds=["class", "method"])[0] == (
        "lib.py:1:7 class Box: class Box:"
    )
    assert "lib.py:1:7" in python.caller.text("symbols", query="Box")
    assert "in main:" in python.caller.text("calls", **at)
    assert "error" not in python.caller.text("diagnostics", path="app.py", wait_ms=30_000)


def test_basedpyright_reports_new_errors_before_and_after_an_edit(python: Project) -> None:
    editor = python.editor
    path = editor.work / "app.py"
    assert "error" not in python.caller.text("diagnostics", path="app.py", wait_ms=30_000)
    python.check_proposal("app.py", "Box(3)", "Box('3')", "This edit adds 1 error")
    text = json.dumps(APP.replace("Box(3)", "Box('3')"))
    asked = json.dumps({"path": "app.py", "severity": "error", "wait_ms": 30_000, "since": "turn"})
    editor.turn(f"write {path} {text}\nmcp nvim_diagnostics {asked}", timeout=60)
    said = python.caller.results("diagnostics")[-1]["content"][0]["text"]
    assert said.startswith("+ app.py:5:15 error: Argument of type")
    python.check_proposal("app.py", "Box('3')", "Box(4)", "This edit fixes 1 error")


def test_basedpyright_renames_in_three_files_without_a_false_alarm(python: Project) -> None:
    editor = python.editor
    at = {"path": "lib.py", "line": 7, "symbol": "grow", "new_name": "expand"}
    dry = python.caller.text("rename", dry_run=True, **at)
    assert "other.py:3" in dry
    editor.prompt(f"mcp nvim_rename {json.dumps(at)}")
    editor.wait("#require('acp').state().sessions[1].permissions > 0", timeout=60)
    editor.wait(f"#{OPENED} == 3 and #{CLOSED} == 3", timeout=60)
    assert "This edit" not in "\n".join(editor.screen())
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd", 2, 60)
    assert {name: it["hunks"] for name, it in edits_by_name(editor).items()} == {
        "lib.py": 1,
        "app.py": 1,
        "other.py": 1,
    }
    assert editor.lines(str(editor.work / "other.py"))[2] == "print(Box(1).expand(1))"


# -- typescript-language-server -------------------------------------------------------------------


def test_typescript_answers_each_reading_tool(typescript: Project) -> None:
    at = {"path": "lib.ts", "line": 5, "symbol": "grow"}
    assert typescript.lines("definition", path="app.ts", line=5, symbol="box.grow") == [
        "lib.ts:5:3 grow(by: number): number {"
    ]
    assert typescript.lines("references", **at) == [
        'app.ts:5:45 const naïve = "🦆"; console.log(naïve, box.grow(2));',
        "lib.ts:5:3 grow(by: number): number {",
    ]
    assert "Make it larger" in typescript.caller.text("hover", path="app.ts", line=5, symbol="grow")
    assert "class Box" in typescript.caller.text("symbols", path="lib.ts", kinds=["class"])
    assert "lib.ts:2" in typescript.caller.text("symbols", query="Box")
    assert "in main:" in typescript.caller.text("calls", **at)
    type_at = {"path": "app.ts", "line": 4, "symbol": "box", "target": "type"}
    assert "lib.ts:2" in typescript.caller.text("definition", **type_at)


def test_typescript_reports_new_errors_fixes_them_and_formats(typescript: Project) -> None:
    editor = typescript.editor
    editor.open("app.ts")
    assert "error" not in typescript.caller.text("diagnostics", path="app.ts", wait_ms=30_000)
    typescript.check_proposal("app.ts", "new Box(3)", 'new Box("3")', "This edit adds 1 error")
    # a missing import, and the fix that the server offers for it
    edits = {"old": 'import { Box } from "./lib";\n', "new": ""}
    typescript.call_allowed("edit", path="app.ts", edits=[edits])
    said = typescript.caller.text("diagnostics", path="app.ts", wait_ms=30_000)
    assert "Cannot find name 'Box'" in said
    line = int(said.split("app.ts:")[1].split(":")[0])
    found = typescript.caller.call("code_actions", path="app.ts", line=line)
    actions = found["structuredContent"]["actions"]
    wanted = next(it for it in actions if "import" in it["title"].lower())
    typescript.call_allowed("apply_code_action", id=wanted["id"])
    assert editor.lines(str(editor.work / "app.ts"))[0] == 'import { Box } from "./lib";'
    typescript.call_allowed(
        "edit", path="app.ts", edits=[{"old": "box = new", "new": "box    =    new"}]
    )
    typescript.call_allowed("format", path="app.ts")
    assert "\tconst box = new Box(3);" in editor.lines(str(editor.work / "app.ts"))


def test_typescript_renames_in_all_files(typescript: Project) -> None:
    at = {"path": "lib.ts", "line": 5, "symbol": "grow", "new_name": "expand"}
    typescript.call_allowed("rename", **at)
    assert sorted(edits_by_name(typescript.editor)) == ["app.ts", "lib.ts"]


# -- ruff, which uses pull diagnostics ------------------------------------------------------------


def test_ruff_checks_both_texts_fixes_and_formats(
    editor: Editor, programs: Path, find_ruff: Callable[[], str]
) -> None:
    project = Project(editor, app__py="import os\n\nprint( os.name )\n")
    project.serve(programs, "python", "app.py", find_ruff(), "server")
    project.check_proposal("app.py", "print( os.name )", "print(1)", "This edit adds 1")
    project.call_allowed("format", path="app.py")
    assert editor.lines(str(editor.work / "app.py"))[2] == "print(os.name)"
    project.call_allowed(
        "edit", path="app.py", edits=[{"old": "print(os.name)", "new": "print(1)"}]
    )
    assert "F401" in project.caller.text("diagnostics", path="app.py", wait_ms=30_000)
    found = project.caller.call("code_actions", path="app.py", line=1)["structuredContent"]
    wanted = next(it for it in found["actions"] if "Remove unused import" in it["title"])
    project.call_allowed("apply_code_action", id=wanted["id"])
    assert editor.lines(str(editor.work / "app.py")) == ["", "print(1)"]


@pytest.fixture
def find_ruff() -> Callable[[], str]:
    return lambda: str(Path(sys.executable).with_name("ruff"))
