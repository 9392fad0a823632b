"""The end of turns in version 2 (v2/prompt-lifecycle)."""

from __future__ import annotations

from acp_nvim.protocol.updates import Work
from acp_nvim.protocol.v2.turns import Turns

RUNNING = Work("running")
IDLE = Work("idle", "end_turn")


def test_the_idle_state_after_the_work_ends_the_turn() -> None:
    turns = Turns()
    turns.on_sent(1)
    assert turns.on_inserted(1, "m") is None
    assert turns.apply_state(RUNNING) == []
    assert turns.apply_state(Work("requires_action")) == []
    assert turns.apply_state(IDLE) == [1]
    assert turns.apply_state(IDLE) == []


def test_a_repeated_idle_state_ends_nothing() -> None:
    turns = Turns()
    turns.on_sent(1)
    turns.on_inserted(1, "m")
    assert turns.apply_state(Work("idle")) == []
    turns.apply_state(RUNNING)
    assert turns.apply_state(Work("idle")) == [1]


def test_a_waiting_prompt_outlives_the_work_before_it() -> None:
    turns = Turns()
    turns.apply_state(RUNNING)
    turns.on_sent(1)
    assert turns.apply_state(IDLE) == []
    assert turns.on_inserted(1, "m") is None
    turns.apply_state(RUNNING)
    assert turns.apply_state(IDLE) == [1]


def test_prompts_in_one_turn_end_together() -> None:
    turns = Turns()
    turns.on_sent(1)
    turns.on_inserted(1, "m")
    turns.apply_state(RUNNING)
    turns.on_sent(2)
    turns.on_inserted(2, "n")
    assert turns.apply_state(IDLE) == [1, 2]


def test_an_answer_after_the_work_ends_the_turn_at_once() -> None:
    turns = Turns()
    turns.on_sent(1)
    turns.add_message("m")
    turns.apply_state(RUNNING)
    turns.apply_state(IDLE)
    assert turns.on_inserted(1, "m") == IDLE


def test_an_unknown_state_is_work_and_a_refusal_ends() -> None:
    turns = Turns()
    turns.on_sent(1)
    turns.on_inserted(1, "m")
    assert turns.apply_state(Work("dreaming")) == []
    turns.on_refused(1)
    assert turns.apply_state(IDLE) == []
