"""Large numbers of questions and tool calls in a real Neovim."""

from __future__ import annotations

from acp_nvim.session.questions.decisions import MAX_LISTED
from tests.support.editor import Editor


def test_hidden_questions_are_counted_answered_and_cancelled(editor: Editor) -> None:
    traffic = editor.agent("permissions", "120")
    editor.prompt("go")
    editor.wait("(require('acp').state().sessions[1].more or {}).permissions == 70")
    assert len(editor.session(1)["permissions"]) == MAX_LISTED
    editor.wait_screen("120 questions")
    editor.cmd("Acp permissions")
    editor.wait("#vim.api.nvim_buf_get_lines(0, 0, -1, false) > 300")
    editor.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/1'))[1])")
    editor.cmd("call search('Run p100')")
    editor.keys("y")
    editor.wait("(require('acp').state().sessions[1].more or {}).permissions == 69")
    notes = [str(entry.get("note")) for entry in traffic.entries()]
    assert not any("chosen" in note for note in notes), "nobody says yes to what was not shown"
    editor.wait("vim.fn.search('^  1. Allow', 'W') > 0")
    editor.press("y")
    editor.wait("#require('acp').state().sessions[1].permissions == 50")
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    editor.wait("#require('acp').state().sessions[1].permissions == 0")
    notes = [entry["note"] for entry in traffic.entries() if "chosen p" in entry.get("note", "")]
    assert len(notes) == 120
    assert "chosen p100 allow" in notes
    assert sum(note.endswith("cancelled") for note in notes) == 119


def test_a_long_session_keeps_a_short_state_and_a_closed_one_its_chat(editor: Editor) -> None:
    editor.agent("script", capabilities={"sessionCapabilities": {"close": {}}})
    editor.turn("tools 600\nplan\nupdates")
    session = editor.session(1)
    assert len(session["tool_calls"]) <= 250
    assert session["more"]["tool_calls"] + len(session["tool_calls"]) >= 600
    assert session["commands"]
    for which in ("1", "nil"):
        editor.lua(f"require('acp').tool_calls({which}, function(all) _G.acp_all = all end)")
        calls = editor.wait("_G.acp_all")
        assert len(calls) == session["more"]["tool_calls"] + len(session["tool_calls"])
        assert calls[-len(session["tool_calls"]) :] == session["tool_calls"]
        assert len({call["id"] for call in calls}) == len(calls)
        editor.lua("_G.acp_all = nil")
    editor.lua(
        "vim.ui.select = function(items, _, done) local at = 1 "
        "for i, item in ipairs(items) do at = item == 'close' and i or at end "
        "vim.schedule(function() done(items[at], at) end) end"
    )
    editor.cmd("Acp sessions")
    editor.wait("require('acp').state().sessions[1].status == 'closed'")
    editor.wait("#require('acp').state().sessions[1].tool_calls == 0")
    session = editor.session(1)
    left = ("plan", "commands", "options", "permissions", "tool_calls")
    assert {name: len(session.get(name) or ()) for name in left} == dict.fromkeys(left, 0)
    assert not session.get("modes")
    assert any("t599" in line for line in editor.chat(1))
