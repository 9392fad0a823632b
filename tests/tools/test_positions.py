"""Columns in the encodings of language servers (LSP 3.17, positionEncodings)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.tools.asking.positions import to_column
from acp_nvim.tools.ports import Encoding
from tests.support.lsp_positions import to_character

SIZES: dict[Encoding, tuple[str, int]] = {
    "utf-8": ("utf-8", 1),
    "utf-16": ("utf-16-le", 2),
    "utf-32": ("utf-32-le", 4),
}


@pytest.mark.parametrize(("encoding", "end"), [("utf-8", 5), ("utf-16", 3), ("utf-32", 2)])
def test_the_example_of_the_spec(encoding: Encoding, end: int) -> None:
    assert to_character("a𐐀b", 2, encoding) == end
    assert to_column("a𐐀b", end, encoding) == 2
    within = end - 1
    assert to_column("a𐐀b", within, encoding) == 1


@given(st.text(st.characters(codec="utf-8")), st.data())
def test_columns_equal_those_of_pythons_encoders(line: str, data: st.DataObject) -> None:
    column = data.draw(st.integers(0, len(line)))
    for encoding, (codec, unit) in SIZES.items():
        character = len(line[:column].encode(codec)) // unit
        assert to_character(line, column, encoding) == character
        assert to_column(line, character, encoding) == column
        assert to_column(line, 10**6, encoding) == len(line)
