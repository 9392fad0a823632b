"""Diagnostics of language servers about an edit before it is allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.served_language import received, serve, wait_attached
from tests.support.waiting import until

TEXT = "one\nerror: old\nthree\n"
URI = "textDocument"


class ServedProject:
    """File with an error, served by a language server, and an agent that edits it."""

    def __init__(self, editor: Editor, **script: Any) -> None:
        self.editor = editor
        self.log = editor.work.parent / "server.log"
        self.path = Path(editor.write("a.txt", TEXT))
        serve(editor, log=str(self.log), **script)
        editor.open("a.txt")
        wait_attached(editor, "a.txt")
        editor.agent("script")

    def edit(self, old: str, new: str) -> None:
        """Let the agent ask to edit with the editor's tool."""
        edits = [{"old": old, "new": new}]
        self.editor.prompt(f"mcp nvim_edit {json.dumps({'path': 'a.txt', 'edits': edits})}")

    def hidden_documents(self, method: str) -> list[dict[str, Any]]:
        """Return the server's notifications about documents that are not files of the project."""
        found = [it["params"][URI] for it in received(self.log, f"{URI}/{method}")]
        return [it for it in found if "a.txt" in it["uri"] and not it["uri"].endswith("/a.txt")]

    def wait_closed(self, count: int = 1) -> None:
        """Wait until each hidden document has been opened and closed again."""
        until(lambda: len(self.hidden_documents("didClose")) == count)
        opened = [it["uri"] for it in self.hidden_documents("didOpen")]
        assert opened == [it["uri"] for it in self.hidden_documents("didClose")]
        assert len(set(opened)) == count


@pytest.fixture
def project(editor: Editor) -> ServedProject:
    return ServedProject(editor)


def test_card_and_review_show_errors_that_an_edit_adds(project: ServedProject) -> None:
    editor = project.editor
    project.edit("three\n", "error: new\nthree\nwarning: odd\nhint: never told\n")
    editor.wait_screen("This edit adds 1 error, 1 warning")
    editor.wait_screen("a.txt:3 new")
    editor.wait_screen("a.txt:5 odd")
    assert "a.txt:6" not in "\n".join(editor.screen())
    project.wait_closed()
    (opened,), (changed,) = (
        project.hidden_documents("didOpen"),
        project.hidden_documents("didChange"),
    )
    assert opened["languageId"] == "text"
    assert Path(opened["uri"]).parent == Path(project.path.as_uri()).parent
    assert changed["version"] > opened["version"]
    editor.cmd("Acp review")
    editor.wait_screen("■ new")
    editor.wait_screen("■ odd")
    editor.cmd("tabclose")
    # Nothing remains in Neovim, and the diagnostics of the file are unchanged.
    names = "vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())"
    assert not [name for name in editor.lua(f"return {names}") if "proposed" in name]
    diagnostics = editor.lua("return vim.diagnostic.get()")
    assert [(it["lnum"], it["message"]) for it in diagnostics] == [(1, "old")]
    uris = [it["params"][URI]["uri"] for it in received(project.log, f"{URI}/didOpen")]
    assert uris.count(project.path.as_uri()) == 1
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd", 1)


def test_errors_that_an_edit_fixes_are_shown_too(project: ServedProject) -> None:
    project.edit("error: old", "warning: less")
    project.editor.wait_screen("This edit adds 1 warning and fixes 1 error")
    project.editor.answer("Acp allow")
    project.editor.wait_event("AcpTurnEnd", 1)


def test_an_agents_own_permission_is_checked_and_none_without_the_option(
    project: ServedProject,
) -> None:
    editor = project.editor
    editor.prompt(f"propose fs {project.path} three 'error: new'")
    editor.wait_screen("This edit adds 1 error")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd", 1)
    project.wait_closed()
    editor.lua("require('acp').setup({ review = { diagnostics = false } })")
    editor.prompt(f"propose fs {project.path} one 'error: newer'")
    editor.wait("#require('acp').state().sessions[1].permissions > 0")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd", 2)
    assert len(project.hidden_documents("didOpen")) == 1


def test_an_answer_closes_the_document_of_a_server_that_has_not_published(editor: Editor) -> None:
    hold = str(editor.work.parent / "speak")
    project = ServedProject(editor, hold={"publish": hold})
    project.edit("three", "error: new")
    until(lambda: project.hidden_documents("didOpen"))
    editor.wait("#require('acp').state().sessions[1].permissions > 0")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd", 1)
    project.wait_closed()
    project.edit("one", "error: newer")
    until(lambda: len(project.hidden_documents("didOpen")) == 2)
    editor.cmd("AcpCancel")
    project.wait_closed(2)
    assert "This edit" not in "\n".join(editor.screen())


def test_a_request_of_the_user_comes_first(editor: Editor) -> None:
    hold = str(editor.work.parent / "speak")
    project = ServedProject(editor, hold={"publish": hold})
    project.edit("three", "error: new")
    until(lambda: project.hidden_documents("didOpen"))
    # The server would otherwise find the word in the hidden document as well.
    editor.lua(lua_chunk(__file__, "find_references"))
    editor.wait("_G.found")
    assert [it["uri"] for it in editor.lua("return _G.found")] == [project.path.as_uri()]
    Path(hold).touch()
    editor.wait_screen("This edit adds 1 error")
    project.wait_closed(2)
    editor.answer("Acp deny")


def test_servers_with_pull_diagnostics_are_asked_and_dead_ones_skipped(editor: Editor) -> None:
    project = ServedProject(editor, publish=False)
    project.edit("three", "error: new")
    editor.wait_screen("This edit adds 1 error")
    project.wait_closed()
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


def test_diagnostics_of_other_files_meanwhile_are_not_shown(editor: Editor) -> None:
    """A server that takes the proposal for a duplicate of the file reports that for the file
    too.
    """
    project = ServedProject(editor, doubles=True)
    editor.lua(lua_chunk(__file__, "note_diagnostics"))
    project.edit("three", "error: new\ndef three")
    editor.wait_screen("This edit adds 1 error")
    project.wait_closed()
    until(lambda: [it["message"] for it in editor.lua("return vim.diagnostic.get()")] == ["old"])
    assert not [text for text in editor.lua("return _G.said") if "double" in text]
    editor.answer("Acp deny")


def test_a_silent_server_delays_nothing_and_is_not_asked_again(editor: Editor) -> None:
    never = editor.work.parent / "never.log"
    hold = {"publish": str(editor.work.parent / "never")}
    editor.write("a.txt", TEXT)
    serve(editor, name="silent", log=str(never), hold=hold)
    project = ServedProject(editor)
    wait_attached(editor, "a.txt", 2)
    for number in range(3):
        project.edit("three", f"error: {number}")
        editor.wait_screen("This edit adds 1 error")
        project.wait_closed(number + 1)
        editor.answer("Acp deny")
        editor.wait_event("AcpTurnEnd", number + 1)
    opened = [it["params"][URI]["uri"] for it in received(never, f"{URI}/didOpen")]
    shut = [it["params"][URI]["uri"] for it in received(never, f"{URI}/didClose")]
    assert [uri for uri in opened if not uri.endswith("/a.txt")] == shut
