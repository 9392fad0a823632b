"""Updates for unknown sessions: stored for them, within limits."""

from __future__ import annotations

from acp_nvim.agent.serving.pending_updates import MAX_BYTES, MAX_UPDATES, PendingUpdates


def test_stored_updates_are_returned_once_in_order() -> None:
    pending = PendingUpdates()
    for number in range(3):
        pending.add("a", number, 10)
    pending.add("b", "other", 10)
    assert pending.get("a") == pending.get("a") == [0, 1, 2]
    assert pending.pop("a") == [0, 1, 2]
    assert pending.pop("a") == pending.get("a") == []
    assert pending.pop("b") == ["other"]
    assert len(pending) == 0


def test_the_updates_of_one_id_are_limited() -> None:
    pending = PendingUpdates()
    for number in range(MAX_UPDATES + 5):
        pending.add("a", number, 1)
    assert pending.pop("a") == list(range(MAX_UPDATES))


def test_the_number_of_unknown_sessions_is_limited() -> None:
    pending = PendingUpdates()
    for number in range(100):
        pending.add(f"s{number}", "words", MAX_BYTES // 10)
    assert len(pending) == 10
    assert pending.pop("s0") == []
    assert pending.pop("s99") == ["words"]
    pending.add("huge", "words", MAX_BYTES + 1)
    assert pending.pop("huge") == []
