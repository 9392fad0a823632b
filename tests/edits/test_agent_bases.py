"""The state of a file that an agent last saw, which is the base of its next write."""

from __future__ import annotations

import pytest

from acp_nvim.edits.agent_bases import AgentBases, ChangeKind, Stale
from acp_nvim.edits.text import EMPTY, from_lines, size

OLD, LIVE, OTHER = from_lines("abc"), from_lines("abU"), from_lines("xyz")


def test_a_write_is_based_on_the_last_seen_text() -> None:
    found = AgentBases()
    found.record_read("s", "/f", OLD)
    assert found.base_of("s", "/f", [LIVE]) == OLD
    found.record_read("s", "/f", LIVE)
    assert found.base_of("s", "/f", [OTHER]) == LIVE
    assert found.last_seen("s", "/f") == LIVE
    assert found.base_of("another", "/f", [LIVE]) is None
    assert found.base_of("s", "/g", [LIVE]) is None


def test_texts_are_limited_in_bytes_and_the_least_used_is_dropped() -> None:
    found = AgentBases(max_bytes=2 * size(OLD))
    for path in ("/f", "/g"):
        found.record_read("s", path, OLD)
    found.last_seen("s", "/f")
    found.record_read("s", "/h", OLD)
    assert found.bytes == 2 * size(OLD)
    assert found.last_seen("s", "/g") is None
    assert found.last_seen("s", "/f") == found.last_seen("s", "/h") == OLD


def test_a_dropped_text_is_still_known_by_its_digest() -> None:
    found = AgentBases(max_bytes=10)
    found.record_read("s", "/f", OLD)
    assert found.bytes == 0
    assert found.base_of("s", "/f", [LIVE, OLD]) == OLD
    stale = found.base_of("s", "/f", [LIVE, OTHER])
    assert isinstance(stale, Stale)
    assert "has changed since it was read" in stale.reason
    found.record_read("s", "/f", LIVE)
    assert found.base_of("s", "/f", [LIVE]) == LIVE


def test_digests_are_bounded_too() -> None:
    found = AgentBases(max_bytes=10, max_digests=2)
    for path in "abcd":
        found.record_read("s", path, OLD)
    assert isinstance(found.base_of("s", "d", [LIVE]), Stale)
    assert found.base_of("s", "a", [LIVE]) is None


def test_the_bases_of_an_ended_session_are_forgotten() -> None:
    found = AgentBases(max_bytes=size(OLD))
    for path in ("/f", "/g"):
        found.record_read("s", path, OLD)
    found.forget_session("s")
    assert found.bytes == 0
    assert found.base_of("s", "/f", [LIVE]) is None
    assert found.base_of("s", "/g", [LIVE]) is None


def test_an_undone_decision_restores_the_agents_base() -> None:
    """A line of another program in place of the agent's line does not become the agent's."""
    found = AgentBases()
    found.record_read("s", "/f", from_lines("abc"))
    found.record_write("s", "/f", from_lines("abc"), from_lines("Xbc"), from_lines("Xbc"))
    found.record_change("/f", from_lines("Pbc"), ChangeKind.REPLACED)
    found.record_change("/f", from_lines("abc"), ChangeKind.DECIDED)
    assert found.last_seen("s", "/f") == from_lines("abc")
    found.record_change("/f", from_lines("Pbc"), ChangeKind.UNDONE)
    assert found.last_seen("s", "/f") == from_lines("Xbc")
    found.record_change("/f", from_lines("abc"), ChangeKind.UNDONE)
    assert found.last_seen("s", "/f") == from_lines("abc")


@pytest.mark.parametrize("act", [ChangeKind.TYPED, ChangeKind.REPLACED, ChangeKind.UNDONE])
def test_a_restored_text_of_the_agent_is_known(act: ChangeKind) -> None:
    """Neovim reports no undo in a buffer that is not watched."""
    found = AgentBases()
    found.record_read("s", "/f", from_lines("abc"))
    found.record_write("s", "/f", from_lines("abc"), from_lines("aXbc"), from_lines("aXbc"))
    found.record_change("/f", from_lines("abc"), ChangeKind.DECIDED)
    assert found.last_seen("s", "/f") == from_lines("abc")
    found.record_change("/f", from_lines("aXbc"), act)
    assert found.last_seen("s", "/f") == from_lines("aXbc")


@pytest.mark.parametrize("act", ChangeKind)
def test_a_file_that_returns_unchanged_is_known(act: ChangeKind) -> None:
    """A folder that is a link for a moment loses all files, and then they return."""
    found = AgentBases()
    found.record_read("s", "/f", OLD)
    found.record_change("/f", None, ChangeKind.REPLACED)
    found.record_change("/f", OLD, act)
    assert found.last_seen("s", "/f") == OLD


def test_a_checkout_through_an_empty_file_takes_the_agents_lines_back() -> None:
    """A program may empty the file a moment before it writes the text."""
    found = AgentBases()
    found.record_read("s", "/f", from_lines("abc"))
    found.record_write("s", "/f", from_lines("abc"), from_lines("aXbc"), from_lines("aXbc"))
    found.record_change("/f", EMPTY, ChangeKind.REPLACED)
    assert found.last_seen("s", "/f") == from_lines("aXbc")
    found.record_change("/f", from_lines("abc"), ChangeKind.REPLACED)
    assert found.last_seen("s", "/f") == from_lines("abc")


def test_another_file_at_the_path_is_not_known() -> None:
    found = AgentBases()
    found.record_read("s", "/f", OLD)
    found.record_change("/f", None, ChangeKind.REPLACED)
    found.record_change("/f", OTHER, ChangeKind.REPLACED)
    assert found.last_seen("s", "/f") == EMPTY


def test_a_text_that_the_user_types_is_not_known() -> None:
    found = AgentBases()
    found.record_read("s", "/f", from_lines("abc"))
    found.record_write("s", "/f", from_lines("abc"), from_lines("aXbc"), from_lines("aXbc"))
    found.record_change("/f", from_lines("abc"), ChangeKind.DECIDED)
    found.record_change("/f", from_lines("aXYc"), ChangeKind.TYPED)
    assert found.last_seen("s", "/f") == from_lines("abc")
