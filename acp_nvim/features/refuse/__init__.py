"""Refusals with a reason, which is sent to the agent as soon as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add("acp_nvim.features.refuse.verbs", "refuse", "explain")
