"""Pending questions, and the sessions that ask them."""

from __future__ import annotations

from acp_nvim import wording
from acp_nvim.app import Host
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.session import Session
from acp_nvim.verbs import Args


def find_question(host: Host, question_id: object) -> Decision | None:
    """Return a pending question by its id, whether or not it belongs to a session."""
    asked = [session.decisions for session in host.session_list.all()]
    asked.append(host.unscoped_questions.decisions)
    matches = (decisions.get(str(question_id)) for decisions in asked)
    return next((decision for decision in matches if decision is not None), None)


def pending_question(host: Host, args: Args) -> Decision | None:
    """Return the pending question that a verb names. If there is none, warn the user."""
    decision = find_question(host, args.get("id"))
    if decision is None:
        host.echo("warn", wording.QUESTION_OVER)
    return decision


def session_asking(host: Host, decision: Decision) -> Session | None:
    """Return the session whose chat has the question. A subagent asks in its root session."""
    sessions = (s for s in host.session_list.all() if s.decisions.get(decision.id) is decision)
    return next(sessions, None)
