"""Pictures: images from agents and attachments as files that can be drawn in the chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add("acp_nvim.features.pictures.verbs", "picture")
