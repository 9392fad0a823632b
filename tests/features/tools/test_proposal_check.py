"""What language servers say of an edit before it is allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.served_language import attached, received, serve
from tests.support.waiting import until

TEXT = "one\nerror: old\nthree\n"
URI = "textDocument"


class Project:
    """A file with an error, which a language server serves, and an agent that edits."""

    def __init__(self, editor: Editor, **script: Any) -> None:
        self.editor = editor
        self.log = editor.work.parent / "server.log"
        self.path = Path(editor.write("a.txt", TEXT))
        serve(editor, log=str(self.log), **script)
        editor.open("a.txt")
        attached(editor, "a.txt")
        editor.agent("script")

    def edit(self, old: str, new: str) -> None:
        """The agent asks to edit by our tool."""
        edits = [{"old": old, "new": new}]
        self.editor.prompt(f"mcp nvim_edit {json.dumps({'path': 'a.txt', 'edits': edits})}")

    def hidden(self, method: str) -> list[dict[str, Any]]:
        """What the server was told of documents that are no file of the project."""
        found = [it["params"][URI] for it in received(self.log, f"{URI}/{method}")]
        return [it for it in found if "a.txt" in it["uri"] and not it["uri"].endswith("/a.txt")]

    def closed(self, count: int = 1) -> None:
        """Wait until each hidden document has been opened, and closed again."""
        until(lambda: len(self.hidden("didClose")) == count)
        opened = [it["uri"] for it in self.hidden("didOpen")]
        assert opened == [it["uri"] for it in self.hidden("didClose")]
        assert len(set(opened)) == count


@pytest.fixture
def project(editor: Editor) -> Project:
    return Project(editor)


def test_the_card_and_the_review_say_what_an_edit_adds(project: Project) -> None:
    editor = project.editor
    project.edit("three\n", "error: new\nthree\nwarning: odd\nhint: never told\n")
    editor.wait_screen("This edit adds 1 error, 1 warning")
    editor.wait_screen("a.txt:3 new")
    editor.wait_screen("a.txt:5 odd")
    assert "a.txt:6" not in "\n".join(editor.screen())
    project.closed()
    (opened,), (changed,) = project.hidden("didOpen"), project.hidden("didChange")
    assert opened["languageId"] == "text"
    assert Path(opened["uri"]).parent == Path(project.path.as_uri()).parent
    assert changed["version"] > opened["version"]
    editor.cmd("Acp review")
    editor.wait_screen("■ new")
    editor.wait_screen("■ odd")
    editor.cmd("tabclose")
    # Nothing of it is left in Neovim, and what it shows of the file is what it was.
    names = "vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())"
    assert not [name for name in editor.lua(f"return {names}") if "proposed" in name]
    said = editor.lua("return vim.diagnostic.get()")
    assert [(it["lnum"], it["message"]) for it in said] == [(1, "old")]
    uris = [it["params"][URI]["uri"] for it in received(project.log, f"{URI}/didOpen")]
    assert uris.count(project.path.as_uri()) == 1
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd", 1)


def test_what_it_fixes_is_said_too(project: Project) -> None:
    project.edit("error: old", "warning: less")
    project.editor.wait_screen("This edit adds 1 warning and fixes 1 error")
    project.editor.answer("Acp allow")
    project.editor.wait_event("AcpTurnEnd", 1)


def test_an_agents_own_permission_is_looked_at_and_without_the_option_none(
    project: Project,
) -> None:
    editor = project.editor
    editor.prompt(f"propose fs {project.path} three 'error: new'")
    editor.wait_screen("This edit adds 1 error")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd", 1)
    project.closed()
    editor.lua("require('acp').setup({ review = { diagnostics = false } })")
    editor.prompt(f"propose fs {project.path} one 'error: newer'")
    editor.wait("#require('acp').state().sessions[1].permissions > 0")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd", 2)
    assert len(project.hidden("didOpen")) == 1


def test_an_answer_closes_the_document_of_a_server_that_has_not_spoken(editor: Editor) -> None:
    hold = str(editor.work.parent / "speak")
    project = Project(editor, hold={"publish": hold})
    project.edit("three", "error: new")
    until(lambda: project.hidden("didOpen"))
    editor.wait("#require('acp').state().sessions[1].permissions > 0")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd", 1)
    project.closed()
    project.edit("one", "error: newer")
    until(lambda: len(project.hidden("didOpen")) == 2)
    editor.cmd("AcpCancel")
    project.closed(2)
    assert "This edit" not in "\n".join(editor.screen())


def test_a_request_of_the_user_comes_first(editor: Editor) -> None:
    hold = str(editor.work.parent / "speak")
    project = Project(editor, hold={"publish": hold})
    project.edit("three", "error: new")
    until(lambda: project.hidden("didOpen"))
    # The server would find the word in the hidden document as well.
    editor.lua(lua_chunk(__file__, "find_references"))
    editor.wait("_G.found")
    assert [it["uri"] for it in editor.lua("return _G.found")] == [project.path.as_uri()]
    Path(hold).touch()
    editor.wait_screen("This edit adds 1 error")
    project.closed(2)
    editor.answer("Acp deny")


def test_a_server_that_is_asked_and_one_that_dies(editor: Editor) -> None:
    project = Project(editor, publish=False)
    project.edit("three", "error: new")
    editor.wait_screen("This edit adds 1 error")
    project.closed()
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd", 1)
    serve(editor, "*.md", name="mortal", publish=False, dead=["textDocument/diagnostic"])
    editor.write("b.md", "one\n")
    editor.prompt("mcp nvim_buffers {}")
    editor.wait_event("AcpTurnEnd", 2)
    editor.open("b.md")
    editor.wait("#vim.lsp.get_clients({ name = 'mortal' }) == 0")
    edits = {"path": "b.md", "edits": [{"old": "one", "new": "two"}]}
    editor.prompt(f"mcp nvim_edit {json.dumps(edits)}")
    editor.wait("#require('acp').state().sessions[1].permissions > 0")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd", 3)


def test_what_a_server_says_of_other_files_meanwhile_is_not_shown(editor: Editor) -> None:
    """A server that takes the proposal for a double of the file says so at the file as well."""
    project = Project(editor, doubles=True)
    editor.lua(lua_chunk(__file__, "note_diagnostics"))
    project.edit("three", "error: new\ndef three")
    editor.wait_screen("This edit adds 1 error")
    project.closed()
    until(lambda: [it["message"] for it in editor.lua("return vim.diagnostic.get()")] == ["old"])
    assert not [text for text in editor.lua("return _G.said") if "double" in text]
    editor.answer("Acp deny")


def test_a_server_that_never_speaks_holds_up_nobody_and_is_left_alone(editor: Editor) -> None:
    never = editor.work.parent / "never.log"
    hold = {"publish": str(editor.work.parent / "never")}
    editor.write("a.txt", TEXT)
    serve(editor, name="silent", log=str(never), hold=hold)
    project = Project(editor)
    attached(editor, "a.txt", 2)
    for number in range(3):
        project.edit("three", f"error: {number}")
        editor.wait_screen("This edit adds 1 error")
        project.closed(number + 1)
        editor.answer("Acp deny")
        editor.wait_event("AcpTurnEnd", number + 1)
    opened = [it["params"][URI]["uri"] for it in received(never, f"{URI}/didOpen")]
    shut = [it["params"][URI]["uri"] for it in received(never, f"{URI}/didClose")]
    assert [uri for uri in opened if not uri.endswith("/a.txt")] == shut
