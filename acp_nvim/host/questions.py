"""Pending questions named by verbs."""

from __future__ import annotations

from acp_nvim import wording
from acp_nvim.app import Host
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.verbs import Args


def pending_question(host: Host, args: Args) -> Decision | None:
    """Return the pending question that a verb names, or tell the user that it is over."""
    decision = host.decision(str(args.get("id")))
    if decision is None:
        host.echo("warn", wording.QUESTION_OVER)
    return decision
