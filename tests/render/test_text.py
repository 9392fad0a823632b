"""Text of an agent cannot disturb the screen or imitate other text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.render.text import format_size, one_line, visible

SPELLED = [
    ("\x00", "^@"),
    ("\x07", "^G"),
    ("\x1b[31mred\x1b[0m", "^[[31mred^[[0m"),
    ("\x7f", "^?"),
    ("\x80", "<U+0080>"),
    ("\x9b", "<U+009B>"),
    ("a\rb", "a^Mb"),
    ("a\r\nb", "a\nb"),
    ("\x0b\x0c", "^K^L"),
    ("\u202eevil", "<U+202E>evil"),
    ("\u2066a\u2069", "<U+2066>a<U+2069>"),
    ("\u200e\u200f\u061c", "<U+200E><U+200F><U+061C>"),
    ("a\u200bb", "a<U+200B>b"),
    ("\u2028\u2029", "<U+2028><U+2029>"),
    ("\ufeffbom", "<U+FEFF>bom"),
    ("\ud800", "\ufffd"),
    ("rm\u00ad -\u200drf", "rm<U+00AD> -<U+200D>rf"),
    ("\u115f\u3164\uffa0", "<U+115F><U+3164><U+FFA0>"),
    ("a\ufe0f\U000e0041\u2061", "a<U+FE0F><U+E0041><U+2061>"),
    ("\ufff0\U0001bca0\U0001d173", "<U+FFF0><U+1BCA0><U+1D173>"),
    ("\u202e\u200d\u4e2d", "<U+202E><U+200D>\u4e2d"),
]

KEPT = [
    "",
    "plain",
    "tab\there",
    "line\nline",
    "é中🙂",
    "👩\u200d🚀",
    "می\u200cخواهم",
    "\u00a0",
    "❤\ufe0f\u200d🔥",
    "1\ufe0f\u20e3",
]


@pytest.mark.parametrize(("text", "shown"), SPELLED)
def test_unsafe_characters_are_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize("text", KEPT)
def test_safe_characters_stay(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize("code", range(0x80))
def test_controls_in_carets(code: int) -> None:
    """Each ASCII character alone, beside other ASCII text, and beside other text."""
    character = chr(code)
    shown = character if character in "\t\n" or 0x20 <= code < 0x7F else f"^{chr(code ^ 0x40)}"
    assert visible(character) == shown
    assert visible(f"a{character}b") == f"a{shown}b"
    assert visible(f"é{character}b") == f"é{shown}b"


@given(st.text(st.characters()))
def test_nothing_unsafe_is_left(text: str) -> None:
    shown = visible(text)
    assert all(unicodedata.category(c) != "Cc" or c in "\t\n" for c in shown)
    assert all(unicodedata.bidirectional(c) not in BIDI for c in shown)
    shown.encode()


BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(st.text(st.characters()))
def test_cleaning_is_idempotent(text: str) -> None:
    assert visible(visible(text)) == visible(text)


@given(st.text(st.characters(), max_size=400), st.integers(2, 300))
def test_one_line_is_one_short_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line
    assert line == line.strip()


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (12_000, "12 KiB"), (3_565_158, "3.4 MiB")],
)
def test_size(count: int, shown: str) -> None:
    assert format_size(count) == shown
