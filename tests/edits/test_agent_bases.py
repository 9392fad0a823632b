"""What an agent last saw of a file, and so what its next write is made against."""

from __future__ import annotations

import pytest

from acp_nvim.edits.agent_bases import Act, AgentBases, Stale
from acp_nvim.edits.text import EMPTY, from_lines, size

OLD, LIVE, OTHER = from_lines("abc"), from_lines("abU"), from_lines("xyz")


def test_a_write_is_against_what_was_seen_last() -> None:
    found = AgentBases()
    found.note("s", "/f", OLD)
    assert found.base_of("s", "/f", [LIVE]) == OLD
    found.note("s", "/f", LIVE)
    assert found.base_of("s", "/f", [OTHER]) == LIVE
    assert found.last("s", "/f") == LIVE
    assert found.base_of("another", "/f", [LIVE]) is None
    assert found.base_of("s", "/g", [LIVE]) is None


def test_texts_are_bounded_by_bytes_and_the_least_used_goes_first() -> None:
    found = AgentBases(max_bytes=2 * size(OLD))
    for path in ("/f", "/g"):
        found.note("s", path, OLD)
    found.last("s", "/f")
    found.note("s", "/h", OLD)
    assert found.bytes == 2 * size(OLD)
    assert found.last("s", "/g") is None
    assert found.last("s", "/f") == found.last("s", "/h") == OLD


def test_of_a_text_that_went_it_is_still_known_which_one_it_was() -> None:
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


def test_a_session_that_ended_is_forgotten() -> None:
    found = AgentBases(max_bytes=size(OLD))
    for path in ("/f", "/g"):
        found.note("s", path, OLD)
    found.forget("s")
    assert found.bytes == 0
    assert found.base_of("s", "/f", [LIVE]) is None
    assert found.base_of("s", "/g", [LIVE]) is None


def test_a_decision_that_is_taken_back_gives_the_agent_its_old_knowledge_again() -> None:
    """What another program put in the place of the agent's line is not the agent's afterwards."""
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
def test_a_text_of_the_agents_that_is_there_again_is_known_whoever_brought_it(act: Act) -> None:
    """Neovim tells of no undo in a buffer that is not watched."""
    found = AgentBases()
    found.note("s", "/f", from_lines("abc"))
    found.wrote("s", "/f", from_lines("abc"), from_lines("aXbc"), from_lines("aXbc"))
    found.changed("/f", from_lines("abc"), Act.DECIDED)
    assert found.last("s", "/f") == from_lines("abc")
    found.changed("/f", from_lines("aXbc"), act)
    assert found.last("s", "/f") == from_lines("aXbc")


@pytest.mark.parametrize("act", Act)
def test_a_file_that_comes_back_as_it_was_is_known_whoever_brought_it(act: Act) -> None:
    """A folder that is a link for a moment has no files: all of them come back."""
    found = AgentBases()
    found.note("s", "/f", OLD)
    found.changed("/f", None, Act.REPLACED)
    found.changed("/f", OLD, act)
    assert found.last("s", "/f") == OLD


def test_another_file_in_its_place_is_not_known() -> None:
    found = AgentBases()
    found.note("s", "/f", OLD)
    found.changed("/f", None, Act.REPLACED)
    found.changed("/f", OTHER, Act.REPLACED)
    assert found.last("s", "/f") == EMPTY


def test_another_text_that_the_user_types_is_not_known() -> None:
    found = AgentBases()
    found.note("s", "/f", from_lines("abc"))
    found.wrote("s", "/f", from_lines("abc"), from_lines("aXbc"), from_lines("aXbc"))
    found.changed("/f", from_lines("abc"), Act.DECIDED)
    found.changed("/f", from_lines("aXYc"), Act.TYPED)
    assert found.last("s", "/f") == from_lines("abc")
