"""Sessions: new, stored, restored, their options."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add(
        "acp_nvim.features.sessions.verbs", "new", "current", "sessions", "close", "reopen"
    )
    app.verbs.add("acp_nvim.features.sessions.options", "mode", "next_mode", "option")
    app.observers.on_setup.append(partial(_on_setup, app))


def _on_setup(app: Host, args: dict[str, Any]) -> None:
    """Restore the sessions of the previous host."""
    if args.get("past") is not None:
        from acp_nvim.features.sessions.session_restore import restore_sessions

        restore_sessions(app, args["past"])
