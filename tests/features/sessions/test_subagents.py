"""Child sessions in a real Neovim: shown, attributed, answered for, never driven (v1/subagents)."""

from __future__ import annotations

import json
from typing import Any

from tests.agents.subagents import CHILD
from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.traffic import Traffic

DRIVING = ("session/new", "session/load", "session/resume", "session/prompt", "session/close")


def assert_undriven(traffic: Traffic) -> bool:
    """Check that no request was sent for the child that only its agent may send."""
    return not any(
        frame["params"].get("sessionId") == CHILD
        for method in (*DRIVING, "session/delete", "session/fork")
        for frame in traffic.received(method)
    )


def child_of(editor: Editor, n: int = 2) -> dict[str, Any]:
    """Return the snapshot of a child by its local number."""
    return editor.session(n)


def test_neovim_gets_many_children_in_small_steps(editor: Editor) -> None:
    editor.agent("script")
    editor.lua(lua_chunk(__file__, "count_new_sessions"))
    editor.turn("subagents 3000")
    assert editor.wait("vim.tbl_count(require('acp').state().sessions) == 202")
    assert editor.lua("return _G.most") <= 11
    session = editor.session(1)
    assert (len(session["subagents"]), session["more"]) == (200, {"subagents": 2800})
    chat = editor.chat()
    assert sum("subagent · Kid" in line for line in chat) == 3000
    assert [line for line in chat if "More subagents" in line]


def test_a_child_has_its_own_chat(editor: Editor) -> None:
    traffic = editor.agent("subagent")
    editor.turn("go")
    assert traffic.received("initialize")[0]["params"]["clientCapabilities"]["subagents"] == {}
    [link] = editor.session(1)["subagents"]
    assert link == {
        "id": CHILD,
        "session": 2,
        "title": "Explorer",
        "description": "looks around",
        "state": "idle",
        "stop_reason": "end_turn",
    }
    child = child_of(editor)
    assert (child["id"], child["parent"], child["title"]) == (CHILD, 1, "Explorer")
    assert child["status"] == "idle"
    assert [child[name] for name in ("permissions", "elicitations", "queue")] == [[], [], []]
    assert [call["title"] for call in child["tool_calls"]] == ["Grep"]
    assert [call["title"] for call in editor.session(1)["tool_calls"]] == ["Task"]
    parent = "\n".join(editor.chat(1))
    assert "✓ subagent · Explorer · done" in parent
    assert "looks around" in parent
    assert "1 tool call, latest: Grep" in parent
    assert "I am looking." not in parent
    lines = editor.chat(2)
    assert lines[0] == "## Explorer (subagent of session 1)"
    assert "## Task" in lines
    assert "Find the bug" in lines
    assert "I am looking." in lines
    assert editor.state()["current"] == 1
    assert assert_undriven(traffic)


def test_enter_on_a_child_or_on_its_link_opens_its_chat(editor: Editor) -> None:
    editor.agent("subagent")
    editor.turn("go")
    for pattern in ("subagent · Explorer", "→ subagent"):
        editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))")
        editor.cmd("normal! zR")
        editor.lua("vim.fn.search(..., 'w')", pattern)
        editor.keys("<CR>")
        editor.wait("#vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/2')) == 1")
        editor.lua("vim.api.nvim_win_close(vim.fn.bufwinid('acp://chat/2'), true)")


def test_a_question_of_a_child_names_the_child(editor: Editor) -> None:
    traffic = editor.agent("subagent_asks")
    editor.prompt("go")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    [permission] = editor.session(1)["permissions"]
    assert permission["title"] == "Explorer › Run c1"
    assert permission["subagent"] == {"session": 2, "id": CHILD, "title": "Explorer"}
    event = editor.wait_event("AcpPermission")
    assert (event["session"], event["subagent"], event["id"]) == (1, 2, permission["id"])
    assert not child_of(editor).get("permissions")
    editor.wait_screen("Explorer wants to run c1")
    chat = "\n".join(editor.chat(1))
    assert "◐ subagent · Explorer · permission needed" in chat
    assert "1. Allow" in chat
    assert "1. Allow" in "\n".join(editor.chat(2))
    assert editor.lua("return require('acp').statusline()").count("waiting for you") == 1
    editor.answer("Acp allow")
    assert editor.wait_event("AcpPermissionDone")["session"] == 1
    editor.wait_event("AcpTurnEnd")
    assert traffic.notes()[-1] == "chosen allow"
    assert "child: allow" in editor.chat(1)
    assert editor.session(1)["permissions"] == []
    assert "1. Allow" not in "\n".join([*editor.chat(1), *editor.chat(2)])


def test_a_rule_answers_a_child_as_well(editor: Editor) -> None:
    editor.setup({"permission": {"rules": [{"action": "deny", "kind": "execute"}]}})
    traffic = editor.agent("subagent_asks")
    editor.turn("go")
    assert "chosen reject" in traffic.notes()


def test_a_child_reads_what_its_parent_may_read(editor: Editor) -> None:
    path = editor.write("a.txt", "live\n")
    editor.open(path)
    editor.keys("ccunsaved<Esc>")
    editor.agent("script")
    editor.turn(f"subagent_reads {path}")
    assert "child read: unsaved" in editor.chat(1)


def test_a_child_can_ask_with_a_form(editor: Editor) -> None:
    editor.agent("subagent_form")
    editor.prompt("go")
    editor.wait("#require('acp').state().sessions[1].elicitations == 1")
    [question] = editor.session(1)["elicitations"]
    assert question["message"] == "Who?"
    assert "Explorer › Scripted asks: Who?" in "\n".join(editor.chat(1))
    editor.lua("require('acp').answer(..., 'accept', {name = 'Ada'})", question["id"])
    editor.wait_event("AcpTurnEnd")
    assert 'child: {"action": "accept", "content": {"name": "Ada"}}' in editor.chat(1)


def test_cancelling_the_parent_answers_for_its_children(editor: Editor) -> None:
    traffic = editor.agent("subagent_waits")
    editor.prompt("go")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    assert "chosen cancelled" in traffic.notes()
    assert [frame["params"]["sessionId"] for frame in traffic.received("session/cancel")] == ["s1"]


def test_a_child_that_can_be_cancelled_is_cancelled_separately(editor: Editor) -> None:
    traffic = editor.agent("script")
    editor.turn("subagent_stays yes")
    assert child_of(editor)["status"] == "running"
    editor.lua("require('acp').cancel(2)")
    assert traffic.wait("session/cancel")["params"] == {"sessionId": CHILD}
    editor.wait_message("Asked Explorer to stop")


def test_a_child_that_cannot_be_cancelled_is_not(editor: Editor) -> None:
    traffic = editor.agent("script")
    editor.turn("subagent_stays no")
    editor.lua("require('acp').cancel(2)")
    editor.wait_message("cannot be cancelled on its own")
    assert traffic.received("session/cancel") == []


def test_a_prompt_from_the_chat_of_a_child_goes_to_its_parent(editor: Editor) -> None:
    traffic = editor.agent("subagent")
    editor.turn("go")
    # a prompt for the current session would wait for the worktree
    editor.lua("vim.cmd('Acp new!') require('acp').prompt('more', { session = 2 })")
    prompt = traffic.wait("session/prompt", 2)
    assert prompt["params"]["sessionId"] == "s1"
    editor.wait_event("AcpTurnEnd", 2)
    assert assert_undriven(traffic)


STATES = [
    ({"state": "running"}, "running", "◐ subagent · Kid 0 · running", "running"),
    ({"state": "requires_action"}, "requires_action", "waiting for you", "running"),
    ({"state": "idle", "stopReason": "end_turn"}, "idle", "✓ subagent · Kid 0 · done", "idle"),
    (
        {"state": "idle", "stopReason": "cancelled"},
        "idle",
        "⊘ subagent · Kid 0 · cancelled",
        "idle",
    ),
    (
        {"state": "idle", "stopReason": "error", "error": {"code": -32603, "message": "broke"}},
        "idle",
        "broke",
        "idle",
    ),
    ({"state": "unknown"}, "unknown", "○ subagent · Kid 0 · state unknown", "idle"),
    ("unset", "unknown", "○ subagent · Kid 0 · state unknown", "idle"),
    (None, "unknown", "○ subagent · Kid 0 · state unknown", "idle"),
    ({"state": "hibernating"}, "hibernating", "○ subagent · Kid 0 · hibernating", "idle"),
]


def test_states_of_a_child_are_shown(editor: Editor) -> None:
    editor.agent("script")
    editor.turn(f"subagent_states {json.dumps([state for state, *_ in STATES])}")
    links, chat = editor.session(1)["subagents"], "\n".join(editor.chat(1))
    for number, (_, link_state, shown, status) in enumerate(STATES):
        assert links[number]["state"] == link_state
        assert child_of(editor, 2 + number)["status"] == status
        assert shown.replace("Kid 0", f"Kid {number}") in chat


def test_text_before_the_announcement_is_kept(editor: Editor) -> None:
    editor.agent("subagent_early")
    editor.turn("go")
    assert "early words" in editor.chat(2)
    assert "lost words" not in "\n".join([*editor.chat(1), *editor.chat(2)])


def test_null_clears_and_absence_keeps(editor: Editor) -> None:
    editor.agent("subagent_patch")
    editor.turn("go")
    [link] = editor.session(1)["subagents"]
    assert link["title"] == "Renamed"
    assert "description" not in link
    assert link["state"] == "running"
    [grand] = child_of(editor)["subagents"]
    assert (grand["title"], grand["session"]) == ("Grandchild", 3)
    assert "deep words" in editor.chat(3)
    assert editor.session(3)["parent"] == 2


def test_children_end_with_their_agent(editor: Editor) -> None:
    editor.agent("subagent_and_exit")
    editor.prompt("go")
    editor.wait_event("AcpAgentExit")
    editor.wait("require('acp').state().sessions[2].status == 'failed'")
    [link] = editor.session(1)["subagents"]
    assert link["state"] == "gone"
    assert editor.session(1)["permissions"] == []
    assert "✗ subagent · Explorer · ended with its session" in editor.chat(1)


def test_messages_between_sessions_are_shown(editor: Editor) -> None:
    editor.agent("letters")
    editor.turn("go")
    chat = editor.chat(1)
    first = chat.index("✉ this session → Explorer")
    assert chat[first + 1] == "  Look at main.py"
    assert "first draft" not in "\n".join(chat)
    assert chat.index("between") > first
    second = chat.index("✉ Explorer → unknown")
    assert chat[second + 1] == "  It is fine."
    last = chat.index("✉ unknown → unknown")
    assert chat[last + 1 :] in ([], [""])
