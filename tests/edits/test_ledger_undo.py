"""Undo by the user: lines of the agent that return are the agent's again."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_nvim.edits import undo_history
from acp_nvim.edits.hunks import Hunk, apply, invert
from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import from_keys, from_lines, keys
from tests.support.ledger_shorthand import base, entry, hunks_of, ledger, text


def pending(found: Ledger) -> list[tuple[int, int, str]]:
    """Return the hunks: base rows and their current lines."""
    return [(hunk.start, hunk.end, "".join(hunk.lines)) for hunk in hunks_of(found, "/f")]


def test_an_undone_diffget_is_pending_again() -> None:
    """`do` in diff mode restores the line of the base, `u` that of the agent."""
    found = ledger("abc", "aXc")
    found.record_user_edit("/f", text("abc"), is_undo=True)
    assert found.get("/f") is None
    assert found.tracked_entry("/f") is not None
    found.record_user_edit("/f", text("aXc"), is_undo=True)
    assert pending(found) == [(1, 2, "X")]
    assert entry(found).writers == {0}


def test_a_redone_diffget_is_a_reject_again() -> None:
    found = ledger("abc", "aXc")
    for now in ("abc", "aXc", "abc"):
        found.record_user_edit("/f", text(now))
    assert found.get("/f") is None
    found.record_user_edit("/f", text("aXc"))
    assert pending(found) == [(1, 2, "X")]


def test_a_reject_is_undone_in_the_buffer() -> None:
    found = ledger("abcde", "aXcYe")
    found.reject("/f", hunks_of(found, "/f")[0])
    assert pending(found) == [(3, 4, "Y")]
    found.record_user_edit("/f", text("aXcYe"))
    assert pending(found) == [(1, 2, "X"), (3, 4, "Y")]
    found.reject("/f")
    found.record_user_edit("/f", text("aXcYe"))
    assert pending(found) == [(1, 2, "X"), (3, 4, "Y")]


def test_steps_are_undone_one_by_one_with_the_users_own_between() -> None:
    found = ledger("abcde", "aXcYe")
    steps = ["aXcYe", "abcYe", "abcYem", "abcdem"]
    for now in [*steps[1:], *steps[-2::-1]]:
        found.record_user_edit("/f", text(now))
    assert pending(found) == [(1, 2, "X"), (3, 4, "Y")]
    assert base(found) == "abcde"


def test_steps_are_undone_at_once() -> None:
    found = ledger("abcde", "aXcYe")
    for now in ["abcYe", "abcdem", "nabcdem", "aXcYe"]:
        found.record_user_edit("/f", text(now))
    assert pending(found) == [(1, 2, "X"), (3, 4, "Y")]
    assert base(found) == "abcde"


@pytest.mark.parametrize("is_rejected", [False, True])
def test_writes_that_are_undone_at_once_are_redone_one_by_one(is_rejected: bool) -> None:
    """`:undo 0` and then a redo of each write, with a line of the user between the writes."""
    found = ledger("abcdefg", "aXcdefg")
    found.record_user_edit("/f", text("aXcdefU"))
    found.record_agent_write("/f", text("aXcdefU"), text("aXYdefU"))
    found.record_agent_write("/f", text("aXYdefU"), text("aXYdfU"))
    if is_rejected:
        found.reject("/f")
    found.record_user_edit("/f", text("abcdefg"))
    assert found.get("/f") is None
    for now, its_base in [
        ("aXcdefg", "abcdefg"),
        ("aXcdefU", "abcdefU"),
        ("aXYdefU", "abcdefU"),
        ("aXYdfU", "abcdefU"),
    ]:
        found.record_user_edit("/f", text(now))
        assert base(found) == its_base
    for now in ["aXYdefU", "aXcdefU", "aXcdefg"]:
        found.record_user_edit("/f", text(now))
    assert pending(found) == [(1, 2, "X")]
    found.record_user_edit("/f", text("abcdefg"))
    found.record_agent_write("/f", text("abcdefg"), text("abcdefZ"))
    found.accept("/f")
    found.record_user_edit("/f", text("abcdefg"))
    found.record_user_edit("/f", text("abcdefZ"))
    assert found.get("/f") is None


def test_many_writes_that_are_undone_at_once_are_redone_one_by_one() -> None:
    texts = ["abcdefghijklmnop"[:n].upper() + "abcdefghijklmnop"[n:] for n in range(17)]
    found = ledger(*texts[:2])
    for before, after in pairwise(texts[1:]):
        found.record_agent_write("/f", text(before), text(after))
    found.record_user_edit("/f", text(texts[0]), is_undo=True)
    assert found.get("/f") is None
    for now in texts[1:]:
        found.record_user_edit("/f", text(now), is_undo=True)
        assert base(found) == texts[0]


@pytest.mark.parametrize(
    ("now", "left"), [("abXdef", [(2, 2, "X")]), ("abdefg", []), ("abXdefg", [(2, 2, "X")])]
)
def test_a_part_of_a_change_is_undone(now: str, left: list[tuple[int, int, str]]) -> None:
    """Neovim reports all changes made by a macro at once and undoes them one by one."""
    found = ledger("abdefg", "abXdefg")
    found.record_user_edit("/f", text("abdef"))
    assert found.get("/f") is None
    found.record_user_edit("/f", text(now), is_undo=True)
    assert pending(found) == left


def test_a_part_of_a_change_on_another_branch_is_undone() -> None:
    """The agent's removal is pending there."""
    found = ledger("abcdef", "acdef")
    for now, is_undo in [("acdUW", False), ("abcdef", True), ("VabcdeY", False), ("acdUf", True)]:
        found.record_user_edit("/f", text(now), is_undo=is_undo)
    assert (pending(found), base(found)) == ([(1, 2, "")], "abcdUf")


def test_a_removal_of_the_agent_is_redone_in_an_unknown_text() -> None:
    found = ledger("abcdef", "acdef")
    found.record_user_edit("/f", text("abcd"), is_undo=True)
    found.record_user_edit("/f", text("acde"), is_undo=True)
    assert (pending(found), entry(found).writers) == ([(1, 2, "")], frozenset({0}))


def test_a_write_after_an_undone_reject_is_redone() -> None:
    found = ledger("abcde", "aXcde")
    found.reject("/f")
    found.record_agent_write("/f", text("abcde"), text("abcYe"))
    for now in ("aXcde", "abcYe"):
        found.record_user_edit("/f", text(now))
    assert pending(found) == [(3, 4, "Y")]


@pytest.mark.parametrize("is_accepted", [False, True])
def test_nothing_is_pending_in_the_text_from_before_the_first_write(is_accepted: bool) -> None:
    """A later write has replaced lines that the user wrote or accepted."""
    found = ledger("abcde", "aXcde")
    found.record_user_edit("/f", text("aXcdU"))
    if is_accepted:
        found.accept("/f")
    found.record_agent_write("/f", text("aXcdU"), text("aYcdZ"))
    found.record_user_edit("/f", text("abcde"), is_undo=True)
    assert found.get("/f") is None
    found.record_user_edit("/f", text("aYcdZ"), is_undo=True)
    assert base(found) == ("aXcdU" if is_accepted else "abcdU")


@pytest.mark.parametrize("is_undo", [False, True])
def test_only_an_undo_settles_what_is_pending(is_undo: bool) -> None:
    """A formatter may give the file a text that it had before."""
    found = ledger("abcde", "aXcde")
    found.accept("/f")
    found.record_agent_write("/f", text("aXcde"), text("aXcdY"))
    found.record_user_edit("/f", text("abcdY"))
    found.record_agent_write("/f", text("abcdY"), text("aXcdY"))
    assert pending(found) == [(1, 2, "X"), (4, 5, "Y")]
    found.record_user_edit("/f", text("aXcde"), is_undo=is_undo)
    assert pending(found) == ([] if is_undo else [(1, 2, "X")])


def test_an_unknown_line_in_place_of_one_that_the_agent_replaced_is_the_users() -> None:
    """The user typed it before the first write."""
    found = ledger("abcde", "aXcde")
    found.record_user_edit("/f", text("aUcde"), is_undo=True)
    assert found.get("/f") is None


def test_an_unsaved_line_of_the_user_is_theirs_after_a_redo() -> None:
    """The agent has changed the same line after the undo, which left the buffer as the file."""
    found = ledger("abcde", "aXcde")
    found.split_from_disk("/f")
    found.record_user_edit("/f", text("UXcde"))
    found.join_disk("/f", text("aXcde"))
    found.record_agent_write("/f", text("aXcde"), text("YXcde"))
    found.record_user_edit("/f", text("UXcde"), is_undo=True)
    assert base(found) == "Ubcde"


def test_a_block_of_steps_with_a_later_removal_is_undone_at_once() -> None:
    found = ledger("abcde", "aXcYe")
    for now in ["aXnocYe", "anocYe", "aXcYe"]:
        found.record_user_edit("/f", text(now), is_undo=True)
    assert pending(found) == [(1, 2, "X"), (3, 4, "Y")]
    assert base(found) == "abcde"


def test_lines_beside_a_hunk_undone_with_a_removal_belong_to_the_user() -> None:
    found = ledger("abcdefg", "aXcdYfg")
    for now in ["aXnocdfg", "aXcdYfg"]:
        found.record_user_edit("/f", text(now), is_undo=True)
    assert pending(found) == [(1, 2, "X"), (4, 5, "Y")]
    assert base(found) == "abcdefg"


def test_changes_to_another_file_do_not_matter() -> None:
    found = ledger("abcdefg", "aXcdYfg")
    found.record_agent_write("/g", text("abc"), text("aXc"))
    for now in ["aXnocdfg", "aXcdYfg"]:
        found.record_user_edit("/f", text(now), is_undo=True)
        found.record_user_edit("/g", text(f"{len(now)}aXc"))
    assert pending(found) == [(1, 2, "X"), (4, 5, "Y")]
    assert base(found) == "abcdefg"


def test_a_save_that_changes_nothing_does_not_matter() -> None:
    """The file still has the agent's line when the user discards unsaved text."""
    found = ledger("abcd", "abXd")
    found.record_user_edit("/f", text("aUXd"), is_undo=True)
    found.reject("/f")
    found.record_formatting("/f", text("aUcd"), text("aUcd"))
    found.unreject({"/f": text("aUcd")})
    found.record_formatting("/f", text("aUXd"), text("aUXd"))
    found.record_user_edit("/f", text("aUXd"), is_undo=True)
    for now in ["aUcd", "abXd"]:
        found.record_user_edit("/f", text(now), is_undo=True)
    assert pending(found) == [(2, 3, "X")]
    assert base(found) == "abcd"


def test_an_accepted_line_does_not_become_pending_again() -> None:
    found = ledger("abcde", "aXcYe")
    for now in ["abcYe", "aXcYe"]:
        found.record_user_edit("/f", text(now))
    found.accept("/f", hunks_of(found, "/f")[0])
    found.record_user_edit("/f", text("aXcYem"))
    found.record_user_edit("/f", text("aXcYe"))
    assert pending(found) == [(3, 4, "Y")]


def test_accepted_lines_that_are_deleted_and_undone_are_the_users() -> None:
    found = ledger("abcdef", "aXcdYf")
    for now in ["abcdYf", "aXcdYf"]:
        found.record_user_edit("/f", text(now))
    found.accept("/f", hunks_of(found, "/f")[0])
    for now in ["abcdYf", "aXcdYf"]:
        found.record_user_edit("/f", text(now))
    assert pending(found) == [(4, 5, "Y")]
    found.accept("/f")
    for now in ["abcdYf", "abcdef", "aXcdYf"]:
        found.record_user_edit("/f", text(now))
    assert pending(found) == []
    assert found.get("/f") is None


def test_deleted_lines_that_return_belong_to_the_base() -> None:
    """A line of the base is in it once."""
    for after, left in (
        ("abcdef", []),
        ("abdef", [(2, 3, "")]),
        ("abcef", [(3, 4, "")]),
        ("aef", [(1, 4, "")]),
    ):
        found = ledger("abcdef", "aef")
        found.record_user_edit("/f", text(after))
        assert pending(found) == left
        if left:
            assert base(found) == "abcdef"
    found = ledger("abcdef", "abcefX")
    found.record_user_edit("/f", text("abcdef"))
    assert found.get("/f") is None


def test_user_lines_at_a_deletion_of_the_agent_belong_to_the_user() -> None:
    found = ledger("abcdef", "aef")
    found.record_user_edit("/f", text("aUef"))
    assert base(found) == "abcdUef"
    found.reject("/f")
    assert found.get("/f") is None


def test_a_line_that_the_agent_removed_returns_as_the_agents() -> None:
    found = ledger("abcde", "aXcde")
    found.record_agent_write("/f", text("aXcde"), text("abcde"))
    assert found.get("/f") is None
    found.record_user_edit("/f", text("aXcde"))
    assert pending(found) == [(1, 2, "X")]


def test_a_part_of_a_hunk_can_return() -> None:
    found = ledger("abcd", "aXYd")
    found.record_user_edit("/f", text("abYd"))
    assert pending(found) == [(2, 3, "Y")]
    found.record_user_edit("/f", text("aXYd"))
    assert pending(found) == [(1, 3, "XY")]


def test_a_restored_deletion_is_pending_again() -> None:
    found = ledger("abcd", "ad")
    found.record_user_edit("/f", text("abcd"))
    found.record_user_edit("/f", text("ad"))
    assert pending(found) == [(1, 3, "")]


def test_later_accepts_stay() -> None:
    found = ledger("abcde", "aXcYe")
    found.record_user_edit("/f", text("abcYe"))
    found.accept("/f")
    found.record_user_edit("/f", text("aXcYe"))
    assert pending(found) == [(1, 2, "X")]
    assert base(found) == "abcYe"


def test_the_same_line_in_another_place_belongs_to_the_user() -> None:
    found = ledger("abc", "aXc")
    found.record_user_edit("/f", text("abc"))
    found.record_user_edit("/f", text("abcX"))
    assert found.get("/f") is None
    found.record_user_edit("/f", text("aXcX"))
    assert found.get("/f") is None, "not the text that was there"


def test_the_steps_of_a_missing_file_are_forgotten() -> None:
    found = ledger("abc", "aXc")
    found.record_user_edit("/f", text("abc"))
    found.record_user_edit("/f", None)
    assert found.tracked_entry("/f") is None


def test_files_without_such_steps_are_not_followed() -> None:
    found = ledger("abc", "aXc")
    found.accept("/f")
    assert found.tracked_entry("/f") is None


lines = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8)


@settings(deadline=None)
@given(lines, lines, st.lists(st.integers(0, 7), max_size=6))
def test_undoing_every_step_restores_every_hunk(
    before: list[str], after: list[str], picks: list[int]
) -> None:
    """For any order of `do` steps, undone backwards, base and hunks are those of the start."""
    found = Ledger()
    found.record_agent_write("/f", from_lines(before), from_lines(after))
    if found.get("/f") is None:
        return
    wanted = entry(found)
    texts = [from_lines(after)]
    for pick in picks:
        now = found.get("/f")
        if now is None:
            break
        assert now.live is not None
        hunk = now._marked_hunks[pick % len(now._marked_hunks)]
        [back] = invert(keys(now.base), [hunk])
        obtained = from_keys(apply(keys(now.live), [back]))
        assert obtained is not None
        found.record_user_edit("/f", obtained)
        texts.append(obtained)
    for text_before in reversed(texts[:-1]):
        found.record_user_edit("/f", text_before)
    assert (entry(found).base, entry(found).live) == (wanted.base, wanted.live)


def test_text_discarded_beside_a_removal_belongs_to_the_user() -> None:
    here = Pending("/f", text("Xcd"), text("Xcd"), text("Xcd"))
    removal = Hunk(1, 2, (), 1)  # of b, which was pending earlier in "acd"
    assert here.edited(text("acd"), restorable=[removal]).hunks == []


def test_a_restored_removal_of_the_agent_is_pending_again() -> None:
    here = Pending("/f", text("abcd"), text("abcd"), text("abcd"))
    removal = Hunk(1, 2, (), 1)
    assert here.edited(text("acd"), restorable=[removal]).hunks == [removal]


def test_text_discarded_beside_agent_lines_belongs_to_the_user() -> None:
    here = Pending("/f", text("Xbc"), text("Xbc"), text("Xbc"))
    lines = Hunk(1, 2, ("b",), 1)  # the agent's earlier, and accepted since
    assert here.edited(text("abc"), restorable=[lines]).hunks == []


@pytest.mark.parametrize(
    ("restored", "base_text"),
    [
        ("abcXe", "abcXe"),  # with the next line changed
        ("aXcde", "aXcde"),  # with the previous line changed
        ("abcXde", "abcXde"),  # with a new line
        ("abXe", "abcXe"),  # the line stays removed
    ],
)
def test_a_line_restored_with_its_neighbour_is_not_a_removal(restored: str, base_text: str) -> None:
    edits = ledger("abcde", "abde")
    edits.record_user_edit("/f", text(restored))
    found = edits.get("/f")
    assert (restored if found is None else base(edits)) == base_text


@pytest.mark.parametrize(
    ("head", "accepted", "both"),
    [("abcde", "aXcde", "aXYde"), ("abcde", "abXcde", "abXYcde"), ("abcde", "abYde", "aXYde")],
)
def test_a_text_from_before_accepted_lines_beside_a_hunk_settles_both(
    head: str, accepted: str, both: str
) -> None:
    """`git checkout` of the file restores the lines of both in one change."""
    found = ledger(head, accepted)
    found.accept("/f")
    found.record_agent_write("/f", text(accepted), text(both))
    assert found.get("/f") is not None
    found.record_user_edit("/f", text(head))
    assert found.get("/f") is None
    found.record_user_edit("/f", text(both))
    assert len(hunks_of(found, "/f")) == 1


def test_lines_that_the_user_changes_together_with_a_hunk_are_split() -> None:
    found = ledger("abcdefg", "abcXefg")
    found.record_user_edit("/f", text("aBcYefG"))
    assert (base(found), pending(found)) == ("aBcdefG", [(3, 4, "Y")])


@pytest.mark.parametrize(
    ("written", "left"), [("abXcd", "ad"), ("abXcd", "d"), ("abXcYd", "a"), ("abXcd", "")]
)
def test_lines_that_the_user_deletes_together_with_added_ones_stay_deleted(
    written: str, left: str
) -> None:
    """Nothing of the agent is left that a reject could take back."""
    found = ledger("abcd", written)
    found.record_user_edit("/f", text(left), is_undo=True)
    assert found.get("/f") is None
    found.record_user_edit("/f", text(written), is_undo=True)
    assert pending(found) == pending(ledger("abcd", written))


@pytest.mark.parametrize(
    ("written", "after"),
    [
        ("a foo|X foo|c|d", "a bar|X bar|c|d"),  # a substitution
        ("a foo|x|c|d", "A FOO|X|c|d"),
        ("a foo|X foo|c|d", "a foo X foo|c|d"),  # joined lines
        ("a foo|X foo|c|d", "X bar|c|d"),
        ("a foo|c|X|d", "a foo|X c|d"),
        ("a foo|Y|d", "a bar|Y bar|c|d"),
    ],
)
def test_text_of_the_agent_that_the_user_changes_with_a_line_beside_it_is_pending(
    written: str, after: str
) -> None:
    found = Ledger()
    before, live, changed = (
        from_lines(lines.split("|")) for lines in ("a foo|c|d", written, after)
    )
    found.record_agent_write("/f", before, live)
    found.record_user_edit("/f", changed)
    assert entry(found).base == before


def test_fewer_texts_of_a_large_file_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo_history, "MAX_LINES", 100)
    for lines, count in ((2, 50), (5, 20), (1000, undo_history.MAX_TOGETHER)):
        history = undo_history.UndoHistory()
        for n in range(60):
            live = from_lines([f"{n}", *["same"] * (lines - 1)])
            history.record_write(Pending("/f", live, live, live), Pending("/f", live, live, live))
        assert len(history.entries_of("/f")) == count
