"""Warnings about an agent that keeps the user waiting, with the possible actions.

They cover a late answer, a turn that does not end after a cancel, and silence. Nothing is ended,
and a late answer still counts.
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
"""Time to wait for an answer before the user is warned, in seconds."""
CHECKS: Final = 4
"""Number of checks within the time of silence that is reported."""


class WaitWarnings:
    """Warnings about the agent of one session."""

    def __init__(
        self,
        session: Session,
        tasks: Tasks,
        timeouts: Callable[[], Timeouts],
        unreached: Callable[[], str | None],
    ) -> None:
        """`unreached` returns the reason why a remote agent is not connected yet, if so."""
        self._unreached = unreached
        self._session = session
        self._tasks = tasks
        self._timeouts = timeouts
        self._watching: anyio.CancelScope | None = None

    def warn(self, title: str) -> None:
        """Warn the user, also during a replay."""
        session = self._session
        session.notice("warning", title)
        session.transcript.release()  # a silent agent may never finish its message
        replaying, session.replaying = session.replaying, False
        session.event("AcpNotice", severity="warning", title=title)
        session.replaying = replaying

    def if_unanswered(self, question: str) -> AbstractContextManager[None]:
        """Warn the user once if the request in this context takes longer than `OPEN_S`."""
        return self._tasks.if_slow(OPEN_S, partial(self._warn_unanswered, question))

    def _warn_unanswered(self, question: str) -> None:
        unreached = self._unreached()
        if unreached is not None:
            self.warn(unreached)
        elif self._session.status != "closed":
            what = wording.PART_ANSWERED.format(question=question, seconds=OPEN_S)
            self._warn_silent(what, wording.PART_STARTS_ANEW)

    async def if_not_cancelled(self, turn: int) -> None:
        """Warn about an agent that does not end the turn in time after a cancel."""
        seconds = self._timeouts().cancel_s
        await anyio.sleep(seconds)
        if self._session.turn == turn and self._session.status == "cancelling":
            self._warn_silent(wording.PART_ENDED.format(seconds=seconds), wording.PART_ENDS)

    def _warn_silent(self, what: str, way_out: str) -> None:
        agent = self._session.agent
        self.warn(wording.AGENT_SILENT.format(agent=agent, what=what, way_out=way_out))

    def watch(self, received: Callable[[], object]) -> None:
        """Warn the user once per silence of option `timeouts.silent_s`, until the turn ends or
        `stop_watching`.

        ``received`` returns another value once a message has arrived.
        """
        self.stop_watching()
        self._watching = anyio.CancelScope()
        self._tasks.start_later(self._watch, received, self._watching)

    async def _watch(self, received: Callable[[], object], scope: anyio.CancelScope) -> None:
        with scope:
            await watch_silence(self._session, received, self._silent_s, self._warn_of_silence)

    def _silent_s(self) -> float:
        return self._timeouts().silent_s

    def stop_watching(self) -> None:
        """Stop watching for silence, at the end of the turn."""
        if self._watching is not None:
            self._watching.cancel()

    def _warn_of_silence(self, seconds: float) -> None:
        agent = self._session.agent
        self.warn(wording.AGENT_QUIET.format(agent=agent, seconds=seconds))


async def watch_silence(
    session: Session,
    received: Callable[[], object],
    seconds: Callable[[], float],
    warn: Callable[[float], None],
) -> None:
    """Call ``warn`` once each time the agent is silent for ``seconds`` in the running turn.

    It may be late by one check and is never early. Time spent on a question to the user or on a
    program that the host runs for the agent does not count. 0 seconds disables it.
    """
    turn, last, quiet, is_warned = session.turn, received(), 0, False
    while session.in_turn and session.turn == turn and (limit := seconds()) > 0:
        await anyio.sleep(limit / CHECKS)
        now = received()
        if now != last or _waits_for_us(session):
            last, quiet, is_warned = now, 0, False
            continue
        quiet += 1
        is_running = session.status == "running" and session.turn == turn
        if quiet >= CHECKS and is_running and not is_warned:
            is_warned = True
            warn(limit)


def _waits_for_us(session: Session) -> bool:
    """Return whether the agent waits for the user's answer or a program that the host runs."""
    if any(decision.subject != "consent" for decision in session.decisions):
        return True
    every = (session, *session.children.values())
    return any(one.ours and one.running for it in every for one in it.terminals)
