"""Edits of language servers on texts, with their effect on files."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.edits.text import EMPTY, Text, parse
from acp_nvim.tools.changing.workspace_edit import (
    Point,
    Range,
    Result,
    TextEdit,
    apply,
    apply_operations,
    operations,
    paths_of,
)
from acp_nvim.tools.ports import Encoding
from acp_nvim.tools.server.tool import ToolError
from tests.support.lsp_positions import to_character

ENCODINGS: list[Encoding] = ["utf-8", "utf-16", "utf-32"]


def edit(row: int, column: int, end_row: int, end_column: int, new: str) -> dict[str, Any]:
    """Return a TextEdit as on the wire."""
    start, end = ({"line": r, "character": c} for r, c in ((row, column), (end_row, end_column)))
    return {"range": {"start": start, "end": end}, "newText": new}


def change(path: str, *edits: dict[str, Any], version: int | None = None) -> dict[str, Any]:
    """Return a TextDocumentEdit."""
    document = {"uri": f"file://{path}", "version": version}
    return {"textDocument": document, "edits": list(edits)}


def result_of(
    found: dict[str, Any],
    files: dict[str, str | None],
    versions: dict[str, int] | None = None,
    encoding: Encoding = "utf-16",
) -> Result:
    """Carry out a WorkspaceEdit on these contents."""
    steps = operations(found, lambda path: path)
    assert set(paths_of(steps)) <= set(files)
    texts = {path: None if it is None else parse(it) for path, it in files.items()}
    return apply_operations(steps, texts, versions or {}, encoding)


def contents(result: Result) -> dict[str, str | None]:
    """Return the new contents by path."""
    return {path: None if text is None else str(text) for path, text in result.texts.items()}


# -- one document ---------------------------------------------------------------------------------

CHARACTERS = st.sampled_from("ab é文𝒜\t\r\x0c\u2028")
CONTENTS = st.lists(st.text(CHARACTERS, max_size=6), min_size=1, max_size=6).map("\n".join)


@st.composite
def spans(draw: st.DrawFn) -> tuple[str, list[tuple[int, int, str]]]:
    """Draw a text, and pieces of it that do not overlap, with replacements, in any order."""
    content = draw(CONTENTS)
    cuts = sorted(draw(st.lists(st.integers(0, len(content)), max_size=8)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    found = [(first, last, draw(CONTENTS)) for first, last in pairs]
    return content, found


def model(content: str, found: list[tuple[int, int, str]]) -> str:
    """Return the expected text: replaced from the last piece to the first."""
    for first, last, new in reversed(found):
        content = content[:first] + new + content[last:]
    return content


def point(content: str, at: int, encoding: Encoding) -> Point:
    """Return a server's position of a place in the text."""
    before = content[:at]
    row = before.count("\n")
    start = before.rfind("\n") + 1
    line = content[start:].split("\n", 1)[0]
    return Point(row, to_character(line, at - start, encoding))


@given(spans(), st.sampled_from(ENCODINGS))
def test_edits_equal_those_of_the_plain_text(
    given_: tuple[str, list[tuple[int, int, str]]], encoding: Encoding
) -> None:
    content, found = given_
    edits = [
        TextEdit(Range(point(content, a, encoding), point(content, b, encoding)), new)
        for a, b, new in found
    ]
    text = parse(content)
    if any(line.endswith("\r") for line in text.lines):
        wanted = model(content, found)
    else:
        wanted = model(content, [(a, b, new.replace("\r\n", "\n")) for a, b, new in found])
    assert apply(text, edits, encoding) == parse(wanted)


@given(spans(), st.sampled_from(ENCODINGS), st.randoms(use_true_random=False))
def test_the_order_of_edits_of_different_places_makes_no_difference(
    given_: tuple[str, list[tuple[int, int, str]]], encoding: Encoding, random: Any
) -> None:
    content, found = given_
    apart = [
        one
        for k, one in enumerate(found)
        if all(one[0] > other[1] for other in found[:k]) and one[1] > one[0]
    ]
    edits = [
        TextEdit(Range(point(content, a, encoding), point(content, b, encoding)), new)
        for a, b, new in apart
    ]
    shuffled = edits.copy()
    random.shuffle(shuffled)
    assert apply(parse(content), shuffled, encoding) == apply(parse(content), edits, encoding)


@pytest.mark.parametrize(
    ("content", "edits", "wanted"),
    [
        ("a\nb\n", [edit(0, 0, 0, 0, "x"), edit(0, 0, 0, 0, "y")], "xya\nb\n"),
        ("a\nb\n", [edit(0, 0, 0, 1, "z"), edit(0, 0, 0, 0, "x")], "xz\nb\n"),
        ("a\nb\n", [edit(2, 0, 2, 0, "c\n")], "a\nb\nc\n"),
        ("a\nb\n", [edit(9, 9, 99, 0, "c\n")], "a\nb\nc\n"),
        ("a\nb", [edit(1, 99, 1, 99, "c")], "a\nbc"),
        ("a\nb", [edit(2, 0, 2, 0, "\nc")], "a\nb\nc"),
        ("a\nb\n", [edit(0, 0, 2, 0, "")], ""),
        ("", [edit(0, 0, 0, 0, "a\n")], "a\n"),
        ("a\nb\n", [edit(1, 1, 0, 1, "")], "a\n"),
        ("a\nb\n", [edit(0, 1, 1, 0, "\r\n")], "a\nb\n"),
        ("a\r\nb\r\n", [edit(0, 2, 0, 2, "\r\nc\r")], "a\r\r\nc\r\nb\r\n"),
        ("𝒜b\n", [edit(0, 2, 0, 3, "x")], "𝒜x\n"),
    ],
)
def test_text_edits(content: str, edits: list[dict[str, Any]], wanted: str) -> None:
    assert contents(result_of({"changes": {"file:///a": edits}}, {"/a": content})).get(
        "/a", content
    ) == (wanted)


def test_edits_of_the_same_place_are_refused() -> None:
    both = [edit(0, 0, 0, 3, "x"), edit(0, 2, 0, 4, "y")]
    with pytest.raises(ToolError, match="overlap"):
        result_of({"changes": {"file:///a": both}}, {"/a": "abcdef\n"})


@pytest.mark.parametrize(
    "strange",
    [
        {"range": edit(0, 0, 0, 0, "")["range"], "snippet": {"kind": "snippet", "value": "$0"}},
        {**edit(0, 0, 0, 0, "$0"), "insertTextFormat": 2},
    ],
)
def test_snippets_are_refused(strange: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="snippets"):
        result_of({"documentChanges": [change("/a", strange)]}, {"/a": "a\n"})


@pytest.mark.parametrize(
    "broken",
    [
        None,
        3,
        {"changes": [1]},
        {"documentChanges": ["x"]},
        {"documentChanges": [{"textDocument": {"version": 1}, "edits": []}]},
        {"changes": {"file:///a": [{"newText": "x"}]}},
        {"changes": {"untitled:a": [edit(0, 0, 0, 0, "x")]}},
        {"changes": {"file://host/a": [edit(0, 0, 0, 0, "x")]}},
        {"documentChanges": [{"kind": "paint", "uri": "file:///a"}]},
    ],
)
def test_an_invalid_edit_is_refused(broken: Any) -> None:
    with pytest.raises(ToolError):
        result_of(broken, {"/a": "a\n"})


# -- several files --------------------------------------------------------------------------------


def test_document_changes_win_over_changes_and_escapes_are_read() -> None:
    found = {
        "changes": {"file:///a%20b": [edit(0, 0, 0, 0, "no")]},
        "documentChanges": [change("/a%20b", edit(0, 0, 0, 0, "yes "))],
    }
    assert contents(result_of(found, {"/a b": "a\n"})) == {"/a b": "yes a\n"}


def test_edits_of_one_document_follow_one_another() -> None:
    both = [change("/a", edit(0, 0, 0, 0, "x")), change("/a", edit(0, 1, 0, 1, "y"))]
    assert contents(result_of({"documentChanges": both}, {"/a": "a\n"})) == {"/a": "xya\n"}


def test_annotations_change_nothing() -> None:
    found = {
        "documentChanges": [change("/a", {**edit(0, 0, 0, 0, "x"), "annotationId": "1"})],
        "changeAnnotations": {"1": {"label": "Sure?", "needsConfirmation": True}},
    }
    assert contents(result_of(found, {"/a": "a\n"})) == {"/a": "xa\n"}


@pytest.mark.parametrize(
    ("version", "told", "is_refused"),
    [(3, 3, False), (None, 3, False), (0, 3, False), (3, None, False), (2, 3, True), (4, 3, True)],
)
def test_versions_are_checked(version: int | None, told: int | None, is_refused: bool) -> None:
    found = {"documentChanges": [change("/a", edit(0, 0, 0, 0, "x"), version=version)]}
    versions = {} if told is None else {"/a": told}
    if is_refused:
        with pytest.raises(ToolError, match="has changed"):
            result_of(found, {"/a": "a\n"}, versions)
    else:
        assert contents(result_of(found, {"/a": "a\n"}, versions)) == {"/a": "xa\n"}


CREATE = {"kind": "create", "uri": "file:///n"}
RENAME = {"kind": "rename", "oldUri": "file:///a", "newUri": "file:///n"}
DELETE = {"kind": "delete", "uri": "file:///a"}


@pytest.mark.parametrize(
    ("steps", "there", "wanted"),
    [
        ([CREATE], None, {"/n": ""}),
        ([CREATE, change("/n", edit(0, 0, 0, 0, "n\n"))], None, {"/n": "n\n"}),
        ([CREATE], "n\n", "already"),
        ([{**CREATE, "options": {"ignoreIfExists": True}}], "n\n", {}),
        ([{**CREATE, "options": {"overwrite": True, "ignoreIfExists": True}}], "n\n", {"/n": ""}),
        ([RENAME], None, {"/n": "a\n", "/a": None}),
        ([RENAME, change("/n", edit(0, 0, 0, 0, "x"))], None, {"/n": "xa\n", "/a": None}),
        ([change("/a", edit(0, 0, 0, 0, "x")), RENAME], None, {"/n": "xa\n", "/a": None}),
        ([RENAME, change("/a", edit(0, 0, 0, 0, "x"))], None, "no such file"),
        ([RENAME], "n\n", "already"),
        ([{**RENAME, "options": {"ignoreIfExists": True}}], "n\n", {}),
        ([{**RENAME, "options": {"overwrite": True}}], "n\n", {"/n": "a\n", "/a": None}),
        ([DELETE], None, {"/a": None}),
        ([DELETE, DELETE], None, "no such file"),
        ([DELETE, {**DELETE, "options": {"ignoreIfNotExists": True}}], None, {"/a": None}),
        ([change("/n", edit(0, 0, 0, 0, "x"))], None, "no such file"),
    ],
)
def test_files_are_created_deleted_and_renamed(
    steps: list[dict[str, Any]], there: str | None, wanted: dict[str, str | None] | str
) -> None:
    files = {"/a": "a\n", "/n": there}
    if isinstance(wanted, str):
        with pytest.raises(ToolError, match=wanted):
            result_of({"documentChanges": steps}, files)
    else:
        assert contents(result_of({"documentChanges": steps}, files)) == wanted


def test_moved_files_are_recognized() -> None:
    assert result_of({"documentChanges": [RENAME]}, {"/a": "a\n", "/n": None}).moved == {"/n": "/a"}
    back = {"kind": "rename", "oldUri": "file:///n", "newUri": "file:///a"}
    again = result_of({"documentChanges": [RENAME, back]}, {"/a": "a\n", "/n": None})
    assert (again.moved, again.texts) == ({}, {})
    anew = result_of(
        {"documentChanges": [RENAME, DELETE | {"uri": "file:///n"}, CREATE]},
        {
            "/a": "a\n",
            "/n": None,
        },
    )
    assert (anew.moved, anew.texts) == ({}, {"/a": None, "/n": EMPTY})


def test_a_file_that_only_moves_has_its_text() -> None:
    result = result_of({"documentChanges": [RENAME]}, {"/a": "a\n", "/n": None})
    assert result.texts == {"/a": None, "/n": Text(("a",))}


WIRE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "x", "file:///a", "file://[", "untitled:1", "file:///%00", "create"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "changes",
                    "documentChanges",
                    "textDocument",
                    "uri",
                    "kind",
                    "edits",
                    "range",
                    "options",
                    "newText",
                    "oldUri",
                    "newUri",
                    "file:///a",
                    "file://[",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(WIRE)
def test_any_answer_of_a_server_is_an_edit_or_an_error(sent: Any) -> None:
    with suppress(ToolError):
        steps = operations(sent, os.path.realpath)
        apply_operations(steps, {path: parse("a\nb\n") for path in paths_of(steps)}, {}, "utf-16")


@pytest.mark.parametrize(
    "sent",
    [
        {"changes": {"file:///a": [1]}},
        {"changes": {"file://[": []}},
        {"changes": {"file:///%00": []}},
        {"documentChanges": 1},
        {"documentChanges": [{"kind": "delete", "uri": "file:///a", "options": "x"}]},
        {"documentChanges": [{"textDocument": {"uri": "file:///a"}, "edits": ["x"]}]},
    ],
)
def test_an_edit_of_a_wrong_form_is_refused(sent: Any) -> None:
    with pytest.raises(ToolError):
        operations(sent, os.path.realpath)
