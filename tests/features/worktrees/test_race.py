"""Hunks that are taken from a racer's file, by the rows of its text."""

from __future__ import annotations

import pytest

from acp_nvim.edits.hunks import diff
from acp_nvim.edits.text import parse
from acp_nvim.features.worktrees.race import line_hunks, partial_change
from acp_nvim.files.writes.change_set import FileChange

BEFORE = "a\nb\nc\nd\ne\n"
AFTER = "A\nb\nnew\nc\n"


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        (0, 1, "A\nb\nc\nd\ne\n"),
        (1, 2, BEFORE),
        (2, 3, "a\nb\nnew\nc\nd\ne\n"),
        (3, 4, "a\nb\nc\n"),
        (0, 3, "A\nb\nnew\nc\nd\ne\n"),
        (0, 4, AFTER),
    ],
)
def test_hunks_are_chosen_by_rows(first: int, last: int, text: str) -> None:
    change = FileChange("/x", parse(BEFORE), parse(AFTER))
    assert partial_change(change, diff, first, last).after == parse(text)


@pytest.mark.parametrize("texts", [(None, parse("a\n")), (parse("a\n"), None)])
def test_a_new_or_deleted_file_is_taken_as_a_whole(texts: tuple[None, None]) -> None:
    assert partial_change(FileChange("/x", *texts), diff, 0, 1).after == texts[1]


def test_a_conflict_is_decided_line_by_line() -> None:
    change = FileChange("/x", parse("ONE\nTWO\n3\n"), parse("uno\n2\n3\n"))
    assert partial_change(change, line_hunks, 0, 1).after == parse("uno\nTWO\n3\n")
