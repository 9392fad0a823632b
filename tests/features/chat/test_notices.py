"""Updates beside an agent's messages: notices, compaction, usage and cost, session info, plans of
several kinds, suggestions.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.editor import Editor


def send_updates(editor: Editor, *updates: dict[str, Any], more: str = "") -> list[str]:
    """Send these updates in one turn and return the agent's part of the chat."""
    if not editor.traffic:
        editor.agent("script")
    lines = [f"update {json.dumps(update)}" for update in updates]
    editor.turn("\n".join([*lines, more] if more else lines))
    chat = editor.chat()
    start = max(at for at, line in enumerate(chat) if line == "## Scripted")
    return chat[start + 1 :]


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


# ---- notices


@pytest.mark.parametrize(
    ("severity", "sign", "group"),
    [
        ("info", "—", "AcpMuted"),
        ("warning", "⚠", "AcpWarning"),
        ("error", "✗", "AcpError"),
        ("cosmic", "—", "AcpMuted"),
    ],
)
def test_a_notice_is_shown_by_severity(
    editor: Editor, severity: str, sign: str, group: str
) -> None:
    notice = {"sessionUpdate": "notice", "severity": severity, "title": "Quota low"}
    chat = send_updates(editor, {**notice, "description": "10 left\nrenews at noon"})
    assert f"{sign} Quota low" in chat
    at = chat.index(f"{sign} Quota low")
    assert chat[at + 1 : at + 3] == ["  10 left", "  renews at noon"]
    event = editor.wait_event("AcpNotice")
    assert event == {
        "session": 1,
        "severity": severity,
        "title": "Quota low",
        "description": "10 left\nrenews at noon",
    }
    groups = editor.lua(
        """
        local chat = require('acp.ui.chats').of(vim.fn.bufnr('acp://chat/1'))
        local lines = vim.api.nvim_buf_get_lines(chat.bufnr, 0, -1, true)
        return chat.highlights[vim.fn.index(lines, ...) + 1]
        """,
        f"{sign} Quota low",
    )
    assert group in groups


def test_an_error_notice_does_not_end_the_turn(editor: Editor) -> None:
    notice = {"sessionUpdate": "notice", "severity": "error", "title": "Tool server is down"}
    send_updates(editor, notice, more="say still here")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    session = editor.session()
    assert (session["status"], session.get("error")) == ("idle", None)


def test_a_notice_outside_a_turn_is_shown(editor: Editor) -> None:
    editor.agent("script")
    editor.turn(
        "stop end_turn\nupdate "
        + json.dumps({"sessionUpdate": "notice", "severity": "info", "title": "Later"})
    )
    assert editor.wait_event("AcpNotice")["title"] == "Later"
    editor.wait("vim.tbl_contains(vim.fn.getbufline('acp://chat/1', 1, '$'), '— Later')")


# ---- compaction


def compaction(status: str, **fields: Any) -> dict[str, Any]:
    update = {"sessionUpdate": "compaction_update", "compactionId": "c1", "status": status}
    return {**update, **fields}


def chunk(words: str) -> dict[str, Any]:
    update = {"sessionUpdate": "compaction_summary_chunk", "compactionId": "c1"}
    return {**update, "content": text(words)}


def test_a_compaction_stays_in_its_place_and_earlier_text_remains(editor: Editor) -> None:
    message = {"sessionUpdate": "agent_message_chunk", "content": text("before\n")}
    after = {"sessionUpdate": "agent_message_chunk", "content": text("after\n")}
    chat = send_updates(
        editor,
        message,
        compaction("in_progress"),
        after,
        chunk("We fixed "),
        chunk("the bug."),
        compaction("completed"),
    )
    assert "before" in chat
    at = chat.index("— Context compacted")
    assert chat[at + 1] == "  We fixed the bug."
    assert chat.index("before") < at < chat.index("after")


@pytest.mark.parametrize(
    ("updates", "shown"),
    [
        ([compaction("in_progress")], ["— Compacting the context…"]),
        ([compaction("failed", error="too long")], ["— Compaction failed: too long"]),
        (
            [compaction("failed", error="x"), compaction("failed", error=None)],
            ["— Compaction failed"],
        ),
        ([compaction("cancelled")], ["— Compaction cancelled"]),
        ([compaction("postponed")], ["— Compaction postponed"]),
        (
            [compaction("completed", summary=[text("one")]), compaction("completed")],
            ["— Context compacted", "  one"],
        ),
        (
            [compaction("completed", summary=[text("one")]), compaction("completed", summary=None)],
            ["— Context compacted"],
        ),
        (
            [chunk("first seen by a chunk")],
            ["— Compacting the context…", "  first seen by a chunk"],
        ),
    ],
)
def test_an_absent_field_keeps_a_value_and_null_clears_it(
    editor: Editor, updates: list[dict[str, Any]], shown: list[str]
) -> None:
    chat = send_updates(editor, *updates)
    assert [line for line in chat if line] == shown


# ---- usage


def usage(used: int, size: int, **cost: Any) -> dict[str, Any]:
    return {"sessionUpdate": "usage_update", "used": used, "size": size, **cost}


def test_usage_and_cost_are_in_the_snapshot(editor: Editor) -> None:
    send_updates(editor, usage(34000, 200000, cost={"amount": 0.25, "currency": "USD"}))
    assert editor.session()["usage"] == {
        "used": 34000,
        "size": 200000,
        "cost": {"amount": 0.25, "currency": "USD"},
    }
    assert "34k/200k" in editor.lua("return require('acp').statusline()")
    send_updates(editor, usage(40000, 200000, cost=None), usage(41000, 200000))
    assert editor.session()["usage"]["used"] == 41000
    assert editor.session()["usage"]["cost"] == {"amount": 0.25, "currency": "USD"}
    send_updates(editor, usage(250000, 200000, cost={"amount": 3, "currency": "credits"}))
    assert editor.session()["usage"] == {
        "used": 250000,
        "size": 200000,
        "cost": {"amount": 3, "currency": "credits"},
    }


def test_the_report_has_the_version_of_the_plugin_and_the_cost(editor: Editor) -> None:
    send_updates(editor, usage(34000, 200000, cost={"amount": 0.25, "currency": "USD"}))
    editor.cmd("Acp info")
    editor.wait_screen("context: 34000 of 200000 tokens, 0.25 USD so far")
    version = editor.lua("return require('acp.base.installation.version').line()")
    assert editor.lines("acp://info")[0].startswith(f"acp.nvim {version}, Neovim ")


# ---- session info


def test_a_title_is_set_kept_and_cleared(editor: Editor) -> None:
    send_updates(editor, {"sessionUpdate": "session_info_update", "title": "A title"})
    assert editor.session()["title"] == "A title"
    send_updates(
        editor, {"sessionUpdate": "session_info_update", "updatedAt": "2026-01-02T03:04:05Z"}
    )
    assert editor.session()["title"] == "A title"
    send_updates(editor, {"sessionUpdate": "session_info_update", "title": None})
    assert "title" not in editor.session()


# ---- plans with an id (unstable, not advertised), suggestions


def plan(kind: str, id: str, **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "plan_update", "plan": {"type": kind, "planId": id, **fields}}


def removed(id: str) -> dict[str, Any]:
    return {"sessionUpdate": "plan_removed", "planId": id}


def test_plans_of_several_kinds_are_shown(editor: Editor) -> None:
    entries = [{"content": "Look", "priority": "high", "status": "completed"}]
    chat = send_updates(
        editor,
        plan("items", "i", entries=entries),
        plan("markdown", "m", content="# Steps\n\n1. go"),
        plan("file", "f", uri="file:///tmp/plan.md"),
        plan("hologram", "h", beams=3),
    )
    assert editor.session()["plan"] == entries
    assert "- [x] Look (high)" in chat
    assert "# Steps" in chat
    assert "→ file:///tmp/plan.md" in chat
    assert "— Update of an unknown kind: plan_update hologram" in chat
    chat = send_updates(
        editor, removed("i"), plan("markdown", "m", content="# Other"), removed("f"), removed("x")
    )
    assert editor.session()["plan"] == []
    whole = editor.chat()
    assert "# Steps" not in whole
    assert "# Other" in whole
    assert "— Plan withdrawn" in whole


def test_suggestions_are_requested_and_are_not_in_the_chat(editor: Editor) -> None:
    update = {
        "sessionUpdate": "prompt_suggestions_update",
        "suggestions": [{"prompt": [text("Go on")]}],
    }
    chat = send_updates(editor, update, more="say hello")
    assert [line for line in chat if line] == ["hello"]
    sent = editor.traffic[0].received("initialize")[0]["params"]["clientCapabilities"]["session"]
    assert sent["promptSuggestions"] == {}
    assert sent["notices"] == {}
    assert sent["compaction"] == {}
