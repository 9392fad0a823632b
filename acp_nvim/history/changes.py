"""Immutable values that the loop passes to the writer thread.

`n` is the number of a session, and `place` is the position of an entry in its transcript.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from acp_nvim.edits.text import Text
from acp_nvim.history.records import MessageRecord, Record
from acp_nvim.session.transcript.entries import Part


class Facts(Struct, frozen=True):
    """Facts about a session that are not in its transcript.

    `topic` replaces a missing title. `tokens` were counted by the agent in turns of this process,
    `used` and `size` describe its context, and `cost` is the cost of the session so far.
    """

    agent: str
    agent_id: str
    cwd: str
    title: str
    topic: str
    stop_reason: str | None
    prompts: int
    tokens: int
    used: int | None
    size: int | None
    cost: float | None
    currency: str | None


class Replay(Struct, frozen=True):
    """Replay of a session by an agent.

    `prompts` and `places` are the texts and places of its prompts. `count` is its number of
    entries.
    """

    prompts: Sequence[str]
    places: Sequence[int]
    count: int


class RecordingStart(Struct, frozen=True):
    """Start of a recording, in a new record (`uid`) or an existing one.

    The existing record is `record`, or the record of the agent's session that was loaded or resumed
    (`is_loaded`). It already has the first `recorded` entries.
    """

    n: int
    uid: str
    facts: Facts
    parent: int | None = None
    record: int | None = None
    is_loaded: bool = False
    recorded: int = 0
    replay: Replay | None = None


class FactsChange(Struct, frozen=True):
    """Changed facts of a session."""

    n: int
    facts: Facts


class EntryState(Struct, frozen=True, gc=False):
    """Current state of an entry."""

    n: int
    place: int
    record: Record


class Extension(Struct, frozen=True, gc=False):
    """Content that is appended to a message, or replaces its content if `replaces` is true."""

    n: int
    place: int
    record: MessageRecord
    parts: Sequence[Part]
    replaces: bool = False


class Completion(Struct, frozen=True, gc=False):
    """Completion of a message. A later `Extension` may still extend it."""

    n: int
    place: int


class UserPrompt(Struct, frozen=True):
    """Text sent by the user."""

    text: str
    cwd: str


class Deletion(Struct, frozen=True):
    """Deletion of a record by the user."""

    record: int


class FileWrite(Struct, frozen=True):
    """Write of a file by an agent.

    `before` is the text before the write, and `agent_text` the agent's text. `after` is that text
    merged with the user's changes and formatted. `sent`, `prompt` and `words` are the time, number
    and beginning of the prompt.
    """

    n: int
    path: str
    before: Text | None
    agent_text: Text
    after: Text
    sent: float
    prompt: int
    words: str


class RecoveredWrite(Struct, frozen=True):
    """Write of a file by an agent whose host was killed afterwards.

    `uid`, `agent` and `agent_id` identify the session. `write` has no session number.
    """

    uid: str
    agent: str
    agent_id: str
    write: FileWrite


class FileMove(Struct, frozen=True):
    """Move of a file by an agent."""

    n: int
    old: str
    new: str


Change = (
    RecordingStart
    | FactsChange
    | EntryState
    | Extension
    | Completion
    | UserPrompt
    | Deletion
    | FileWrite
    | RecoveredWrite
    | FileMove
)
