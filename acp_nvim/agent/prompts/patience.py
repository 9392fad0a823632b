"""Tells the user that an agent keeps them waiting, and the ways out: with an answer, with the end
of a turn, with any word at all. Nothing is ended, and what comes late counts.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Final

import anyio

from acp_nvim import wording
from acp_nvim.agent.settings import Timeouts
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks

OPEN_S: Final = 10.0
"""How long an agent may take for each answer that a session waits for until the user is told."""
LOOKS: Final = 4
"""How often it is looked in the time after which silence is told."""


class Patience:
    """The user's, with the agent of one session."""

    def __init__(
        self,
        session: Session,
        tasks: Tasks,
        timeouts: Callable[[], Timeouts],
        unreached: Callable[[], str | None],
    ) -> None:
        """`timeouts` returns the options of that name, `unreached` why an agent elsewhere is not
        reached yet.
        """
        self._unreached = unreached
        self._session = session
        self._tasks = tasks
        self._timeouts = timeouts
        self._listening: anyio.CancelScope | None = None

    def warn(self, title: str) -> None:
        """Tell the user, also while the agent replays the past: this is of now."""
        session = self._session
        session.notice("warning", title)
        session.transcript.release()  # who is silent in the middle of a message may never end it
        replaying, session.replaying = session.replaying, False
        session.event("AcpNotice", severity="warning", title=title)
        session.replaying = replaying

    def answer(self, question: str) -> AbstractContextManager[None]:
        """Around a request that the session waits for: after `OPEN_S` the user is told, once. The
        answer counts whenever it comes.
        """
        return self._tasks.if_slow(OPEN_S, partial(self._unanswered, question))

    def _unanswered(self, question: str) -> None:
        unreached = self._unreached()
        if unreached is not None:
            self.warn(unreached)
        elif self._session.status != "closed":
            what = wording.PART_ANSWERED.format(question=question, seconds=OPEN_S)
            self._keeps_waiting(what, wording.PART_STARTS_ANEW)

    async def cancelled(self, turn: int) -> None:
        """After the time for a cancel: name an agent that has not ended the turn."""
        seconds = self._timeouts().cancel_s
        await anyio.sleep(seconds)
        if self._session.turn == turn and self._session.status == "cancelling":
            self._keeps_waiting(wording.PART_ENDED.format(seconds=seconds), wording.PART_ENDS)

    def _keeps_waiting(self, what: str, way_out: str) -> None:
        agent = self._session.agent
        self.warn(wording.AGENT_SILENT.format(agent=agent, what=what, way_out=way_out))

    def listen(self, heard: Callable[[], object]) -> None:
        """Tell the user once for each time in which the agent says nothing for option
        `timeouts.silent_s`, until the running turn is over, or `rest`. ``heard`` returns another
        value once something has come.
        """
        self.rest()
        self._listening = anyio.CancelScope()
        self._tasks.start_later(self._listen, heard, self._listening)

    async def _listen(self, heard: Callable[[], object], scope: anyio.CancelScope) -> None:
        with scope:
            await watch_silence(self._session, heard, self._silent_s, self._quiet)

    def _silent_s(self) -> float:
        return self._timeouts().silent_s

    def rest(self) -> None:
        """The turn is over: nothing is waited for."""
        if self._listening is not None:
            self._listening.cancel()

    def _quiet(self, seconds: float) -> None:
        agent = self._session.agent
        self.warn(wording.AGENT_QUIET.format(agent=agent, seconds=seconds))


async def watch_silence(
    session: Session,
    heard: Callable[[], object],
    seconds: Callable[[], float],
    tell: Callable[[float], None],
) -> None:
    """Call ``tell`` once for each silence of so many ``seconds`` in the running turn. It may come
    late, by one look, and never too early. The user's time with a question and that of a program
    which we run for the agent do not count. 0 seconds: nothing is told.
    """
    turn, last, quiet, told = session.turn, heard(), 0, False
    while session.in_turn and session.turn == turn and (limit := seconds()) > 0:
        await anyio.sleep(limit / LOOKS)
        now = heard()
        if now != last or _waits_for_us(session):
            last, quiet, told = now, 0, False
            continue
        quiet += 1
        if quiet >= LOOKS and not told and session.status == "running" and session.turn == turn:
            told = True
            tell(limit)


def _waits_for_us(session: Session) -> bool:
    """Whether a question waits for the user, or a program of ours runs for the agent."""
    if any(decision.subject != "consent" for decision in session.decisions):
        return True
    every = (session, *session.children.values())
    return any(one.ours and one.running for it in every for one in it.terminals)
