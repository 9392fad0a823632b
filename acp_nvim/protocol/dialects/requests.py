"""Translation of requests to JSON, for agents that want the version as a string.

Some of these agents use a Go package with its own description of the protocol: `protocolVersion` is
a string, `capabilities` is flat, `session/new` has `metadata`, and `session/prompt` has a `command`
and only text, image and audio parts. They ignore unknown fields. Other agents differ from version 1
only in the string, so the fields of version 1 are sent too.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    RequestError,
)
from acp_nvim.protocol.fence import fence_text
from acp_nvim.protocol.uris import split_uri

JSON = dict[str, Any]

VERSION: Final = "2025-01-01"
"""Version named in the description."""

_COMMAND: Final = re.compile(r"/(?P<name>[\w.:-]+)(?:\s+(?P<input>.*))?", re.DOTALL)
_ABOUT_TYPE: Final = re.compile(r"(?i)cannot unmarshal number|expected a string|must be a string")
_ABOUT_VERSION: Final = re.compile(rf"{_ABOUT_TYPE.pattern}|protocol.?version")


def wants_string_version(error: Exception) -> bool:
    """Return whether an agent may have refused `initialize` because its version is a number."""
    if not isinstance(error, RequestError):
        return False
    words = f"{error} {error.data}"
    if error.code == UNSUPPORTED_VERSION:  # the agent has read the number
        return demands_string_version(words)
    unread = (INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR)
    return error.code in unread or mentions_version_type(words)


def mentions_version_type(words: str) -> bool:
    """Return whether a message mentions the version or its type."""
    return _ABOUT_VERSION.search(words) is not None


def demands_string_version(words: str) -> bool:
    """Return whether a message demands a string instead of a number."""
    return _ABOUT_TYPE.search(words) is not None


def initialize(params: schema.InitializeRequest) -> JSON:
    """Return `initialize` with a string version and flat capabilities."""
    table: JSON = msgspec.to_builtins(params)
    ours = params.client_capabilities or schema.ClientCapabilities()
    files = ours.fs or schema.FileSystemCapabilities()
    table["protocolVersion"] = VERSION
    table["capabilities"] = {
        "terminal": ours.terminal is True,
        "fs.readTextFile": files.read_text_file is True,
        "fs.writeTextFile": files.write_text_file is True,
    }
    return table


def opening(params: Struct, branch: str | None) -> JSON:
    """Return a request that opens a session, with the working directory in `metadata`.

    `metadata` maps names to strings.
    """
    table: JSON = msgspec.to_builtins(params)
    table["metadata"] = {"workDir": table.get("cwd", ""), **({"branch": branch} if branch else {})}
    return table


def prompt(params: schema.PromptRequest, commands: Collection[str]) -> JSON:
    """Return `session/prompt` with text, image and audio parts, and with its slash command.

    `commands` are the commands that the agent has listed. If it has listed none, any command is
    accepted.
    """
    table: JSON = msgspec.to_builtins(params)
    table["prompt"] = [_part(block) for block in params.prompt]
    command = _command(params.prompt)
    if command is not None and (not commands or command["name"] in commands):
        table["command"] = command
    return table


def _part(block: Any) -> JSON:
    match block:
        case schema.ImageContent() | schema.AudioContent():
            kind = "image" if isinstance(block, schema.ImageContent) else "audio"
            return {"type": kind, "data": block.data, "mimeType": block.mime_type}
        case schema.TextContent():
            return _text(block.text)
        case schema.ResourceLink():
            return _text(f"\n{_path(block.uri)}\n")
        case schema.EmbeddedResource(resource=schema.TextResourceContents() as contents):
            return _text("\n\n" + fence_text(_path(contents.uri), contents.text) + "\n")
        case schema.EmbeddedResource(resource=schema.BlobResourceContents() as contents):
            return _text(f"\n{_path(contents.uri)}\n")
        case _:
            return _text(msgspec.json.encode(block).decode())


def _text(text: str) -> JSON:
    return {"type": "text", "text": text}


def _path(uri: str) -> str:
    """Return the path of a `file:` URI, with its lines in the user's notation: `main.py:3-9`.

    Other URIs are returned unchanged.
    """
    parts = split_uri(uri)
    if parts.scheme != "file":
        return uri
    lines = parts.fragment.replace("L", "")
    return unquote(parts.path) + (f":{lines}" if lines else "")


def _command(blocks: Collection[Any]) -> JSON | None:
    """Return the slash command that the user's text begins with: `{name, input}`."""
    words = (block.text for block in blocks if isinstance(block, schema.TextContent))
    for text in words:
        if match := _COMMAND.fullmatch(text.strip()):
            rest = (match["input"] or "").strip()
            return {"name": match["name"], **({"input": rest} if rest else {})}
    return None
