"""How a prompt is shown: a very long line by its beginning."""

from __future__ import annotations

import pytest

from acp_nvim.session.prompts import LINE, shown


@pytest.mark.parametrize("text", ["", "a\nb", "x" * LINE, "\n" * (2 * LINE), "é" * LINE + "\nb"])
def test_what_is_short_is_shown_as_it_is(text: str) -> None:
    assert shown(text) == text


def test_of_a_long_line_the_beginning_is_shown() -> None:
    assert shown(f"a\n{'x' * (LINE + 1)}\nb") == f"a\n{'x' * LINE}… (of {LINE + 1} characters)\nb"
