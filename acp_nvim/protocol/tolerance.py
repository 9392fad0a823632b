"""Tolerant decoding, which walks the types of `schema`, accepts faults and notes them.

The rules come from the v1 schema (`x-deserialize-*`) and from known agents:

- A bad optional field is left out. A bad item of a list is dropped. Null for a list is an empty
  list.
- An unknown tag becomes the `Unknown*` struct of its union. An unreadable update becomes an
  `UnknownUpdate`, because no update from an agent may end the connection.
- An unknown value of an enum is replaced with a value in `quirks`. An unknown stop reason is kept.
- A missing or bad required field gets a value from `quirks`. If there is none, the object is bad.

msgspec converts every level that has no fault.
"""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec import Struct, UnsetType
from msgspec.structs import FieldInfo, fields

from acp_nvim.protocol import schema
from acp_nvim.protocol.dialects import quirks
from acp_nvim.protocol.errors import DecodeError
from acp_nvim.protocol.unions import member, read_untagged, unknown_form

T = TypeVar("T")

_ABSENT: Final = object()

_NOTED_ITEMS: Final = 8
"""Maximum number of bad items in a list that are noted one by one."""

# Unions whose broken members are kept as unknown, so that the enclosing value stays valid.
_KEPT_BROKEN: Final = (schema.UnknownUpdate, schema.UnknownPropertySchema)


def read(target: type[T], value: Any, where: str, notes: list[str]) -> T:
    """Return `value` (JSON as builtins) as `target`. `where` names the value in notes and errors.

    Raise DecodeError if a required part is missing or bad.
    """
    return cast(T, _read(target, value, where, notes))


def _read(target: Any, value: Any, where: str, notes: list[str]) -> Any:
    try:
        return msgspec.convert(value, target, dec_hook=read_untagged)
    except msgspec.ValidationError as e:
        problem = f"{where}: {e}"
    origin = get_origin(target)
    if origin in (UnionType, Union):
        return _read_union(target, value, where, notes)
    if origin is list:
        return _read_list(get_args(target)[0], value, where, notes)
    if origin is dict and isinstance(value, dict):
        return _read_dict(get_args(target)[1], value, where, notes)
    if isinstance(target, type) and issubclass(target, schema.Untagged | Struct):
        return _read_object(target, value, where, notes)
    return _read_scalar(target, origin, value, problem, notes)


def _read_object(target: type[Any], value: Any, where: str, notes: list[str]) -> Any:
    if not isinstance(value, dict):
        raise DecodeError(f"{where}: expected an object, got {_brief(value)}")
    if issubclass(target, Struct):
        return _read_struct(target, value, where, notes)
    return _read_struct(member(target, value), value, where, notes)


def _read_struct(target: type[Any], value: dict[str, Any], where: str, notes: list[str]) -> Any:
    if reshape := quirks.RESHAPE.get(target):
        value = reshape(value)
    read_fields: dict[str, Any] = {}
    for field in _fields(cast("Any", target)):
        item = _read_field(target, field, value, where, notes)
        if item is not _ABSENT:
            read_fields[field.name] = item
    return target(**read_fields)


def _read_field(
    target: type[Any], field: FieldInfo, value: dict[str, Any], where: str, notes: list[str]
) -> Any:
    """Read a field, or else return a value in its place, or `_ABSENT`."""
    name = field.encode_name
    problem = f"{where}.{name}: missing"
    if name in value:
        try:
            return _read(field.type, value[name], f"{where}.{name}", notes)
        except DecodeError as e:
            problem = str(e)
    elif not field.required:
        return _ABSENT
    if not field.required:
        notes.append(f"{problem}; left out")
        return _ABSENT
    instead = [] if get_origin(field.type) is list else quirks.substitute(target, name, value)
    if not isinstance(instead, str | list):
        raise DecodeError(problem)
    notes.append(f"{problem}; read as {instead!r}")
    return instead


def _read_union(target: Any, value: Any, where: str, notes: list[str]) -> Any:
    members = [arg for arg in get_args(target) if arg not in (UnsetType, NoneType)]
    if len(members) == 1:
        return _read(members[0], value, where, notes)
    tags = {member.__struct_config__.tag: member for member in members if _is_tagged(member)}
    if not tags:
        raise DecodeError(f"{where}: {_brief(value)} does not fit any type")
    if (shaped := quirks.reshape_member(members, value)) is not value:
        notes.append(f"{where}: {_brief(value)} has the wrong shape; wrapped")
        return _read(target, shaped, where, notes)
    if not isinstance(value, dict):
        raise DecodeError(f"{where}: expected an object, got {_brief(value)}")
    return _read_tagged(tags, value, where, notes)


def _read_tagged(
    tags: dict[str, type[Any]], value: dict[str, Any], where: str, notes: list[str]
) -> Any:
    """Read the struct that the tag names, or the union's struct for unknown tags."""
    unknown = tags.get("?")
    tag_field = next(iter(tags.values())).__struct_config__.tag_field
    tag = value.get(tag_field)
    chosen = tags.get(tag) if isinstance(tag, str) and tag != "?" else None
    if chosen is not None:
        try:
            return _read_struct(chosen, value, where, notes)
        except DecodeError as e:
            if unknown not in _KEPT_BROKEN:
                raise
            notes.append(f"{e}; the {tag} is kept as unknown")
    elif unknown is None or not isinstance(tag, str):
        raise DecodeError(f"{where}.{tag_field}: {_brief(tag)} is not one of {', '.join(tags)}")
    else:
        notes.append(f"{where}.{tag_field}: {_brief(tag)} is unknown; kept unchanged")
    return _read_struct(unknown, unknown_form(value, tag_field), where, notes)


def _read_list(target: Any, value: Any, where: str, notes: list[str]) -> list[Any]:
    if value is None:
        notes.append(f"{where}: null for a list; read as empty")
        return []
    if not isinstance(value, list):
        raise DecodeError(f"{where}: expected a list, got {_brief(value)}")
    items: list[Any] = []
    for i, item in enumerate(value):
        try:
            items.append(_read(target, item, f"{where}[{i}]", notes))
        except DecodeError as e:
            if i - len(items) < _NOTED_ITEMS:
                notes.append(f"{e}; the item is dropped")
    if (more := len(value) - len(items) - _NOTED_ITEMS) > 0:
        notes.append(f"{where}: {more} more items are dropped")
    return items


def _read_dict(target: Any, value: dict[str, Any], where: str, notes: list[str]) -> dict[str, Any]:
    items: dict[str, Any] = {}
    for key, item in value.items():
        try:
            items[key] = _read(target, item, f"{where}.{key}", notes)
        except DecodeError as e:
            notes.append(f"{e}; the entry is dropped")
    return items


def _read_scalar(target: Any, origin: Any, value: Any, problem: str, notes: list[str]) -> Any:
    if origin is Literal and isinstance(value, str):
        instead = quirks.ENUM_DEFAULTS.get(get_args(target))
        if instead is not None:
            notes.append(f"{problem}; read as {instead!r}")
            return instead
    if origin is Annotated:
        return _read_constrained(target, value, problem, notes)
    if target is int and isinstance(value, float) and value.is_integer():
        notes.append(f"{problem}; read as {int(value)}")
        return int(value)
    raise DecodeError(problem)


def _read_constrained(target: Any, value: Any, problem: str, notes: list[str]) -> Any:
    """Return a number within its bounds, or an unknown value of an open enum."""
    base, meta = get_args(target)
    if base is str and isinstance(value, str):
        notes.append(f"{problem}; kept unchanged")
        return value
    if target == schema.LineNumber and value == 0 and not isinstance(value, bool):
        return 1  # the schema allows it, so there is nothing to note
    if isinstance(value, int | float) and not isinstance(value, bool) and value > meta.le:
        notes.append(f"{problem}; read as {meta.le}")
        return meta.le
    if isinstance(value, float) and value.is_integer() and value >= meta.ge:
        notes.append(f"{problem}; read as {int(value)}")
        return int(value)
    raise DecodeError(problem)


@cache
def _fields(target: type[Any]) -> tuple[FieldInfo, ...]:
    """Return the fields, cached because msgspec resolves annotations in each call."""
    return fields(target)


def _is_tagged(target: Any) -> bool:
    return isinstance(target, type) and issubclass(target, Struct)


def _brief(value: Any) -> str:
    """Return `value` for a message of one line."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 40 else f"{text[:40]}…"
