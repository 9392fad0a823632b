"""A tool that agents call, and what it gives (MCP 2025-11-25, server/tools)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.session import Session

A = TypeVar("A", bound=msgspec.Struct)


class ToolError(Exception):
    """What was asked cannot be done. The text is one line that says why, for the model."""


class AnyArguments(msgspec.Struct, frozen=True):
    """Arguments that only the tool's own ``schema`` describes, as they came."""

    values: dict[str, Any]


class ToolResult(msgspec.Struct, frozen=True):
    """What a call gives: ``text`` for the model, and the same as data where there is any."""

    text: str
    structured: dict[str, Any] | None = None
    summary: str = ""
    """A few words for the chat's line of this call: "3 errors in app.py"."""
    path: str | None = None
    """The real path that the call was about, for follow-along; None where that is told already, as
    of what is read and written.
    """
    line: int | None = None
    """1-based."""


class Call(msgspec.Struct, frozen=True):
    """One call of a tool. It is cancelled with the task that runs it."""

    session: Session
    progress: Callable[[str], None] = lambda text: None
    """Says how far it is, to those who asked for that."""
    shown: ToolCall | None = None
    """The agent's own tool call of it, where that is known."""


class Tool(msgspec.Struct, Generic[A], frozen=True):
    """A tool by its name. ``arguments`` is a Struct whose fields have descriptions and bounds
    (`msgspec.Meta`); the schema is derived from it. ``run`` raises `ToolError` where it cannot do
    what was asked, and workspace's `Refusal` where a file may not be used.
    """

    name: str
    title: str
    """Two words at most, for the chat: "Diagnostics"."""
    description: str
    """Written for the model: what it gives in the first words, when to prefer it, an example."""
    arguments: type[A]
    run: Callable[[Call, A], Awaitable[ToolResult]]
    writes: bool = False
    schema: Mapping[str, Any] | None = None
    """A JSON schema that stands in place of the one of ``arguments`` (tools of the user)."""
    timeout_s: float | None = 5
    """None where the user is asked meanwhile."""
