"""Prompt library: consent to the project's prompts, and merge conflicts with their base."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add("acp_nvim.features.library.verbs", "trust_prompt", "conflicts")
