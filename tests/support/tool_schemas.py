"""Rules for schemas of tools: no names that agent frameworks reserve, plain keywords only."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from typing import Any, Final

RESERVED: Final = frozenset(
    {
        *keyword.kwlist,
        # Pydantic: attributes of a model. A field with that name hides one or is refused.
        *("construct", "copy", "dict", "from_orm", "json", "parse_file", "parse_obj", "parse_raw"),
        *("schema", "schema_json", "update_forward_refs", "validate", "fields"),
        # OpenHands: fields and properties of every action.
        *("kind", "summary", "security_risk", "thought", "visualize", "to_agent_observation"),
        # LangChain, CrewAI, fast-agent and others: parameters that the framework fills in.
        *("self", "cls", "args", "kwargs", "run_manager", "callbacks", "config", "runtime"),
        *("state", "store", "tool_input", "tool_call_id", "tool_name", "context", "ctx", "name"),
        *("security_context", "arguments", "input", "output", "function", "tool"),
        # JSON Schema: converters take a property with that name for the keyword.
        *("type", "properties", "required", "enum", "anyOf", "oneOf", "allOf", "definitions"),
    }
)
PLAIN: Final = frozenset(
    {
        *("type", "description", "properties", "required", "additionalProperties", "items", "enum"),
        *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
    }
)
"""Keywords of JSON Schema that every client accepts."""


def faults(schema: Mapping[str, Any]) -> list[str]:
    """Return a line about each reserved argument and each keyword that some client refuses."""
    return [line for part in _parts(schema) for line in _faults_of(part)]


def _faults_of(part: Mapping[str, Any]) -> Iterator[str]:
    for name in part.get("properties", {}):
        if name in RESERVED or name.startswith(("model_", "_")):
            yield f"reserved argument: {name}"
    for key in part:
        if key not in PLAIN:
            yield f"keyword: {key}"
    if not isinstance(part.get("type"), str):
        yield f"type: {part.get('type')}"
    if part.get("required") == []:
        yield "required: empty"


def _parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from _parts(inner)
    if isinstance(schema.get("items"), dict):
        yield from _parts(schema["items"])
