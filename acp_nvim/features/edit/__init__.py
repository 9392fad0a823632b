"""Inline edits: changes to lines in place, in a session without a chat window."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add("acp_nvim.features.edit.verbs", "edit", "cancel_edit")
