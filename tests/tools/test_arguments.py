"""Arguments of tools: their schema, and the errors about wrong ones."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from acp_nvim.tools.server import arguments
from acp_nvim.tools.server.tool import AnyArguments, ToolError


class Edit(Struct, frozen=True):
    """A part of the arguments."""

    old: Annotated[str, Meta(description="What is there")]
    all: bool = False


class ServerEdit(Struct, frozen=True):
    """This docstring is for readers of the code, not for models."""

    path: Annotated[str, Meta(description="A file")]
    edits: Annotated[list[Edit], Meta(min_length=1)]
    first: Edit | None = None
    line: Annotated[int, Meta(ge=1, description="1-based")] | None = None
    kind: Annotated[Literal["one", "two"], Meta(description="Which")] = "one"


WHICH = "Which (default: one)"
EDIT = {
    "type": "object",
    "properties": {
        "old": {"type": "string", "description": "What is there"},
        "all": {"type": "boolean"},
    },
    "required": ["old"],
    "additionalProperties": False,
}


def read(value: Any) -> ServerEdit:
    return arguments.read(ServerEdit, json.dumps(value).encode())


def test_a_schema_is_closed_and_has_no_references() -> None:
    schema = arguments.input_schema(ServerEdit)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "A file"},
            "edits": {"type": "array", "items": EDIT, "minItems": 1},
            "first": EDIT,
            "line": {"type": "integer", "minimum": 1, "description": "1-based"},
            "kind": {"type": "string", "enum": ["one", "two"], "description": WHICH},
        },
        "required": ["path", "edits"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "path: missing"),
        ([], "arguments: an object is expected"),
        ({"path": 1, "edits": [{"old": ""}]}, "path: expected str, got int"),
        ({"path": "a", "edits": []}, "edits: expected array of length >= 1"),
        ({"path": "a", "edits": [{}]}, "edits[0].old: missing"),
        ({"path": "a", "edits": [{"old": ""}, {"old": 1}]}, "edits[1].old: expected str, got int"),
        ({"path": "a", "edits": [{"old": ""}], "line": 0}, "line: expected int >= 1"),
        ({"path": "a", "edits": [{"old": ""}], "line": "1"}, "line: expected int, got str"),
        (
            {"path": "a", "edits": [{"old": ""}], "kind": "six"},
            "kind: invalid enum value 'six'; one of one, two",
        ),
        (
            {"file": "a", "path": "a", "edits": [{"old": ""}]},
            "file: unknown argument; known: path, edits, first, line, kind",
        ),
        (
            {"path": "a", "edits": [{"old": "", "new": ""}]},
            "edits[0].new: unknown argument; known: old, all",
        ),
    ],
)
def test_a_wrong_argument_is_named(given: Any, said: str) -> None:
    with pytest.raises(ToolError) as error:
        read(given)
    assert str(error.value) == said


def test_broken_arguments_are_reported() -> None:
    with pytest.raises(ToolError, match="arguments: "):
        arguments.read(ServerEdit, b"[" * 100_000)


def test_null_means_an_omitted_optional_argument() -> None:
    plain = {"path": "a", "edits": [{"old": "b"}]}
    assert read({**plain, "line": None, "kind": None}) == read(plain)
    with pytest.raises(ToolError, match="path: expected str, got null"):
        read({**plain, "path": None})


@pytest.mark.parametrize("raw", [None, b"null", b"{}"])
def test_no_arguments_may_be_left_out(raw: bytes | None) -> None:
    class Nothing(Struct, frozen=True):
        pass

    assert arguments.read(Nothing, raw) == Nothing()


def test_a_tool_with_its_own_schema_gets_the_raw_arguments() -> None:
    assert arguments.input_schema(AnyArguments) == {"type": "object"}
    assert arguments.read(AnyArguments, b'{"a": null}') == AnyArguments({"a": None})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["one", "two", "a"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["path", "edits", "line", "old", "all", "x"]), inner)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["path", "edits", "first", "line", "kind", "y"]), JSON))
def test_the_decoder_accepts_exactly_the_schema(value: dict[str, Any]) -> None:
    """Except null in place of an optional argument, which the schema does not mention."""
    needed = ("path", "edits")
    bare = {name: it for name, it in value.items() if it is not None or name in needed}
    valid = jsonschema.Draft202012Validator(arguments.input_schema(ServerEdit)).is_valid(bare)
    if valid:
        read(value)
        return
    with pytest.raises(ToolError) as error:
        read(value)
    assert "\n" not in str(error.value)
