"""Whose doing a change on disk is while turns start: a prompt does not wait for a long look at the
files as they were before it, so its agent may have changed some by the time that they are seen.
"""

from __future__ import annotations

from acp_nvim.editor.at_work import Turn, Turns


class Starting:
    """Turns that have begun and whose files have not been looked at yet."""

    def __init__(self, turns: Turns) -> None:
        self._all = turns
        self._turns: list[Turn] = []

    def enter(self, turn: Turn) -> None:
        """A turn has begun, or goes on with another prompt."""
        if not turn.ready.is_set() and turn not in self._turns:
            self._turns.append(turn)

    def author(self, path: str, at: int) -> Turn | None:
        """Whose doing a change of a file at that time (in nanoseconds) is, if it is no user's.

        What came after the prompt of a turn that starts may be its agent's. Of several turns that
        may be it: the one whose tool calls named the file last; the only one that starts with a
        tool call at that time, if none is known to have had one; one that was at work before.
        """
        known, sent = self._all.author(path, at), self._sent(path, at)
        if not sent:
            return known
        naming = [turn for turn in (*sent, known) if turn is not None and path in turn.names]
        if naming:
            return max(naming, key=lambda turn: turn.names[path])
        calling = [turn for turn in sent if turn.called(at)]
        if len(calling) == 1 and (known is None or not known.called(at)):
            return calling[0]
        return known or sent[0]

    def _sent(self, path: str, at: int) -> list[Turn]:
        """Those whose agent had its prompt at that time, and may have changed this file."""
        self._turns = [turn for turn in self._turns if not turn.ready.is_set()]
        return [
            turn
            for turn in self._turns
            if turn.rests and at >= turn.rests[-1][1] and turn.concerns(path)
        ]
