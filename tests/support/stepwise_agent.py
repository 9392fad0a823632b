"""Agent that carries out a test's steps within one turn.

Example:

    agent = StepwiseAgent.at_work(editor)  # a turn has begun
    agent.ask("runs", "rm a.txt")  # a scenario and its arguments; returns when it is done
    agent.end()
"""

from __future__ import annotations

import json

from tests.support.editor import Editor
from tests.support.waiting import until


class StepwiseAgent:
    """Turns of the scripted agent that was started last, or of one of several sessions."""

    def __init__(self, editor: Editor, name: str = "turn", session: int | None = None) -> None:
        """Prepare a turn; ``name`` distinguishes the turns of several sessions, and ``session`` is
        the local number.
        """
        self.editor = editor
        self.traffic = editor.traffic[-1]
        self.working = False
        self._name = name
        self._session = session
        self._turns = self._given = 0

    @property
    def _home(self) -> str:
        return f"{self.editor.home}/{self._name}{self._turns}"

    @classmethod
    def at_work(cls, editor: Editor, name: str = "turn") -> StepwiseAgent:
        """Begin a turn and wait until the agent has its prompt."""
        orders = cls(editor, name)
        earlier = len(orders.traffic.received("session/prompt"))
        orders.begin()
        orders.traffic.wait("session/prompt", earlier + 1)
        return orders

    def begin(self) -> None:
        """Begin a turn in which the agent waits for steps."""
        self._turns += 1
        self._given = 0
        self.working = True
        self.editor.lua("vim.fn.mkdir(...)", self._home)
        self.editor.lua(
            "local text, session = ... require('acp').prompt(text, { session = session })",
            f"obeys {self._home}",
            self._session,
        )

    def order(self, *words: str) -> str:
        """Give the agent a step; return the note that reports its end."""
        self._given += 1
        waiting = self.editor.home / f"{self._name}{self._turns}" / "order"
        waiting.write_text(json.dumps(words))
        waiting.rename(waiting.with_name(f"{self._given}.json"))
        return f"done {self._home} {self._given}"

    def ask(self, *words: str) -> None:
        """Give the agent a step and wait until it is done."""
        done = self.order(*words)
        until(lambda: done in self.traffic.notes(), what=done)

    def end(self) -> None:
        """End the turn, with its last scan of the files."""
        ended = len(self._ended())
        self.order("end")
        until(lambda: len(self._ended()) > ended, what="AcpTurnEnd")
        self.working = False

    def _ended(self) -> list[int]:
        turns = [event["data"]["session"] for event in self.editor.events("AcpTurnEnd")]
        return [n for n in turns if self._session in (None, n)]
