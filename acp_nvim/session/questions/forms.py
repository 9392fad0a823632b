"""Forms of an elicitation: fields, and validation of values (v1/elicitation#form-mode).

Problems are reported by field, as texts for the user. A `pattern` is tried only if matching takes
bounded time. The agent checks the values too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from itertools import islice
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from acp_nvim.protocol import schema
from acp_nvim.protocol.schema import given
from acp_nvim.session.lists import LISTED

Kind = Literal["text", "choice", "integer", "number", "boolean", "choices", "unknown"]

PATTERN_STEPS: Final = 5_000_000
"""Maximum number of steps for matching a pattern."""
MAX_PARTS: Final = 5_000
"""Maximum number of fields and choices of a form that is shown."""
_NAMED: Final = 20
"""Maximum number of values that a problem names."""

_FORMATS: Final = {
    "email": "an e-mail address",
    "uri": "a URI",
    "date": "a date (2026-01-31)",
    "date-time": "a date with time and zone (2026-01-31T12:00:00Z)",
}


class Choice(Struct, frozen=True):
    """Value that a field offers."""

    value: str
    title: str
    description: str | None = None


class Field(Struct, frozen=True):
    """Property of a form. `schema` is its part of the requested schema."""

    name: str
    kind: Kind
    schema: Any
    title: str
    description: str | None = None
    required: bool = False
    choices: Sequence[Choice] = ()
    default: Any = None

    @property
    def label(self) -> str:
        """Return the title or else the name, and whether it is required."""
        return (self.title or self.name) + (" (required)" if self.required else "")


class Problem(Struct, frozen=True):
    """Problem with the value of a field."""

    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


def fields(form: schema.ElicitationSchema) -> list[Field]:
    """Return the fields of a form, in order."""
    required = set(given(form.required) or ())
    properties = (given(form.properties) or {}).items()
    return [_field(name, property_, name in required) for name, property_ in properties]


def _field(name: str, property_: Any, required: bool) -> Field:
    title, text = (
        given(getattr(property_, "title", None)),
        given(getattr(property_, "description", None)),
    )
    kind, choices = _kind_and_choices(property_)
    default = given(getattr(property_, "default", None))
    return Field(name, kind, property_, title or name, text, required, choices, default)


def _kind_and_choices(property_: Any) -> tuple[Kind, Sequence[Choice]]:
    match property_:
        case schema.StringPropertySchema():
            choices = _choices(given(property_.enum), given(property_.one_of))
            return ("choice", choices) if choices else ("text", ())
        case schema.MultiSelectPropertySchema():
            return _items(property_.items)
        case schema.IntegerPropertySchema():
            return "integer", ()
        case schema.NumberPropertySchema():
            return "number", ()
        case schema.BooleanPropertySchema():
            return "boolean", ()
        case _:
            return "unknown", ()


def _items(items: Any) -> tuple[Kind, Sequence[Choice]]:
    match items:
        case schema.StringMultiSelectItems():
            return "choices", _choices(items.enum, None)
        case schema.TitledMultiSelectItems():
            return "choices", _choices(None, items.any_of)
        case _:
            return "unknown", ()


def _choices(
    values: Sequence[str] | None, titled: Sequence[schema.EnumOption] | None
) -> list[Choice]:
    if titled:
        return [Choice(option.const, option.title, given(option.description)) for option in titled]
    return [Choice(value, value) for value in values or ()]


def is_short(form: Sequence[Field]) -> bool:
    """Return whether a form is short enough to be filled in."""
    return len(form) <= LISTED and sum(1 + len(field.choices) for field in form) <= MAX_PARTS


def with_defaults(form: Sequence[Field], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values, with defaults for the required fields without a value."""
    missing = {
        field.name: field.default for field in form if field.required and field.default is not None
    }
    return missing | {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    """Return an empty list for an empty map, because Lua cannot distinguish them."""
    return [] if value == {} else value


def check(form: Sequence[Field], values: Mapping[str, Any]) -> list[Problem]:
    """Return the problems of these values, in the form's order."""
    names = [field.name for field in form]
    unknown = [
        Problem(name, f"no such field; the fields are: {', '.join(names) or 'none'}")
        for name in values
        if name not in names
    ]
    return [*(problem for field in form for problem in _check(field, values)), *unknown]


def _check(field: Field, values: Mapping[str, Any]) -> Iterator[Problem]:
    if field.name not in values:
        if field.required:
            yield Problem(field.name, "is required")
        return
    yield from (
        Problem(field.name, text) for text in _CHECKS[field.kind](field, values[field.name])
    )


def _text_problems(field: Field, value: Any) -> Iterator[str]:
    if not isinstance(value, str):
        yield "expected text"
        return
    schema_ = field.schema
    minimum, maximum = given(schema_.min_length), given(schema_.max_length)
    if minimum is not None and len(value) < minimum:
        yield f"at least {_plural(minimum, 'character')}, not {len(value)}"
    if maximum is not None and len(value) > maximum:
        yield f"at most {_plural(maximum, 'character')}, not {len(value)}"
    pattern = given(schema_.pattern)
    if pattern is not None and matches(pattern, value) is False:
        yield f"does not match {pattern}"
    format_ = given(schema_.format)
    if format_ in _FORMATS and not _FORMAT_TESTS[format_](value):
        yield f"is not {_FORMATS[format_]}"


def _choice_problems(field: Field, value: Any) -> Iterator[str]:
    if value not in [choice.value for choice in field.choices]:
        yield f"{value!r} is not one of {_offered(field)}"


def _offered(field: Field) -> str:
    more = len(field.choices) - _NAMED
    names = [choice.value for choice in field.choices[:_NAMED]]
    return ", ".join([*names, f"{more:,} more"] if more > 0 else names)


def _number_problems(field: Field, value: Any) -> Iterator[str]:
    is_integer = field.kind == "integer"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    is_finite = is_number and (isinstance(value, int) or math.isfinite(value))
    if not is_finite or (is_integer and value != int(value)):
        yield "expected a whole number" if is_integer else "expected a number"
        return
    minimum, maximum = given(field.schema.minimum), given(field.schema.maximum)
    if minimum is not None and value < minimum:
        yield f"at least {_format_number(minimum)}"
    if maximum is not None and value > maximum:
        yield f"at most {_format_number(maximum)}"


def _boolean_problems(_: Field, value: Any) -> Iterator[str]:
    if not isinstance(value, bool):
        yield "expected true or false"


def _list_problems(field: Field, value: Any) -> Iterator[str]:
    if not isinstance(value, list | tuple):
        yield "expected a list"
        return
    offered = {choice.value for choice in field.choices}
    unknown = (chosen for chosen in value if not isinstance(chosen, str) or chosen not in offered)
    yield from (f"{chosen!r} is not one of {_offered(field)}" for chosen in islice(unknown, _NAMED))
    minimum, maximum = given(field.schema.min_items), given(field.schema.max_items)
    if minimum is not None and len(value) < minimum:
        yield f"at least {minimum} of them"
    if maximum is not None and len(value) > maximum:
        yield f"at most {maximum} of them"


def _unknown_problems(_: Field, value: Any) -> Iterator[str]:
    is_simple = isinstance(value, str | bool | int | float)
    is_list = isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)
    if not is_simple and not is_list:
        yield "not a value that a form can contain"


_CHECKS: Final = {
    "text": _text_problems,
    "choice": _choice_problems,
    "integer": _number_problems,
    "number": _number_problems,
    "boolean": _boolean_problems,
    "choices": _list_problems,
    "unknown": _unknown_problems,
}


def to_wire(form: Sequence[Field], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked values for the wire, with whole numbers as integers."""
    kinds = {field.name: field.kind for field in form}
    return {
        name: int(value) if kinds[name] == "integer" else value for name, value in values.items()
    }


def describe_accepted(field: Field) -> str:
    """Return a short description of the accepted values, or an empty string for any text."""
    kind = () if field.kind == "text" else (_WORDS[field.kind],)
    return ", ".join([*kind, *_bounds(field)])


_WORDS: Final = {
    "choice": "one of these",
    "integer": "whole number",
    "number": "number",
    "boolean": "yes or no",
    "choices": "any of these",
    "unknown": "of an unknown kind",
}


def _bounds(field: Field) -> Iterator[str]:
    schema_ = field.schema
    match field.kind:
        case "text":
            if (format_ := given(schema_.format)) in _FORMATS:
                yield _FORMATS[format_]
            minimum = given(schema_.min_length)
            implied = field.required and minimum == 1
            yield from _range(None if implied else minimum, given(schema_.max_length), "character")
            if (pattern := given(schema_.pattern)) is not None:
                yield f"matches {pattern}"
        case "integer" | "number":
            yield from _range(given(schema_.minimum), given(schema_.maximum), "")
        case "choices":
            yield from _range(given(schema_.min_items), given(schema_.max_items), "of them")
        case _:
            return


def _range(minimum: float | None, maximum: float | None, unit: str) -> Iterator[str]:
    if minimum is not None:
        yield f"at least {_amount(minimum, unit)}"
    if maximum is not None:
        yield f"at most {_amount(maximum, unit)}"


def _amount(number: float, unit: str) -> str:
    if unit == "character":
        return _plural(int(number), unit)
    return f"{_format_number(number)} {unit}".strip()


def _format_number(number: float) -> str:
    """Format a number as `5` or `0.5`, never as `5.0` or `1e+06`."""
    return str(int(number)) if number == int(number) else repr(number)


def _plural(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


# -- patterns and formats -------------------------------------------------------------------------


def matches(pattern: str, value: str) -> bool | None:
    """Return whether a pattern is found in a value.

    Return None if the time cannot be bounded, or if Python does not support the pattern.
    """
    if _max_steps(pattern, len(value)) > PATTERN_STEPS:
        return None
    try:
        return re.search(pattern, value) is not None
    except (re.error, RecursionError, OverflowError):
        return None


def _max_steps(pattern: str, length: int) -> float:
    """Return an upper limit for the steps of a backtracking matcher.

    A repeated group may take exponential time, and so may a backreference. Flags may hide a
    repeated group: in `(?x)(a+) +` the space is ignored. Without any of these, each quantifier
    multiplies the number of steps by at most the length of the text.
    """
    if len(pattern) > 1000:
        return math.inf
    bare = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "x", pattern)
    if re.search(r"\)[*+{]|\(\?[^:=!<]", bare) or re.search(r"\\\d", pattern):
        return math.inf
    ways = len(re.findall(r"[*+?{|]", bare))
    return float(max(length, 2)) ** min(ways + 1, 60)


def _is_email(value: str) -> bool:
    local, _, domain = value.rpartition("@")
    return bool(local and domain) and not re.search(r"\s", value) and domain.strip(".") == domain


def _is_uri(value: str) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return bool(parts.scheme and (parts.netloc or parts.path)) and not re.search(r"\s", value)


def _is_date(value: str) -> bool:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_date_time(value: str) -> bool:
    """Return whether a value is a date and time in the format of RFC 3339."""
    shape = r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)"
    if not re.fullmatch(shape, value):
        return False
    try:
        datetime.fromisoformat(re.sub(r"\.\d+", "", value.upper()))
    except ValueError:
        return False
    return True


_FORMAT_TESTS: Final = {
    "email": _is_email,
    "uri": _is_uri,
    "date": _is_date,
    "date-time": _is_date_time,
}
