"""Observation of the files that tool calls name, to attribute changes on disk."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from acp_nvim.files.bytes.disk import GRAIN_NS
from acp_nvim.files.changes.tool_call_files import ToolCallFiles
from acp_nvim.files.changes.turns import Turn
from acp_nvim.session.calls.named_files import (
    CHANGING,
    READING,
    diffs,
    named_files,
    paths_in_real_folders,
    resolve,
)
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.requests import commands
from acp_nvim.session.session import Session


class ToolCallWatch:
    """Observer of tool calls. Its methods are called in wire order and do not wait."""

    def __init__(self, files: ToolCallFiles) -> None:
        self._files = files

    def plain_calls(self, session: Session, calls: Iterable[ToolCall]) -> None:
        """Record new or changed calls that name no file."""
        turn = self._files.turn(session)
        if turn is not None:
            calls = list(calls)
            for call in calls:
                turn.mentions.add_title(call.title, session.cwd)
                _judge(turn, call, [])
            self._files.on_unnamed(turn, [call for call in calls if call.kind not in READING])

    def command(self, session: Session, line: str, directory: str) -> None:
        """Record the command of a terminal."""
        turn = self._files.turn(session)
        if turn is not None:
            turn.mentions.add_command(line, directory)
            turn.git.examine_terminal(line, time.time_ns() - GRAIN_NS)

    def on_tool_at(self, session: Session, path: str) -> None:
        """Record a file that one of the editor's tools uses."""
        turn = self._files.turn(session)
        if turn is not None:
            turn.mentions.add_paths([resolve(path)])

    def tool_call(self, session: Session, call: ToolCall) -> None:
        """Record a new or changed call."""
        turn = self._files.turn(session)
        if turn is None:
            return
        state = (call.status, call.title, call.locations, call.content, call.raw_input)
        is_news = turn.reported.get(call) != state
        paths = named_files(call, session.cwd)
        if is_news:
            turn.reported[call] = state
            _mention(turn, call, paths, session.cwd)
        if call.kind in READING:
            if call.kind == "read" and turn.user_saves:
                self._files.on_read(turn, call, paths, is_completed=call.status == "completed")
            return
        if not is_news:
            return
        given = diffs(call, session.cwd) if call.is_finished and paths else ()
        self._files.on_named(turn, call, paths, given)


def _mention(turn: Turn, call: ToolCall, paths: list[str], cwd: str) -> None:
    """Record the files that a call names, including those in its commands and its title."""
    turn.mentions.add_paths([*paths, *paths_in_real_folders(call, cwd)])
    turn.mentions.add_title(call.title, cwd)
    if call.raw_input or call.is_finished:
        found_commands = commands(call)
        _judge(turn, call, [command.line for command in found_commands])
        for command in found_commands:
            directory = os.path.join(cwd, command.cwd or "")  # noqa: PTH118
            turn.mentions.add_command(command.line, directory)


def _judge(turn: Turn, call: ToolCall, lines: list[str]) -> None:
    """Record whether a call may run git. Edits and commands that do not name git are harmless."""
    is_harmless = bool(lines) or call.kind in CHANGING
    turn.git.examine_call(call, (*lines, call.title), is_harmless=is_harmless)
