"""Observer of sessions: passes their events to the screen and to the files' side of turns.

It is a separate module because these two do not know each other.
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
    """`SessionObserver` of all sessions of a host."""

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
        """Called for each chunk. For speed it is `Pace.wake` itself."""

    def changed(self, session: Session) -> None:
        """Request a frame. The start and the end of a turn or a question are urgent."""
        if not self._pace.hurried:
            self._pace.wake(self._screen.is_urgent(session))

    def own_turn(self, session: Session) -> None:
        """Watch for changes that the agent makes to files outside of a prompt."""
        self._own_turns.changed(session)

    def tool_call(self, session: Session, call: ToolCall) -> None:
        """Attribute a tool call to the turn of the root session."""
        self._tool_calls.tool_call(session.root, call)
        if not session.replaying:
            self._overwrites.tool_call(session, call)

    def plain_calls(self, session: Session, calls: Iterable[ToolCall]) -> None:
        """Attribute tool calls that name no file to the turn of the root session."""
        self._tool_calls.plain_calls(session.root, calls)

    def command(self, session: Session, line: str, directory: str) -> None:
        """Count the files in a command as named by the agent."""
        self._tool_calls.command(session.root, line, directory)

    def works_at(self, session: Session, path: str) -> None:
        """Count a file that the editor's tools read or change as named by the agent."""
        self._tool_calls.works_at(session.root, path)
