"""Inline edits: `:Acp edit` changes lines in place, in a session without a chat window."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick
from tests.support.killed_host import kill_host
from tests.support.lua import lua_chunk
from tests.support.rpc import EditorError
from tests.support.traffic import Traffic
from tests.support.waiting import until

MARKS = lua_chunk(__file__, "marks")
TEXT = "".join(f"line {n}\n" for n in range(1, 11))


class Orders:
    """Orders for the agent `many_turns`."""

    def __init__(self, editor: Editor, **options: Any) -> None:
        self.home = editor.home / "orders"
        self.home.mkdir(exist_ok=True)
        self.traffic = editor.agent("many_turns", str(self.home), **options)
        self._given = 0

    def give(self, session: str, *words: str) -> None:
        """Give an order and wait until it is done."""
        self.begin(session, *words)
        done = f"done {self._given}"
        until(lambda: done in self.traffic.notes(), what=done)

    def begin(self, session: str, *words: str) -> None:
        self._given += 1
        waiting = self.home / "order"
        waiting.write_text(json.dumps([session, *words]))
        waiting.rename(self.home / f"{self._given}.json")

    def restart(self) -> None:
        """Count the orders of a new process."""
        self._given = 0


@pytest.fixture
def path(editor: Editor) -> Path:
    path = editor.write("a.txt", TEXT)
    editor.open(path)
    return path


def marks(editor: Editor) -> list[list[Any]]:
    """Return first line, last line and text of each mark in the current buffer."""
    found: list[list[Any]] = editor.lua(MARKS)
    return found


def wait_marks(editor: Editor, *wanted: tuple[int, int, str]) -> None:
    until(lambda: marks(editor) == [list(one) for one in wanted], what=str(wanted))


def quickfix(editor: Editor) -> list[str]:
    """Return the texts of `:Acp edits`."""
    editor.lua("vim.fn.setqflist({}, 'f')")
    editor.cmd("Acp edits")
    editor.wait("#vim.fn.getqflist() > 0")
    found: list[str] = editor.lua(
        "return vim.tbl_map(function(i) return i.text end, vim.fn.getqflist())"
    )
    editor.cmd("cclose")
    return found


def buffer(editor: Editor) -> list[str]:
    lines: list[str] = editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
    return lines


def wait_status(editor: Editor, n: int, status: str) -> None:
    editor.wait(f"require('acp').state().sessions[{n}].status == '{status}'")


def blocks(agent: Traffic, count: int = 1) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = agent.wait("session/prompt", count)["params"]["prompt"]
    return found


def test_two_edits_in_one_buffer_with_interleaved_writes(editor: Editor, path: Path) -> None:
    orders = Orders(editor)
    editor.keys("GAunsaved<Esc>")
    editor.keys(":2,3Acp edit make it lazy<CR>")
    editor.keys("6GVj:Acp edit name it<CR>")
    assert marks(editor) == [
        [2, 3, "Many_turns: make it lazy… · starting"],
        [6, 7, "Many_turns: name it… · starting"],
    ]
    orders.traffic.wait("session/prompt", 2)
    wait_marks(editor, (2, 3, "Scripted: make it lazy…"), (6, 7, "Scripted: name it…"))
    editor.wait_screen("Scripted: name it…")
    editor.lua("vim.api.nvim_buf_set_lines(0, 1, 2, true, { 'line 2' })")  # moves its extmarks
    wait_marks(editor, (2, 3, "Scripted: make it lazy…"), (6, 7, "Scripted: name it…"))
    state = editor.state()
    assert "current" not in state
    assert [(s["purpose"], s["title"]) for s in state["sessions"]] == [
        ("edit", "make it lazy"),
        ("edit", "name it"),
    ]
    assert len(orders.traffic.received("initialize")) == 1
    assert editor.lua("return #vim.api.nvim_list_wins()") == 1
    editor.keys("ggOtop<Esc>")
    orders.give("s1", "replace", str(path), "line 2\n", "two\n2\n")
    orders.give("s2", "replace", str(path), "line 6", "six")
    wait_marks(editor, (3, 5, "Scripted: make it lazy…"), (8, 9, "Scripted: name it…"))
    orders.give("s1", "replace", str(path), "line 3", "three")
    orders.give("s1", "end")
    wait_status(editor, 1, "closed")
    wait_marks(editor, (8, 9, "Scripted: name it…"))
    orders.give("s2", "end")
    wait_status(editor, 2, "closed")
    assert marks(editor) == []
    orders.traffic.wait("session/close", 2)
    assert [f["params"]["sessionId"] for f in orders.traffic.received("session/close")] == [
        "s1",
        "s2",
    ]
    assert buffer(editor)[:9] == [
        "top",
        "line 1",
        "two",
        "2",
        "three",
        "line 4",
        "line 5",
        "six",
        "line 7",
    ]
    assert buffer(editor)[-1] == "line 10unsaved"
    assert quickfix(editor) == ["+3 -2 make it lazy · two", "+1 -1 name it · six"]
    assert any("six" in row and "name it" in row for row in editor.screen())
    assert [edit["instructions"] for edit in editor.session(2)["edits"]] == [
        ["make it lazy", "name it"]
    ]
    assert editor.lua("return #vim.api.nvim_list_wins()") == 1
    assert "Edit" not in editor.messages()
    editor.cmd("Acp review")
    editor.wait("#vim.api.nvim_list_tabpages() == 2")
    editor.wait_screen("six   name it")
    editor.cmd("tabclose")
    editor.rpc.request("nvim_ui_try_resize", 40, 20)
    editor.keys(":9Acp edit explain all the names in it now, please<CR>")
    orders.traffic.wait("session/prompt", 3)
    wait_marks(editor, (9, 9, "Scripted: explain all the…"))
    editor.rpc.request("nvim_ui_try_resize", 120, 20)
    wait_marks(editor, (9, 9, "Scripted: explain all the names in it now, please…"))
    editor.rpc.request("nvim_ui_try_resize", 40, 20)
    wait_marks(editor, (9, 9, "Scripted: explain all the…"))
    orders.give("s3", "replace", str(path), "line 9", "nine")
    orders.give("s3", "end")
    editor.wait_screen("nine   explain all the names in it…")
    editor.rpc.request("nvim_ui_try_resize", 120, 20)
    editor.wait_screen("nine   explain all the names in it now, please")


def test_the_agent_gets_the_lines_the_file_and_the_instruction(editor: Editor, path: Path) -> None:
    agent = editor.agent("hello", capabilities={"promptCapabilities": {"embeddedContext": False}})
    editor.keys("2GS  two, not saved<Esc>")
    editor.keys(":2,3Acp edit sort it like {line}<CR>")
    text, lines, link, variable = blocks(agent)
    assert text["text"].startswith(
        f"sort it like {{line}}\n\nMake this change in place, in lines 2 to 3 of {path}."
    )
    assert "```\n  two, not saved\nline 3\n```" in lines["text"]
    assert link["uri"] == path.as_uri()
    assert "  two, not saved" in variable["text"]
    editor.wait_message("Nothing changed: sort it like {line}: Hello, world.")
    wait_status(editor, 1, "closed")
    agent = editor.agent("hello", name="embeds")
    editor.keys(":5Acp edit mend<CR>")
    text, resource, link, *_unsaved = blocks(agent)
    assert "in line 5 of" in text["text"]
    assert resource["resource"]["uri"] == path.as_uri() + "#L5-L5"
    assert resource["resource"]["text"] == "line 5"
    editor.wait_message("Nothing changed: mend: Hello")
    editor.keys(":Acp edit translate it<CR>")
    text, resource, *_unsaved = blocks(agent, 2)
    assert "resource_link" not in [block["type"] for block in blocks(agent, 2)]
    assert f"in the file {path}." in text["text"]
    assert resource["resource"]["text"].startswith("line 1\n  two, not saved\nline 3\n")
    editor.wait_message("Nothing changed: translate it: Hello")
    editor.keys(":5Acp edit /simplify it<CR>")
    assert blocks(agent, 3)[-1] == {"type": "text", "text": "/simplify it"}
    editor.wait_message("Nothing changed: /simplify it: Hello")
    install_picker(editor)
    lists = pick(editor, "Acp history", "no such entry")
    assert [item.partition("  ")[0] for item in lists[0]["items"]][:2] == [
        "/simplify it",
        "translate it",
    ]


def test_cancel_on_the_lines_of_an_edit_cancels_that_one(editor: Editor, path: Path) -> None:
    orders = Orders(editor)
    editor.keys(":2,3Acp edit first<CR>:6Acp edit second<CR>")
    orders.traffic.wait("session/prompt", 2)
    orders.give("s2", "replace", str(path), "line 6", "six")
    editor.keys("9G:AcpCancel<CR>")
    editor.wait_message("Nothing to cancel here. Other sessions are running. See :Acp overview")
    editor.keys("6G:AcpCancel<CR>")
    editor.wait_message("Edit cancelled: second")
    wait_marks(editor, (2, 3, "Scripted: first…"))
    wait_status(editor, 2, "closed")
    assert [f["params"]["sessionId"] for f in orders.traffic.received("session/cancel")] == ["s2"]
    assert quickfix(editor) == ["+1 -1 second · six"]
    editor.keys(":2Acp edit third<CR>")
    orders.traffic.wait("session/prompt", 3)
    editor.lua("vim.keymap.set('n', '<F2>', '<Plug>(acp-cancel)')")
    editor.keys("2G<F2>")
    editor.wait_message("Edit cancelled: third")
    editor.keys("<F2>")
    editor.wait_message("Edit cancelled: first")
    assert marks(editor) == []


def test_a_question_of_an_edit_is_shown_and_answered(editor: Editor, path: Path) -> None:
    orders = Orders(editor)
    editor.keys(":2,3Acp edit first<CR>")
    orders.traffic.wait("session/prompt")
    orders.begin("s1", "permission")
    wait_marks(editor, (2, 3, "Scripted: first… · waiting for you"))
    editor.wait_screen("Scripted wants to run p1")
    editor.wait_screen("│session 1 · first")
    editor.see_question()
    editor.keys(":Acp allow<CR>")
    assert orders.traffic.wait_answers("session/request_permission")[0]["result"]["outcome"] == {
        "outcome": "selected",
        "optionId": "allow",
    }
    wait_marks(editor, (2, 3, "Scripted: first…"))
    orders.give("s1", "replace", str(path), "line 2", "two")
    orders.begin("s1", "permission", "p2")
    editor.answer("Acp refuse not so")
    orders.traffic.wait_note("chosen p2 reject")
    orders.begin("s1", "end")
    assert blocks(orders.traffic, 2)[0]["text"] == "not so"
    wait_marks(editor, (2, 3, "Scripted: first…"))
    orders.give("s1", "replace", str(path), "line 3", "three")
    orders.give("s1", "asks_about", "late")
    orders.give("s1", "end")
    wait_marks(editor)
    assert orders.traffic.received("session/close") == []
    editor.answer("Acp deny")
    orders.traffic.wait("session/close")
    assert quickfix(editor) == ["+2 -2 first · two"]


def test_the_end_of_the_agent_ends_all_edits_with_its_reason(editor: Editor, path: Path) -> None:
    orders = Orders(editor)
    editor.cmd("Acp comment too long")  # goes along, but is no part of the instruction
    editor.wait_message("sent with your next prompt")
    editor.keys(":2,3Acp edit first<CR>:6Acp edit second<CR>")
    orders.traffic.wait("session/prompt", 2)
    orders.give("s1", "replace", str(path), "line 2", "two")
    orders.begin("s2", "die")
    editor.wait_message("Edit failed: first: ")
    editor.wait_message("Edit failed: second: ")
    assert marks(editor) == []
    for n in (1, 2):
        wait_status(editor, n, "closed")
    assert "composer" not in editor.messages()
    assert quickfix(editor) == ["+1 -1 first · two"]
    editor.agent("hello")
    editor.keys(":8Acp edit third<CR>")
    editor.wait_message("Nothing changed: third")


def test_undo_and_redo_of_an_edit(editor: Editor, path: Path) -> None:
    orders = Orders(editor)
    editor.keys(":2,3Acp edit first<CR>")
    orders.traffic.wait("session/prompt")
    orders.give("s1", "replace", str(path), "line 2\nline 3\n", "two\n")
    wait_marks(editor, (2, 2, "Scripted: first…"))
    editor.keys("u")
    wait_marks(editor, (2, 3, "Scripted: first…"))
    editor.keys("<C-r>")
    wait_marks(editor, (2, 2, "Scripted: first…"))
    editor.keys("2Gdd")
    wait_marks(editor, (2, 2, "Scripted: first…"))
    editor.keys("u")
    orders.give("s1", "end")
    wait_status(editor, 1, "closed")
    assert quickfix(editor) == ["+1 -2 first · two"]
    editor.keys("u")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    assert buffer(editor) == TEXT.split("\n")[:-1]
    editor.keys("<C-r>")
    assert quickfix(editor) == ["+1 -2 first · two"]


def test_changes_on_disk_are_the_edits_of_their_sessions(editor: Editor, path: Path) -> None:
    orders = Orders(editor)
    editor.keys(":2,3Acp edit first<CR>:8Acp edit second<CR>")
    orders.traffic.wait("session/prompt", 2)
    orders.give("s1", "write_disk", str(path), json.dumps(TEXT.replace("line 2", "two")))
    orders.give("s1", "end")
    wait_status(editor, 1, "closed")
    assert quickfix(editor) == ["+1 -1 first · two"]
    orders.give("s2", "shell", f"sed -i s/8/eight/ {path}")
    orders.give("s2", "end")
    wait_status(editor, 2, "closed")
    assert quickfix(editor) == ["+1 -1 first · two", "+1 -1 second · line eight"]
    editor.keys(":5Acp edit third<CR>")
    orders.traffic.wait("session/prompt", 3)
    orders.give("s3", "shell", f"rm {path}")
    orders.give("s3", "end")
    wait_status(editor, 3, "closed")
    assert "Nothing changed" not in editor.messages()


def test_an_answer_as_text_changes_nothing_and_keeps_the_session(
    editor: Editor, path: Path
) -> None:
    orders = Orders(editor)
    editor.keys(":2,3Acp edit first<CR>")
    orders.traffic.wait("session/prompt")
    orders.give("s1", "say", "Here it is:\\n```\\ntwo\\n```\\n")
    orders.give("s1", "end")
    editor.wait_message("Nothing changed; the answer is text. :Acp sessions opens it: first")
    assert marks(editor) == []
    assert path.read_text() == TEXT
    assert buffer(editor) == TEXT.split("\n")[:-1]
    session = editor.session(1)
    assert "purpose" not in session
    assert session["status"] == "idle"
    assert "two" in editor.chat(1)
    assert orders.traffic.received("session/close") == []
    editor.keys(":2,3Acp edit more<CR>")
    orders.traffic.wait("session/prompt", 2)
    orders.give("s2", "say", "## I **cannot** do `that`")
    orders.give("s2", "end")
    editor.wait_message("Nothing changed: more: I cannot do that")


def test_an_edit_in_the_current_session_waits_for_its_turn(editor: Editor, path: Path) -> None:
    orders = Orders(editor)
    editor.setup({"chat": {"open": False}})
    editor.prompt("work")
    orders.traffic.wait("session/prompt")
    editor.keys(":2,3Acp edit! first<CR>:6Acp edit! second<CR>")
    wait_marks(editor, (2, 3, "Scripted: first… · queued"), (6, 6, "Scripted: second… · queued"))
    editor.wait("#require('acp').state().sessions[1].queue == 2")
    assert editor.session()["queue"] == ["first", "second"]
    editor.keys("6G:AcpCancel<CR>")
    editor.wait_message("Edit cancelled: second")
    wait_marks(editor, (2, 3, "Scripted: first… · queued"))
    assert orders.traffic.received("session/cancel") == []
    orders.give("s1", "end")
    orders.traffic.wait("session/prompt", 2)
    wait_marks(editor, (2, 3, "Scripted: first…"))
    orders.give("s1", "replace", str(path), "line 2", "two")
    orders.give("s1", "end")
    editor.wait_event("AcpTurnEnd", 2)
    wait_marks(editor)
    assert quickfix(editor) == ["+1 -1 first · two"]
    assert editor.session()["status"] == "idle"
    assert len(editor.state()["sessions"]) == 1
    assert editor.lua("return #vim.api.nvim_list_wins()") == 1


def test_a_buffer_without_a_file_is_refused(editor: Editor) -> None:
    editor.keys("ihello<Esc>")
    with pytest.raises(EditorError, match=r"This buffer has no file yet. :w \{file\} gives it one"):
        editor.cmd("Acp edit shout")
    assert buffer(editor) == ["hello"]
    editor.cmd("new | setlocal buftype=nofile | call setline(1, ['one', 'two'])")
    with pytest.raises(EditorError, match="Only files can be edited in place"):
        editor.cmd("1,2Acp edit shout")
    assert editor.state()["host"] == "stopped"


def test_the_instruction_is_asked_for(editor: Editor, path: Path) -> None:
    agent = editor.agent("hello")
    editor.lua("vim.keymap.set({ 'n', 'x' }, '<F2>', '<Plug>(acp-edit)')")
    editor.keys("2GVj<F2>")
    editor.wait_screen("Change a.txt:2-3:")
    editor.keys("<Esc>")
    assert editor.state()["host"] == "stopped"
    editor.keys("2GVj<F2>shout<CR>")
    assert blocks(agent)[0]["text"].startswith(
        "shout\n\nMake this change in place, in lines 2 to 3"
    )
    editor.wait_message("Nothing changed: shout")
    editor.keys("<F2>whisper<CR>")
    assert f"in the file {path}." in blocks(agent, 2)[0]["text"]


def test_marks_go_with_their_buffer_and_with_the_host(editor: Editor, path: Path) -> None:
    orders = Orders(editor)
    editor.keys(":2,3Acp edit first<CR>")
    orders.traffic.wait("session/prompt")
    editor.cmd("bwipeout")
    orders.give("s1", "replace", str(path), "line 2", "two")
    orders.give("s1", "end")
    wait_status(editor, 1, "closed")
    editor.open(path)
    assert marks(editor) == []
    editor.keys(":6Acp edit second<CR>")
    orders.traffic.wait("session/prompt", 2)
    kill_host(editor)
    wait_marks(editor)
    editor.wait("require('acp').state().host == 'failed'")
    assert "composer" not in editor.messages()


def test_the_chat_of_an_edit_can_be_opened_while_it_runs(editor: Editor, path: Path) -> None:
    orders = Orders(editor)
    install_picker(editor)
    editor.setup({"files": {"unsaved": "ignore"}})
    editor.keys(":2,3Acp edit first<CR>:6Acp edit second<CR>")
    orders.traffic.wait("session/prompt", 2)
    questions = pick(editor, "Acp sessions", "first", "open")
    assert [item.partition("  (")[0] for item in questions[0]["items"]] == ["second", "first"]
    editor.wait("#vim.api.nvim_list_wins() == 2")
    assert "first" in editor.chat(1)
    orders.give("s1", "end")
    editor.wait_message("Nothing changed: first")
    wait_status(editor, 1, "closed")
    pick(editor, "Acp sessions", "second", "open")
    editor.wait("require('acp').state().current == 2")
    editor.lua("require('acp').prompt('more')")
    editor.wait("#require('acp').state().sessions[2].queue == 1")
    orders.give("s2", "end")
    orders.traffic.wait("session/prompt", 3)
    orders.give("s2", "end")
    editor.wait_event("AcpTurnEnd", 3)
    assert "purpose" not in editor.session(2)
    assert editor.session(2)["status"] == "idle"
    closed = orders.traffic.received("session/close")
    assert [frame["params"]["sessionId"] for frame in closed] == ["s1"]


def test_a_restart_of_the_agent_ends_an_edit(editor: Editor, path: Path) -> None:
    orders = Orders(editor)
    editor.keys(":2,3Acp edit first<CR>")
    orders.traffic.wait("session/prompt")
    editor.cmd("Acp restart")
    editor.wait_message("Edit failed: first: ")
    wait_status(editor, 1, "closed")
    assert marks(editor) == []


def test_a_rate_limit_ends_an_edit_with_its_reason(editor: Editor, path: Path) -> None:
    error = {"message": "Too many requests", "data": {"retryAfter": 30}}
    orders = Orders(editor)
    editor.keys(":2,3Acp edit first<CR>")
    orders.traffic.wait("session/prompt")
    orders.give("s1", "refuses_with", "-32603", json.dumps(error))
    editor.wait_message("Edit failed: first: Scripted is at its rate limit")
    assert ":Acp queue" not in editor.messages()
    wait_status(editor, 1, "closed")
    assert marks(editor) == []
