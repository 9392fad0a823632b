"""Only a question that the user has seen is answered: agents that ask, withdraw and change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.asking_agent import Asking
from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until
from tests.support.windows import DIFF_WINDOWS

METHOD = "session/request_permission"
NEW = "acp: New question: press again"
OVER = "acp: That question is over"
READ = {"title": "Read README.md", "kind": "read", "locations": [{"path": "README.md"}]}
REMOVE = {"title": "rm -rf", "rawInput": {"command": "rm -rf /"}}

HELD_READ = """
local live = require('acp.buffers.live') local read = live.read
local function wait() live.read, _G.held = read, 1 vim.wait(30000, function() return _G.go end) end
live.read = function(...) wait() return read(...) end
"""
"""Hold the next read of a file until `_G.go` is set."""


@pytest.fixture
def asking(editor: Editor) -> Asking:
    editor.setup({"chat": {"open": False}})
    return Asking(editor)


def test_a_question_that_is_replaced_while_a_command_is_typed_is_not_allowed(
    asking: Asking,
) -> None:
    editor = asking.editor
    asking.ask("read", READ)
    editor.keys(":Acp allow")
    asking.take_back("read")
    asking.agent.ask("asks_about", "rm", json.dumps(REMOVE))
    asking.drawn("rm")
    editor.later(400)
    editor.keys("<CR>")
    editor.wait_message(OVER)
    asking.answered("cancelled")
    asking.end()


def test_a_second_key_press_in_the_chat_allows_nothing(edit: Any) -> None:
    editor: Editor = edit()
    asking = Asking(editor)
    asking.agent.ask("asks_about", "one", "{}")
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))")
    editor.keys("G")
    editor.lua("vim.fn.search('wants to run one', 'bw')")
    editor.press("Y")
    asking.answered("always")
    asking.ask("two")
    editor.lua("vim.fn.search('wants to run two', 'bw')")
    editor.later(399)
    editor.keys("Y")
    editor.wait_message(NEW)
    assert asking.outcomes() == ["always"]
    editor.press("n")
    asking.answered("always", "reject")
    asking.end()


def test_the_answer_in_a_closed_review_answers_no_other_proposal(asking: Asking) -> None:
    editor = asking.editor
    path = editor.write("a.txt", "one\n")

    def edit(new: str) -> dict[str, Any]:
        diff = {"type": "diff", "path": str(path), "oldText": "one\n", "newText": new}
        return {"kind": "edit", "content": [diff]}

    asking.ask("one", edit("ONE\n"))
    asking.ask("two", edit("TWO\n"))
    editor.cmd("Acp review")
    editor.wait("#vim.api.nvim_list_tabpages() == 2")
    editor.see_question()
    editor.keys(":Acp allow")
    asking.take_back("one")
    asking.drawn("two")
    editor.later(399)
    editor.keys("<CR>")
    editor.wait_message(OVER)
    editor.cmd("Acp allow")
    editor.wait_message(NEW)
    asking.answered("cancelled")
    editor.wait("#vim.api.nvim_list_tabpages() == 1")
    before = asking.permission()
    editor.lua(HELD_READ)
    editor.lua("require('acp.features.review.proposal').ask(...)", before["id"])  # as by its key
    editor.wait("_G.held")
    asking.update("two", content=edit("THREE\n")["content"])
    asking.changed(before)
    editor.lua("_G.go = true")
    editor.wait("#vim.api.nvim_list_tabpages() == 2")
    assert editor.lua(DIFF_WINDOWS) == [["one"], ["THREE"]], "the review shows what the card shows"
    editor.answer("Acp deny")
    asking.answered("cancelled", "reject")
    asking.end()


# ---- an agent that changes the subject of its question


CHANGES: dict[str, dict[str, Any]] = {
    "title": {"title": "rm -rf /"},
    "kind": {"kind": "edit"},
    "command": {"rawInput": {"command": "rm -rf /"}},
    "path": {"locations": [{"path": "/etc/passwd"}]},
    "text": {
        "content": [{"type": "content", "content": {"type": "text", "text": "```sh\nrm\n```"}}]
    },
    "diff": {"content": [{"type": "diff", "path": "/a", "oldText": "a", "newText": "b"}]},
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_call_is_a_new_question(asking: Asking, what: str) -> None:
    editor = asking.editor
    asking.ask("p1", {"rawInput": {"command": "ls"}})
    before = asking.permission()
    editor.later(400)
    editor.keys(":Acp allow")
    asking.update("p1", **CHANGES[what])
    after = asking.changed(before)
    assert after["tool_call"] == "p1"
    editor.keys("<CR>")
    editor.wait_message(OVER)
    editor.cmd("Acp allow")
    editor.wait_message(NEW)
    assert asking.outcomes() == []
    done = editor.events("AcpPermissionDone")[-1]["data"]
    assert (done["id"], done["outcome"]) == (before["id"], "cancelled")
    permission = editor.events("AcpPermission")[-1]["data"]
    assert (permission["id"], permission["title"]) == (after["id"], after["title"])
    editor.lua("require('acp').answer(...)", before["id"], "allow")
    editor.wait_message(f"No pending question {before['id']}")
    editor.answer("Acp allow")
    asking.answered("allow")
    asking.end()


SAME: dict[str, dict[str, Any]] = {
    "status": {"status": "in_progress"},
    "output": {"rawOutput": {"text": "more"}, "status": "in_progress"},
    "the same": {"title": "Run p1", "rawInput": {"command": "ls"}},
    "metadata": {"_meta": {"at": 1}},
}


@pytest.mark.parametrize("what", SAME)
def test_a_status_change_does_not_change_the_card(asking: Asking, what: str) -> None:
    editor = asking.editor
    asking.ask("p1", {"rawInput": {"command": "ls"}})
    before = asking.permission()
    editor.later(400)
    asking.update("p1", **SAME[what])
    asking.agent.ask("say", "told")
    editor.wait(
        "vim.fn.search('told', 'n') >= 0 and #require('acp').state().sessions[1].tool_calls"
    )
    now = asking.permission()
    assert now["id"] == before["id"]
    assert now["shown_ms"] >= 400
    editor.cmd("Acp allow")
    asking.answered("allow")
    asking.end()


def test_a_rule_that_denies_applies_to_the_changed_call(edit: Any) -> None:
    editor: Editor = edit()
    rules = [{"action": "deny", "command": "rm *"}]
    editor.setup({"chat": {"open": False}, "permission": {"rules": rules}})
    asking = Asking(editor)
    asking.ask("p1", {"rawInput": {"command": "ls"}})
    asking.update("p1", rawInput={"command": "rm -rf /"})
    asking.answered("reject")
    asking.end()


def test_the_card_warns_when_a_call_now_names_a_secret(asking: Asking) -> None:
    editor = asking.editor
    readme, secret = editor.write("README.md", "x\n"), editor.write(".env", "KEY=1\n")
    asking.ask("p1", {"kind": "read", "locations": [{"path": str(readme)}]})
    asking.update("p1", title="Read .env", locations=[{"path": str(secret)}])
    editor.wait_screen("a secret file: .env")
    asking.end()


def test_the_chat_keeps_the_question_as_it_was_answered(editor: Editor) -> None:
    asking = Asking(editor)
    asking.agent.ask("asks_about", "p1", json.dumps({"rawInput": {"command": "ls -la"}}))
    editor.answer("Acp allow")
    asking.answered("allow")
    asking.update("p1", title="Tidy up", rawInput={"command": "rm -rf /"}, status="completed")
    editor.wait(
        "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://chat/1'), 0, -1,"
        " false), '\\n'):find('rm -rf /', 1, true)"
    )
    rows = [row.strip() for row in editor.chat()]
    at = rows.index("↳ Allow")
    assert rows[at + 1 : at + 3] == ["Asked:", "Scripted wants to run ls -la"]
    asking.end()


def test_a_question_of_another_session_is_not_allowed_instead(edit: Any) -> None:
    editor: Editor = edit()
    editor.setup({"chat": {"open": False}})
    other = editor.agent("permission", name="other")
    editor.prompt("ask")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    mine = editor.agent("permission_taken_back_later", str(editor.home / "go"), name="mine")
    editor.cmd("AcpPrompt! ask")
    editor.wait("#(require('acp').state().sessions[2] or { permissions = {} }).permissions == 1")
    editor.see_question()
    editor.keys(":Acp allow")
    (editor.home / "go").touch()
    editor.wait("#require('acp').state().sessions[2].permissions == 0")
    editor.keys("<CR>")
    editor.wait_message(OVER)
    assert other.answers(METHOD) == []
    editor.answer("Acp allow")
    other.wait_answers(METHOD)
    assert len(mine.answers(METHOD)) == 1


HOLD = lua_chunk(__file__, "press_keys_often")
TIMES = 50
HELD = ["y", "Y", "n", "1", "<F5>", "<F6>"]


@pytest.mark.parametrize("key", HELD)
def test_a_key_held_down_for_1500_ms_answers_one_question(edit: Any, key: str) -> None:
    """A terminal repeats a key every 30 ms. The next question arrives at once."""
    editor: Editor = edit()
    editor.setup({"chat": {"open": False}})
    traffic = editor.agent("script")
    agent = StepwiseAgent.at_work(editor)
    editor.cmd("nmap <F5> <Plug>(acp-allow)")
    editor.cmd("nmap <F6> <Cmd>Acp allow<CR>")
    agent.ask("asks_about", "one", "{}")
    agent.ask("asks_about", "two", "{}")
    editor.see_question()
    if not key.startswith("<"):
        editor.cmd("Acp permissions")
        editor.wait("require('acp.features.permissions.float').is_current()")
    editor.lua(HOLD, key, TIMES)
    editor.wait("_G.acp_pressed == ...", TIMES)
    editor.wait_message(NEW)
    assert len(traffic.answers(METHOD)) == 1
    assert [one["tool_call"] for one in editor.session(1)["permissions"]] == ["two"]
    editor.answer("Acp deny")
    until(lambda: len(traffic.answers(METHOD)) == 2, what="the answer of a later press")
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd")
