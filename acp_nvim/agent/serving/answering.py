"""Agents' requests that the user answers.

When a request or its `Decision` ends, the other ends too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel

from acp_nvim.agent.wire.calls import IncomingCall
from acp_nvim.session import ids
from acp_nvim.session.calls import call_updates
from acp_nvim.session.questions.decisions import CANCEL_STEP, CANCELLED, Decision, Outcome
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks


def decision_id() -> str:
    return ids.new("d")


def cancel_with(call: IncomingCall, decision: Decision) -> None:
    """Resolve the decision as cancelled when the agent cancels its request (`$/cancel_request`).

    The request is still answered, with that outcome.
    """
    call.when_cancelled(partial(decision.resolve, CANCELLED, "agent"))


def answer_by(decision: Decision, call: IncomingCall, result: Callable[[Outcome], Any]) -> None:
    """Answer a request with `result(outcome)` as soon as the decision is resolved.

    This uses no task, because an agent may have any number of open questions.
    """
    if decision.outcome is not None:
        call.answer(result(decision.outcome))
        return
    call.when_abandoned(partial(decision.resolve, CANCELLED, "connection ended"))
    decision.reply_with(lambda outcome: call.answer(result(outcome)))


async def wait(decision: Decision) -> Outcome:
    """Wait until the decision is resolved. Resolve it as cancelled if the wait is cancelled."""
    done = anyio.Event()
    if decision.outcome is None:
        decision.waiters.append(lambda _: done.set())
        try:
            await done.wait()
        finally:
            decision.resolve(CANCELLED, "request ended")
    assert decision.outcome is not None
    return decision.outcome


def cancel_questions(session: Session, tasks: Tasks, by: str) -> bool:
    """Answer all pending questions of a session as cancelled.

    More than `CANCEL_STEP` questions are answered in steps, to keep the event loop responsive. Then
    the open tool calls are closed. Return whether the steps are still running.
    """
    has_many = len(session.decisions) > CANCEL_STEP
    if has_many:
        tasks.start_soon(_cancel_many, session, session.decisions.cancelling(by))
        session.root.change("permissions", "elicitations", "questions", "more")
    else:
        session.decisions.cancel_all(by)
    return has_many


async def _cancel_many(session: Session, steps: Iterator[None]) -> None:
    for _ in steps:
        await anyio.lowlevel.checkpoint()
    while call_updates.close_open(session, "cancelled", CANCEL_STEP):
        await anyio.lowlevel.checkpoint()
