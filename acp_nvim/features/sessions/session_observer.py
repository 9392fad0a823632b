"""Who is told at once what happens in sessions: the screen, and the files' side of their turns.

A module of its own because it knows both; neither knows the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from acp_nvim.agent.prompts.own_turns import OwnTurns
from acp_nvim.agent.serving.overwrites import Overwrites
from acp_nvim.agent.serving.tool_call_watch import ToolCallWatch
from acp_nvim.nvim.pace import Pace
from acp_nvim.nvim.screen import Screen
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.session import Session


class HostObserver:
    """The `SessionObserver` of all sessions of a host."""

    def __init__(
        self,
        screen: Screen,
        pace: Pace,
        tool_calls: ToolCallWatch,
        own_turns: OwnTurns,
        overwrites: Overwrites,
    ) -> None:
        self._overwrites = overwrites
        self._own_turns = own_turns
        self._screen = screen
        self._pace = pace
        self._tool_calls = tool_calls
        self.streamed = pace.wake
        """Called for each chunk, so without a layer between."""

    def changed(self, session: Session) -> None:
        """The start and the end of a turn or a question are urgent, what streams between is not."""
        if not self._pace.hurried:
            self._pace.wake(self._screen.is_urgent(session))

    def own_turn(self, session: Session) -> None:
        """Files that the agent changes by itself are looked at."""
        self._own_turns.changed(session)

    def tool_call(self, session: Session, call: ToolCall) -> None:
        """A subagent works in the turn of the session above all."""
        self._tool_calls.tool_call(session.root, call)
        if not session.replaying:
            self._overwrites.tool_call(session, call)

    def plain_calls(self, session: Session, calls: Iterable[ToolCall]) -> None:
        """The same for calls that name no file."""
        self._tool_calls.plain_calls(session.root, calls)

    def command(self, session: Session, line: str, directory: str) -> None:
        """Files in commands count as named by the agent."""
        self._tool_calls.command(session.root, line, directory)

    def works_at(self, session: Session, path: str) -> None:
        """So do files at which the editor's tools work."""
        self._tool_calls.works_at(session.root, path)
