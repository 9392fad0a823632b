"""The user's own tools (`require('acp').tool()`): descriptions and calls."""

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
"""Time limit of a call in seconds, excluding the question before it."""
DEPTH: Final = 100
"""Maximum nesting of arguments and results."""
_TABLES: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
"""Keys of a JSON schema whose values are objects of schemas by name."""
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
"""Keys of a JSON schema whose values are schemas."""


class UserTool(msgspec.Struct, frozen=True):
    """Description of a tool. `schema` is JSON, in which an empty object may be a list."""

    name: str
    description: str
    schema: str = "{}"
    write: bool = False
    """Whether it changes something, so the user is asked before each call."""
    executes: bool = False
    """Whether it runs code, so the question is of kind `execute`."""
    title: str = ""
    """Two words for the chat, for tools of the user's plugins."""


class Answer(msgspec.Struct, frozen=True):
    """Result of a tool: text, a value as JSON, or both with the same content."""

    text: str = ""
    json: str | None = None


class Runner(Protocol):
    """Caller of the functions of the user's tools."""

    def run(self, session: Session, name: str, arguments: str) -> Awaitable[Answer]:
        """Call a function with a JSON object. Raise ToolError with its error message."""
        ...


class CallPermissions(Protocol):
    """Questions before calls of the user's tools that change something."""

    def ask_to_call(
        self,
        session: Session,
        name: str,
        arguments: Mapping[str, Any],
        agent_call: ToolCall | None = None,
        *,
        executes: bool = False,
    ) -> AbstractAsyncContextManager[str]:
        """Apply the user's rules, then ask if necessary.

        With `executes`, the rules for commands apply, with the tool's name as the command.
        `agent_call` is the tool call that the agent reported, which the question replaces in the
        chat. Yield the reason for a refusal. If it is empty, the body makes the call. An error in
        the body is shown as the failure of the call.
        """
        ...


class UserTools:
    """The user's tools in a toolbox."""

    def __init__(
        self,
        toolbox: Toolbox,
        runner: Runner,
        permissions: Callable[[], CallPermissions],
        on_changed: Callable[[], None],
        run_s: float = RUN_S,
    ) -> None:
        """`on_changed` is called after tools were added or removed."""
        self._toolbox = toolbox
        self._runner = runner
        self._permissions = permissions
        self._on_changed = on_changed
        self._run_s = run_s
        self._known: Sequence[UserTool] = ()

    def replace(self, tools: Sequence[UserTool]) -> None:
        """Replace the user's tools. Raise ValueError if a schema is not a JSON object."""
        if tools == self._known:
            return
        built = [self._tool(tool) for tool in tools]
        for name in {tool.name for tool in self._known} - {tool.name for tool in tools}:
            self._toolbox.drop(name)
        for tool in built:
            self._toolbox.add(tool)
        self._known = tools
        self._on_changed()

    def _tool(self, tool: UserTool) -> Tool[AnyArguments]:
        schema = input_schema(tool.schema)

        async def run(call: Call, given: AnyArguments) -> ToolResult:
            if is_deep(given.values):
                raise ToolError(f"arguments: nested deeper than {DEPTH} levels")
            if wrong := faults(schema, given.values):
                raise ToolError("; ".join(wrong))
            if not tool.write:
                return await self._call(call.session, tool.name, given)
            about = (call.session, tool.name, given.values, call.agent_call)
            asked = self._permissions().ask_to_call(*about, executes=tool.executes)
            async with asked as refused:
                if refused:
                    raise ToolError(refused)
                return await self._call(call.session, tool.name, given)

        return Tool(
            tool.name,
            tool.title or tool.name,
            tool.description,
            AnyArguments,
            run,
            writes=tool.write,
            schema=schema,
            timeout_s=None,
        )

    async def _call(self, session: Session, name: str, given: AnyArguments) -> ToolResult:
        import json  # writes integers of any size

        with anyio.move_on_after(self._run_s):
            return result(await self._runner.run(session, name, json.dumps(given.values)))
        raise ToolError(f"{name} took more than {self._run_s:g} s")


def result(answer: Answer) -> ToolResult:
    """Convert an answer for the agent. Raise ToolError if it is nested too deeply.

    A value becomes JSON text. In the structured data, a value that is not an object becomes the
    member `result`.
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
    """Return whether a JSON value is nested more deeply than `DEPTH`."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEPTH):
        nested = [node.values() if isinstance(node, dict) else node for node in level]
        level = [node for inner in nested for node in inner if isinstance(node, dict | list)]
        if not level:
            return False
    return True


def faults(schema: Mapping[str, Any], values: Mapping[str, Any]) -> list[str]:
    """Return a line for each required argument that is missing and each argument of the wrong type.

    The tool itself checks the other conditions of a schema.
    """
    required, known = schema.get("required"), schema.get("properties")
    needed = required if isinstance(required, list) else []
    types = known if isinstance(known, dict) else {}
    lines = [f"{name}: missing" for name in needed if name not in values]
    for name, value in values.items():
        declared = types.get(name)
        wanted = declared.get("type") if isinstance(declared, dict) else None
        is_left_out = value is None and name not in needed
        if isinstance(wanted, str) and not is_left_out and not _is_of(value, wanted):
            lines.append(f"{name}: expected {wanted}")
    return lines


def _is_of(value: Any, type_name: str) -> bool:
    """Return whether a JSON value has the type that a schema names."""
    if isinstance(value, bool):
        return type_name == "boolean" or type_name not in _TYPES
    if type_name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(type_name, object))


def input_schema(text: str) -> dict[str, Any]:
    """Return the schema of a tool's arguments, which must be an object. Raise ValueError."""
    schema = msgspec.json.decode(text.encode("utf-8", "replace"))
    return {"type": "object", **_mend_schema(schema)}


def _mend_schema(schema: Any) -> Any:
    """Return the schema with objects in place of Lua's empty tables."""
    if schema == []:
        return {}
    if not isinstance(schema, dict):
        return schema
    return {key: _member(key, value) for key, value in schema.items()}


def _member(key: str, value: Any) -> Any:
    if key in _SCHEMAS:
        return _mend_schema(value)
    if key in _TABLES:
        named = _mend_schema(value)
        return {name: _mend_schema(inner) for name, inner in named.items()} if named else named
    if key in {"anyOf", "oneOf", "allOf"} and isinstance(value, list):
        return [_mend_schema(part) for part in value]
    return value
