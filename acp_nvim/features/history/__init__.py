"""History: search, open, continue and export stored sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add(
        "acp_nvim.features.history.verbs",
        "history",
        "history_stats",
        "history_ask",
        "history_do",
    )
