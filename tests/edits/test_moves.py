"""Moves, found among removed and created files."""

from __future__ import annotations

from acp_nvim.edits.moves import Move, Moves
from acp_nvim.edits.text import EMPTY
from tests.support.ledger_shorthand import text


def test_a_move_is_found_in_either_order() -> None:
    for order in (0, 1):
        moves = Moves()
        parts = [("/f", text("ab"), None), ("/g", None, text("ab"))]
        assert moves.add(*parts[order], None) is None
        assert moves.add(*parts[1 - order], None) == Move("/f", "/g", text("ab"), None)
        assert moves.add("/h", None, text("ab"), None) is None


def test_other_text_and_empty_files_are_not_moves() -> None:
    moves = Moves()
    assert moves.add("/f", text("ab"), None, None) is None
    assert moves.add("/g", None, text("ac"), None) is None
    assert moves.add("/e", EMPTY, None, None) is None
    assert moves.add("/d", None, EMPTY, None) is None


def test_a_file_that_changed_since_is_not_a_move() -> None:
    moves = Moves()
    assert moves.add("/g", None, text("ab"), None) is None
    assert moves.add("/g", text("ab"), text("ac"), None) is None
    assert moves.add("/f", text("ab"), None, None) is None
    assert moves.add("/f", None, text("ab"), None) is None
    assert moves.add("/h", None, text("ab"), None) is None


def test_among_several_files_the_same_name_is_the_move() -> None:
    moves = Moves()
    for path in "/a/f", "/a/g":
        moves.add(path, text("ab"), None, None)
    assert moves.add("/b/h", None, text("ab"), None) is None
    assert moves.add("/b/g", None, text("ab"), None) == Move("/a/g", "/b/g", text("ab"), None)
