"""Elicitations: an agent asks the user to fill in a form or to open a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acp_nvim.app import Host


class ReviewedForms(dict[str, dict[str, Any]]):
    """Values of forms that the user has to confirm, by id of the decision."""


def install(app: Host) -> None:
    app.verbs.add(
        "acp_nvim.features.forms.verbs", "answer_form", "open_decision", "form_write", "form_send"
    )
    app.parts.add(ReviewedForms())
