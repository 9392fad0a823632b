"""Values of the protocol's types, for hypothesis: `values(schema.ToolCall)` is a strategy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as st
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import fields

from acp_nvim.protocol import schema

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
INT32 = st.integers(-(2**31), 2**31 - 1)
FLOAT = st.floats(-1e9, 1e9, allow_nan=False)
JSON = st.none() | st.booleans() | INT32 | TEXT | st.dictionaries(TEXT, INT32, max_size=2)

STOP_REASONS = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: INT32,
    float: FLOAT,
    bool: st.booleans(),
    Any: JSON,
    NoneType: st.none(),
    UnsetType: st.just(UNSET),
}


def in_schema(kind: type[Any]) -> bool:
    """Return whether the JSON schema of the tests has this type: no `Unknown*`, nothing newer than
    1.29.
    """
    newer = (
        *(schema.SessionLink, schema.PromptSuggestionsUpdate, schema.PromptSuggestion),
        *(schema.CursorUpdate, schema.CursorAnchor, schema.CursorCapabilities),
    )
    return (
        kind not in newer
        and getattr(kind, "__struct_config__", None) is not None
        and (kind.__struct_config__.tag != "?")
    )


@cache
def values(wanted: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for values of `wanted` that the JSON schema allows."""
    if wanted in SCALARS:
        return SCALARS[wanted]
    origin, args = get_origin(wanted), get_args(wanted)
    if origin in (UnionType, Union):
        return st.one_of([values(arg) for arg in args if not is_foreign(arg)])
    if origin is list:
        return st.lists(values(args[0]), max_size=2)
    if origin is dict:
        return st.dictionaries(TEXT, values(args[1]), max_size=2)
    if origin is Literal:
        kinds = [arg for arg in args if wanted != schema.PermissionOptionKind or arg != "other"]
        return st.sampled_from(kinds)
    if origin is Annotated:
        return constrained(args[0], args[1])
    if issubclass(wanted, schema.Untagged):
        members = [it for it in wanted.__subclasses__() if in_schema(it)]
        if not issubclass(wanted, Struct):
            return st.one_of([values(member) for member in members])
    return SPECIAL.get(wanted, structs)(wanted)


def is_foreign(wanted: Any) -> bool:
    return isinstance(wanted, type) and issubclass(wanted, Struct) and not in_schema(wanted)


def constrained(base: type[Any], meta: msgspec.Meta) -> st.SearchStrategy[Any]:
    if base is str:
        return st.sampled_from(STOP_REASONS)
    assert isinstance(meta.ge, int)
    return st.integers(meta.ge, 2**16 - 1)


def structs(wanted: Any, **fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for structs with any field values.

    `fixed` replaces some of the strategies.
    """
    parts = {field.name: values(field.type) for field in fields(wanted) if field.name not in fixed}
    return st.builds(wanted, **parts, **fixed)


def scoped(wanted: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for elicitations of a session or of a request."""
    absent = st.just(UNSET)
    of_session = structs(wanted, session_id=TEXT, request_id=absent)
    of_request = structs(wanted, request_id=TEXT, session_id=absent, tool_call_id=absent)
    return of_session | of_request


def one_outcome(wanted: Any) -> st.SearchStrategy[Any]:
    return structs(wanted, result=JSON, error=st.just(UNSET)) | structs(
        wanted, result=st.just(UNSET), error=values(schema.McpError)
    )


def config_value(wanted: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for values: a boolean has a type, a select value has none."""
    switch = structs(wanted, value=st.booleans(), type=st.just("boolean"))
    return switch | structs(wanted, value=TEXT, type=st.just(UNSET))


def flat_or_grouped(wanted: Any) -> st.SearchStrategy[Any]:
    flat = st.lists(values(schema.SessionConfigSelectOption), max_size=2)
    grouped = st.lists(values(schema.SessionConfigSelectGroup), max_size=2)
    return structs(wanted, options=flat | grouped)


SPECIAL: dict[Any, Callable[[Any], st.SearchStrategy[Any]]] = {
    schema.SessionConfigSelect: flat_or_grouped,
    schema.ElicitationFormMode: scoped,
    schema.ElicitationUrlMode: scoped,
    schema.MessageMcpResponse: one_outcome,
    schema.SetSessionConfigOptionRequest: config_value,
}
