"""Mapping of the paths in all messages between an endpoint and a remote agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Raw

from acp_nvim.agent.wire.path_map import PathMap
from acp_nvim.protocol import numbers
from acp_nvim.protocol.jsonrpc import Event, Notification, Request, Response
from acp_nvim.protocol.text import clean_text

Kind = Literal["path", "folder", "uri"]

FIELDS: Final[Mapping[str, Kind]] = {
    "path": "path",
    "oldPath": "path",
    "cwd": "folder",
    "additionalDirectories": "path",
    "uri": "uri",
    "workspaceUri": "uri",
}
"""Members with a path, in all methods of both protocol versions and in the editor's tools."""
INPUT_FIELDS: Final[Mapping[str, Kind]] = {
    **FIELDS,
    **dict.fromkeys(
        (
            *("file_path", "filePath", "abs_path", "absolute_path", "filename", "target_file"),
            *("notebook_path", "fileName", "paths", "files", "directory", "workdir"),
            *("working_directory", "workingDirectory", "working_dir"),
        ),
        "path",
    ),
}
"""Members of the raw input of a tool call that rules read as paths."""
OPAQUE: Final = frozenset(
    ("_meta", "env", "headers", "mcpServers", "rawOutput", "requestedSchema", "capabilities")
)
"""Members that are not mapped: data of agents and users, and servers at the agent's place."""
_INPUT: Final = "rawInput"

_decoder: Final = msgspec.json.Decoder()
_members: Final = msgspec.json.Decoder(dict[str, Raw])
_encoder: Final = msgspec.json.Encoder(enc_hook=numbers.to_json)


class PathFields:
    """Paths in the messages of one connection."""

    def __init__(self, paths: PathMap) -> None:
        self._paths = paths
        self._out: Mapping[Kind, Callable[[str], str]] = {
            "path": paths.to_agent,
            "folder": paths.folder_to_agent,
            "uri": paths.uri_to_agent,
        }
        self._in: Mapping[Kind, Callable[[str], str]] = {
            "path": paths.to_local,
            "folder": paths.to_local,
            "uri": paths.uri_to_local,
        }

    def incoming(self, events: Iterable[Event]) -> list[Event]:
        """Return the events with the paths on this machine. Extensions are returned unchanged."""
        return [self._event(event) for event in events]

    def _event(self, event: Event) -> Event:
        match event:
            case Request(id, method, params) if _has_paths(method):
                return Request(id, method, self._map_raw(params))
            case Notification(method, params) if _has_paths(method):
                return Notification(method, self._map_raw(params))
            case Response(id, method, result, error) if result is not None and _has_paths(method):
                return Response(id, method, self._map_raw(result), error)
        return event

    def _map_raw(self, raw: Raw) -> Raw:
        """Return JSON with mapped paths.

        Invalid JSON is returned unchanged, and refused by the reader.
        """
        try:
            value = _decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return raw
        mapped = _map_paths(value, self._in, FIELDS)
        return raw if mapped is value else Raw(_encoder.encode(mapped))

    def outgoing(self, line: bytes, method: str) -> bytes:
        """Return an outgoing message with the agent's paths.

        `method` is the method that the message calls or answers.
        """
        if not _has_paths(method):
            return line
        message = _members.decode(line)
        for part in ("params", "result", "error"):
            if part in message:
                value = _decoder.decode(message[part])
                mapped = self._map_error(value) if part == "error" else self._map_outgoing(value)
                if method == "mcp/message" and isinstance(value.get("result"), dict):
                    mapped = {**mapped, "result": self._map_result(value["result"])}
                elif method == "mcp/message" and part == "result":
                    mapped = self._map_result(value)
                message[part] = Raw(_encoder.encode(mapped))
        return _encoder.encode(message) + b"\n"

    def tool_request(self, line: bytes) -> bytes:
        """Return a message to the editor's tools with the paths on this machine."""
        return bytes(self._map_raw(Raw(line)))

    def tool_answer(self, line: bytes) -> bytes:
        """Return a message from the editor's tools with the agent's paths."""
        message = _decoder.decode(line)
        mapped = self._map_outgoing(message)
        if isinstance(result := message.get("result"), dict):
            mapped = {**mapped, "result": self._map_result(result)}
        return _encoder.encode(mapped) + b"\n"

    def _map_result(self, result: dict[str, Any]) -> Any:
        """Return the result of a tool with the agent's paths.

        Paths at the beginning of text lines are mapped too. The text of a file is returned
        unchanged.
        """
        mapped, data = self._map_outgoing(result), result.get("structuredContent")
        if "content" not in result or (isinstance(data, dict) and "text" in data):
            return mapped
        blocks = [
            {**block, "text": self._paths.lines_to_agent(block["text"])}
            if "text" in block
            else block
            for block in mapped["content"]
        ]
        return {**mapped, "content": blocks}

    def _map_outgoing(self, value: Any) -> Any:
        return _map_paths(value, self._out, FIELDS)

    def _map_error(self, error: Any) -> Any:
        """Return an error with the agent's paths, including those in its message."""
        mapped = self._map_outgoing(error)
        data, shown = error.get("data"), mapped.get("data")
        paths = [key for key in ("path", "cwd") if isinstance(data, dict) and data.get(key)]
        text = str(mapped.get("message", ""))
        for key in paths:
            text = text.replace(str(data[key]), str(shown[key]))
        return {**mapped, "message": text} if paths else mapped


def _has_paths(method: str) -> bool:
    """Return whether the protocol defines which members of a method are paths."""
    return not method.startswith("_") and method != "elicitation/create"


def _map_paths(
    value: Any, maps: Mapping[Kind, Callable[[str], str]], fields: Mapping[str, Kind]
) -> Any:
    """Return a value with all its paths mapped, or the same object if nothing changes."""
    if isinstance(value, dict):
        items = {key: _map_member(key, item, maps, fields) for key, item in value.items()}
        return items if any(items[key] is not value[key] for key in value) else value
    if isinstance(value, list):
        rows = [_map_paths(item, maps, fields) for item in value]
        return rows if any(a is not b for a, b in zip(rows, value, strict=True)) else value
    return value


def _map_member(
    key: str, value: Any, maps: Mapping[Kind, Callable[[str], str]], fields: Mapping[str, Kind]
) -> Any:
    if key in OPAQUE:
        return value
    if key == _INPUT:
        return _map_paths(value, maps, INPUT_FIELDS)
    kind = fields.get(key)
    if kind is None:
        return _map_paths(value, maps, fields)
    if isinstance(value, str):
        return _map_path(value, maps[kind])
    if isinstance(value, list):
        return [
            _map_path(item, maps[kind]) if isinstance(item, str) else _map_paths(item, maps, fields)
            for item in value
        ]
    return _map_paths(value, maps, fields)


def _map_path(value: str, change: Callable[[str], str]) -> str:
    changed = clean_text(change(value))
    return value if changed == value else changed
