"""Resources that an agent returns as text in a replayed prompt become resources again."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.session.transcript.messages import restore_blocks
from tests.support.json_chat import JsonChat

CONTEXT = '\n<context ref="file:///w/a.txt">\none\n<b>two</b>\n</context>'


def texts(text: str) -> list[Any]:
    """Return the texts and the (uri, text) of resources in a block."""
    found: list[Any] = []
    for block in restore_blocks(schema.TextContent(text)):
        if isinstance(block, schema.EmbeddedResource):
            resource: Any = block.resource
            found.append((resource.uri, resource.text))
        else:
            found.append(block.text)
    return found


def test_each_context_is_a_resource() -> None:
    resource = ("file:///w/a.txt", "one\n<b>two</b>")
    assert texts(CONTEXT) == [resource]
    assert texts(f"see [@a.txt](file:///w/a.txt){CONTEXT}{CONTEXT}\nand") == [
        "see [@a.txt](file:///w/a.txt)",
        resource,
        resource,
        "and",
    ]


@pytest.mark.parametrize(
    "text", ["plain", '<context ref="x">', "<context>\na\n</context>", '<context ref="x">a']
)
def test_any_other_text_stays(text: str) -> None:
    assert texts(text) == [text]


@pytest.mark.parametrize("version", [1, 2])
def test_a_replayed_attachment_is_folded_to_its_first_lines(version: int) -> None:
    chat = JsonChat(version)
    chat.session.prompt_message = None  # the session is loaded, without a prompt of the client
    lines = "\n".join(f"line {n}" for n in range(40))
    block = f'\n<context ref="file:///w/a.txt">\n{lines}\n</context>'
    for text in ("look at this", block):
        chat.update("user_message_chunk", messageId="u", content={"type": "text", "text": text})
    shown = "\n".join(chat.lines)
    assert "<context" not in shown
    assert "→ a.txt, 40 lines" in shown
    assert "line 39" not in shown
