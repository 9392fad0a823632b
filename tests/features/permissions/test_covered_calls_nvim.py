"""Permissions that name no action: the open calls on the card, and rules about them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.asking_agent import METHOD, Asking
from tests.support.editor import Editor

RUN: dict[str, Any] = {
    "title": "terminal",
    "kind": "execute",
    "rawInput": {"command": "rm -rf build"},
}
CONFIRM: dict[str, Any] = {"title": "Confirm Agent Actions", "kind": "other", "status": "pending"}
NEW = "acp: New question: press again"
NOTHING_NAMED = "The agent does not say what this allows"
ALLOW_READS = {"action": "allow", "kind": ["read", "edit"]}


def read_of(editor: Editor, name: str = "notes.txt") -> dict[str, Any]:
    path = str(editor.work / name)
    return {"title": "file_editor", "kind": "read", "locations": [{"path": path}]}


@pytest.fixture
def asking(editor: Editor) -> Asking:
    editor.setup({"chat": {"open": False}})
    return Asking(editor)


def test_the_float_shows_the_open_calls(asking: Asking) -> None:
    editor = asking.editor
    asking.announce("a", **RUN)
    asking.announce("b", **read_of(editor))
    asking.ask("confirmation", CONFIRM)
    editor.wait_screen("May allow: run rm -rf build")
    editor.wait_screen("May allow: read notes.txt")
    editor.cmd("Acp permissions")
    editor.wait_screen("May allow: run rm -rf build")
    permission = asking.permission()
    assert (permission["may_allow"], permission["kind"]) == (["a", "b"], "execute")
    asking.end()


def test_the_float_warns_that_the_request_names_nothing(asking: Asking) -> None:
    asking.ask("confirmation", CONFIRM)
    asking.editor.wait_screen(NOTHING_NAMED)
    asking.end()


def test_a_change_to_an_open_call_makes_a_new_question(asking: Asking) -> None:
    editor = asking.editor
    asking.announce("a", **read_of(editor))
    asking.ask("confirmation", CONFIRM)
    before = asking.permission()
    editor.later(400)
    asking.update("a", **RUN)
    asking.changed(before)
    editor.cmd("Acp allow")
    editor.wait_message(NEW)
    assert asking.outcomes() == []
    editor.wait_screen("May allow: run rm -rf build")
    editor.answer("Acp allow")
    asking.answered("allow")
    asking.end()


def start_with_rules(editor: Editor, *rules: dict[str, Any]) -> Asking:
    editor.setup({"chat": {"open": False}, "permission": {"rules": [*rules]}})
    return Asking(editor)


@pytest.mark.parametrize("kind", ["other", "read", "edit"])
def test_a_rule_for_reads_and_edits_allows_no_command(editor: Editor, kind: str) -> None:
    asking = start_with_rules(editor, ALLOW_READS)
    asking.announce("a", **read_of(editor))
    asking.announce("b", **RUN)
    asking.ask("confirmation", {**CONFIRM, "kind": kind})
    assert asking.outcomes() == []
    asking.end()


def test_a_rule_for_reads_allows_reads(editor: Editor) -> None:
    asking = start_with_rules(editor, ALLOW_READS)
    asking.announce("a", **read_of(editor))
    asking.agent.ask("asks_about", "confirmation", json.dumps(CONFIRM))
    asking.answered("allow")
    asking.end()


def test_a_rule_for_reads_allows_no_secret(editor: Editor) -> None:
    editor.write(".env", "KEY=1\n")
    asking = start_with_rules(editor, ALLOW_READS)
    asking.announce("a", **read_of(editor, ".env"))
    asking.ask("confirmation", CONFIRM)
    editor.wait_screen("May allow: read a secret file: .env")
    asking.end()


def test_a_rule_denies_the_command_of_an_open_call(editor: Editor) -> None:
    asking = start_with_rules(editor, {"action": "deny", "command": "rm *"}, {"action": "allow"})
    asking.announce("a", **RUN)
    asking.agent.ask("asks_about", "confirmation", json.dumps(CONFIRM))
    asking.answered("reject")
    asking.end()


def test_a_rule_that_denies_applies_to_changes_to_an_open_call(editor: Editor) -> None:
    asking = start_with_rules(editor, {"action": "deny", "command": "rm *"})
    asking.announce("a", **read_of(editor))
    asking.ask("confirmation", CONFIRM)
    asking.update("a", **RUN)
    asking.answered("reject")
    asking.end()


def test_the_chat_keeps_the_calls_that_each_question_asked_about(editor: Editor) -> None:
    agent = editor.agent("confirms", json.dumps(read_of(editor)), json.dumps(RUN))
    editor.prompt("go")
    editor.answer("Acp allow")
    editor.wait("require('acp').state().sessions[1].permissions[1].kind == 'execute'")
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")
    outcomes = [answer["result"]["outcome"]["optionId"] for answer in agent.answers(METHOD)]
    assert outcomes == ["allow", "reject"]
    prefixes = ("↳ ", "Asked:", "May allow", "c0: ", "c1: ")
    rows = [row.strip() for row in editor.chat() if row.strip().startswith(prefixes)]
    assert rows == [
        *("↳ Allow", "Asked:", "May allow: read notes.txt", "c0: allow"),
        *("↳ Reject", "Asked:", "May allow: run rm -rf build", "c1: reject"),
    ]
