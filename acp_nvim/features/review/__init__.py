"""The review of pending edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add(
        "acp_nvim.features.review.verbs",
        "edited",
        "saved",
        "leaving",
        "opened",
        "disk_changed",
        "refresh",
        "accept",
        "reject",
        "unreject",
        "base_written",
        "workspace",
        "journal_changed",
        "parked",
        "drop_parked",
        "edits",
        "review",
        "comment",
    )
