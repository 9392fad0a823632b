"""Origin of a session: new, or continued from one that exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct, field

from acp_nvim.agent.opening.initial_options import InitialOptions
from acp_nvim.session.transcript.entries import Entry

OriginKind = Literal["new", "load", "resume", "fork", "copy", "reopen"]


class Branch(Struct, frozen=True):
    """Rewind of session number `n`. `has_files` is true if files were restored too."""

    n: int
    has_files: bool


class ForkPoint(Struct, frozen=True):
    """Point at which to fork a session: a cursor (rfds/session-cursors) or a message."""

    cursor: str | None = None
    message_id: str | None = None


class Origin(Struct, frozen=True):
    """Origin of a session.

    A `copy` is a new session whose agent receives the earlier conversation as text. A session to
    `reopen` was open in an earlier process of the host, with the options `chosen`.
    """

    kind: OriginKind = "new"
    id: str = ""
    """Agent's id of the existing session."""
    chosen: InitialOptions = field(default_factory=InitialOptions)
    entries: Callable[[], Sequence[Entry]] = tuple
    """Function that returns the known entries of the session."""
    point: ForkPoint | None = None
    """Point at which to fork, or None to fork the whole session."""
    branch: Branch | None = None
    hands_over: bool = False
    """For `reopen`, whether a new session in its place receives the earlier conversation."""


NEW = Origin()
