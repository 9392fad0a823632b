"""Moves, found among removed and created files."""

from __future__ import annotations

from acp_nvim.edits.moves import Move, Moves
from acp_nvim.edits.text import EMPTY
from tests.support.ledger_shorthand import text


def test_a_move_is_found_in_either_order() -> None:
    for order in (0, 1):
        moves = Moves()
        parts = [("/f", text("ab"), None), ("/g", None, text("ab"))]
        assert moves.noted(*parts[order], None) is None
        assert moves.noted(*parts[1 - order], None) == Move("/f", "/g", text("ab"), None)
        assert moves.noted("/h", None, text("ab"), None) is None


def test_other_text_and_empty_files_are_no_moves() -> None:
    moves = Moves()
    assert moves.noted("/f", text("ab"), None, None) is None
    assert moves.noted("/g", None, text("ac"), None) is None
    assert moves.noted("/e", EMPTY, None, None) is None
    assert moves.noted("/d", None, EMPTY, None) is None


def test_a_file_that_changed_since_is_no_move() -> None:
    moves = Moves()
    assert moves.noted("/g", None, text("ab"), None) is None
    assert moves.noted("/g", text("ab"), text("ac"), None) is None
    assert moves.noted("/f", text("ab"), None, None) is None
    assert moves.noted("/f", None, text("ab"), None) is None
    assert moves.noted("/h", None, text("ab"), None) is None


def test_among_several_files_the_same_name_is_the_move() -> None:
    moves = Moves()
    for path in "/a/f", "/a/g":
        moves.noted(path, text("ab"), None, None)
    assert moves.noted("/b/h", None, text("ab"), None) is None
    assert moves.noted("/b/g", None, text("ab"), None) == Move("/a/g", "/b/g", text("ab"), None)
