"""What sessions are told that version 1 of the protocol has no type for.

A session takes the updates of `schema` and these. They belong to no version: `protocol.v2` makes
them, and another description of the protocol could. What an update clears is given as the empty
value, so that nobody else has to tell null from absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from acp_nvim.protocol import schema

Role: TypeAlias = Literal["user", "agent", "thought"]


class MessageChunk(Struct, frozen=True, gc=False):
    """One content block at the end of the message of that id, wherever that stands."""

    role: Role
    message_id: str
    content: Any


class MessageKept(Struct, frozen=True, gc=False):
    """The message of that id is there; its content is as it was."""

    role: Role
    message_id: str


class MessageContent(Struct, frozen=True, gc=False):
    """All content of the message of that id; the first one creates it."""

    role: Role
    message_id: str
    content: Sequence[Any]


class CallPatch(
    schema.ToolCallUpdate, frozen=True, tag_field="sessionUpdate", tag="tool_call_patch"
):
    """A tool call of that id with these fields; the first one creates it."""

    cancellable: bool | UnsetType = UNSET
    """Whether the agent takes `CancelCall` for it."""


class FileChanges(schema.Content, frozen=True, kw_only=True, tag_field="type", tag="changes"):
    """Changes of files as a text for people, with the patch in a fence where there is one.

    `paths` are all files that it names; `added` and `removed` count lines of the patch.
    """

    paths: tuple[str, ...]
    added: int = 0
    removed: int = 0


class CallContent(Struct, frozen=True, gc=False):
    """One item at the end of the content of a tool call."""

    tool_call_id: str
    content: Any


class Work(Struct, frozen=True, gc=False):
    """What the session does at the agent.

    `state` is idle, or else it works: running, requires_action, or a state that nobody knows.
    `background` counts what goes on beside that; absent keeps the count.
    """

    state: str
    stop_reason: str | None = None
    error: str | None = None
    code: int | None = None
    """Of the error."""
    data: Any = UNSET
    """What else the error says."""
    usage: schema.Usage | None = None
    """Tokens of the turn that has ended."""
    background: int | UnsetType = UNSET

    @property
    def works(self) -> bool:
        """Whether it may not be taken for idle."""
        return self.state != "idle"


class TerminalState(Struct, frozen=True, gc=False):
    """A terminal that the agent runs by itself. `output` is all of its bytes from now on;
    `exit` is how it ended, None that it runs.
    """

    terminal_id: str
    command: str | UnsetType = UNSET
    cwd: str | UnsetType = UNSET
    output: bytes | UnsetType = UNSET
    exit: schema.TerminalExitStatus | UnsetType | None = UNSET
    cancellable: bool | UnsetType = UNSET


class TerminalBytes(Struct, frozen=True, gc=False):
    """Bytes at the end of such a terminal."""

    terminal_id: str
    data: bytes


class UsageState(Struct, frozen=True, gc=False):
    """Tokens in the context and the cost; a cost of None is none, absent keeps it."""

    used: int
    size: int
    cost: schema.Cost | UnsetType | None = UNSET


class Subject(Struct, frozen=True, gc=False):
    """What a permission is about, where that is no tool call. `kind` is command, or what the agent
    calls it; `raw` is as it came.
    """

    kind: str
    command: str | None = None
    cwd: str | None = None
    tool_call_id: str | None = None
    terminal_id: str | None = None
    raw: Any = None


class PermissionRequest(Struct, frozen=True, gc=False):
    """A permission that is asked for under a title of its own."""

    session_id: str
    title: str
    options: Sequence[Any]
    description: str | None = None
    tool_call: CallPatch | None = None
    subject: Subject | None = None


class Notification(Struct, frozen=True, gc=False):
    """An update of a session, under the agent's id of it."""

    session_id: str
    update: Any


class CancelCall(Struct, frozen=True, gc=False, rename="camel"):
    """Ask the agent to end one tool call."""

    session_id: str
    tool_call_id: str


class CancelTerminal(Struct, frozen=True, gc=False, rename="camel"):
    """Ask the agent to end one of its terminals."""

    session_id: str
    terminal_id: str


class Accepted(Struct, frozen=True, gc=False):
    """The agent will do so."""
