"""Updates for sessions that are not known yet: kept for them, within bounds."""

from __future__ import annotations

from acp_nvim.agent.pending_updates import BYTES, UPDATES, Early


def test_what_was_kept_is_taken_once_in_order() -> None:
    early = Early()
    for number in range(3):
        early.add("a", number, 10)
    early.add("b", "other", 10)
    assert early.get("a") == early.get("a") == [0, 1, 2]
    assert early.take("a") == [0, 1, 2]
    assert early.take("a") == early.get("a") == []
    assert early.take("b") == ["other"]
    assert len(early) == 0


def test_one_id_has_its_bound() -> None:
    early = Early()
    for number in range(UPDATES + 5):
        early.add("a", number, 1)
    assert early.take("a") == list(range(UPDATES))


def test_an_agent_that_talks_of_sessions_without_end_is_not_kept_whole() -> None:
    early = Early()
    for number in range(100):
        early.add(f"s{number}", "words", BYTES // 10)
    assert len(early) == 10
    assert early.take("s0") == []
    assert early.take("s99") == ["words"]
    early.add("huge", "words", BYTES + 1)
    assert early.take("huge") == []
