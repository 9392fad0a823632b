"""Updates for sessions that are not known yet: kept for them, within bounds."""

from __future__ import annotations

from acp_nvim.agent.serving.pending_updates import BYTES, UPDATES, PendingUpdates


def test_what_was_kept_is_taken_once_in_order() -> None:
    pending = PendingUpdates()
    for number in range(3):
        pending.add("a", number, 10)
    pending.add("b", "other", 10)
    assert pending.get("a") == pending.get("a") == [0, 1, 2]
    assert pending.take("a") == [0, 1, 2]
    assert pending.take("a") == pending.get("a") == []
    assert pending.take("b") == ["other"]
    assert len(pending) == 0


def test_one_id_has_its_bound() -> None:
    pending = PendingUpdates()
    for number in range(UPDATES + 5):
        pending.add("a", number, 1)
    assert pending.take("a") == list(range(UPDATES))


def test_an_agent_that_talks_of_sessions_without_end_is_not_kept_whole() -> None:
    pending = PendingUpdates()
    for number in range(100):
        pending.add(f"s{number}", "words", BYTES // 10)
    assert len(pending) == 10
    assert pending.take("s0") == []
    assert pending.take("s99") == ["words"]
    pending.add("huge", "words", BYTES + 1)
    assert pending.take("huge") == []
