"""Requests and notifications beyond the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add(
        "acp_nvim.features.extensions.verbs", "extensions", "extension_reply", "extension_request"
    )
