"""Plans of a session: one without an id (v1/agent-plan), others by id (rfds/plan-operations).

`Session.plan` has the entries of all of them, in order of arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acp_nvim.protocol import schema
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import PlanDocument, PlanEntry, Unknown


def replace(session: Session, update: schema.Plan) -> None:
    """Replace the plan without an id."""
    _set_items(session, "", update.entries)


def update(session: Session, update: schema.PlanUpdate) -> None:
    """Apply an update of one plan.

    A Markdown or file plan keeps the transcript position of its first update.
    """
    plan: Any = update.plan
    match plan:
        case schema.UnknownPlan():
            session.transcript.add(Unknown(f"plan_update {plan.type}", plan.raw))
            session.observer.on_change(session)
        case schema.PlanItems():
            _set_items(session, plan.plan_id, plan.entries)
        case _:
            _set_document(session, plan)


def remove(session: Session, update: schema.PlanRemoved) -> None:
    """Withdraw a plan. A Markdown or file plan is marked as removed in the chat."""
    plan = session.plans.pop(update.plan_id, None)
    if isinstance(plan, PlanDocument):
        plan.withdraw()
        session.transcript.touch(plan)
        session.event("AcpPlan")
    elif plan is not None:
        _show(session)


def _set_items(session: Session, plan_id: str, entries: Sequence[schema.PlanEntry]) -> None:
    session.plans[plan_id] = entries
    _show(session)


def _set_document(session: Session, plan: Any) -> None:
    document = session.plans.get(plan.plan_id)
    if not isinstance(document, PlanDocument):
        document = session.plans[plan.plan_id] = PlanDocument(plan.plan_id)
        session.transcript.add(document)
    document.text = plan.content if isinstance(plan, schema.PlanMarkdown) else None
    document.uri = plan.uri if isinstance(plan, schema.PlanFile) else None
    document.is_removed = False
    session.transcript.touch(document)
    session.event("AcpPlan")


def _show(session: Session) -> None:
    lists = [plan for plan in session.plans.values() if not isinstance(plan, PlanDocument)]
    session.plan = session.limit_list("plan", [entry for entries in lists for entry in entries])
    if session.plan_entry is None or not session.plan:
        session.plan_entry = PlanEntry()
        if session.plan:
            session.transcript.add(session.plan_entry)
    session.plan_entry.entries = session.plan
    session.plan_entry.left = session.left_out_counts.get("plan", 0)
    if session.plan:
        session.transcript.touch(session.plan_entry)
    else:
        session.plan_entry = None
    session.change("plan")
    session.event("AcpPlan")
