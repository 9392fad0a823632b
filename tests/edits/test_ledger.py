"""The ledger of one text: pending hunks after each change, and the effect of decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.ledger import MAX_REJECTS, Ledger
from acp_nvim.edits.pending import Restoration, Summary
from acp_nvim.edits.text import EMPTY, Text
from tests.support.ledger_shorthand import (
    accept_all,
    base,
    entry,
    hunk_at,
    hunks_of,
    ledger,
    reject_all,
    summary_of,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        ("abc", "aXc", (1, 1, 1, "modified")),
        ("abcde", "aXYcd", (2, 2, 2, "modified")),
        (None, "abc", (1, 3, 0, "created")),
        ("", "abc", (1, 3, 0, "modified")),
        ("abc", "", (1, 0, 3, "modified")),
    ],
)
def test_a_change_has_these_counts(
    before: str | None, after: str, counts: tuple[int, int, int, str]
) -> None:
    (found,) = summary_of(ledger(before, after))
    assert (found.hunks, found.added, found.removed, found.kind) == counts


def test_an_agent_that_undoes_its_change_leaves_nothing_pending() -> None:
    found = ledger("abc", "aXc")
    found.record_agent_write("/f", text("aXc"), text("abc"))
    assert found.files() == []
    found.record_agent_write("/f", text("abc"), text("abc"))
    assert summary_of(found) == []


def test_a_final_newline_alone_is_a_hunk_of_the_last_line() -> None:
    found = Ledger()
    found.record_agent_write("/f", text("ab"), text("ab", eol=False))
    assert hunks_of(found, "/f") == [Hunk(1, 2, ("b",), 1)]
    assert entry(found).removed_lines(hunks_of(found, "/f")[0]) == ("b",)
    (step,) = found.reject("/f", hunks_of(found, "/f")[0])
    assert step.after == text("ab")
    found.unreject({"/f": text("ab")})
    found.accept("/f", hunks_of(found, "/f")[0])
    assert found.files() == []


@pytest.mark.parametrize(
    ("edited", "kept"),
    [
        ("aXYcdeF", "abcdeF"),  # far away
        ("UaXYcde", "Uabcde"),  # above
        ("aXYUde", "abUde"),  # the line right below the hunk
        ("UXYcde", "Ubcde"),  # the line right above it
        ("aXYUcde", "abUcde"),  # a new line below the hunk
        ("aUXYcde", "aUbcde"),  # a new line above it
        ("aXUYcde", "abcde"),  # between its lines
        ("aUYcde", "abcde"),  # one of its lines
        ("ade", "abcde"),  # a paragraph with the hunk in it
        ("abcde", None),  # undone by hand
        ("UaVYcdW", "UabcdW"),  # several places at once
    ],
)
def test_user_edits_outside_hunks_go_into_the_base(edited: str, kept: str | None) -> None:
    found = ledger("abcde", "aXYcde")
    found.record_user_edit("/f", text(edited))
    pending = found.get("/f")
    assert (pending and pending.base) == (kept and text(kept))
    assert pending is None or pending.live == text(edited)


def test_a_user_line_at_a_removal_is_below_the_removed_lines() -> None:
    found = ledger("abcd", "ad")
    found.record_user_edit("/f", text("aUd"))
    assert base(found) == "abcUd"
    found.record_user_edit("/f", text("aVd"))
    assert base(found) == "abcVd"


def test_unreported_edits_belong_to_the_user() -> None:
    found = ledger("abcdef", "aXcdef")
    found.record_agent_write("/f", text("aXcdeU"), text("aXcYeU"))
    assert base(found) == "abcdeU"
    assert len(hunks_of(found, "/f")) == 2


def test_hunks_are_accepted_and_rejected_one_by_one() -> None:
    found = ledger("abcdefg", "aXcdeYZfg")
    first, second = hunks_of(found, "/f")
    assert found.accept("/f", first) == []
    assert base(found) == "aXcdefg"
    (second,) = hunks_of(found, "/f")
    assert found.reject("/f", second) == [
        Restoration("/f", text("aXcdeYZfg"), text("aXcdefg")),
    ]
    assert found.files() == []
    with pytest.raises(KeyError):
        found.accept("/f", second)


@pytest.mark.parametrize("decide", [Ledger.accept, Ledger.reject])
def test_a_hunk_that_does_not_exist_any_more_is_refused(
    decide: Callable[[Ledger, str, Hunk], object],
) -> None:
    found = ledger("abcdef", "aXcdYf")
    (_, second) = hunks_of(found, "/f")
    found.record_user_edit("/f", text("UaXcdYf"))
    with pytest.raises(KeyError):
        decide(found, "/f", second)
    assert len(hunks_of(found, "/f")) == 2


@pytest.mark.parametrize(
    ("row", "at"), [(0, None), (1, 0), (2, 0), (3, None), (4, 1), (5, 1), (6, None)]
)
def test_the_hunk_at_a_row(row: int, at: int | None) -> None:
    """Two new lines at rows 1 and 2, one removed between rows 4 and 5."""
    found = ledger("abcdefg", "aXYcdfg")
    expected = None if at is None else hunks_of(found, "/f")[at]
    assert hunk_at(found, "/f", row) == expected
    assert hunk_at(found, "/other", row) is None


def test_lines_removed_at_the_ends_are_found_there() -> None:
    found = ledger("abcd", "bc")
    first, last = hunks_of(found, "/f")
    assert (hunk_at(found, "/f", 0), hunk_at(found, "/f", 1)) == (first, last)


def test_a_deletion_by_the_user_is_a_decision() -> None:
    found = ledger("abc", "aXc")
    found.record_user_edit("/f", None)
    assert found.files() == []


def test_sessions_have_their_own_lists() -> None:
    found = Ledger()
    found.record_agent_write("/f", text("a"), text("b"), session=1)
    found.record_agent_write("/g", text("a"), text("b"), session=2)
    found.record_agent_write("/g", text("b"), text("c"), session=1)
    assert [s.path for s in summary_of(found, 1)] == ["/f", "/g"]
    assert [s.path for s in summary_of(found, 2)] == ["/g"]
    assert [step.path for step in reject_all(found, 2)] == ["/g"]
    accept_all(found, 1)
    assert found.files() == []


def test_unreject_merges_with_later_user_edits() -> None:
    found = ledger("abcdef", "aXcdef")
    reject_all(found)
    assert found.unreject_paths() == ["/f"]
    assert found.unreject({"/f": text("abcdeU")}) == [
        Restoration("/f", text("abcdeU"), text("aXcdeU")),
    ]
    assert base(found) == "abcdeU"
    assert (found.unreject_paths(), found.unreject({})) == ([], [])


def test_unreject_keeps_later_accepts() -> None:
    found = ledger("abcdefg", "aXcdeYg")
    first, _ = hunks_of(found, "/f")
    found.reject("/f", first)
    found.accept("/f")
    (step,) = found.unreject({"/f": text("abcdeYg")})
    assert step.after == text("aXcdeYg")
    assert base(found) == "abcdeYg"


def test_an_impossible_unreject_is_reported_and_can_be_repeated() -> None:
    found = ledger("abc", "aXc")
    reject_all(found)
    (step,) = found.unreject({"/f": text("aUc")})
    assert step.before == step.after == text("aUc")
    assert step.note.endswith("line 2 was changed by the user and by the agent")
    assert found.files() == []
    (step,) = found.unreject({"/f": text("abc")})
    assert step == Restoration("/f", text("abc"), text("aXc"))


@pytest.mark.parametrize("before", ["created", "deleted", "renamed", "renamed, and a new one"])
def test_unreject_does_not_change_a_replaced_file(before: str) -> None:
    found = Ledger()
    present: dict[str, Text | None] = {"/f": text("theirs"), "/g": None}
    if before == "created":
        found.record_agent_write("/f", None, text("ab"))
    elif before == "deleted":
        found.record_agent_deletion("/f", text("ab"))
    else:
        found.record_agent_move("/f", "/g", text("ab"))
    reject_all(found)
    if before == "renamed, and a new one":
        present["/f"] = text("ab")
        found.record_agent_write("/f", text("a"), text("ab"))
    pending = found.files()
    for step in found.unreject(present):
        assert step.before == step.after == present[step.path]
        assert "has changed since" in step.note
    assert found.files() == pending
    assert "/f" in found.unreject_paths()


def test_a_limited_number_of_rejects_can_be_undone_one_by_one() -> None:
    found = Ledger()
    for row in range(MAX_REJECTS + 5):
        found.record_agent_write(f"/{row}", text("a"), text("b"))
        found.reject(f"/{row}")
    taken = 0
    while found.unreject_paths():
        found.unreject(dict.fromkeys(found.unreject_paths(), text("a")))
        taken += 1
    assert taken == MAX_REJECTS == len(found.files())


@pytest.mark.parametrize(
    ("formatted", "kept"),
    [
        ("aXYcdeF", "abcdeF"),  # far away: as if the user had made the edit
        ("aXFcde", "abcde"),
        ("aXYFcde", "abcde"),  # a line at the edge of the hunk belongs to it
        ("aXYFde", "abcde"),
        ("FXYcde", "abcde"),
    ],
)
def test_formatting_of_a_hunk_belongs_to_the_agent(formatted: str, kept: str) -> None:
    found = ledger("abcde", "aXYcde")
    found.record_formatting("/f", text("aXYcde"), text(formatted))
    assert base(found) == kept
    found.record_formatting("/other", text("a"), text("b"))
    assert found.get("/other") is None


@pytest.mark.parametrize(
    ("committed", "left"),
    [
        ("aXcdeYg", 0),
        ("aXcdefg", 1),
        ("abcdefg", 2),
        ("aXUcdeYg", 1),  # the commit has another line at the edge of the first hunk
        ("aUXcdeYg", 1),
        ("0aXcdeYg", 0),
    ],
)
def test_a_commit_accepts_the_hunks_that_it_contains(committed: str, left: int) -> None:
    found = ledger("abcdefg", "aXcdeYg")
    found.accept_committed("/f", text(committed))
    assert len(hunks_of(found, "/f")) == left


def test_a_commit_accepts_files() -> None:
    found = ledger(None, "abc")
    found.accept_committed("/f", text("ab"))
    assert (base(found), entry(found).kind) == ("ab", "modified")
    found.accept_committed("/f", text("abc"))
    found.record_agent_move("/g", "/h", text("ab"))
    found.accept_committed("/h", text("ab"))
    found.record_agent_deletion("/d", text("ab"))
    found.accept_committed("/d", text("ab"))
    assert [s.path for s in summary_of(found)] == ["/d"]
    found.accept_committed("/d", None)
    found.accept_committed("/d", None)
    assert found.files() == []


def conflicting() -> Ledger:
    found = Ledger()
    found.record_conflict("/f", text("aUc"), [(False, text("abc"), text("aXYc"))], session=1)
    return found


def test_a_conflict_is_listed_and_changes_no_text() -> None:
    assert summary_of(conflicting(), 1) == [Summary("/f", 1, 2, 1, "modified", conflict=True)]
    assert hunks_of(conflicting(), "/f") == []


def test_a_conflict_is_decided_whole() -> None:
    accepted, rejected = conflicting(), conflicting()
    assert accepted.accept("/f") == [Restoration("/f", text("aUc"), text("aXYc"))]
    (step,) = rejected.reject("/f")
    assert step.before == step.after == text("aUc")
    assert "kept" in step.note
    assert accepted.files() == rejected.files() == []
    rejected.unreject({"/f": text("aUc")})
    assert rejected.files() == conflicting().files()


@pytest.mark.parametrize("how", ["resolved", "typed the agent's", "the agent wrote what was there"])
def test_a_conflict_ends(how: str) -> None:
    found = conflicting()
    match how:
        case "resolved":
            found.resolve_conflict("/f", text("aUXYc"))
        case "typed the agent's":
            found.record_user_edit("/f", text("aXYc"))
        case _:
            found.record_agent_write("/f", text("aUc"), text("aUc"))
    assert found.files() == []
    found.resolve_conflict("/f", EMPTY)
    assert found.files() == []
