"""Entries of a transcript.

Entries are mutable and compared by identity. Code that changes one calls `Transcript.touch`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, Literal, cast

from msgspec import Struct, field

from acp_nvim.protocol import schema
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.output.terminal import Terminal
from acp_nvim.session.questions.decisions import Decision

Part = str | schema.ContentBlock
"""Run of text, or a content block that is not text."""

Role = Literal["user", "agent", "thought"]


def add_part(parts: list[Part], part: Part) -> None:
    """Append a part to a list of parts. Text is joined to the text before it."""
    if parts and isinstance(part, str) and isinstance(parts[-1], str):
        parts[-1] += part
    else:
        parts.append(part)


def length(parts: Sequence[Part]) -> int:
    """Return the length as in `Transcript.written`: characters, and one for each other block."""
    return sum(len(part) if isinstance(part, str) else 1 for part in parts)


class Message(Struct, eq=False):
    """Streaming text: a user's prompt, an agent's message, a thought."""

    role: Role
    message_id: str | None = None
    parts: list[Part] = field(default_factory=list)
    closed: bool = False
    author: str | None = None
    """Speaker, if it is neither user nor agent, such as a parent that prompts its subagent."""
    sent: float | None = None
    """Time at which the user sent the message, in seconds since 1970, or None if unknown."""
    number: int = field(default_factory=count(1).__next__)
    """Number that identifies the message of a part that the user opens."""
    prompt: int | None = None
    """For a user's message: the prompt's number in the session, as in checkpoints."""
    annotations: Any = None
    """Annotations of the last text."""
    dropped: int = 0
    """Amount of replaced text so far, counted as `Transcript.written` does."""
    recorded: int = 0
    """Number of parts, from the first one on, that the history has."""

    def count_as(self, prompt: int | None) -> None:
        self.prompt = prompt

    def join(self, first: int, last: int) -> None:
        """Join the texts from `first` to `last`, exclusive, in the first of them.

        All parts keep their indexes. The history takes parts from `recorded` on, so no text moves
        from those parts to earlier ones. Without joining, a chunk of a few letters takes three
        times the memory of its letters.
        """
        for start, end in ((first, min(last, self.recorded)), (max(first, self.recorded), last)):
            if end - start > 1:
                text = "".join(cast("list[str]", self.parts[start:end]))
                self.parts[start:end] = [text, *[""] * (end - start - 1)]

    def replace(self, parts: list[Part]) -> None:
        """Replace all content."""
        self.dropped += length(self.parts)
        self.parts = parts
        self.recorded = 0

    def mark_recorded(self) -> None:
        """Note that the history has all parts."""
        self.recorded = len(self.parts)

    def text(self) -> str:
        """Return the text parts joined."""
        return "".join(part for part in self.parts if isinstance(part, str))


class Heading(Struct, eq=False):
    """Agent's name above its part of a turn."""

    name: str


class ToolEntry(Struct, eq=False):
    """Tool call, with the permissions requested for it."""

    call: ToolCall
    decisions: list[Decision] = field(default_factory=list)
    reported: str | None = None
    """Status in the last `AcpToolCall` event."""
    question_rows: dict[str, Any] = field(default_factory=dict)
    """Title of the question and rows of the raw input, cached by `render.cards`."""
    terminals: dict[str, Terminal] = field(default_factory=dict)
    """Known terminals that the call has ever embedded or reported in `_meta`."""

    @property
    def open_question(self) -> Decision | None:
        """Return the first unanswered question about the call."""
        for decision in self.decisions:
            if decision.outcome is None:
                return decision
        return None


class TerminalEntry(Struct, eq=False):
    """Terminal that no tool call shows. It has no rows once a call embeds it (`is_embedded`)."""

    terminal: Terminal
    is_embedded: bool = False


class Question(Struct, eq=False):
    """Decision without a tool call: access to a path, a command, an elicitation."""

    decision: Decision


class PlanEntry(Struct, eq=False):
    """Plan, at its first place in the chat. An update replaces all entries."""

    entries: Sequence[schema.PlanEntry] = ()
    left: int = 0
    """Number of entries left out."""


class Line(Struct, eq=False):
    """Notice in the chat: the end of a turn, a warning, a restart.

    `level` is info, warning or error. If there are many details, the chat shows the first ones, and
    all on demand.
    """

    level: Literal["info", "warning", "error"]
    title: str
    details: Sequence[str] = ()
    number: int = field(default_factory=count(1).__next__)
    """Number that identifies the line when the user opens it."""


class Compaction(Struct, eq=False):
    """Compaction of the agent's context. Earlier messages stay in the chat."""

    id: str
    status: str = "in_progress"
    summary: list[Part] = field(default_factory=list)
    error: str | None = None


class Subagent(Struct, eq=False):
    """Child session, at the place of its first update (v1/subagents).

    `n` is its number, under which it has its own chat. `state` is as on the wire.
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
        """Return the name that the chat shows."""
        return self.title or f"subagent {self.id[-8:]}"


class SessionMessage(Struct, eq=False):
    """Message between two sessions (`session_message`). `sender` and `recipient` are ids."""

    id: str
    sender: str | None = None
    recipient: str | None = None
    parts: list[Part] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Known names of sessions, by id."""


class PlanDocument(Struct, eq=False):
    """Plan in Markdown or in a file (rfds/plan-operations).

    `is_removed` means that the agent has withdrawn it.
    """

    id: str
    text: str | None = None
    uri: str | None = None
    is_removed: bool = False

    def withdraw(self) -> None:
        self.is_removed = True


class Past(Struct, eq=False):
    """Lines of a chat that an earlier process has shown. `<CR>` does nothing on them."""

    lines: Sequence[str]
    folds: bool = False
    """Whether the lines fold under the first one, as those of a tool call do."""


class Unknown(Struct, eq=False):
    """Update of an unknown kind, as received."""

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
