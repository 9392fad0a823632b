"""Chat: items opened with `<CR>`, reports, the traffic log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add(
        "acp_nvim.features.chat.verbs",
        "tool_calls",
        "redraw",
        "info",
        "log",
        "log_save",
        "export",
        "permissions",
        "open",
    )
