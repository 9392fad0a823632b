"""A permission whose tool call changes is a new question."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from acp_nvim.protocol import schema
from acp_nvim.render.calls import tools
from acp_nvim.session import state
from acp_nvim.session.calls import call_updates
from acp_nvim.session.questions import permissions, requests
from acp_nvim.session.questions.decisions import Decision, Outcome
from acp_nvim.session.questions.questions import permission_decision
from acp_nvim.session.session import Session

DIFF = schema.Diff("/w/a.txt", "new\n")


def asked(*content: Any, known: bool = True) -> tuple[Session, Decision]:
    """Return a session with a question about call `c`, which Neovim knows unless ``known`` is
    false.
    """
    session = Session(1, "agent", "/w")
    update = schema.ToolCall("c", "Run it", kind="execute", content=list(content))
    call = call_updates.upsert(session, update)
    options = [schema.PermissionOption("yes", "Yes", "allow_once")]
    request = schema.RequestPermissionRequest("s", schema.PermissionToolCall("c"), options)
    decision = permission_decision("first", call, request, call)
    session.ask(decision, call)
    if known:
        state.take_changes(session)
        session.changes.take_events(state.ALL)
    return session, decision


def update_call(session: Session, **fields: Any) -> None:
    call_updates.upsert(session, schema.ToolCallUpdate("c", **fields))


def events(session: Session) -> list[tuple[str, str]]:
    found = session.changes.take_events(state.ALL)
    return [(it.name, it.data["id"]) for it in found if it.name.startswith("AcpPermission")]


def test_a_changed_call_has_a_new_question_id() -> None:
    session, decision = asked()
    update_call(session, title="Remove it")
    assert decision.id != "first"
    assert decision.title == "Remove it"
    assert session.decisions.get("first") is None
    assert session.decisions.get(decision.id) is decision
    assert session.decisions.front == [decision]
    assert events(session) == [("AcpPermissionDone", "first"), ("AcpPermission", decision.id)]
    assert decision.resolve(Outcome("selected", decision.options[0]))
    assert len(session.decisions) == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "in_progress"},
        {"raw_output": {"text": "x"}},
        {"title": "Run it"},
        {"content": [DIFF]},
        {"meta": {"at": 1}},
    ],
)
def test_an_update_without_a_visible_change_keeps_the_id(fields: dict[str, Any]) -> None:
    session, decision = asked(DIFF)
    update_call(session, **fields)
    assert decision.id == "first"
    assert events(session) == []


def test_the_old_text_that_the_plugin_adds_to_a_diff_keeps_the_id() -> None:
    session, decision = asked(DIFF)
    call = session.tool_calls.by_id["c"]
    call.set_old_text("/w/a.txt", "old\n")
    call_updates.show(session, call)
    update_call(session, content=[DIFF])
    assert decision.id == "first"
    update_call(session, content=[schema.Diff("/w/a.txt", "new\n", "other\n")])
    assert decision.id != "first"


def test_a_command_in_the_metadata_is_part_of_the_question() -> None:
    session, decision = asked()
    update_call(session, meta={"command": "rm -rf /"})
    assert decision.id != "first"


def test_an_update_does_not_search_the_input_for_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large input takes seconds, and an agent may send any number of updates."""
    session, decision = asked()
    monkeypatch.setattr(requests, "commands", Mock(side_effect=AssertionError))
    update_call(session, title="Remove it")
    assert decision.title == "Remove it"


def test_an_id_that_neovim_does_not_know_yet_stays() -> None:
    session, decision = asked(known=False)
    for title in ("one", "two", "three"):
        update_call(session, title=title)
    assert (decision.id, decision.title) == ("first", "three")
    assert events(session) == [("AcpPermission", "first")]


def test_an_answered_question_keeps_the_call_as_it_was() -> None:
    session, decision = asked(DIFF)
    decision.resolve(Outcome("selected", decision.options[0]))
    update_call(session, title="Remove it", content=[])
    assert decision.id == "first"
    assert (decision.record.title, list(decision.record.content)) == ("Run it", [DIFF])


@pytest.mark.parametrize("kind", [schema.ToolCall, schema.ToolCallUpdate])
def test_a_call_that_ends_during_its_question_does_not_leave_it_behind(kind: Any) -> None:
    """Otherwise its id would name a new call, and the question would show the old one."""
    session, decision = asked()
    update_call(session, status="completed")
    call_updates.upsert(session, kind("c", title="Remove it"))
    assert (decision.id != "first", decision.title) == (True, "Remove it")
    decision.resolve(Outcome("selected", decision.options[0]))
    call_updates.upsert(session, kind("c", title="Another"))
    assert len(session.entries) == (2 if kind is schema.ToolCall else 1)


def test_a_renewed_question_is_the_newest() -> None:
    session, decision = asked()
    call = session.tool_calls.by_id["c"]
    other = Decision("other", "permission", "other")
    session.ask(other)
    state.take_changes(session)
    update_call(session, title="Remove it")
    assert session.decisions.front == [other, decision]
    assert session.entries[call].open_question is decision


def test_a_second_question_about_something_else_has_its_own_call() -> None:
    """Some agents use one id for several calls. Each card shows what its own question asks."""
    session, decision = asked()
    first = session.tool_calls.get("c")
    for title in ("Run it", "Remove it"):
        update = schema.PermissionToolCall("c", title=title)
        call = permissions.subject(session, schema.RequestPermissionRequest("s", update, []))
        assert (call is first) == (title == "Run it")
    assert (decision.id, decision.title, decision.shown_call.title) == ("first", "Run it", "Run it")


def test_titles_are_compared_only_if_the_call_has_changed_since_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, decision = asked()
    call = session.tool_calls.get("c")
    assert call is not None
    decision.resolve(Outcome("selected", decision.options[0]))
    update_call(session, status="in_progress", raw_output={"text": "x"})
    with monkeypatch.context() as patch:
        patch.delattr(tools, "title")
        assert not tools.differs_from_answer(decision, call)
    update_call(session, title="Remove it")
    assert tools.differs_from_answer(decision, call)
