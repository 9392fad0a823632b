"""Permissions that the user has allowed in advance: by trust in the session, or by a kept rule."""

from __future__ import annotations

from collections.abc import Sequence

from acp_nvim.agent.serving import kept_rules, trusting
from acp_nvim.agent.settings import Settings
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.decisions import Decision, Option
from acp_nvim.session.session import Session


def option_without_question(
    session: Session, decision: Decision, calls: Sequence[ToolCall], settings: Settings
) -> tuple[Option, str] | None:
    """Return the option to select without a question and the reason, or None to ask."""
    kept = kept_rules.kept_option(session, decision, calls, settings)
    if kept is not None:
        return kept, "rule of this project"
    trusted = trusting.trusted_option(session, decision, calls, settings)
    return None if trusted is None else (trusted, "trust")
