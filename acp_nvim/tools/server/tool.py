"""Tool for agents, and its result (MCP 2025-11-25, server/tools)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.session import Session

A = TypeVar("A", bound=msgspec.Struct)


class ToolError(Exception):
    """Request that cannot be fulfilled. The text is one line with the reason, for the model."""


class AnyArguments(msgspec.Struct, frozen=True):
    """Undecoded arguments, described only by the tool's own `schema`."""

    values: dict[str, Any]


class ToolResult(msgspec.Struct, frozen=True):
    """Result of a call: `text` for the model, and the same content as data, if available."""

    text: str
    structured: dict[str, Any] | None = None
    summary: str = ""
    """A few words for the line of this call in the chat, such as "3 errors in app.py"."""
    path: str | None = None
    """Real path of the call's file, for follow-along.

    It is None if the read or write has already reported it.
    """
    line: int | None = None
    """1-based line in that file."""


class Call(msgspec.Struct, frozen=True):
    """Call of a tool. It is cancelled with its task."""

    session: Session
    progress: Callable[[str], None] = lambda text: None
    """Function that reports progress to clients that requested it."""
    agent_call: ToolCall | None = None
    """The tool call that the agent reported for this call, if known."""


class Tool(msgspec.Struct, Generic[A], frozen=True):
    """Tool with its name.

    `arguments` is a Struct whose fields have descriptions and bounds (`msgspec.Meta`). The schema
    is derived from it. `run` raises `ToolError` if the request cannot be fulfilled, and the
    workspace's `Refusal` if a file may not be used.
    """

    name: str
    title: str
    """At most two words for the chat, such as "Diagnostics"."""
    description: str
    """Text for the model: the result first, then when to prefer the tool, then an example."""
    arguments: type[A]
    run: Callable[[Call, A], Awaitable[ToolResult]]
    writes: bool = False
    schema: Mapping[str, Any] | None = None
    """JSON schema of one of the user's tools, used instead of the schema of `arguments`."""
    timeout_s: float | None = 5
    """Time limit of a call, or None if the call may ask the user."""
