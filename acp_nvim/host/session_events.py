"""Observer of all sessions, which updates the screen and the turns of the files."""

from __future__ import annotations

from collections.abc import Iterable

import anyio

from acp_nvim.agent.serving.overwrites import Overwrites
from acp_nvim.agent.serving.tool_call_watch import ToolCallWatch
from acp_nvim.files.workspace import Workspace
from acp_nvim.nvim.pace import Pace
from acp_nvim.nvim.screen import Screen
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks


class SessionEvents:
    """`SessionObserver` of all sessions."""

    def __init__(
        self,
        screen: Screen,
        pace: Pace,
        workspace: Workspace[Session],
        tasks: Tasks,
    ) -> None:
        self._overwrites = Overwrites(workspace.live.text, tasks)
        self._own_turns = _OwnTurns(tasks, workspace)
        self._screen = screen
        self._pace = pace
        self._tool_calls = ToolCallWatch(workspace.tool_calls)
        self.on_stream = pace.wake
        """Called for each chunk. It is `Pace.wake` itself, to save a call."""

    def on_change(self, session: Session) -> None:
        """Request a frame. The start and the end of a turn or a question are urgent."""
        if not self._pace.is_urgent:
            self._pace.wake(self._screen.is_urgent(session))

    def on_own_turn(self, session: Session) -> None:
        """Watch for changes that the agent makes to files outside of a prompt."""
        self._own_turns.on_own_turn(session)

    def on_tool_call(self, session: Session, call: ToolCall) -> None:
        """Attribute a tool call to the turn of the root session."""
        self._tool_calls.tool_call(session.root, call)
        if not session.replaying:
            self._overwrites.tool_call(session, call)

    def on_plain_calls(self, session: Session, calls: Iterable[ToolCall]) -> None:
        """Attribute tool calls that name no file to the turn of the root session."""
        self._tool_calls.plain_calls(session.root, calls)

    def on_command(self, session: Session, line: str, directory: str) -> None:
        """Record the files in a command as named by the agent."""
        self._tool_calls.command(session.root, line, directory)

    def on_work_at(self, session: Session, path: str) -> None:
        """Record a file that the editor's tools read or change as named by the agent."""
        self._tool_calls.on_tool_at(session.root, path)


class _OwnTurns:
    """Running turns that agents began without a prompt, at most one for each session.

    Changes on disk during such a turn are attributed to the agent.
    """

    def __init__(self, tasks: Tasks, workspace: Workspace[Session]) -> None:
        self._tasks = tasks
        self._workspace = workspace
        self._ended: dict[int, anyio.Event] = {}
        """Events whose setting ends the turns, by session number."""

    def on_own_turn(self, session: Session) -> None:
        """Begin or end a turn to match the state of the session."""
        if not session.own_turn:
            ended = self._ended.pop(session.n, None)
            if ended is not None:
                ended.set()
        elif session.n not in self._ended and session.shares_files:
            ended = self._ended[session.n] = anyio.Event()
            self._tasks.start_soon(self._follow, session, ended)

    async def _follow(self, session: Session, ended: anyio.Event) -> None:
        await self._workspace.begin_turn(session, None, "")
        await ended.wait()
        await self._workspace.end_turn(session, own=True)
