"""What a question says of its end when nobody waits for the answer any more."""

from __future__ import annotations

import anyio

from acp_nvim.agent import answering
from acp_nvim.agent.wire.calls import IncomingCall
from acp_nvim.session.questions.decisions import CANCELLED, Decision


def test_a_question_says_that_the_connection_has_ended() -> None:
    decision = Decision("d1", "permission", "Edit")
    call = IncomingCall(1, "session/request_permission")
    answering.answer_by(decision, call, lambda outcome: outcome)
    call.abandon("the agent is gone")
    assert (decision.outcome, decision.by) == (CANCELLED, "connection ended")


async def test_a_question_says_that_its_request_has_ended() -> None:
    decision = Decision("d1", "permission", "Read")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(answering.wait, decision)
        await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert (decision.outcome, decision.by) == (CANCELLED, "request ended")
