"""Permissions allowed in advance, by trust in the session or by a rule of the project."""

from __future__ import annotations

from collections.abc import Sequence

from acp_nvim.agent.serving import project_rules, trusting
from acp_nvim.agent.settings import Settings
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.decisions import Decision, Option
from acp_nvim.session.session import Session


def option_without_question(
    session: Session, decision: Decision, calls: Sequence[ToolCall], settings: Settings
) -> tuple[Option, str] | None:
    """Return the option to select without asking the user, and the reason, or None to ask."""
    allowed = project_rules.allowed_option(session, decision, calls, settings)
    if allowed is not None:
        return allowed, "rule of this project"
    trusted = trusting.trusted_option(session, decision, calls, settings)
    return None if trusted is None else (trusted, "trust")
