"""Commands and files of tool calls in agents' spellings, and refused calls."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.session import turns
from acp_nvim.session.calls import call_updates
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.questions.decisions import Decision, Option, Outcome
from acp_nvim.session.questions.questions import command_of, output_of, permission_decision
from acp_nvim.session.session import Session
from acp_nvim.session.updates import apply


@pytest.mark.parametrize(
    ("raw", "command"),
    [
        ({"command": "ls -l"}, "ls -l"),
        ({"cmd": "make"}, "make"),
        ({"command": ["ls", "a b"]}, "ls 'a b'"),
        ({"command": ["bash", "-lc", "rm -rf x | cat"]}, "rm -rf x | cat"),
        ({"command": ["/bin/sh", "-c", "true"]}, "true"),
        ({"command": ["bash", "-lc", "$0", "more"]}, "bash -lc '$0' more"),
        ({"command": ["python", "-c", "1"]}, "python -c 1"),
        ({"command": 7}, None),
        ({}, None),
        ("ls", None),
    ],
)
def test_the_command_line_of_a_raw_input_is_found(raw: Any, command: str | None) -> None:
    assert command_of(raw) == command


@pytest.mark.parametrize(
    ("raw", "output"),
    [
        ({"aggregated_output": "a\n", "stdout": "b"}, "a\n"),
        ({"stdout": "o", "stderr": "e"}, "oe"),
        ({"aggregated_output": "", "stdout": "o"}, "o"),
        ({"output": "x"}, "x"),
        ({"output": {"x": 1}}, ""),
        ([{"query": "a.txt", "result": "1 | a", "success": True}], "1 | a"),
        (
            [{"query": "a", "result": "A"}, {"query": "b", "result": "", "error": "no b"}],
            "a:\nA\nb:\nno b",
        ),
        ({"query": "q", "result": [{"type": "text", "text": "found"}]}, "found"),
        ("plain", "plain"),
        (None, ""),
    ],
)
def test_the_output_of_a_command_is_found(raw: Any, output: str) -> None:
    assert output_of(raw) == output


def test_output_that_is_only_in_raw_output_is_shown_once() -> None:
    session = Session(1, "a", "/p", [])
    content: list[Any] = [schema.Terminal("t")]
    apply(session, schema.ToolCall("t", "Run", content=content, meta={"terminal_info": {}}))
    meta = {"terminal_exit": {"exit_code": 0, "signal": None}}
    done = schema.ToolCallUpdate("t", raw_output={"stdout": "one\n"}, meta=meta)
    apply(session, done)
    apply(session, done)
    (terminal,) = session.terminals
    assert terminal.lines() == ["one"]
    assert terminal.exit_code == 0


@pytest.mark.parametrize(
    ("kind", "status"),
    [("reject_once", "cancelled"), ("reject_always", "cancelled"), ("allow_once", "completed")],
)
def test_a_refused_call_ends_with_the_turn(kind: Any, status: str) -> None:
    session = Session(1, "a", "/p", [])
    call = call_updates.upsert(session, schema.ToolCallUpdate("c", title="Edit"))
    option = Option("o", "O", kind)
    decision = Decision("d1", "permission", "Edit", tool_call_id="c", options=[option])
    session.ask(decision, call)
    turns.end(session, "end_turn")
    assert call.status == "pending", "the question is still open"
    decision.resolve(Outcome("selected", option))
    turns.end(session, "end_turn")
    assert call.status == status


def test_a_call_that_arrives_during_a_cancel_ends_with_the_turn() -> None:
    """Whatever stop reason the agent sends."""
    session = Session(1, "a", "/p", [])
    turns.begin(session, Prompt("go"), "Agent")
    session.status = "cancelling"
    call = call_updates.upsert(
        session, schema.ToolCallUpdate("c", title="Run", status="in_progress")
    )
    turns.end(session, "end_turn")
    assert call.status == "cancelled"


def test_options_with_one_id_are_one_option() -> None:
    """The agent gets only the id, so the card offers no answer that means another one."""
    options = [
        schema.PermissionOption("a", "Allow", "allow_once"),
        schema.PermissionOption("b", "Reject", "reject_once"),
        schema.PermissionOption("a", "Reject", "reject_once"),
        schema.PermissionOption("a", "Allow", "allow_always"),
    ]
    asked = schema.PermissionToolCall("t")
    request = schema.RequestPermissionRequest(session_id="s", tool_call=asked, options=options)
    decision = permission_decision("d", ToolCall("t"), request)
    kinds = [(option.id, option.kind) for option in decision.options]
    assert kinds == [("a", "allow_once"), ("b", "reject_once")]


@pytest.mark.parametrize(
    ("id", "name", "shown"), [("yes", " ", "yes"), ("", "", "allow_once"), ("yes", "Sure", "Sure")]
)
def test_an_option_without_a_name_has_its_id_or_kind(id: str, name: str, shown: str) -> None:
    options = [schema.PermissionOption(id, name, "allow_once")]
    asked = schema.PermissionToolCall("t")
    request = schema.RequestPermissionRequest(session_id="s", tool_call=asked, options=options)
    assert permission_decision("d", ToolCall("t"), request).options[0].name == shown
