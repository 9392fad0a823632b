"""Times in the state: the beginning of a status, and of a question."""

from __future__ import annotations

import time

import pytest

from acp_nvim.session import snapshot, turns
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.session import Session
from acp_nvim.session.state import take_changes


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time, which only the test changes."""
    now = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def changed(session: Session) -> dict[object, object]:
    return {path[0]: value for path, value in take_changes(session)}


def test_since_is_the_beginning_of_the_status(clock: list[float]) -> None:
    session = Session(1, "x", "/w")
    assert changed(session)["since"] == 1000
    clock[0] = 1010.6
    turns.begin(session, Prompt("go"), "X")
    assert changed(session)["since"] == 1010
    clock[0] = 1020
    session.change("status", "title")
    assert changed(session)["since"] == 1010
    turns.end(session, "end_turn")
    turns.begin(session, Prompt("again"), "X")  # without a frame between the turns
    assert changed(session)["since"] == 1020


def test_a_question_has_the_time_at_which_it_was_asked(clock: list[float]) -> None:
    session = Session(1, "x", "/w")
    session.ask(Decision("d1", "permission", "Run"))
    clock[0] = 1100
    assert [it["since"] for it in changed(session)["permissions"]] == [1000]  # type: ignore[attr-defined]
    assert snapshot.elicitation(Decision("d2", "elicitation", "Name?"))["since"] == 1100


def test_the_topic_is_the_beginning_of_the_first_prompt() -> None:
    session = Session(1, "x", "/w")
    assert changed(session)["topic"] is None
    session.topic = "\nMake it faster\nand smaller"
    session.change("topic")
    assert changed(session)["topic"] == "Make it faster"
