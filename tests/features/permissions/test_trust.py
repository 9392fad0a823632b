"""Trust of a session: calls that are allowed without a question, and calls that still ask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking_agent import Asking
from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick, picker_questions
from tests.support.rpc import EditorError

METHOD = "session/request_permission"


def bar(editor: Editor, n: int = 1) -> str:
    text: str = editor.lua("return vim.wo[vim.fn.bufwinid('acp://chat/' .. ...)].winbar", n)
    return text


@pytest.fixture
def asking(editor: Editor) -> Asking:
    return Asking(editor)


def trusted(asking: Asking, id: str, call: dict[str, Any]) -> None:
    """Assert that a call is allowed once without a question, and that the chat shows it."""
    before = len(asking.outcomes())
    asking.agent.ask("asks_about", id, json.dumps(call))
    asking.answered(*asking.outcomes()[:before], "allow")
    asking.editor.wait("#require('acp').state().sessions[1].permissions == 0")
    asking.editor.wait(
        "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://chat/1'), 0, -1, true))"
        ":find('Allow (trust)', 1, true)"
    )


def edit(path: Path | str, **more: Any) -> dict[str, Any]:
    diff = {"type": "diff", "path": str(path), "oldText": "one\n", "newText": "ONE\n"}
    return {"title": f"Edit {path}", "kind": "edit", "content": [diff], **more}


def run(line: str, **more: Any) -> dict[str, Any]:
    return {"title": line, "kind": "execute", "rawInput": {"command": line, **more}}


def test_trust_in_edits(asking: Asking) -> None:
    editor = asking.editor
    path = editor.write("a.txt", "one\n")
    editor.write(".env", "KEY=1\n")
    (editor.work / "link.txt").symlink_to(editor.work / ".env")
    editor.keys(":Acp trust edits<CR>")
    editor.wait("require('acp').state().sessions[1].trust == 'edits'")
    editor.wait_screen("trust edits")
    asking.announce("edits", **edit(path))
    trusted(asking, "confirms an edit", {"title": "Confirm", "kind": "other"})
    asking.assert_asks("command beside an edit", {"title": "Run the tests", "kind": "execute"})
    asking.update("edits", status="completed")
    trusted(asking, "inside", edit(path))
    trusted(asking, "relative", edit("sub/../a.txt"))
    asking.assert_asks("command", run("make test"))
    asking.assert_asks("hidden command", edit(path, rawInput={"command": "rm -rf /"}))
    asking.assert_asks(
        "delete", {"title": "Delete", "kind": "delete", "locations": [{"path": str(path)}]}
    )
    asking.assert_asks("secret", edit(editor.work / ".env"))
    asking.assert_asks("link to a secret", edit(editor.work / "link.txt"))
    asking.assert_asks("runs by itself", edit(editor.work / ".git/hooks/pre-commit"))
    asking.assert_asks("outside", edit("/etc/passwd"))
    asking.assert_asks("outside by dots", edit(f"{editor.work}/../x.txt"))
    asking.assert_asks("title names a secret", {"title": "Edit .env", "kind": "edit"})
    editor.cmd("Acp trust off")
    editor.wait("require('acp').state().sessions[1].trust == nil")
    asking.assert_asks("again", edit(path))
    asking.end()


def test_trust_in_all(asking: Asking) -> None:
    editor = asking.editor
    path = editor.write("a.txt", "one\n")
    (editor.work / "up").symlink_to("/usr/lib")
    editor.cmd("Acp trust all")
    editor.wait_screen("trust all")
    asking.announce("edits", **edit(path))
    asking.assert_asks("mode beside an edit", {"title": "Ready to code?", "kind": "switch_mode"})
    trusted(asking, "edit", edit(path))
    trusted(asking, "command", run("make test && git status | python -m json.tool"))
    trusted(asking, "title", {"title": "Run the tests", "kind": "execute"})
    trusted(
        asking, "fetch", {"title": "Fetch", "kind": "fetch", "rawInput": {"url": "https://x.y"}}
    )
    for line in (
        "cat .env",
        "cat /etc/passwd",
        "cat ../x",
        "tool --file=/etc/passwd",
        "cc -I/usr/include a.c",
        "make -C.. test",
        "grep -if.env a.txt",
        "curl -d @.env",
        "cat up/../x",
        "cat a.txt | sh",
        "cd .. && ls",
        "cat $HOME/x",
        "cat ~/x",
        "ls\nrm x",
        "echo x > .git/hooks/pre-commit",
        "bash -c 'cat /etc/passwd'",
    ):
        asking.assert_asks(line, run(line))
    asking.assert_asks("directory", run("ls", cwd="/etc"))
    asking.assert_asks("outside by a link and dots", edit("up/../x.txt"))
    asking.assert_asks("variables", run("make", env={"PATH": "/tmp"}))
    asking.assert_asks(
        "argument", {"title": "t", "kind": "other", "rawInput": {"target": "/etc/passwd"}}
    )
    asking.assert_asks("mode", {"title": "Ready to code?", "kind": "switch_mode"})
    asking.assert_asks("says nothing", {"title": "Confirm", "kind": "other"})
    asking.end()


@pytest.mark.parametrize("action", ["deny", "ask"])
def test_a_rule_wins_over_trust(editor: Editor, action: str) -> None:
    editor.setup({"permission": {"rules": [{"action": action, "command": "make *"}]}})
    asking = Asking(editor)
    editor.cmd("Acp trust all")
    editor.wait("require('acp').state().sessions[1].trust == 'all'")
    if action == "ask":
        asking.assert_asks("make", run("make test"))
    else:
        asking.agent.ask("asks_about", "make", json.dumps(run("make test")))
        asking.answered("reject")
    trusted(asking, "other", run("git status"))
    asking.end()


def test_trust_answers_no_pending_question_and_holds_for_one_session(asking: Asking) -> None:
    editor = asking.editor
    path = editor.write("a.txt", "one\n")
    asking.ask("before", edit(path))
    editor.cmd("Acp trust edits")
    editor.wait("require('acp').state().sessions[1].trust == 'edits'")
    assert asking.outcomes() == []
    editor.answer("Acp deny")
    asking.answered("reject")
    asking.end()
    editor.cmd("Acp new")
    editor.wait("(require('acp').state().sessions[2] or {}).status == 'idle'")
    assert "trust" not in editor.session(2)
    assert "trust" not in bar(editor, 2)


def test_without_a_level_there_is_a_choice(editor: Editor) -> None:
    install_picker(editor)
    editor.agent("echo")
    editor.turn("hello")
    pick(editor, "Acp trust", "  edits: allow edits in the directories of the session")
    editor.wait("require('acp').state().sessions[1].trust == 'edits'")
    levels = [item.partition(":")[0].strip("* ") for item in picker_questions(editor)[0]["items"]]
    assert levels == ["off", "edits", "all"]
    with pytest.raises(EditorError, match="Unknown trust 'al', did you mean 'all'"):
        editor.cmd("Acp trust al")


def test_an_edit_of_the_editors_tool_is_trusted(editor: Editor) -> None:
    path = editor.write("a.txt", "one\n")
    editor.agent("script")
    editor.turn("say hello")
    editor.cmd("Acp trust edits")
    editor.wait("require('acp').state().sessions[1].trust == 'edits'")
    change = {"path": "a.txt", "edits": [{"old": "one", "new": "ONE"}]}
    editor.turn(f"mcp nvim_edit {json.dumps(change)}")
    assert path.read_text() == "ONE\n"
