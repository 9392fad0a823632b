"""Known faults of agents: substitutes for missing fields, and repair of misshapen objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec

from acp_nvim.protocol import schema as s
from acp_nvim.protocol.errors import DecodeError
from acp_nvim.protocol.v2 import schema as v2

if TYPE_CHECKING:
    from collections.abc import Callable

# Replacement of an unknown string in a closed enum (v1 schema, v2/extensibility).
ENUM_DEFAULTS: Final[dict[tuple[Any, ...], str]] = {
    get_args(s.ToolKind): "other",
    get_args(s.ToolCallStatus): "in_progress",
    get_args(s.PermissionOptionKind): "other",
    get_args(s.PlanEntryPriority): "medium",
    get_args(s.PlanEntryStatus): "pending",
}

# Id that replaces a missing required `name`.
_OWN_ID: Final[dict[type[Any], str]] = {
    s.SessionMode: "id",
    s.ModelInfo: "modelId",
    s.SessionConfigSelectOption: "value",
    s.SessionConfigSelectGroup: "group",
    s.SessionConfigSelect: "id",
    s.SessionConfigBoolean: "id",
    s.AuthMethodAgent: "id",
    s.AuthMethodTerminal: "id",
    s.AuthMethodEnvVar: "id",
    s.PermissionOption: "optionId",
    s.ResourceLink: "uri",
}

# Replacements of other missing required fields.
_VALUES: Final[dict[tuple[type[s.Plain], str], Any]] = {
    (s.PermissionOption, "kind"): "other",
    (s.PlanEntry, "priority"): "medium",
    (s.PlanEntry, "status"): "pending",
    (s.PromptResponse, "stopReason"): "end_turn",
    (s.ToolCall, "title"): "",
    (s.TextContent, "text"): "",
    (s.AvailableCommand, "description"): "",
    (s.UnstructuredCommandInput, "hint"): "",
    (s.Implementation, "version"): "",
    (s.SessionInfo, "cwd"): "",
    (s.UnknownConfigOption, "id"): "",
    (s.UnknownConfigOption, "name"): "",
    (s.UnknownElicitationMode, "message"): "",
    (v2.UserMessageChunk, "messageId"): "",
    (v2.AgentMessageChunk, "messageId"): "",
    (v2.AgentThoughtChunk, "messageId"): "",
    (v2.PromptResponse, "messageId"): "",
    (v2.PermissionOption, "kind"): "other",
    (v2.PlanEntry, "priority"): "medium",
    (v2.PlanEntry, "status"): "pending",
    (v2.Command, "description"): "",
    (v2.TextCommandInput, "hint"): "",
}


def substitute(kind: type[Any], name: str, value: dict[str, Any]) -> Any:
    """Return a value for a missing required field `name` (as on the wire) of `kind`, or None."""
    if name == "name" and (own_id := _OWN_ID.get(kind)):
        return value.get(own_id)
    return _VALUES.get((kind, name))


def _mode_update(value: dict[str, Any]) -> dict[str, Any]:
    """Accept `modeId`, as in the documentation's own example (v1/session-modes)."""
    if "currentModeId" in value or "modeId" not in value:
        return value
    return {**value, "currentModeId": value["modeId"]}


def _terminal(value: dict[str, Any]) -> dict[str, Any]:
    """Accept `env` as a map, and numbers as arguments.

    Refuse any other fault, since a command with a part missing is a different command.
    """
    given = {name: value[name] for name in ("args", "env") if value.get(name) is not None}
    if isinstance(env := given.get("env"), dict):
        given["env"] = [{"name": key, "value": item} for key, item in env.items()]
    for name, items in given.items():
        if not isinstance(items, list):
            raise DecodeError(f"params.{name}: expected a list")
        read = _word if name == "args" else _variable
        given[name] = [read(f"params.{name}[{i}]", item) for i, item in enumerate(items)]
    return {**value, **given}


def _variable(where: str, item: Any) -> dict[str, Any]:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        raise DecodeError(f"{where}: expected an object with name and value")
    return {**item, "value": _word(f"{where}.value", item.get("value"))}


def _word(where: str, item: Any) -> str:
    if not isinstance(item, str | int | float):
        raise DecodeError(f"{where}: expected a string")
    return item if isinstance(item, str) else msgspec.json.encode(item).decode()


def _tool_call(value: dict[str, Any]) -> dict[str, Any]:
    """Accept `id`, `name`, `input` for `toolCallId`, `title`, `rawInput`, and numbers as ids."""
    given = value.get("toolCallId", value.get("id"))
    if not isinstance(given, int | str):
        return value
    others = {"title": value.get("name"), "rawInput": value.get("input")}
    known = {name: value for name, value in others.items() if value is not None}
    return {**known, **value, "toolCallId": str(given)}


def _option(value: dict[str, Any]) -> dict[str, Any]:
    """Accept `id` and `label`, the usual names in other lists of choices."""
    known = {"optionId": value.get("id"), "name": value.get("label") or value.get("title")}
    return {**{name: value for name, value in known.items() if isinstance(value, str)}, **value}


RESHAPE: Final[dict[type[Any], Callable[[dict[str, Any]], dict[str, Any]]]] = {
    s.CurrentModeUpdate: _mode_update,
    s.CreateTerminalRequest: _terminal,
    s.ToolCall: _tool_call,
    s.ToolCallUpdate: _tool_call,
    s.PermissionToolCall: _tool_call,
    s.PermissionOption: _option,
}

_BLOCKS: Final = (
    "text",
    "image",
    "audio",
    "resource_link",
    "resource",
)  # a tuple, because a received value may not be hashable


def reshape_member(members: list[Any], value: Any) -> Any:
    """Return a union member in its proper form.

    `value` may already have that form. Otherwise it is a bare content block, a bare string, or an
    object of a version 2 draft without `type`.
    """
    if s.Content in members and isinstance(value, dict) and value.get("type") in _BLOCKS:
        return {"type": "content", "content": value}
    if s.TextContent in members and isinstance(value, str):
        return {"type": "text", "text": value}
    if isinstance(value, dict) and "type" not in value:  # as in drafts of version 2
        if v2.Command in members and "name" in value:
            return {**value, "type": "command"}
        if v2.TextCommandInput in members and "hint" in value:
            return {**value, "type": "text"}
    return value
