"""A question reports why it ended when no request waits for its answer any more."""

from __future__ import annotations

import anyio

from acp_nvim.agent.serving import answering
from acp_nvim.agent.wire.calls import IncomingCall
from acp_nvim.session.questions.decisions import CANCELLED, Decision
from acp_nvim.session.session import Session
from acp_nvim.session.state import take_changes
from acp_nvim.tasks import Tasks


def test_a_question_reports_that_the_connection_has_ended() -> None:
    decision = Decision("d1", "permission", "Edit")
    call = IncomingCall(1, "session/request_permission")
    answering.answer_by(decision, call, lambda outcome: outcome)
    call.abandon("the agent is gone")
    assert (decision.outcome, decision.by) == (CANCELLED, "connection ended")


async def test_a_question_reports_that_its_request_has_ended() -> None:
    decision = Decision("d1", "permission", "Read")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(answering.wait, decision)
        await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert (decision.outcome, decision.by) == (CANCELLED, "request ended")


async def test_a_cancel_removes_very_many_questions() -> None:
    session = Session(1, "a", "/work")
    asked = [Decision(f"d{n}", "permission", "Run") for n in range(3000)]
    for decision in asked:
        session.ask(decision)
    take_changes(session)
    faults: list[str] = []
    async with anyio.create_task_group() as group:
        tasks = Tasks(group, lambda name, error: faults.append(f"{name}: {error}"))
        assert answering.cancel_questions(session, tasks, "cancel")
        told = {str(path[0]): value for path, value in take_changes(session)}
        assert (told["permissions"], told["more"]) == ([], None)
        session.ask(late := Decision("late", "permission", "Run"))
        assert session.decisions.front == [late]
    assert {decision.outcome for decision in asked} == {CANCELLED}
    assert (list(session.decisions), late.outcome, faults) == ([late], None, [])
