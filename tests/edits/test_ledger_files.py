"""The ledger of files: creations, deletions and renames by agents, and their undo."""

from __future__ import annotations

import msgspec
import pytest

from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.pending import Restoration, Summary
from tests.support.ledger_shorthand import (
    base,
    entry,
    hunks_of,
    ledger,
    reject_all,
    summary_of,
    text,
)


def test_reject_deletes_a_created_file_and_unreject_restores_it() -> None:
    found = ledger(None, "ab")
    created = entry(found)
    assert found.reject("/f", hunks_of(found, "/f")[0]) == [Restoration("/f", text("ab"), None)]
    assert found.files() == []
    assert found.unreject({"/f": None}) == [Restoration("/f", None, text("ab"))]
    assert found.files() == [created]


@pytest.mark.parametrize("later", ["nothing", "agent writes", "formatter"])
def test_a_created_file_that_the_user_changed_is_kept(later: str) -> None:
    found = ledger(None, "ab")
    found.record_user_edit("/f", text("abU"))
    live = text("abU")
    if later == "agent writes":
        live = text("aXbU")
        found.record_agent_write("/f", text("abU"), live)
    if later == "formatter":
        live = text("abUF")
        found.record_formatting("/f", text("abU"), live)
    (step,) = found.reject("/f")
    assert (step.before, step.after) == (live, live)
    assert "kept" in step.note
    assert found.files() == []


def test_a_created_file_with_the_users_change_undone_is_deleted() -> None:
    found = ledger(None, "ab")
    found.record_user_edit("/f", text("abU"))
    found.record_user_edit("/f", text("ab"))
    found.record_formatting("/f", text("ab"), text("aB"))
    assert found.reject("/f") == [Restoration("/f", text("aB"), None)]


def test_reject_restores_a_deleted_file() -> None:
    found = Ledger()
    found.record_agent_deletion("/f", text("abc"), session=3)
    assert summary_of(found, 3) == [Summary("/f", 1, 0, 3, "deleted", conflict=False)]
    assert found.reject("/f") == [Restoration("/f", None, text("abc"))]
    assert found.unreject({"/f": text("abc")}) == [Restoration("/f", text("abc"), None)]
    assert found.accept("/f", hunks_of(found, "/f")[0]) == []
    assert found.files() == []


def test_a_deleted_file_keeps_its_accepted_text_only() -> None:
    found = ledger("abc", "aXc")
    found.record_agent_deletion("/f", text("aXc"))
    assert base(found) == "abc"
    found.record_agent_write("/f", None, text("new"))
    assert (base(found), entry(found).kind) == ("abc", "modified")


def test_a_created_file_that_the_agent_deletes_is_not_pending() -> None:
    found = ledger(None, "ab")
    found.record_agent_deletion("/f", text("ab"))
    assert found.files() == []


def test_the_deletion_of_a_created_file_with_user_edits_is_pending() -> None:
    found = ledger(None, "ab")
    found.record_agent_deletion("/f", text("abU"))
    assert found.reject("/f") == [Restoration("/f", None, text("abU"))]


def test_reject_undoes_a_whole_rename() -> None:
    found = ledger("abcdef", "aXcdef")
    found.record_agent_move("/f", "/g", text("aXcdef"))
    found.record_user_edit("/g", text("aXcdeU"))
    before = entry(found, "/g")
    assert (before.origin, base(found, "/g")) == ("/f", "abcdeU")
    steps = found.reject("/g")
    assert steps == [
        Restoration("/f", None, text("abcdeU")),
        Restoration("/g", text("aXcdeU"), None),
    ]
    back = found.unreject({"/f": text("abcdeU"), "/g": None})
    assert back == [
        Restoration("/g", None, text("aXcdeU")),
        Restoration("/f", text("abcdeU"), None),
    ]
    assert found.files() == [before]


def test_a_plain_rename_is_pending_until_accepted() -> None:
    found = Ledger()
    found.record_agent_move("/f", "/g", text("ab"))
    assert [(s.path, s.hunks, s.kind) for s in summary_of(found)] == [("/g", 0, "modified")]
    found.record_agent_move("/g", "/h", text("ab"))
    assert entry(found, "/h").origin == "/f"
    found.record_agent_move("/h", "/f", text("ab"))
    assert found.files() == []


def test_a_renamed_file_that_is_deleted_counts_as_deleted_at_its_old_path() -> None:
    found = Ledger()
    found.record_agent_move("/f", "/g", text("ab"))
    found.record_agent_deletion("/g", text("ab"))
    assert reject_all(found) == [Restoration("/f", None, text("ab"))]


@pytest.mark.parametrize("how", ["writes", "renames"])
def test_a_new_file_at_the_old_path_splits_a_rename(how: str) -> None:
    found = Ledger()
    found.record_agent_move("/f", "/g", text("ab"))
    if how == "writes":
        found.record_agent_write("/f", None, text("new"))
    else:
        found.record_agent_move("/h", "/f", text("new"))
    assert (entry(found, "/g").kind, entry(found, "/g").origin) == ("created", None)
    steps = {step.path: step for step in reject_all(found)}
    assert steps["/g"] == Restoration("/g", text("ab"), None)
    assert steps["/f"] == Restoration("/f", text("new"), text("ab"))


def test_a_created_file_stays_created_when_renamed() -> None:
    found = ledger(None, "ab")
    found.record_agent_move("/f", "/g", text("ab"))
    assert reject_all(found) == [Restoration("/g", text("ab"), None)]


def moved(found: Ledger, old: str, new: str, lines: str, created_first: bool = False) -> bool:
    """Move a file with this text as the agent, with both ends reported one by one."""
    was = found.get(old)
    if created_first:
        found.record_agent_write(new, None, text(lines), 2)
    found.record_agent_deletion(old, text(lines), 1)
    if not created_first:
        found.record_agent_write(new, None, text(lines), 2)
    return found.join_move(old, new, text(lines), was, 1)


@pytest.mark.parametrize("created_first", [False, True])
def test_a_move_that_is_reported_in_parts_is_a_rename(created_first: bool) -> None:
    plain = Ledger()
    plain.record_agent_write("/f", text("abcdef"), text("aXcdef"), 3)
    found = Ledger()
    found.record_agent_write("/f", text("abcdef"), text("aXcdef"), 3)
    plain.record_agent_move("/f", "/g", text("aXcdef"))
    assert moved(found, "/f", "/g", "aXcdef", created_first)
    assert summary_of(found) == summary_of(plain)
    assert found.get("/g") == msgspec.structs.replace(
        entry(plain, "/g"), writers=frozenset({1, 2, 3})
    )
    assert moved(found, "/g", "/h", "aXcdef", created_first)
    assert (entry(found, "/h").origin, base(found, "/h")) == ("/f", "abcdef")


def test_user_edits_of_a_moved_file_belong_to_the_user() -> None:
    found = Ledger()
    found.record_agent_write("/g", None, text("abc"))
    found.record_user_edit("/g", text("abcU"))
    found.record_agent_deletion("/f", text("abc"))
    assert found.join_move("/f", "/g", text("abc"), None)
    assert found.reject("/g") == [
        Restoration("/f", None, text("abcU")),
        Restoration("/g", text("abcU"), None),
    ]


def test_an_agents_change_to_a_new_file_stays_pending_when_its_model_is_deleted() -> None:
    for edits in ("abcU",), ():
        found = Ledger()
        found.record_agent_write("/g", None, text("abc"))
        for edited in edits:
            found.record_user_edit("/g", text(edited))
        before = edits[-1] if edits else "abc"
        found.record_agent_write("/g", text(before), text("X" + before))
        found.record_agent_deletion("/f", text("abc"))
        assert not found.join_move("/f", "/g", text("abc"), None)
        assert [(e.path, e.kind) for e in found.files()] == [("/g", "created"), ("/f", "deleted")]


def test_a_decided_deletion_is_not_part_of_a_move() -> None:
    for decided in "/f", "/g":
        found = Ledger()
        found.record_agent_write("/g", None, text("abc"))
        found.record_agent_deletion("/f", text("abc"))
        found.accept(decided)
        assert not found.join_move("/f", "/g", text("abc"), None)
        assert [e.path for e in found.files()] == [{"/f": "/g", "/g": "/f"}[decided]]


def test_a_created_file_with_user_edits_stays_created_when_moved() -> None:
    found = ledger(None, "ab")
    found.record_user_edit("/f", text("abU"))
    assert moved(found, "/f", "/g", "abU")
    assert (entry(found, "/g").kind, entry(found, "/g").is_user_edited) == ("created", True)
