"""Arguments of tools: JSON schemas of Structs for models, and decoding.

A schema uses only keywords that every client supports. It has no references and no choices between
schemas. The default of a member is in its description, and an optional member does not mention
null. Every object is closed, so that a model gets an error for a misspelled argument.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any, Final, TypeVar, cast

import msgspec

from acp_nvim.patterns import late
from acp_nvim.tools.server.tool import AnyArguments, ToolError

A = TypeVar("A", bound=msgspec.Struct)
Json = dict[str, Any]

_PLACE: Final = late(r"^(?P<what>.*) - at `\$\.?(?P<where>.*)`$")
_MISSING: Final = late(r"^Object missing required field `(?P<name>.*)`$")


def input_schema(arguments: type[msgspec.Struct]) -> Json:
    """Return the JSON schema of a Struct. It is cached and must not be changed."""
    return _schema_of(cast("Hashable", arguments))


@cache
def _schema_of(arguments: Any) -> Json:
    if arguments is AnyArguments:
        return {"type": "object"}
    described = msgspec.json.schema(arguments)
    return cast("Json", _plain(described, described.get("$defs", {})))


def _plain(schema: Any, defs: Json) -> Any:
    """Return the schema without references, titles of classes, defaults and nulls."""
    if isinstance(schema, list):
        return [_plain(item, defs) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        named = defs[schema["$ref"].rpartition("/")[2]]
        bare = {k: v for k, v in named.items() if k not in ("title", "description")}
        beside = {k: v for k, v in schema.items() if k not in ("$ref", "$defs")}
        return _plain({**bare, **beside}, defs)
    reduced = {k: v for k, v in schema.items() if k not in ("$defs", "default")}
    if "properties" in reduced:
        members = {name: _member(value, defs) for name, value in reduced["properties"].items()}
        needed = {"required": reduced["required"]} if reduced.get("required") else {}
        closed = {"properties": members, "additionalProperties": False}
        return {k: v for k, v in reduced.items() if k != "required"} | closed | needed
    if all(isinstance(value, str) for value in reduced.get("enum", [0])):
        reduced = {"type": "string", **reduced}
    return _without_null({key: _plain(value, defs) for key, value in reduced.items()})


def _member(schema: Json, defs: Json) -> Any:
    """Return the plain schema of a member, with its default in the description."""
    plain, default = _plain(schema, defs), schema.get("default")
    if "description" not in plain or not default:
        return plain
    return {**plain, "description": f"{plain['description']} (default: {default})"}


def _without_null(schema: Json) -> Json:
    choices = schema.get("anyOf")
    if not isinstance(choices, list):
        return schema
    rest = [choice for choice in choices if choice != {"type": "null"}]
    beside = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**rest[0], **beside} if len(rest) == 1 else {**beside, "anyOf": rest}


def read(arguments: type[A], raw: msgspec.Raw | bytes | None) -> A:
    """Decode the arguments of a call. Absent and null arguments are an empty object.

    An optional member may be null. Raise a `ToolError` that names the wrong member.
    """
    given = _object(raw)
    if arguments is AnyArguments:
        return cast("A", AnyArguments(given))
    schema = input_schema(arguments)
    needed = schema.get("required", ())
    given = {name: value for name, value in given.items() if value is not None or name in needed}
    for problem in _unknown(schema, given, ""):
        raise ToolError(problem)
    try:
        return msgspec.json.decode(msgspec.json.encode(given), type=arguments)
    except msgspec.ValidationError as error:
        raise ToolError(_message(str(error), schema)) from error


def _object(raw: msgspec.Raw | bytes | None) -> Json:
    try:
        given = msgspec.json.decode(raw) if raw is not None else None
    except (msgspec.DecodeError, RecursionError) as error:
        raise ToolError(f"arguments: {error}") from error
    if given is not None and not isinstance(given, dict):
        raise ToolError("arguments: an object is expected")
    return given or {}


def _unknown(schema: Json, value: Any, where: str) -> list[str]:
    """Return an error line for each argument that the schema does not define."""
    if isinstance(value, list) and "items" in schema:
        indexed = enumerate(value)
        return [
            name for at, v in indexed for name in _unknown(schema["items"], v, f"{where}[{at}]")
        ]
    known = schema.get("properties")
    if not isinstance(value, dict) or known is None:
        return []
    inner = f"{where}." if where else ""
    names = ", ".join(known) or "none"
    wrong = [
        f"{inner}{name}: unknown argument; known: {names}" for name in value if name not in known
    ]
    parts = (
        _unknown(known[name], inner_value, inner + name)
        for name, inner_value in value.items()
        if name in known
    )
    return wrong + [line for lines in parts for line in lines]


def _message(problem: str, schema: Json) -> str:
    """Return the name of the argument, followed by msgspec's message."""
    match = _PLACE.match(problem)
    what, where = (match["what"], match["where"]) if match else (problem, "")
    if missing := _MISSING.match(what):
        return f"{where}.{missing['name']}: missing" if where else f"{missing['name']}: missing"
    what = what.replace("`", "").replace(" | null", "")
    what = what[:1].lower() + what[1:]
    if choices := schema["properties"].get(where, {}).get("enum"):
        what += f"; one of {', '.join(map(str, choices))}"
    return f"{where or 'arguments'}: {what}"
