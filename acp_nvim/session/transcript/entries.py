"""Entries of a transcript.

Entries are mutable and compared by identity; code that changes one calls `Transcript.touch`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, Literal

from msgspec import Struct, field

from acp_nvim.protocol import schema
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.output.terminal import Terminal
from acp_nvim.session.questions.decisions import Decision

Part = str | schema.ContentBlock
"""A run of text, or a content block that is not text."""

Role = Literal["user", "agent", "thought"]


def add_part(parts: list[Part], part: Part) -> None:
    """Append a part to a list of parts; text is joined to the text before it."""
    if parts and isinstance(part, str) and isinstance(parts[-1], str):
        parts[-1] += part
    else:
        parts.append(part)


def length(parts: Sequence[Part]) -> int:
    """Count parts as `Transcript.written` does: characters, and one for each other block."""
    return sum(len(part) if isinstance(part, str) else 1 for part in parts)


class Message(Struct, eq=False):
    """Text that streams: a user's prompt, an agent's message, a thought."""

    role: Role
    message_id: str | None = None
    parts: list[Part] = field(default_factory=list)
    closed: bool = False
    author: str | None = None
    """The speaker, where that is neither user nor agent: a parent that prompts its subagent."""
    sent: float | None = None
    """When the user sent it, in seconds since 1970; None where nobody knows."""
    number: int = field(default_factory=count(1).__next__)
    """Identifies the message of a part that the user opens."""
    prompt: int | None = None
    """Of the user's: the number of the prompt among the session's, as checkpoints have it."""
    annotations: Any = None
    """Those of its last text."""
    dropped: int = 0
    """How much of its text was replaced so far, counted as `Transcript.written` does."""

    def count_as(self, prompt: int | None) -> None:
        """It is the prompt of that number."""
        self.prompt = prompt

    def join(self, first: int, count: int, text: str) -> None:
        """These parts are this text: it is kept in the first of them, and the numbers of all others
        stay. A chunk of a few letters takes three times as much as its letters.
        """
        self.parts[first : first + count] = [text, *[""] * (count - 1)]

    def replace(self, parts: list[Part]) -> None:
        """Take all content anew."""
        self.dropped += length(self.parts)
        self.parts = parts

    def text(self) -> str:
        """Return the text parts joined."""
        return "".join(part for part in self.parts if isinstance(part, str))


class Heading(Struct, eq=False):
    """The agent's name above its part of a turn."""

    name: str


class ToolEntry(Struct, eq=False):
    """A tool call, with the permissions asked for it."""

    call: ToolCall
    decisions: list[Decision] = field(default_factory=list)
    told: str | None = None
    """The status in the last `AcpToolCall` event."""
    told_rows: dict[str, Any] = field(default_factory=dict)
    """The title of its question and rows of the raw input, cached by `render.cards`."""
    terminals: dict[str, Terminal] = field(default_factory=dict)
    """The known terminals that it has ever embedded or reported in `_meta`."""

    @property
    def asks(self) -> Decision | None:
        """The first question about it that waits for an answer."""
        for decision in self.decisions:
            if decision.outcome is None:
                return decision
        return None


class TerminalEntry(Struct, eq=False):
    """A terminal that no tool call shows; once a call embeds it (`embedded`) this entry has no
    rows.
    """

    terminal: Terminal
    embedded: bool = False


class Question(Struct, eq=False):
    """A decision that belongs to no tool call: access to a path, a command, an elicitation."""

    decision: Decision


class PlanEntry(Struct, eq=False):
    """The plan, at its first place in the chat; an update replaces all entries."""

    entries: Sequence[schema.PlanEntry] = ()
    left: int = 0
    """How many entries were left out."""


class Line(Struct, eq=False):
    """One line in the margin: the end of a turn, a notice, a restart. `level` is info, warning or
    error. Of many details the chat shows the first ones, and all on demand.
    """

    level: Literal["info", "warning", "error"]
    title: str
    details: Sequence[str] = ()
    number: int = field(default_factory=count(1).__next__)
    """Identifies it when the user opens it."""


class Compaction(Struct, eq=False):
    """A compaction of the agent's context; earlier messages stay in the chat."""

    id: str
    status: str = "in_progress"
    summary: list[Part] = field(default_factory=list)
    error: str | None = None


class Subagent(Struct, eq=False):
    """A child session, at the place of its first update (v1/subagents). `n` is our number of it,
    under which it has its own chat; `state` is as on the wire.
    """

    id: str
    n: int | None = None
    title: str | None = None
    description: str | None = None
    state: str = "unknown"
    stop_reason: str | None = None
    error: str | None = None
    cancellable: bool = False
    calls: int = 0
    latest: str = ""
    decisions: list[Decision] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The name that the chat shows."""
        return self.title or f"subagent {self.id[-8:]}"


class SessionMessage(Struct, eq=False):
    """A message between two sessions (`session_message`); `sender` and `recipient` are ids."""

    id: str
    sender: str | None = None
    recipient: str | None = None
    parts: list[Part] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Known names of sessions, by id."""


class PlanDocument(Struct, eq=False):
    """A plan that is a text or a file (rfds/plan-operations). `removed`: the agent has withdrawn
    it.
    """

    id: str
    text: str | None = None
    uri: str | None = None
    removed: bool = False

    def withdraw(self) -> None:
        """The agent has withdrawn it."""
        self.removed = True


class Past(Struct, eq=False):
    """Lines that a chat held before this process started; `<CR>` does nothing there."""

    lines: Sequence[str]


class Unknown(Struct, eq=False):
    """An update of an unknown kind, as it came."""

    tag: str
    raw: object


Entry = (
    Message
    | Heading
    | ToolEntry
    | TerminalEntry
    | Question
    | PlanEntry
    | Line
    | Compaction
    | Subagent
    | SessionMessage
    | PlanDocument
    | Past
    | Unknown
)
