"""The state of a file that an agent last saw, which is the base of its next write."""

from __future__ import annotations

import pytest

from acp_nvim.edits.agent_bases import Act, AgentBases, Stale
from acp_nvim.edits.text import EMPTY, from_lines, size

OLD, LIVE, OTHER = from_lines("abc"), from_lines("abU"), from_lines("xyz")


def test_a_write_is_based_on_the_last_seen_text() -> None:
    found = AgentBases()
    found.note("s", "/f", OLD)
    assert found.base_of("s", "/f", [LIVE]) == OLD
    found.note("s", "/f", LIVE)
    assert found.base_of("s", "/f", [OTHER]) == LIVE
    assert found.last("s", "/f") == LIVE
    assert found.base_of("another", "/f", [LIVE]) is None
    assert found.base_of("s", "/g", [LIVE]) is None


def test_texts_are_limited_in_bytes_and_the_least_used_is_dropped() -> None:
    found = AgentBases(max_bytes=2 * size(OLD))
    for path in ("/f", "/g"):
        found.note("s", path, OLD)
    found.last("s", "/f")
    found.note("s", "/h", OLD)
    assert found.bytes == 2 * size(OLD)
    assert found.last("s", "/g") is None
    assert found.last("s", "/f") == found.last("s", "/h") == OLD


def test_a_dropped_text_is_still_known_by_its_digest() -> None:
    found = AgentBases(max_bytes=10)
    found.note("s", "/f", OLD)
    assert found.bytes == 0
    assert found.base_of("s", "/f", [LIVE, OLD]) == OLD
    stale = found.base_of("s", "/f", [LIVE, OTHER])
    assert isinstance(stale, Stale)
    assert "has changed since it was read" in stale.reason
    found.note("s", "/f", LIVE)
    assert found.base_of("s", "/f", [LIVE]) == LIVE


def test_digests_are_bounded_too() -> None:
    found = AgentBases(max_bytes=10, max_digests=2)
    for path in "abcd":
        found.note("s", path, OLD)
    assert isinstance(found.base_of("s", "d", [LIVE]), Stale)
    assert found.base_of("s", "a", [LIVE]) is None


def test_the_bases_of_an_ended_session_are_forgotten() -> None:
    found = AgentBases(max_bytes=size(OLD))
    for path in ("/f", "/g"):
        found.note("s", path, OLD)
    found.forget("s")
    assert found.bytes == 0
    assert found.base_of("s", "/f", [LIVE]) is None
    assert found.base_of("s", "/g", [LIVE]) is None


def test_an_undone_decision_restores_the_agents_base() -> None:
    """A line of another program in place of the agent's line does not become the agent's."""
    found = AgentBases()
    found.note("s", "/f", from_lines("abc"))
    found.wrote("s", "/f", from_lines("abc"), from_lines("Xbc"), from_lines("Xbc"))
    found.changed("/f", from_lines("Pbc"), Act.REPLACED)
    found.changed("/f", from_lines("abc"), Act.DECIDED)
    assert found.last("s", "/f") == from_lines("abc")
    found.changed("/f", from_lines("Pbc"), Act.RETURNED)
    assert found.last("s", "/f") == from_lines("Xbc")
    found.changed("/f", from_lines("abc"), Act.RETURNED)
    assert found.last("s", "/f") == from_lines("abc")


@pytest.mark.parametrize("act", [Act.TYPED, Act.REPLACED, Act.RETURNED])
def test_a_restored_text_of_the_agent_is_known(act: Act) -> None:
    """Neovim reports no undo in a buffer that is not watched."""
    found = AgentBases()
    found.note("s", "/f", from_lines("abc"))
    found.wrote("s", "/f", from_lines("abc"), from_lines("aXbc"), from_lines("aXbc"))
    found.changed("/f", from_lines("abc"), Act.DECIDED)
    assert found.last("s", "/f") == from_lines("abc")
    found.changed("/f", from_lines("aXbc"), act)
    assert found.last("s", "/f") == from_lines("aXbc")


@pytest.mark.parametrize("act", Act)
def test_a_file_that_returns_unchanged_is_known(act: Act) -> None:
    """A folder that is a link for a moment loses all files, and then they return."""
    found = AgentBases()
    found.note("s", "/f", OLD)
    found.changed("/f", None, Act.REPLACED)
    found.changed("/f", OLD, act)
    assert found.last("s", "/f") == OLD


def test_another_file_at_the_path_is_not_known() -> None:
    found = AgentBases()
    found.note("s", "/f", OLD)
    found.changed("/f", None, Act.REPLACED)
    found.changed("/f", OTHER, Act.REPLACED)
    assert found.last("s", "/f") == EMPTY


def test_a_text_that_the_user_types_is_not_known() -> None:
    found = AgentBases()
    found.note("s", "/f", from_lines("abc"))
    found.wrote("s", "/f", from_lines("abc"), from_lines("aXbc"), from_lines("aXbc"))
    found.changed("/f", from_lines("abc"), Act.DECIDED)
    found.changed("/f", from_lines("aXYc"), Act.TYPED)
    assert found.last("s", "/f") == from_lines("abc")
