"""How a prompt is shown, and the blocks that an agent gets of it."""

from __future__ import annotations

import pytest

from acp_nvim.protocol import schema
from acp_nvim.session.prompts import LINE, Prompt, Variable, shown


@pytest.mark.parametrize("text", ["", "a\nb", "x" * LINE, "\n" * (2 * LINE), "é" * LINE + "\nb"])
def test_what_is_short_is_shown_as_it_is(text: str) -> None:
    assert shown(text) == text


def test_of_a_long_line_the_beginning_is_shown() -> None:
    assert shown(f"a\n{'x' * (LINE + 1)}\nb") == f"a\n{'x' * LINE}… (of {LINE + 1} characters)\nb"


@pytest.mark.parametrize(
    ("text", "first"), [("read a.txt", "read a.txt\n"), ("two\nlines\n", "two\nlines\n")]
)
def test_an_attachment_begins_on_a_line_of_its_own(text: str, first: str) -> None:
    capabilities = schema.PromptCapabilities(embedded_context=True)
    blocks = Prompt(text, [Variable("unsaved", "@@")]).build(capabilities)
    assert blocks[0] == schema.TextContent(first)
    assert Prompt(text).build(capabilities) == [schema.TextContent(text)]
    command = Prompt("/fix", [Variable("unsaved", "@@")]).build(capabilities)
    assert command[-1] == schema.TextContent("/fix")
