"""Permissions: agents' questions and the edits that they propose."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from acp_nvim.agent.serving.proposed_edits import has_patches
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.session import Session

if TYPE_CHECKING:
    from acp_nvim.app import Host
    from acp_nvim.features.permissions.proposal_check import ProposalCheck


def install(app: Host) -> None:
    app.verbs.add(
        "acp_nvim.features.permissions.verbs",
        "answer",
        "choose",
        "bring",
        "cards",
        "propose",
        "allow",
        "deny",
    )

    @cache
    def check() -> ProposalCheck:
        from acp_nvim.features.permissions.proposal_check import ProposalCheck

        return ProposalCheck(
            app.nvim.async_calls, app.proposed, app.tasks, app.settings, app.screen.push
        )

    def on_card(session: Session, decision: Decision) -> None:
        """Check proposed edits in the background: whether they apply, and their diagnostics."""
        if has_patches(session, decision):
            app.tasks.start_soon(app.proposed.check, session, decision)
        check().on_card(session, decision)

    app.screen.on_edits_shown.append(on_card)
