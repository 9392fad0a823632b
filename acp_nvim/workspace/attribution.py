"""Whose doing a change on disk is where several turns run, or start.

A prompt does not wait for a long look at the files as they were before it, so its agent may have
changed some by the time that they are seen. And what an agent says of its tool calls may be read
after the file that it has changed.
"""

from __future__ import annotations

import time
from typing import Final

import anyio
from anyio import to_thread

from acp_nvim.workspace.file_changes import changed_at
from acp_nvim.workspace.turns import Turn, Turns

HEARD_NS: Final = 100_000_000
"""What an agent has said is known after so long, in nanoseconds."""


class Attribution:
    """All turns, with those that have begun and whose files have not been looked at yet."""

    def __init__(self, turns: Turns) -> None:
        self._all = turns
        self._starting: list[Turn] = []

    def enter(self, turn: Turn) -> None:
        """A turn has begun, or goes on with another prompt."""
        there = (one for one in self._starting if not (one.ready.is_set() or one.over.is_set()))
        self._starting = [one for one in there if one is not turn]
        if not turn.ready.is_set():
            self._starting.append(turn)

    async def last(self, path: str) -> tuple[Turn | None, int]:
        """Whose doing the last change of a file is, if it is an agent's; when it was, in
        nanoseconds.
        """
        at = await to_thread.run_sync(changed_at, path)
        age = time.time_ns() - at
        if 0 <= age < HEARD_NS and not self.is_sure(path, at):
            await anyio.sleep((HEARD_NS - age) / 1e9)
            at = await to_thread.run_sync(changed_at, path)
        return self.of(path, at), at

    def of(self, path: str, at: int) -> Turn | None:
        """Whose doing a change of a file at that time (in nanoseconds) is, if it is no user's.

        Of several turns that may be it: the one whose tool calls named the file last; the only one
        with a tool call at that time, or about then; the one that began first.
        """
        found = self._at_work(path, at)
        naming = [turn for turn in found if path in turn.names]
        if naming:
            return max(naming, key=lambda turn: turn.names[path])
        calling = [turn for turn in found if turn.called(at)]
        calling = calling or [turn for turn in found if _called_about(turn, at)]
        return calling[0] if len(calling) == 1 else next(iter(found), None)

    def is_sure(self, path: str, at: int) -> bool:
        """Whether nothing that an agent may have said by then could tell otherwise."""
        found = self._at_work(path, at)
        return len(found) < 2 or any(path in turn.names and turn.called(at) for turn in found)

    def _at_work(self, path: str, at: int) -> list[Turn]:
        """Those that had a prompt at that time and may change this file; where it lies in the
        directories of none, those that know what files were before theirs.
        """
        self._starting = [turn for turn in self._starting if not turn.ready.is_set()]
        ready = [turn for turn in self._all.ready() if _had_prompt(turn, at)]
        sent = [turn for turn in self._starting if turn.rests and at >= turn.rests[-1][1]]
        return [turn for turn in (*ready, *sent) if turn.concerns(path)] or ready


def _had_prompt(turn: Turn, at: int) -> bool:
    """Whether its agent had a prompt then: what changed while it had none is the user's."""
    if any(start <= at < end for start, end in turn.rests):
        return False
    return not turn.closed or at < turn.closed


def _called_about(turn: Turn, at: int) -> bool:
    """Whether a tool call ran at that time which may have been heard of later than it began."""
    return any(began - HEARD_NS <= at <= (end or at) for began, end in turn.calls.values())
