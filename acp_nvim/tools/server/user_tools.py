"""The user's own tools (`require('acp').tool()`): what they say of them, and calls of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol

import anyio
import msgspec

from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.session import Session
from acp_nvim.tools.server.tool import AnyArguments, Call, Tool, ToolError, ToolResult
from acp_nvim.tools.server.toolbox import Toolbox

RUN_S: Final = 30.0
"""How long one may run, in seconds, not counting the question before."""
DEPTH: Final = 100
"""How deep arguments and results may be nested."""
_TABLES: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
"""Members of a JSON schema that are objects with a schema for each name."""
_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}
_SCHEMAS: Final = frozenset({"items", "additionalProperties", "not", "contains"})
"""Members that are a schema."""


class UserTool(msgspec.Struct, frozen=True):
    """What the user says of a tool. ``schema`` is JSON, in which an empty object may be a list."""

    name: str
    description: str
    schema: str = "{}"
    write: bool = False
    """It changes something: the user is asked before each call."""
    executes: bool = False
    """It runs code: the question is of kind `execute`."""
    title: str = ""
    """Two words for the chat, of tools that come with a plugin of the user's."""


class Answer(msgspec.Struct, frozen=True):
    """What a tool gives: a text, or a value as JSON, or both: the text then says the same."""

    text: str = ""
    json: str | None = None


class Runner(Protocol):
    """Runs the functions of the user's tools."""

    def run(self, session: Session, name: str, arguments: str) -> Awaitable[Answer]:
        """Call one; ``arguments`` is a JSON object. ToolError with what it says went wrong."""
        ...


class CallPermissions(Protocol):
    """Asks the user before a tool of theirs is called that changes something."""

    def asked_to_call(
        self,
        session: Session,
        name: str,
        arguments: Mapping[str, Any],
        shown: ToolCall | None = None,
        *,
        executes: bool = False,
    ) -> AbstractAsyncContextManager[str]:
        """Ask, by the user's rules first; about one that ``executes`` by those about commands, with
        the tool's name as the command. Yields why not, empty when it is allowed; the body then
        makes the call. What it raises is shown as the failure of the call. ``shown`` is the agent's
        own tool call: the question is shown in its place.
        """
        ...


class UserTools:
    """The user's tools in a toolbox."""

    def __init__(
        self,
        toolbox: Toolbox,
        runner: Runner,
        permissions: Callable[[], CallPermissions],
        changed: Callable[[], None],
        run_s: float = RUN_S,
    ) -> None:
        """There are none yet. ``changed`` hears when tools have come or gone."""
        self._toolbox = toolbox
        self._runner = runner
        self._permissions = permissions
        self._changed = changed
        self._run_s = run_s
        self._known: Sequence[UserTool] = ()

    def take(self, tools: Sequence[UserTool]) -> None:
        """These are the user's tools from now on. ValueError: a schema is no JSON object."""
        if tools == self._known:
            return
        built = [self._tool(it) for it in tools]
        for name in {it.name for it in self._known} - {it.name for it in tools}:
            self._toolbox.drop(name)
        for tool in built:
            self._toolbox.put(tool)
        self._known = tools
        self._changed()

    def _tool(self, told: UserTool) -> Tool[AnyArguments]:
        schema = input_schema(told.schema)

        async def run(call: Call, given: AnyArguments) -> ToolResult:
            if is_deep(given.values):
                raise ToolError(f"arguments: nested deeper than {DEPTH} levels")
            if wrong := faults(schema, given.values):
                raise ToolError("; ".join(wrong))
            if not told.write:
                return await self._called(call.session, told.name, given)
            about = (call.session, told.name, given.values, call.shown)
            asked = self._permissions().asked_to_call(*about, executes=told.executes)
            async with asked as refused:
                if refused:
                    raise ToolError(refused)
                return await self._called(call.session, told.name, given)

        return Tool(
            told.name,
            told.title or told.name,
            told.description,
            AnyArguments,
            run,
            writes=told.write,
            schema=schema,
            timeout_s=None,
        )

    async def _called(self, session: Session, name: str, given: AnyArguments) -> ToolResult:
        import json  # which writes whole numbers of any size

        with anyio.move_on_after(self._run_s):
            return result(await self._runner.run(session, name, json.dumps(given.values)))
        raise ToolError(f"{name} took more than {self._run_s:g} s")


def result(answer: Answer) -> ToolResult:
    """Return an answer as the agent gets it. A value is its JSON, and where that is no object it
    is the member `result` of the data. ToolError: it is nested too deep.
    """
    if answer.json is None:
        return ToolResult(answer.text)
    try:
        value = msgspec.json.decode(answer.json.encode("utf-8", "replace"))
        text = msgspec.json.encode(value).decode()
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ToolError(f"the result cannot be sent: {error}") from error
    if is_deep(value):
        raise ToolError(f"the result cannot be sent: nested deeper than {DEPTH} levels")
    return ToolResult(answer.text or text, value if isinstance(value, dict) else {"result": value})


def is_deep(value: Any) -> bool:
    """Whether a value of JSON is nested deeper than `DEPTH`."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEPTH):
        nested = [it.values() if isinstance(it, dict) else it for it in level]
        level = [it for inner in nested for it in inner if isinstance(it, dict | list)]
        if not level:
            return False
    return True


def faults(schema: Mapping[str, Any], values: Mapping[str, Any]) -> list[str]:
    """Return a line about each argument that a schema requires and that is missing, or that is of
    another type than the schema says. What else a schema may ask for is the tool's to check.
    """
    required, known = schema.get("required"), schema.get("properties")
    needed = required if isinstance(required, list) else []
    types = known if isinstance(known, dict) else {}
    found = [f"{name}: missing" for name in needed if name not in values]
    for name, value in values.items():
        told = types.get(name)
        wanted = told.get("type") if isinstance(told, dict) else None
        is_left_out = value is None and name not in needed
        if isinstance(wanted, str) and not is_left_out and not _is_of(value, wanted):
            found.append(f"{name}: expected {wanted}")
    return found


def _is_of(value: Any, wanted: str) -> bool:
    """Whether a value of JSON is of a type as a schema names it."""
    if isinstance(value, bool):
        return wanted == "boolean" or wanted not in _TYPES
    if wanted == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(wanted, object))


def input_schema(text: str) -> dict[str, Any]:
    """Return the schema of a tool's arguments, which is one of an object. ValueError."""
    schema = msgspec.json.decode(text.encode("utf-8", "replace"))
    return {"type": "object", **_mended(schema)}


def _mended(schema: Any) -> Any:
    """The schema with objects where Lua has empty tables."""
    if schema == []:
        return {}
    if not isinstance(schema, dict):
        return schema
    return {key: _member(key, value) for key, value in schema.items()}


def _member(key: str, value: Any) -> Any:
    if key in _SCHEMAS:
        return _mended(value)
    if key in _TABLES:
        named = _mended(value)
        return {it: _mended(inner) for it, inner in named.items()} if named else named
    if key in {"anyOf", "oneOf", "allOf"} and isinstance(value, list):
        return [_mended(it) for it in value]
    return value
