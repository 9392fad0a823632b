"""Every update of version 2 and its effect on a session (v2/prompt-lifecycle, v2/tool-calls,
v2/agent-plan, v2/content, v2/extensibility).
"""

from __future__ import annotations

import base64
from typing import Any

import pytest

from acp_nvim.session import turns
from acp_nvim.session.prompts import Prompt
from tests.support.json_chat import JsonChat


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture
def chat() -> JsonChat:
    chat = JsonChat(version=2)
    turns.name_prompt(chat.session, "u0")
    return chat


# ---- messages


@pytest.mark.parametrize("role", ["user_message", "agent_message", "agent_thought"])
def test_a_message_is_created_replaced_kept_and_cleared_by_its_id(
    chat: JsonChat, role: str
) -> None:
    chat.update(role, messageId="m", content=[text("draft")])
    assert "draft" in chat.text
    chat.update(role, messageId="m", content=[text("final")])
    chat.update(role, messageId="m")
    chat.update(f"{role}_chunk", messageId="m", content=text(" words"))
    assert "final words" in chat.text
    assert "draft" not in chat.text
    chat.update(role, messageId="m", content=None)
    assert "final" not in chat.text


def test_ids_of_messages_are_separate_for_each_kind(chat: JsonChat) -> None:
    chat.update("agent_thought", messageId="1", content=[text("thinking")])
    chat.update("agent_message", messageId="1", content=[text("saying")])
    chat.update("agent_message_chunk", messageId="1", content=text(" more"))
    assert "thinking" in chat.text
    assert "saying more" in chat.lines


def test_every_content_block_is_shown(chat: JsonChat) -> None:
    icons = [{"src": "https://example.org/i.png", "mimeType": "image/png"}]
    blocks = [
        text("**words**"),
        {"type": "image", "data": b64(b"123"), "mimeType": "image/png"},
        {"type": "audio", "data": b64(b"1"), "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///w/a.py", "name": "a.py", "icons": icons},
        {"type": "resource", "resource": {"uri": "file:///w/b.txt", "text": "inside"}},
        {"type": "hologram", "depth": 3},
    ]
    chat.update("agent_message", messageId="m", content=blocks)
    for words in ("words", "[image image/png", "[audio audio/wav", "a.py", "inside", "[hologram]"):
        assert words in chat.text, words


# ---- states


def test_only_the_state_decides_between_running_and_idle(chat: JsonChat) -> None:
    turns.end(chat.session, "end_turn")
    seen = [chat.changed()["status"]]
    for state in ("running", "requires_action", "dreaming"):
        chat.update("state_update", state=state)
        seen.append(chat.changed()["status"])
        chat.update("state_update", state="idle", stopReason="end_turn")
        seen.append(chat.changed()["status"])
    assert seen == ["idle", *["running", "idle"] * 3]


@pytest.mark.parametrize(
    "work",
    [
        {"type": "terminal", "terminalId": "t"},
        {"type": "tool_call", "toolCallId": "c"},
        {"type": "subagent", "sessionId": "s2"},
        {"type": "cron"},
    ],
)
def test_background_work_of_any_kind_keeps_it_running(chat: JsonChat, work: dict[str, Any]) -> None:
    chat.update("tool_call_update", toolCallId="c", title="Build", status="in_progress")
    chat.update("state_update", state="running", background=[work])
    turns.end(chat.session, "end_turn")
    chat.update("state_update", state="idle", stopReason="end_turn")  # absent does not mean empty
    assert chat.changed()["status"] == "running"
    assert chat.statuses() == {"c": "in_progress"}
    chat.update("state_update", state="idle", background=[])
    assert chat.changed()["status"] == "idle"


def test_failed_work_without_a_prompt_has_a_reason(chat: JsonChat) -> None:
    turns.end(chat.session, "end_turn")
    chat.update("state_update", state="running")
    error = {"code": -32000, "message": "No quota", "data": {"plan": "free", "left": 0}}
    chat.update("state_update", state="idle", stopReason="error", error=error)
    assert chat.session.error == "No quota"
    assert "No quota" in chat.text


# ---- tool calls


def test_a_tool_call_is_patched_field_by_field(chat: JsonChat) -> None:
    place = [{"path": "/w/a.py", "line": 3}]
    chat.update("tool_call_update", toolCallId="c", title="Edit", kind="edit", locations=place)
    chat.update("tool_call_update", toolCallId="c", status="in_progress", rawInput={"a": 1})
    [call] = chat.session.tool_calls
    assert (call.title, call.kind, call.status) == ("Edit", "edit", "in_progress")
    cleared = {"title": None, "kind": None, "locations": None, "rawInput": None, "status": None}
    chat.update("tool_call_update", toolCallId="c", **cleared)
    assert (call.title, call.kind, call.status) == ("", "other", "pending")
    assert (list(call.locations), call.raw_input) == ([], {})


@pytest.mark.parametrize("status", ["paused", "cancelled", "completed", "failed", "in_progress"])
def test_a_status_is_that_of_the_agent(chat: JsonChat, status: str) -> None:
    chat.update("tool_call_update", toolCallId="c", title="Work", status=status)
    assert chat.statuses() == {"c": status}
    assert any("Work" in line for line in chat.lines)


def test_an_unknown_status_and_kind_are_preserved(chat: JsonChat) -> None:
    chat.update("tool_call_update", toolCallId="c", title="Work", status="dreaming", kind="paint")
    [call] = chat.session.tool_calls
    assert not call.is_finished
    assert "◐ Work (paint) · dreaming" in chat.lines


def test_a_paused_call_is_shown_as_such(chat: JsonChat) -> None:
    chat.update("tool_call_update", toolCallId="c", title="Work", status="paused", kind="_my_kind")
    assert "◐ Work (my_kind) · paused" in chat.lines
    chat.update("tool_call_update", toolCallId="c", status="in_progress", kind="execute")
    assert "◐ Work" in chat.lines


def test_a_plan_entry_shows_an_unknown_status(chat: JsonChat) -> None:
    entry = {"content": "Look", "priority": "high", "status": "_put_off"}
    plan = {"type": "items", "planId": "i", "entries": [entry, {**entry, "priority": "medium"}]}
    chat.update("plan_update", plan=plan)
    assert "- [?] Look (put_off, high)" in chat.lines
    assert "- [?] Look (put_off)" in chat.lines


def test_meta_of_upserts_is_merged_by_key(chat: JsonChat) -> None:
    chat.update("tool_call_update", toolCallId="c", title="Work", _meta={"a": 1, "b": 2})
    chat.update("tool_call_update", toolCallId="c", _meta={"a": None, "c": 3})
    [call] = chat.session.tool_calls
    assert call.meta == {"b": 2, "c": 3}


def test_content_grows_by_chunks_and_is_replaced_whole(chat: JsonChat) -> None:
    for words in ("first", "second"):
        item = {"type": "content", "content": text(words)}
        chat.update("tool_call_content_chunk", toolCallId="c", content=item)
    assert [line.strip() for line in chat.lines if "first" in line or "second" in line] == [
        "first",
        "second",
    ]
    item = {"type": "content", "content": text("third")}
    chat.update("tool_call_update", toolCallId="c", content=[item])
    assert "first" not in chat.text
    assert "third" in chat.text
    chat.update("tool_call_update", toolCallId="c", content=None)
    assert "third" not in chat.text


PATCH = """diff --git a/w/a.py b/w/a.py
--- a/w/a.py
+++ b/w/a.py
@@ -1,2 +1,2 @@
 one
-two
+TWO
"""


def test_a_diff_with_a_patch_is_shown_with_its_counts(chat: JsonChat) -> None:
    change = {"operation": "modify", "path": "/w/a.py", "fileType": "text"}
    patch = {"format": "git_patch", "text": PATCH}
    diff = {"type": "diff", "changes": [change], "patch": patch}
    chat.update("tool_call_update", toolCallId="c", title="Edit", kind="edit", content=[diff])
    assert "+1 -1" in chat.text
    assert any(line.strip() == "+ TWO" for line in chat.lines)


def test_an_edit_is_shown_once(chat: JsonChat) -> None:
    head = "diff --git /work/a.py /work/a.py\n--- /work/a.py\n+++ /work/a.py\n"
    patch = {"format": "git_patch", "text": f"{head}@@ -1 +1 @@\n-a\n+b\n"}
    changes = [{"operation": "modify", "path": "/work/a.py", "fileType": "text"}]
    diff = {"type": "diff", "changes": changes, "patch": patch}
    place = {"path": "/work/a.py", "line": 1}
    edit = {"title": "Edit /work/a.py", "kind": "edit", "locations": [place]}
    chat.update("tool_call_update", toolCallId="e", status="completed", content=[diff], **edit)
    assert [line for line in chat.lines if "a.py" in line] == ["✓ Edited /work/a.py +1 -1"]
    assert chat.lines[-3:-1] == ["  - a", "  + b"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"operation": "add", "path": "/w/n", "fileType": "directory"}, "add /w/n (directory)"),
        ({"operation": "delete", "path": "/w/n"}, "delete /w/n"),
        ({"operation": "modify", "path": "/w/n", "fileType": "binary"}, "modify /w/n (binary)"),
        ({"operation": "move", "oldPath": "/w/a", "path": "/w/b"}, "move /w/a → /w/b"),
        ({"operation": "copy", "oldPath": "/w/a", "path": "/w/b"}, "copy /w/a → /w/b"),
        ({"operation": "sign", "path": "/w/a", "fileType": "symlink"}, "sign /w/a (symlink)"),
    ],
)
def test_a_change_without_a_patch_is_described(
    chat: JsonChat, change: dict[str, Any], words: str
) -> None:
    diff = {"type": "diff", "changes": [change]}
    chat.update("tool_call_update", toolCallId="c", title="Files", kind="edit", content=[diff])
    assert words in chat.text


@pytest.mark.parametrize(
    ("head", "path", "shown"),
    [
        ("diff --git /w/a.py /w/a.py", "/w/a.py", True),
        ("diff --git /w/a.py /w/a.py", "/w/a", False),
        ("diff --git a/w/a b b/w/a b", "/w/a b", True),
        ("--- /dev/null\n+++ /w/a b\t\n@@ -0,0 +1 @@\n+x", "/w/a b", True),
        ("--- /dev/null\n+++ /w/a b\t\n@@ -0,0 +1 @@\n+x", "/w/a", False),
        ("--- /w/b\n+++ /w/b\n@@ -1 +1 @@\n-x\n+see /w/a", "/w/a", False),
        (r'diff --git "/w/\"q\"" "/w/\"q\""', '/w/"q"', True),
        (r'diff --git "a/w/\303\244" "b/w/\303\244"', "/w/ä", True),
    ],
)
def test_a_change_is_described_unless_the_patch_names_its_file(
    chat: JsonChat, head: str, path: str, shown: bool
) -> None:
    patch = {"format": "git_patch", "text": head}
    diff = {"type": "diff", "changes": [{"operation": "modify", "path": path}], "patch": patch}
    chat.update("tool_call_update", toolCallId="t", title="Change", content=[diff])
    assert (f"  modify {path}" in chat.lines) is not shown


@pytest.mark.parametrize("patch", [{"format": "svn", "text": "Index: a"}, None])
def test_a_patch_of_another_format_is_shown_as_text(chat: JsonChat, patch: Any) -> None:
    change = {"operation": "modify", "path": "/w/a.py"}
    diff = {"type": "diff", "changes": [change], "patch": patch}
    chat.update("tool_call_update", toolCallId="c", title="Files", kind="edit", content=[diff])
    assert "modify /w/a.py" in chat.text
    assert ("Index: a" in chat.text) is (patch is not None)


def test_a_link_to_a_session_and_unknown_content(chat: JsonChat) -> None:
    content = [{"type": "session", "sessionId": "child"}, {"type": "graph", "nodes": []}]
    chat.update("tool_call_update", toolCallId="c", title="Task", content=content)
    assert "child" in chat.text
    assert "[graph]" in chat.text


# ---- terminals


def test_terminal_output_is_bytes(chat: JsonChat) -> None:
    size = {"cols": 80, "rows": 24}
    chat.update("terminal_update", terminalId="t", command="make", cwd="/w/src", size=size)
    half = "é".encode()
    for part in (b"one\n" + half[:1], half[1:] + b"\n"):
        chat.update("terminal_output_chunk", terminalId="t", data=b64(part))
    [terminal] = chat.session.terminals
    assert terminal.lines() == ["one", "é"]
    assert any(line.strip() == "$ make" for line in chat.lines)
    assert any("src" in line for line in chat.lines)
    chat.update("terminal_update", terminalId="t", output={"data": b64(b"all new\n")})
    assert terminal.lines() == ["all new"]
    chat.update("terminal_update", terminalId="t", exitStatus={"exitCode": None, "signal": "KILL"})
    assert terminal.snapshot()["signal"] == "KILL"
    chat.update("terminal_update", terminalId="t", exitStatus=None)
    assert terminal.snapshot()["running"] is True


def test_a_terminal_shown_in_a_call_is_not_shown_twice(chat: JsonChat) -> None:
    chat.update("terminal_update", terminalId="t", command="make")
    chat.update("terminal_output_chunk", terminalId="t", data=b64(b"out\n"))
    item = {"type": "terminal", "terminalId": "t"}
    chat.update("tool_call_update", toolCallId="c", title="Build", content=[item])
    assert [line.strip() for line in chat.lines].count("out") == 1


# ---- plans


def test_plans_of_every_kind(chat: JsonChat) -> None:
    entry = {"content": "Step", "priority": "urgent", "status": "cancelled"}
    plans = [
        {"type": "items", "planId": "i", "entries": [entry]},
        {"type": "markdown", "planId": "m", "content": "# The plan"},
        {"type": "file", "planId": "f", "uri": "file:///w/plan.md"},
        {"type": "mindmap", "planId": "x"},
    ]
    for plan in plans:
        chat.update("plan_update", plan=plan)
    assert [(e.content, e.priority, e.status) for e in chat.session.plan] == [
        ("Step", "urgent", "cancelled")
    ]
    for words in ("[~] Step", "The plan", "plan.md", "mindmap"):
        assert words in chat.text, words
    for id in ("i", "m"):
        chat.update("plan_removed", planId=id)
    assert not chat.session.plan
    assert "Plan withdrawn" in chat.text


# ---- the rest


def test_commands_of_unknown_kinds_are_not_offered(chat: JsonChat) -> None:
    hint = {"type": "text", "hint": "what"}
    listed = [
        {"type": "command", "name": "web", "description": "Search", "input": hint},
        {"type": "macro", "name": "odd", "description": "Odd"},
    ]
    chat.update("available_commands_update", availableCommands=listed)
    assert chat.changed()["commands"] == [{"name": "web", "description": "Search", "hint": "what"}]


def test_options_of_unknown_types_are_not_offered(chat: JsonChat) -> None:
    group = {"groupId": "g", "name": "G", "options": [{"value": "a", "name": "A"}]}
    select = {"type": "select", "configId": "model", "name": "Model", "category": "model"}
    listed = [
        {**select, "currentValue": "a", "options": [group]},
        {"type": "boolean", "configId": "fast", "name": "Fast", "currentValue": True},
        {"type": "dial", "configId": "heat", "name": "Heat", "currentValue": 1},
    ]
    chat.update("config_option_update", configOptions=listed)
    told = chat.changed()
    assert [option["id"] for option in told["options"]] == ["model", "fast"]
    assert told["model"] == {"option": "model", "value": "a", "name": "A"}


def test_title_and_cost_can_be_kept_cleared_and_set(chat: JsonChat) -> None:
    cost = {"amount": 1.5, "currency": "EUR"}
    chat.update("session_info_update", title="A title")
    chat.update("usage_update", used=10, size=100, cost=cost)
    chat.update("session_info_update")
    chat.update("usage_update", used=20, size=100)
    told = chat.changed()
    assert told["title"] == "A title"
    assert told["usage"] == {"used": 20, "size": 100, "cost": cost}
    chat.update("session_info_update", title=None)
    chat.update("usage_update", used=30, size=100, cost=None)
    told = chat.changed()
    assert told["title"] is None
    assert told["usage"] == {"used": 30, "size": 100}


def test_notices_and_compactions(chat: JsonChat) -> None:
    before = chat.text
    chat.update("notice", severity="info", title="")
    assert chat.text == before
    chat.update("notice", severity="info", title=" ", description="Only this")
    assert "— Only this" in chat.text
    chat.update("notice", severity="grave", title="Careful", description="Very")
    chat.update("compaction_update", compactionId="k", status="in_progress")
    chat.update("compaction_summary_chunk", compactionId="k", content=text("short"))
    chat.update("compaction_update", compactionId="k", status="completed")
    for words in ("Careful", "Very", "Context compacted", "short"):
        assert words in chat.text, words


def test_subagents_and_session_messages(chat: JsonChat) -> None:
    state = {"state": "requires_action"}
    chat.update("subagent_update", sessionId="k", title="Explorer", state=state)
    assert "Explorer" in chat.text
    assert chat.changed()["subagents"][0]["state"] == "requires_action"
    chat.update("subagent_update", sessionId="k", title=None, state=None)
    assert chat.changed()["subagents"][0]["state"] == "unknown"
    chat.update("session_message", messageId="1", senderSessionId="k", content=[text("done")])
    chat.update("session_message_chunk", messageId="1", content=text(" well"))
    assert "done well" in chat.text


def test_an_unknown_update_is_shown_plainly(chat: JsonChat) -> None:
    chat.update("weather_update", rain=True)
    assert "weather_update" in chat.text
    assert "rain" in chat.text


@pytest.mark.parametrize(
    ("tag", "fields"),
    [
        ("agent_message_chunk", {"content": text("no id")}),
        ("tool_call_update", {"toolCallId": "c", "content": [{"type": "content"}]}),
        ("plan_update", {"plan": {"type": "items", "planId": "p", "entries": [{"content": "x"}]}}),
    ],
)
def test_a_message_that_breaks_the_schema_changes_nothing_else(
    chat: JsonChat, tag: str, fields: dict[str, Any]
) -> None:
    chat.update(tag, **fields)
    chat.update("agent_message", messageId="m", content=[text("after")])
    assert "after" in chat.lines


# ---- work without a prompt


def test_work_of_a_late_prompt_has_no_heading(
    chat: JsonChat,
) -> None:
    chat.session.transcript.speaker = "X"
    turns.end(chat.session, "end_turn")
    chat.update("state_update", state="running")
    turns.begin(chat.session, Prompt("next"), "X")
    assert chat.lines.count("## X") == 2


def test_messages_without_a_prompt_have_a_heading(chat: JsonChat) -> None:
    chat.session.transcript.speaker = "X"
    chat.update("agent_message", messageId="m1", content=[text("asked")])
    turns.end(chat.session, "end_turn")
    chat.update("state_update", state="running")
    assert chat.lines.count("## X") == 1
    chat.update("agent_message", messageId="m2", content=[text("unasked")])
    assert chat.lines.count("## X") == 2
    assert chat.lines.index("## X", chat.lines.index("asked")) < chat.lines.index("unasked")
