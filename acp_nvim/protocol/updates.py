"""Session updates as sessions receive them, from any version of the protocol.

`SessionUpdate` has the types of version 1, which are decoded directly, and the types of this
module, which `protocol.v2` creates. A cleared value is the empty value, so sessions need not
distinguish null from absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from acp_nvim.protocol import schema

Role: TypeAlias = Literal["user", "agent", "thought"]


class MessageChunk(Struct, frozen=True, gc=False):
    """Content block appended to the message with this id, at any position in the transcript."""

    role: Role
    message_id: str
    content: Any


class MessageUnchanged(Struct, frozen=True, gc=False):
    """Update that names a message by its id and leaves its content unchanged."""

    role: Role
    message_id: str


class MessageContent(Struct, frozen=True, gc=False):
    """Complete content of the message with this id. The first one creates the message."""

    role: Role
    message_id: str
    content: Sequence[Any]


class CallPatch(
    schema.ToolCallUpdate, frozen=True, tag_field="sessionUpdate", tag="tool_call_patch"
):
    """Fields of the tool call with this id. The first one creates the call."""

    cancellable: bool | UnsetType = UNSET
    """Whether the agent accepts `CancelCall` for the call."""


class FileChanges(schema.Content, frozen=True, kw_only=True, tag_field="type", tag="changes"):
    """File changes as text for people, with the patch, if any, in a fence.

    `paths` are all changed files. `added` and `removed` count lines of the patch.
    """

    paths: tuple[str, ...]
    added: int = 0
    removed: int = 0


class CallContent(Struct, frozen=True, gc=False):
    """Item appended to the content of a tool call."""

    tool_call_id: str
    content: Any


class Work(Struct, frozen=True, gc=False):
    """Activity of a session, as reported by the agent.

    `state` is idle, running, requires_action or an unknown state. `background` is the number of
    background tasks. If it is absent, the number does not change.
    """

    state: str
    stop_reason: str | None = None
    error: str | None = None
    code: int | None = None
    """Code of the error."""
    data: Any = UNSET
    """Further data of the error."""
    usage: schema.Usage | None = None
    """Tokens of the turn that has ended."""
    background: int | UnsetType = UNSET

    @property
    def is_working(self) -> bool:
        """Return whether the session is working, as it is in all states except idle."""
        return self.state != "idle"


class TerminalState(Struct, frozen=True, gc=False):
    """Terminal that the agent itself runs.

    `output` replaces all of its bytes. `exit` is None while it runs.
    """

    terminal_id: str
    command: str | UnsetType = UNSET
    cwd: str | UnsetType = UNSET
    output: bytes | UnsetType = UNSET
    exit: schema.TerminalExitStatus | UnsetType | None = UNSET
    cancellable: bool | UnsetType = UNSET


class TerminalBytes(Struct, frozen=True, gc=False):
    """Bytes appended to a terminal of the agent."""

    terminal_id: str
    data: bytes


class UsageState(Struct, frozen=True, gc=False):
    """Tokens in the context, and the cost. None clears the cost, and an absent cost is kept."""

    used: int
    size: int
    cost: schema.Cost | UnsetType | None = UNSET


SessionUpdate: TypeAlias = (
    schema.SessionUpdate
    | MessageChunk
    | MessageContent
    | MessageUnchanged
    | CallPatch
    | CallContent
    | Work
    | TerminalState
    | TerminalBytes
    | UsageState
)
"""Update of a session. `session/updates.py` has one handler for each of these types."""


class Subject(Struct, frozen=True, gc=False):
    """Subject of a permission other than a tool call.

    `kind` is `command`, or the agent's name for another kind. In that case `raw` is the value as
    sent.
    """

    kind: str
    command: str | None = None
    cwd: str | None = None
    tool_call_id: str | None = None
    terminal_id: str | None = None
    raw: Any = None


class PermissionRequest(Struct, frozen=True, gc=False):
    """Permission request with its own title and subject."""

    session_id: str
    title: str
    options: Sequence[Any]
    description: str | None = None
    tool_call: CallPatch | None = None
    subject: Subject | None = None


class Notification(Struct, frozen=True, gc=False):
    """Update of a session, with the agent's id for that session."""

    session_id: str
    update: SessionUpdate


class CancelCall(Struct, frozen=True, gc=False, rename="camel"):
    """Request to end one tool call."""

    session_id: str
    tool_call_id: str


class CancelTerminal(Struct, frozen=True, gc=False, rename="camel"):
    """Request to end one of the agent's terminals."""

    session_id: str
    terminal_id: str


class Accepted(Struct, frozen=True, gc=False):
    """Response to `CancelCall` and `CancelTerminal`."""
