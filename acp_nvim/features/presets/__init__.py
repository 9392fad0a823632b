"""Presets: apply a named agent, model, mode, options, tools and rules to a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add("acp_nvim.features.presets.verbs", "preset")
