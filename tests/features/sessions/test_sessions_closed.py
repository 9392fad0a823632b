"""Closed sessions: agents that refuse to close, and prompts written for a closed session."""

from __future__ import annotations

from typing import Any

from tests.support.editor import Editor
from tests.support.fake_picker import pick
from tests.support.stalled_agent import stalled_agent

CLOSES: dict[str, Any] = {"sessionCapabilities": {"list": {}, "close": {}, "delete": {}}}
CLOSED = "require('acp').state().sessions[1].status == 'closed'"


def test_a_session_that_the_agent_cannot_close_is_deleted(picker: Editor) -> None:
    path = str(picker.home / "stored.json")
    traffic = picker.agent("stores_nothing", path, capabilities=CLOSES)
    picker.turn("say one")
    pick(picker, "Acp sessions", "say one", "delete")
    assert traffic.wait("session/delete")["params"] == {"sessionId": "s1"}
    picker.wait(CLOSED)
    picker.wait_message("Deleted: say one")


def test_a_session_that_the_agent_cannot_close_is_closed_locally(picker: Editor) -> None:
    picker.errors_expected = True
    path = str(picker.home / "stored.json")
    picker.agent("stores_nothing", path, capabilities=CLOSES)
    picker.turn("say one")
    pick(picker, "Acp sessions", "say one", "close")
    picker.wait(CLOSED)
    picker.wait_message("the disk is full")


def test_prompts_for_a_closed_session_go_to_one_new_session(picker: Editor) -> None:
    picker.agent("stores", str(picker.home / "stored.json"))
    picker.turn("say one")
    pick(picker, "Acp sessions", "say one", "close")
    picker.wait(CLOSED)
    for text in ("say two", "say three"):
        picker.lua("require('acp').prompt(..., { session = 1 })", text)
    picker.wait_event("AcpTurnEnd", 3)
    lines = [line for line in picker.chat(2) if line in ("say two", "say three")]
    assert lines == ["say two", "say three"]
    assert len(picker.state()["sessions"]) == 2
    assert picker.messages().count("Session 1 is closed. Your prompt goes to a new one") == 1


def test_a_session_that_is_being_loaded_is_not_offered_until_that_has_ended(picker: Editor) -> None:
    def titles() -> list[str]:
        items: list[str] = pick(picker, "Acp sessions")[0]["items"]
        return [item.split("  (")[0] for item in items]

    path = str(picker.home / "stored.json")
    loads = {"loadSession": True}
    traffic = stalled_agent(picker, "session/load", "stores", path, capabilities=loads)
    picker.turn("say one")
    pick(picker, "Acp sessions", "say one", "close")
    picker.wait(CLOSED)
    pick(picker, "Acp sessions", "say one", "load")
    traffic.wait("session/load")
    assert titles() == ["say one"]
    picker.cmd("Acp stop")
    picker.wait("require('acp').state().sessions[2].status ~= 'starting'")
    assert titles() == ["say one", "say one"]
