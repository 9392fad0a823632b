"""Tells the workspace which files the tool calls of a session name."""

from __future__ import annotations

from collections.abc import Iterable

from acp_nvim.session.named_files import READING, diffs, named
from acp_nvim.session.session import Session
from acp_nvim.session.tool_calls import ToolCall
from acp_nvim.workspace.tool_call_files import ToolCallFiles


class ToolCallWatch:
    """Hears of each tool call, in wire order; nothing here waits."""

    def __init__(self, files: ToolCallFiles) -> None:
        self._files = files

    def plain_calls(self, session: Session, calls: Iterable[ToolCall]) -> None:
        """Tool calls that name no file were announced or changed."""
        turn = self._files.turn(session)
        if turn is not None:
            self._files.unnamed(turn, [call for call in calls if call.kind not in READING])

    def tool_call(self, session: Session, call: ToolCall) -> None:
        """A tool call was announced or changed."""
        turn = self._files.turn(session)
        if turn is None:
            return
        if call.kind in READING:
            if call.kind == "read" and turn.user_saves:
                done = call.status == "completed"
                self._files.reads(turn, call, named(call, session.cwd), is_completed=done)
            return
        state = (call.status, call.locations, call.content, call.raw_input)
        if turn.reported.get(call) == state:
            return
        turn.reported[call] = state
        paths = named(call, session.cwd)
        given = diffs(call, session.cwd) if call.finished and paths else ()
        self._files.named(turn, call, paths, given)
