"""Logins that agents require, and the actions to run after them."""

from __future__ import annotations

from collections.abc import Callable

from acp_nvim import wording
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.opening import auth
from acp_nvim.host.sessions import Sessions
from acp_nvim.nvim.screen import Screen
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks


class Logins:
    """Logins of all agents of a host."""

    def __init__(
        self, sessions: Sessions, screen: Screen, tasks: Tasks, echo: Callable[[str, str], None]
    ) -> None:
        """`echo` shows a line to the user."""
        self.in_terminal: set[str] = set()
        """Agents whose login runs in a terminal."""
        self._callbacks: list[tuple[str, Callable[[], None]]] = []
        """Actions to run after a login, each with the name of its agent."""
        self._sessions = sessions
        self._screen = screen
        self._tasks = tasks
        self._echo = echo

    def on_login_needed(self, connection: Connection, session: Session) -> None:
        """Mark an agent as requiring a login. Announce this in a session, and tell the user."""
        self._announce(connection, session)

    def require(self, connection: Connection, on_login: Callable[[], None] | None) -> None:
        """Like `on_login_needed`, without a session. `on_login` is called after the login."""
        self._announce(connection, None)
        if on_login is not None:
            self.call_after_login(connection.name, on_login)

    def _announce(self, connection: Connection, session: Session | None) -> None:
        connection.require_login()
        methods = auth.usable_methods(connection.spec, connection.agent.auth_methods)
        data = {"agent": connection.name, "methods": methods}
        if session is not None:
            session.event("AcpAuthRequired", **data)
        else:
            self._screen.event("AcpAuthRequired", **data)
        self._echo("warn", wording.LOGIN_NEEDED.format(agent=connection.title, waiting=""))

    def call_after_login(self, agent: str, on_login: Callable[[], None]) -> None:
        """Call `on_login` after a login to the agent."""
        self._callbacks.append((agent, on_login))

    def on_logged_in(self, connection: Connection) -> None:
        """Resume the sessions and actions that waited for this login."""
        self._tasks.start_soon(connection.on_login)
        for conversation in self._sessions.conversations.values():
            if conversation.session.agent == connection.name:
                conversation.on_login()
        self.resume(connection.name)

    def resume(self, agent: str) -> None:
        """Run the actions that waited for a login to this agent."""
        wanted = [on_login for name, on_login in self._callbacks if name == agent]
        self._callbacks = [callback for callback in self._callbacks if callback[0] != agent]
        for on_login in wanted:
            on_login()
