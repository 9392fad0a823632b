"""Who is told at once what happens in sessions: the screen, and the files' side of their turns.

A module of its own because it knows both; neither knows the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from acp_nvim.editor.pace import Pace
from acp_nvim.editor.screen import Screen
from acp_nvim.session.session import Session
from acp_nvim.session.tool_calls import ToolCall
from acp_nvim.workspace.workspace import Reviewing


class HostObserver:
    """The `SessionObserver` of all sessions of a host."""

    def __init__(self, screen: Screen, pace: Pace, review: Reviewing) -> None:
        """`review` looks at the files that tool calls name."""
        self._screen = screen
        self._pace = pace
        self._review = review
        self.streamed = pace.wake
        """Called for each chunk, so without a layer between."""

    def changed(self, session: Session) -> None:
        """The start and the end of a turn or a question are urgent, what streams between is not."""
        self._pace.wake(self._screen.is_urgent(session))

    def tool_call(self, session: Session, call: ToolCall) -> None:
        """A subagent works in the turn of the session above all."""
        self._review.calling.tool_call(session.root, call)

    def plain_calls(self, session: Session, calls: Iterable[ToolCall]) -> None:
        """The same for calls that name no file."""
        self._review.calling.plain_calls(session.root, calls)
