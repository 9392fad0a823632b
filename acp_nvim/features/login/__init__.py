"""Logins at agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_nvim.features.login.logins import Logins

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add("acp_nvim.features.login.verbs", "login", "login_done", "logout")
    logins = Logins(app.sessions, app.screen, app.tasks, app.echo)
    app.parts.add(logins)
    app.connection_observers.on_authenticated.append(logins.on_logged_in)
    app.conversation_observers.on_login_needed.append(logins.on_login_needed)
    app.observers.on_login_needed.append(logins.require)
    app.observers.on_login_awaited.append(logins.call_after_login)
    app.observers.on_agent_restarted.append(logins.resume)
