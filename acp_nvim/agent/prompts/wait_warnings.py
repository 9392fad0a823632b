"""Warnings about an agent that keeps the user waiting, with the possible actions.

They cover a late answer, a turn that does not end after a cancel, and silence. A warning ends
nothing, and a late answer is still used.
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
"""Number of checks during a silence that is long enough to be reported."""


class WaitWarnings:
    """Warnings about the agent of one session."""

    def __init__(
        self,
        session: Session,
        tasks: Tasks,
        timeouts: Callable[[], Timeouts],
        unreached_reason: Callable[[], str | None],
    ) -> None:
        """`unreached_reason` returns why a remote agent is not connected yet, or None."""
        self._unreached_reason = unreached_reason
        self._session = session
        self._tasks = tasks
        self._timeouts = timeouts
        self._watching: anyio.CancelScope | None = None

    def warn(self, title: str) -> None:
        """Warn the user, even during a replay."""
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
        reason = self._unreached_reason()
        if reason is not None:
            self.warn(reason)
        elif self._session.status != "closed":
            what = wording.PART_ANSWERED.format(question=question, seconds=OPEN_S)
            self._warn_silent(what, wording.PART_STARTS_AGAIN)

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
        """Warn the user once for each silence in this turn (option `timeouts.silent_s`).

        `received` returns another value once a message has arrived.
        """
        self.stop_watching()
        self._watching = anyio.CancelScope()
        self._tasks.start_later(self._watch, received, self._watching)

    async def _watch(self, received: Callable[[], object], scope: anyio.CancelScope) -> None:
        with scope:
            await watch_silence(
                self._session, received, lambda: self._timeouts().silent_s, self._warn_of_silence
            )

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
    """Call `warn` once each time the agent is silent for `seconds` in the running turn.

    The call may be late by one check, never early. Time in which the agent waits for the user or
    for a program that the host runs does not count. 0 seconds disables the check.
    """
    turn, last, quiet, is_warned = session.turn, received(), 0, False
    while session.in_turn and session.turn == turn and (limit := seconds()) > 0:
        await anyio.sleep(limit / CHECKS)
        now = received()
        if now != last or _waits_for_client(session):
            last, quiet, is_warned = now, 0, False
            continue
        quiet += 1
        is_running = session.status == "running" and session.turn == turn
        if quiet >= CHECKS and is_running and not is_warned:
            is_warned = True
            warn(limit)


def _waits_for_client(session: Session) -> bool:
    """Return whether the agent is waiting for the user or for a program that the host runs."""
    if any(decision.subject != "consent" for decision in session.decisions):
        return True
    family = (session, *session.children.values())
    return any(
        terminal.is_hosted and terminal.running
        for session in family
        for terminal in session.terminals
    )
