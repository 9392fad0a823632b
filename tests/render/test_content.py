"""Content of every kind as text: links, images, annotations."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.render.content import display_uri, draw_block, line_of, link_target
from tests.agents.turns import IMAGE


def texts(block: Any) -> list[str]:
    return [text for text, _, _ in draw_block(block, {"message": 1, "part": 0})]


@pytest.mark.parametrize(
    ("uri", "target"),
    [
        ("file:///a%20b.py", {"kind": "file", "path": "/a b.py"}),
        ("file:///a.py#L10-L20", {"kind": "file", "path": "/a.py", "line": 10}),
        ("file:///a.py#12", {"kind": "file", "path": "/a.py", "line": 12}),
        ("file:///a.py?line=3", {"kind": "file", "path": "/a.py", "line": 3}),
        ("https://x.org/a#L3", {"kind": "url", "url": "https://x.org/a#L3"}),
        ("vscode://do/this", {"kind": "address", "uri": "vscode://do/this"}),
        ("javascript:alert(1)", {"kind": "address", "uri": "javascript:alert(1)"}),
        ("https://[x", {"kind": "address", "uri": "https://[x"}),
    ],
)
def test_a_link_has_its_target(uri: str, target: dict[str, Any]) -> None:
    assert link_target(uri) == target


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("file:///w/a.py#L2-L5", "a.py:2-5"),
        ("file:///w/a.py#L11-L11", "a.py:11"),
        ("file:///w/a.py#L11", "a.py:11"),
        ("file:///w/a.py", "a.py"),
        ("https://[x#L1", "https://[x#L1"),
    ],
)
def test_a_link_names_its_lines(uri: str, shown: str) -> None:
    assert display_uri(uri, "/w") == shown


def test_a_fragment_that_is_not_a_line() -> None:
    assert line_of("file:///a.md#chapter") is None
    assert line_of("https://[x#L1") is None
    assert line_of("file:///a.md#L" + "9" * 5000) == 999_999_999


@pytest.mark.parametrize(
    ("annotations", "mark"),
    [
        (schema.Annotations(audience=["assistant"]), "for the agent"),
        (schema.Annotations(audience=["user"], priority=0.5), "for you, priority 0.5"),
        (schema.Annotations(last_modified="2026-01-02"), "2026-01-02"),
        (schema.Annotations(audience=["user", "assistant"]), ""),
    ],
)
def test_annotations_are_subtle_marks(annotations: schema.Annotations, mark: str) -> None:
    link = schema.ResourceLink("a", "file:///a", annotations=annotations)
    image = schema.ImageContent(IMAGE, "image/png", annotations=annotations)
    for block in (link, image):
        [row] = texts(block)
        assert row.endswith(f" · {mark}" if mark else (")" if block is link else "]"))


def test_text_of_an_agent_cannot_leave_its_line() -> None:
    nasty = "a\nb\x1b[31m\u202e"
    [row] = texts(schema.ResourceLink(nasty, nasty, description=nasty, title=nasty))
    assert "\n" not in row
    assert "\x1b" not in row
    [row] = texts(schema.ImageContent("AAAA", nasty))
    assert row == "[image a b^[[31m<U+202E>, 3 B]"
