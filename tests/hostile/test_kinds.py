"""The kind of a tool call, which the agent sets, hides no edit and no command from rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_nvim.agent.serving.project_rules import rule_of
from acp_nvim.agent.serving.trusting import is_safe
from acp_nvim.agent.settings import decode
from acp_nvim.protocol import schema
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.questions import permission_decision
from acp_nvim.session.session import Session
from tests.support.judged_calls import run, verdict

PATCH = "--- {path}\n+++ {path}\n@@ -1 +1 @@\n-a\n+b\n"
OTHER_KINDS = ["read", "search", "think", "fetch", "other", "execute"]


def edits(path: str) -> list[dict[str, Any]]:
    """Return the fields of tool calls that show an edit of a file."""
    patch = PATCH.format(path=path)
    fence = schema.Content(schema.TextContent(f"```diff\n{patch}```\n"))
    return [
        {"content": [schema.Diff(path, "b")]},
        {"content": [fence]},
        {"raw_input": {"file_path": path, "old_string": "a", "new_string": "b"}},
        {"raw_input": {"path": path, "content": "b"}},
        {"raw_input": {"patch": patch}},
    ]


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_an_edit_needs_a_rule_for_edits(home: Path, kind: str) -> None:
    allow, everything = {"action": "allow", "kind": kind}, {"action": "allow"}
    for fields in edits("src/a"):
        call = ToolCall("t", kind=kind, **fields)
        assert verdict(call, home, allow) is None
        assert verdict(call, home, {**allow, "path": "src/**"}) is None
        assert verdict(call, home, {**allow, "kind": [kind, "edit"]}) == "allow"
        assert verdict(call, home, everything) == "allow"
        assert verdict(call, home, {"action": "deny", "kind": "edit"}, everything) == "deny"
        assert verdict(call, home, {"action": "deny", "kind": "delete"}, everything) == "allow"


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_an_edit_of_a_guarded_file_asks(home: Path, kind: str) -> None:
    files = {"executed": ["**/.git/**"], "secret": []}
    session = Session(1, "agent", str(home))
    for fields in edits(".git/hooks/pre-commit"):
        call = ToolCall("t", kind=kind, **fields)
        assert verdict(call, home, {"action": "allow"}, files=files) == "ask"
        assert not is_safe(call, session, decode({"files": files}))


def test_a_rule_for_reads_that_the_user_keeps_allows_no_edit(home: Path) -> None:
    session, settings = Session(1, "agent", str(home)), decode({})
    asked = schema.RequestPermissionRequest("s1", schema.PermissionToolCall("t"), [])
    decision = permission_decision("d", ToolCall("t", kind="read"), asked)
    read = ToolCall("t", kind="read", raw_input={"file_path": "src/a"})
    assert rule_of(session, decision, [read], settings) is not None
    for fields in edits("src/a"):
        call = ToolCall("t", kind="read", **fields)
        assert rule_of(session, decision, [call], settings) is None


@pytest.mark.parametrize("kind", ["read", "search", "think", "other"])
def test_a_command_of_any_kind_asks_if_a_rule_denies_commands(home: Path, kind: str) -> None:
    """Tools for edits have a `command` that is none, so such a call is not refused unseen."""
    deny, everything = {"action": "deny", "kind": "execute"}, {"action": "allow"}
    call = ToolCall("t", kind=kind, raw_input={"command": "rm x"})
    assert verdict(call, home, deny, everything) == "ask"
    assert verdict(call, home, {**deny, "command": "make *"}, everything) == "allow"
    assert verdict(run({"command": "rm x"}), home, deny, everything) == "deny"
    assert verdict(ToolCall("t", kind=kind), home, deny, everything) == "allow"
