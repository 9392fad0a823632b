"""The writing tools in a real Neovim, called by a real agent process, with a language server."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.pending_edits import edits_by_name, wait_count
from tests.support.plugins import plugin
from tests.support.served_language import serve, wait_attached
from tests.support.waiting import until

A = "def load\nload two\n"
B = "🦆 load and load\nmore\n"
C = "one\ntwo\nload\n"
RENAME = {"path": "a.txt", "line": 1, "symbol": "load", "new_name": "fetch"}


class Project:
    """Three files of words, a language server, and an agent that calls tools."""

    def __init__(self, editor: Editor, **script: Any) -> None:
        self.editor = editor
        for name, text in (("a.txt", A), ("b.txt", B), ("c.txt", C)):
            editor.write(name, text)
        serve(editor, **script)
        editor.agent("script")

    def begin(self, tool: str, **arguments: Any) -> None:
        """Let the agent call a tool, without waiting for its result."""
        self.editor.prompt(f"mcp {tool} {json.dumps(arguments, ensure_ascii=False)}")

    def call(self, tool: str, **arguments: Any) -> list[str]:
        """Return the lines of the result, after `ok` or `failed`."""
        turns = len(self.editor.events("AcpTurnEnd"))
        self.begin(tool, **arguments)
        return self.wait_ended(tool, turns + 1)

    def wait_ended(self, tool: str, turns: int = 1) -> list[str]:
        """Return the same for the running call."""
        self.editor.wait_event("AcpTurnEnd", turns, 30)
        lines = self.editor.chat()
        last = max(row for row, line in enumerate(lines) if line.startswith(f"{tool}: "))
        result = [line for line in lines[last:] if line.strip()]
        return [result[0].removeprefix(f"{tool}: "), *result[1:]]

    def wait_question(self) -> dict[str, Any]:
        """Return the pending question."""
        self.editor.wait("#require('acp').state().sessions[1].permissions > 0")
        found: dict[str, Any] = self.editor.session(1)["permissions"][0]
        return found

    def text(self, name: str) -> str:
        """Return the live text."""
        lines = self.editor.lines(str(self.editor.work / name))
        return "\n".join([*lines, ""])

    def disk(self, name: str) -> str:
        return (self.editor.work / name).read_text()


@pytest.fixture
def project(editor: Editor) -> Project:
    return Project(editor)


@pytest.fixture
def make(editor: Editor) -> Callable[..., Project]:
    return lambda **script: Project(editor, **script)


def replaced(text: str) -> str:
    return text.replace("load", "fetch")


# -- nvim_edit ------------------------------------------------------------------------------------


def test_an_edit_needs_a_permission_and_is_pending(project: Project) -> None:
    editor = project.editor
    editor.open("a.txt")
    editor.keys("Gounsaved<Esc>gg")
    project.begin("nvim_edit", path="a.txt", edits=[{"old": "load two", "new": "load 2"}])
    question = project.wait_question()
    assert (question["title"], question["kind"]) == ("Edit a.txt", "edit")
    assert [it["kind"] for it in question["options"]] == [
        "allow_once",
        "allow_always",
        "reject_once",
    ]
    editor.answer("Acp allow")
    assert project.wait_ended("nvim_edit") == ["ok", "edited a.txt: +1 -1, pending review"]
    assert project.text("a.txt") == "def load\nload 2\nunsaved\n"
    assert project.disk("a.txt") == A, "unsaved text stays so"
    assert edits_by_name(editor)["a.txt"]["hunks"] == 1
    assert editor.events("AcpEdit")[-1]["data"]["kind"] == "modified"
    editor.keys("u")
    assert project.text("a.txt") == A + "unsaved\n"
    statuses = [it["data"]["status"] for it in editor.events("AcpToolCall")]
    assert statuses[-3:] == ["pending", "in_progress", "completed"]


def test_a_refusal_is_reported_to_the_agent(project: Project) -> None:
    project.begin("nvim_edit", path="a.txt", edits=[{"old": "two", "new": "2"}])
    project.wait_question()
    project.editor.answer("Acp deny")
    assert project.wait_ended("nvim_edit") == ["failed", "the user refused"]
    assert project.disk("a.txt") == A


@pytest.mark.parametrize(
    ("action", "result", "text"),
    [
        ("allow", ["ok", "edited a.txt: +1 -1, pending review"], A.replace("two", "2")),
        ("deny", ["failed", "a rule of the user refuses"], A),
    ],
)
def test_rules_answer_for_edits(
    project: Project, action: str, result: list[str], text: str
) -> None:
    rules = [{"action": action, "kind": "edit", "path": "*.txt"}]
    project.editor.setup({"permission": {"rules": rules}})
    edits = [{"old": "two", "new": "2"}]
    assert project.call("nvim_edit", path="a.txt", edits=edits) == result
    assert project.disk("a.txt") == text


def test_all_later_edits_of_the_session_can_be_allowed(project: Project) -> None:
    project.begin("nvim_edit", path="a.txt", edits=[{"old": "two", "new": "2"}])
    project.wait_question()
    project.editor.answer("Acp allow allow_always")
    assert project.wait_ended("nvim_edit")[0] == "ok"
    result = project.call("nvim_edit", path="c.txt", edits=[{"old": "two", "new": "2"}])
    assert result == ["ok", "edited c.txt: +1 -1, pending review"]


def test_the_question_about_a_file_outside_has_its_reason(project: Project) -> None:
    editor = project.editor
    outside = editor.home / "outside.txt"
    outside.write_text(A)
    editor.setup({"permission": {"rules": [{"action": "allow", "kind": "edit"}]}})
    project.begin("nvim_edit", path=str(outside), edits=[{"old": "two", "new": "2"}])
    assert "read outside the project" in project.wait_question()["title"]
    editor.answer("Acp allow")
    editor.wait_screen("outside the project")
    editor.wait("(require('acp').state().sessions[1].permissions[1] or {}).title:find('^Edit')")
    editor.answer("Acp allow")
    assert project.wait_ended("nvim_edit")[0] == "ok"
    assert outside.read_text() == A.replace("two", "2")


def test_a_file_outside_can_be_refused_by_an_option(project: Project) -> None:
    (project.editor.home / "outside.txt").write_text(A)
    project.editor.setup({"files": {"outside": "deny"}})
    result = project.call("nvim_edit", path="../outside.txt", edits=[{"old": "two", "new": "2"}])
    assert result[0] == "failed"
    assert "outside of the session's directories" in result[1]


def test_the_users_amendment_is_written_and_reported(project: Project) -> None:
    editor = project.editor
    editor.open("a.txt")
    project.begin("nvim_edit", path="a.txt", edits=[{"old": "load two", "new": "load 2"}])
    project.wait_question()
    editor.cmd("Acp review")
    editor.wait("#vim.api.nvim_list_tabpages() == 2")
    editor.keys("ggGA!<Esc>")
    editor.answer("Acp allow")
    result = " ".join(project.wait_ended("nvim_edit"))
    assert "the user changed your edit before they allowed it" in result
    assert project.disk("a.txt") == "def load\nload 2!\n"
    editor.wait("#vim.api.nvim_list_tabpages() == 1")


def test_a_cancel_of_the_turn_ends_the_question(project: Project) -> None:
    editor = project.editor
    project.begin("nvim_edit", path="a.txt", edits=[{"old": "two", "new": "2"}])
    project.wait_question()
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd", 1, 20)
    editor.wait("#(require('acp').state().sessions[1].permissions or {}) == 0")
    assert project.disk("a.txt") == A
    assert edits_by_name(editor) == {}


# -- nvim_rename ----------------------------------------------------------------------------------


def test_a_rename_changes_three_files_with_unsaved_text(project: Project) -> None:
    editor = project.editor
    editor.open("b.txt")
    wait_attached(editor, "b.txt")
    editor.keys("ggO🦆🦆 load unsaved<Esc>")
    project.begin("nvim_rename", **RENAME)
    assert project.wait_question()["title"] == "Rename load to fetch"
    editor.wait_screen("wants to rename load to fetch")
    editor.keys("Gotyped meanwhile<Esc>")
    editor.answer("Acp allow")
    result = project.wait_ended("nvim_rename")
    assert result[0] == "ok"
    assert sorted(result[1:]) == [
        "edited a.txt: +2 -2, pending review",
        "edited b.txt: +2 -2, pending review",
        "edited c.txt: +1 -1, pending review",
    ]
    unsaved = replaced(f"🦆🦆 load unsaved\n{B}typed meanwhile\n")
    assert project.text("b.txt") == unsaved
    assert project.disk("b.txt") == B, "a buffer with unsaved text is the user's to save"
    assert (project.disk("a.txt"), project.disk("c.txt")) == (replaced(A), replaced(C))
    assert set(wait_count(editor, 3)) == {"a.txt", "b.txt", "c.txt"}
    editor.keys("u")
    assert project.text("b.txt") == f"🦆🦆 load unsaved\n{B}typed meanwhile\n"
    editor.keys("<C-r>")
    editor.open("a.txt")
    editor.wait("#require('acp').state().sessions[1].edits == 3")
    editor.keys("ggu")
    assert project.text("a.txt") == A, "one step"
    editor.keys("<C-r>")
    assert project.text("a.txt") == replaced(A)


def test_one_hunk_of_a_rename_can_be_rejected(project: Project) -> None:
    editor = project.editor
    editor.open("c.txt")
    project.begin("nvim_rename", **RENAME)
    project.wait_question()
    editor.answer("Acp allow")
    project.wait_ended("nvim_rename")
    wait_count(editor, 3)
    editor.keys("3G")
    editor.cmd("Acp reject")
    wait_count(editor, 2)
    assert (project.disk("c.txt"), project.disk("a.txt")) == (C, replaced(A))


def test_a_dry_run_needs_no_permission(project: Project) -> None:
    result = project.call("nvim_rename", **RENAME, dry_run=True)
    assert result[:2] == ["ok", "4 lines in 3 files would change; nothing has been changed"]
    assert "c.txt:3:1 load" in result
    assert project.editor.events("AcpPermission") == []


def test_a_rename_for_another_version_is_refused(make: Callable[..., Project]) -> None:
    project = make(versions=1)
    project.editor.open("a.txt")
    wait_attached(project.editor, "a.txt")
    result = " ".join(project.call("nvim_rename", **RENAME))
    assert result.startswith("failed")
    assert "has changed since the server read it" in result
    assert project.editor.events("AcpPermission") == []


def test_one_readonly_file_stops_the_rename(project: Project) -> None:
    (project.editor.work / "c.txt").chmod(0o444)
    result = " ".join(project.call("nvim_rename", **RENAME))
    assert result.startswith("failed")
    assert result.endswith("the file is write-protected")
    assert (project.disk("a.txt"), project.disk("b.txt")) == (A, B)


def test_a_server_with_another_encoding_renames(make: Callable[..., Project]) -> None:
    project = make(encoding="utf-8")
    project.begin("nvim_rename", **RENAME)
    project.wait_question()
    project.editor.answer("Acp allow")
    assert project.wait_ended("nvim_rename")[0] == "ok"
    assert project.disk("b.txt") == replaced(B)


def test_without_a_server_the_rename_is_refused(editor: Editor) -> None:
    editor.agent("script")
    project = Project.__new__(Project)
    project.editor = editor
    editor.write("a.lua", "local x\n")
    result = project.call("nvim_rename", path="a.lua", line=1, symbol="x", new_name="y")
    assert result[0] == "failed"
    assert result[1].startswith("no language server for a.lua")


# -- code actions, formatting ---------------------------------------------------------------------


def test_a_code_action_is_listed_and_applied(project: Project) -> None:
    editor = project.editor
    editor.write("a.txt", "def load\nerror: wrong\nrest\n")
    result = project.call("nvim_code_actions", path="a.txt", line=2)
    assert result == ["ok", "a1 quickfix Remove line 2"]
    project.begin("nvim_apply_code_action", id="a1")
    assert project.wait_question()["title"] == "Remove line 2"
    editor.answer("Acp allow")
    assert project.wait_ended("nvim_apply_code_action", 2) == [
        "ok",
        "edited a.txt: +0 -1, pending review",
    ]
    assert project.disk("a.txt") == "def load\nrest\n"


def test_a_command_runs_after_the_question(make: Callable[..., Project], editor: Editor) -> None:
    place = {"line": 0, "character": 0}
    edit = {"range": {"start": place, "end": place}, "newText": "fixed "}
    change = {"changes": {f"file://{editor.work}/a.txt": [edit]}}
    actions = [{"title": "Fix it", "command": "words.fix"}]
    project = make(commands={"words.fix": change}, answers={"textDocument/codeAction": actions})
    assert project.call("nvim_code_actions", path="a.txt", line=1) == ["ok", "a1 Fix it"]
    editor.setup({"permission": {"rules": [{"action": "allow", "kind": "edit"}]}})
    project.begin("nvim_apply_code_action", id="a1")
    question = project.wait_question()
    assert (question["title"], question["kind"]) == ("Fix it", "execute")
    editor.wait_screen("wants to run lsp:")
    editor.wait_screen("words.fix")
    assert project.disk("a.txt") == A
    editor.answer("Acp allow")
    assert project.wait_ended("nvim_apply_code_action", 2)[0] == "ok"
    assert project.disk("a.txt") == f"fixed {A}"
    assert set(wait_count(editor, 1)) == {"a.txt"}


def test_a_file_is_formatted_by_the_server(project: Project) -> None:
    editor = project.editor
    editor.write("a.txt", "one  \ntwo\nthree \n")
    project.begin("nvim_format", path="a.txt", line=3)
    assert project.wait_question()["title"] == "Format a.txt"
    editor.answer("Acp allow")
    assert project.wait_ended("nvim_format") == ["ok", "edited a.txt: +1 -1, pending review"]
    assert project.disk("a.txt") == "one  \ntwo\nthree\n"


SETUP = lua_chunk(__file__, "set_up_conform")


def test_a_file_is_formatted_by_conform(project: Project) -> None:
    editor = project.editor
    editor.lua(SETUP, str(plugin("conform.nvim")))
    project.begin("nvim_format", path="a.txt")
    assert project.wait_question()["kind"] == "execute"
    editor.wait_screen("conform:upper")
    assert project.disk("a.txt") == A
    editor.answer("Acp allow")
    assert project.wait_ended("nvim_format")[0] == "ok"
    assert project.disk("a.txt") == A.upper()


EXPRESSION = lua_chunk(__file__, "set_formatexpr")


def test_a_file_without_formatters_is_formatted_by_its_options(editor: Editor) -> None:
    path = editor.write("a.md", "one\ntwo\nthree  \n")
    editor.agent("script")
    editor.open("a.md")
    project = Project(editor)

    def format_file(turns: int, **arguments: Any) -> str:
        project.begin("nvim_format", path="a.md", **arguments)
        assert project.wait_question()["kind"] == "execute"
        editor.answer("Acp allow")
        assert project.wait_ended("nvim_format", turns)[0] == "ok"
        return path.read_text()

    editor.cmd("set equalprg=tr\\ o\\ 0")
    assert format_file(1, line=1) == "0ne\ntwo\nthree  \n"
    editor.lua(EXPRESSION)
    assert format_file(2, line=2) == "0ne\nTWO\nthree  \n"
    assert format_file(3) == "0NE\nTWO\nTHREE  \n"
    editor.cmd("set formatexpr= equalprg=false")
    editor.setup({"permission": {"rules": [{"action": "allow", "command": "equalprg:*"}]}})
    assert project.call("nvim_format", path="a.md") == ["failed", "equalprg: code 1"]


def test_several_calls_at_once_have_a_card_each(project: Project) -> None:
    editor = project.editor
    calls = [
        ["nvim_edit", {"path": name, "edits": [{"old": "load", "new": "x", "all": True}]}]
        for name in ("a.txt", "c.txt")
    ]
    editor.prompt(f"mcp_together {json.dumps(calls)}")
    editor.wait("#require('acp').state().sessions[1].permissions == 2")
    cards = {it["title"]: it["id"] for it in editor.session(1)["permissions"]}
    editor.lua("require('acp').answer(...)", cards["Edit c.txt"], "reject_once")
    editor.lua("require('acp').answer(...)", cards["Edit a.txt"], "allow_once")
    editor.wait_event("AcpTurnEnd", 1, 20)
    assert (project.disk("a.txt"), project.disk("c.txt")) == (A.replace("load", "x"), C)


# -- files that are created, moved and deleted


def refactoring(editor: Editor) -> dict[str, Any]:
    """Return the server's answer to a rename: `a.txt` moves, `b.txt` is deleted, `n.txt` is new."""

    def uri(name: str) -> str:
        return f"file://{editor.work}/{name}"

    def edit(name: str, new: str) -> dict[str, Any]:
        place = {"line": 0, "character": 0}
        found = {"range": {"start": place, "end": place}, "newText": new}
        return {"textDocument": {"uri": uri(name), "version": None}, "edits": [found]}

    steps = [
        {"kind": "rename", "oldUri": uri("a.txt"), "newUri": uri("sub/moved.txt")},
        edit("sub/moved.txt", "moved\n"),
        {"kind": "create", "uri": uri("n.txt")},
        edit("n.txt", "new\n"),
        {"kind": "delete", "uri": uri("b.txt")},
    ]
    return {"textDocument/rename": {"documentChanges": steps}}


def files(project: Project) -> dict[str, str]:
    """Return all texts of the project, except temporary files (`.a.txt.…`) and files that are
    being removed.
    """
    texts = {}
    for path in sorted(project.editor.work.rglob("[!.]*")):
        with suppress(FileNotFoundError):
            if path.is_file():
                texts[path.name] = path.read_text()
    return texts


BEFORE = {"a.txt": A, "b.txt": B, "c.txt": C}
AFTER = {"c.txt": C, "n.txt": "new\n", "moved.txt": f"moved\n{A}"}


def test_files_are_created_moved_and_deleted(make: Callable[..., Project], editor: Editor) -> None:
    project = make(answers=refactoring(editor))
    editor.open("b.txt")
    editor.open("a.txt")
    project.begin("nvim_rename", **RENAME)
    project.wait_question()
    editor.cmd("Acp review")
    editor.wait("#vim.api.nvim_list_tabpages() == 2")
    assert files(project) == BEFORE
    editor.answer("Acp allow")
    result = project.wait_ended("nvim_rename")
    assert result[0] == "ok"
    assert sorted(result[1:]) == [
        "created n.txt: +1 -0, pending review",
        "deleted b.txt: +0 -2, pending review",
        "moved sub/moved.txt from a.txt: +1 -0, pending review",
    ]
    assert files(project) == AFTER
    kinds = {name: it["kind"] for name, it in wait_count(editor, 3).items()}
    assert kinds == {"moved.txt": "modified", "n.txt": "created", "b.txt": "deleted"}
    editor.cmd("Acp reject all")
    wait_count(editor, 0)
    assert files(project) == BEFORE
    editor.cmd("Acp unreject")
    wait_count(editor, 3)
    assert files(project) == AFTER
    editor.cmd("Acp accept all")
    wait_count(editor, 0)
    assert files(project) == AFTER


def test_a_checkpoint_restores_all_files(make: Callable[..., Project], editor: Editor) -> None:
    project = make(answers=refactoring(editor))
    project.begin("nvim_rename", **RENAME)
    project.wait_question()
    editor.answer("Acp allow")
    assert project.wait_ended("nvim_rename")[0] == "ok"
    assert files(project) == AFTER
    editor.cmd("Acp restore 1")
    until(lambda: files(project) == BEFORE)
    wait_count(editor, 0)


def test_unsaved_text_is_never_deleted(make: Callable[..., Project], editor: Editor) -> None:
    project = make(answers=refactoring(editor))
    editor.open("b.txt")
    editor.keys("ggOmine<Esc>")
    result = " ".join(project.call("nvim_rename", **RENAME))
    assert result.endswith("its buffer has unsaved changes")
    assert files(project) == BEFORE
