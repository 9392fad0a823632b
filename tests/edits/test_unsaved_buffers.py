"""Entries of buffers with unsaved changes, and of their files on disk."""

from __future__ import annotations

import pytest

from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.ledger import Ledger
from tests.support.ledger_shorthand import hunks_of, ledger, text


@pytest.mark.parametrize(
    ("found", "pending"),
    [
        ("abUde", []),  # saved
        ("abUdeF", []),  # saved after more changes
        ("aXcde", [Hunk(1, 2, ("X",), 1)]),  # discarded
        ("aXcdeF", [Hunk(1, 2, ("X",), 1)]),  # discarded, and changed by another program
    ],
)
def test_a_clean_buffer_has_the_edits_of_the_nearer_text(found: str, pending: list[Hunk]) -> None:
    edits = ledger("abcde", "aXcde")
    edits.split_from_disk("/f")
    edits.record_user_edit("/f", text("aXUde"))  # the user's line is next to the agent's
    edits.reject("/f")
    edits.join_disk("/f", text(found))
    edits.record_user_edit("/f", text(found))
    assert hunks_of(edits, "/f") == pending


def test_a_hunk_that_was_put_into_the_base_is_accepted_in_the_file_too() -> None:
    edits = ledger("abcde", "aXcYe")
    edits.split_from_disk("/f")
    edits.record_user_edit("/f", text("aXcYef"))
    edits.set_base("/f", text("aXcdef"))
    edits.join_disk("/f", text("aXcYe"))
    assert hunks_of(edits, "/f") == [Hunk(3, 4, ("Y",), 3)]


@pytest.mark.parametrize(("found", "pending"), [("aXcYeU", 2), ("abcde", 0)])
def test_a_reject_that_was_undone_in_an_unsaved_buffer_is_not_in_the_file(
    found: str, pending: int
) -> None:
    edits = Ledger()
    edits.record_agent_write("/f", text("abcdeU"), text("aXcdeU"), saved=False)
    edits.reject("/f")
    edits.record_agent_write("/f", text("abcdeU"), text("abcYeU"), saved=False)
    edits.unreject({"/f": text("abcYeU")})
    edits.join_disk("/f", text(found))
    edits.record_user_edit("/f", text(found))
    assert len(hunks_of(edits, "/f")) == pending


def test_changes_on_disk_beside_unsaved_text_are_those_of_the_file() -> None:
    edits = Ledger()
    edits.record_agent_write("/f", text("Ubcd"), text("UbcX"), on_disk=(text("abcd"), text("abcX")))
    edits.reject("/f")
    on_disk = text("abcX"), text("YabcX")
    edits.record_agent_write("/f", text("Ubcd"), text("YUbcd"), on_disk=on_disk)
    edits.join_disk("/f", text("YabcX"))
    assert hunks_of(edits, "/f") == [Hunk(0, 0, ("Y",), 0), Hunk(3, 4, ("X",), 4)]


@pytest.mark.parametrize(
    ("found", "pending"),
    [
        ("aXcde", [Hunk(1, 2, ("X",), 1)]),  # saved
        ("aXcdF", [Hunk(1, 2, ("X",), 1)]),  # saved by a formatter
        ("abcde", []),  # discarded
        ("abcdF", []),  # discarded, and changed by another program
    ],
)
def test_an_unsaved_write_over_unsaved_text(found: str, pending: list[Hunk]) -> None:
    edits = Ledger()
    edits.record_agent_write("/f", text("aUcde"), text("aXcde"), saved=False)
    edits.join_disk("/f", text(found))
    edits.record_user_edit("/f", text(found))
    assert hunks_of(edits, "/f") == pending


def test_the_redo_of_a_discarded_write_is_pending_again() -> None:
    edits = Ledger()
    edits.record_agent_write("/f", text("aUcde"), text("aXcde"), saved=False)
    edits.join_disk("/f", text("abcde"))
    edits.record_user_edit("/f", text("abcde"))
    edits.record_user_edit("/f", text("aXcde"))
    assert hunks_of(edits, "/f") == [Hunk(1, 2, ("X",), 1)]


def test_a_reject_whose_undo_was_saved_unreported_is_pending_again() -> None:
    edits = ledger("abcde", "aXcde")
    edits.reject("/f")
    edits.split_from_disk("/f")
    edits.record_user_edit("/f", text("abcdeU"))
    edits.join_disk("/f", text("aXcde"))
    edits.record_user_edit("/f", text("aXcde"))
    assert hunks_of(edits, "/f") == [Hunk(1, 2, ("X",), 1)]
