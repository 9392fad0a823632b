"""What an agent last saw of a file, and so what its next write is made against."""

from __future__ import annotations

import pytest

from acp_nvim.edits.merge import Merged, merge
from acp_nvim.edits.seen import Seen, Stale
from acp_nvim.edits.text import Text, digest, from_lines, size

OLD, LIVE, OTHER = from_lines("abc"), from_lines("abU"), from_lines("xyz")


def seen(text: Text | None = OLD) -> Seen:
    found = Seen()
    if text is not None:
        found.note(1, "/f", text)
    return found


def test_a_write_is_against_what_was_read_last() -> None:
    found = seen()
    assert found.base_of(1, "/f", LIVE) == OLD
    found.note(1, "/f", LIVE)
    assert found.base_of(1, "/f", LIVE) == LIVE
    assert found.last(1, "/f") == LIVE


def test_a_file_never_read_is_written_against_the_live_text() -> None:
    assert seen().base_of(2, "/f", LIVE) == LIVE
    assert seen().base_of(1, "/g", LIVE) == LIVE
    assert seen().last(2, "/f") is None


@pytest.mark.parametrize(("against", "base"), [(OLD, OLD), (LIVE, LIVE), (OTHER, None)])
def test_a_write_that_tells_its_text_is_checked(against: Text, base: Text | None) -> None:
    found = seen().base_of(1, "/f", LIVE, digest(against))
    if base is None:
        assert isinstance(found, Stale)
        assert "neither the present one nor the one last read" in found.reason
    else:
        assert found == base


def test_texts_are_bounded_by_bytes_and_the_least_used_goes_first() -> None:
    found = Seen(max_bytes=2 * size(OLD))
    found.note(1, "/f", OLD)
    found.note(1, "/g", OLD)
    found.last(1, "/f")
    found.note(1, "/h", OLD)
    assert found.bytes == 2 * size(OLD)
    assert found.last(1, "/g") is None
    assert found.last(1, "/f") == found.last(1, "/h") == OLD
    # what is left of /g is enough to know whether it is still the same
    assert found.base_of(1, "/g", OLD) == OLD
    stale = found.base_of(1, "/g", LIVE)
    assert isinstance(stale, Stale)
    assert "read it again" in stale.reason
    assert isinstance(found.base_of(1, "/g", LIVE, digest(OLD)), Stale)
    assert found.base_of(1, "/g", LIVE, digest(LIVE)) == LIVE


def test_a_text_larger_than_the_bound_is_not_held() -> None:
    found = Seen(max_bytes=10, max_digests=2)
    for path in "abcd":
        found.note(1, path, OLD)
    assert found.bytes == 0
    assert isinstance(found.base_of(1, "d", LIVE), Stale)
    assert found.base_of(1, "a", LIVE) == LIVE  # its digest went, too


def test_the_formatter_is_no_stranger_to_the_next_write() -> None:
    found = seen()
    found.note(2, "/f", OTHER)
    found.formatted("/f", OLD, LIVE)
    assert found.last(2, "/f") == OTHER
    base = found.base_of(1, "/f", LIVE)
    assert base == LIVE
    theirs = from_lines("abcd")  # written from the unformatted text
    result = merge(LIVE, LIVE, theirs)
    assert isinstance(result, Merged)
    assert result.text == theirs


def test_a_session_that_ended_is_forgotten() -> None:
    found = Seen(max_bytes=size(OLD))
    found.note(1, "/f", OLD)
    found.note(1, "/g", OLD)
    found.forget(1)
    assert found.bytes == 0
    assert found.base_of(1, "/f", LIVE) == LIVE
    assert found.base_of(1, "/g", LIVE) == LIVE
