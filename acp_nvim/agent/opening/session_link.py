"""Link between a session and its connection: opening, login, giving up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acp_nvim import wording
from acp_nvim.agent.agents import Agents, UnknownAgent
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.notify import notify
from acp_nvim.agent.observers import ConversationObservers
from acp_nvim.agent.opening.session_setup import Origin, SessionSetup
from acp_nvim.agent.prompts.patience import Patience
from acp_nvim.agent.wire.endpoint import ConnectionClosed
from acp_nvim.protocol.errors import RemoteProtocolError, RequestError, details
from acp_nvim.protocol.refusals import needs_login
from acp_nvim.session import queue, turns
from acp_nvim.session.session import Session


class LoginWait:
    """Login for a session: by the configured method once, then by the user."""

    def __init__(
        self, session: Session, patience: Patience, observers: ConversationObservers
    ) -> None:
        self.awaited = False
        """Whether the session continues once the user has logged in."""
        self._session = session
        self._patience = patience
        self._observers = observers
        self._tried = False
        """Whether the configured method was tried since the agent last accepted a request."""

    def worked(self) -> None:
        """Allow the configured method again, since the agent accepted a request."""
        self._tried = False

    def over(self) -> None:
        """Reset, since the session is opened again."""
        self.awaited = self._tried = False

    async def ask(self, connection: Connection) -> bool:
        """Log in by the configured method, else ask the user. Return whether to retry now.

        After a login by the user, the queue continues by itself.
        """
        session = self._session
        if not self._tried:
            self._tried = True
            with self._patience.answer("authenticate"):
                if await connection.login.try_configured():
                    return True
        count = len(session.queue)
        waiting = wording.PART_PROMPTS_WAITING.format(count=count) if count else ""
        session.notice(
            "warning", wording.LOGIN_NEEDED.format(agent=connection.title, waiting=waiting)
        )
        session.error = wording.LOGIN_ASKED
        session.change("error")
        self.awaited = True
        notify(self._observers.on_login_needed, connection, session)
        return False


class SessionLink:
    """Link of one session to its connection."""

    def __init__(
        self,
        session: Session,
        origin: Origin,
        agents: Agents,
        patience: Patience,
        observers: ConversationObservers,
        on_failure: Callable[[], None],
    ) -> None:
        """Start without a connection. ``on_failure`` is called when the session cannot be
        opened.
        """
        self.session = session
        self.connection: Connection | None = None
        self.login = LoginWait(session, patience, observers)
        self.setup = SessionSetup(session, origin, patience.answer)
        self._agents = agents
        self._patience = patience
        self._observers = observers
        self._on_failure = on_failure
        self._restarts = False
        """Whether the session waits for a restart of its agent."""

    @property
    def is_open(self) -> bool:
        """Return whether the session is open at a running agent."""
        return (
            self.connection is not None
            and self.connection.alive
            and bool(self.session.id)
            and not self.setup.lost
            and self.session.status in ("idle", "running", "cancelling")
        )

    async def ensure_open(self) -> bool:
        """Open the session if necessary. Return whether prompts can be sent."""
        if self.session.status == "closed":
            return False
        return self.is_open or await self.open_now()

    async def open_now(self) -> bool:
        """Open the session. Return whether it is open; report the reason if it is not."""
        connection = await self._connected()
        if connection is None:
            return False
        try:
            await self.setup.run(connection)
        except RequestError as error:
            if needs_login(error):
                return await self.log_in() and await self.ensure_open()
            self.fail(str(error), details(error))
            return False
        except (ConnectionClosed, RemoteProtocolError) as error:
            if isinstance(error, ConnectionClosed) and connection.returns:
                await connection.ended()  # a new connection replaces it
                return await self.ensure_open()
            self.fail(connection.error or str(error), connection.last_words())
            return False
        self._restarts = False
        self.login.worked()
        notify(self._observers.on_opened, self.session, self.setup.origin_id)
        if self.session.status == "closed":  # closed by the user meanwhile
            await self.let_go()
            return False
        return True

    async def _connected(self) -> Connection | None:
        """Return the connection to the session's agent, started if necessary.

        Return None, and report the reason, if there is no connection.
        """
        try:
            with self._patience.answer("initialize"):
                connection = await self._agents.get(self.session.agent)
        except UnknownAgent as error:
            self.fail(str(error), ())
            return None
        self.connection = connection
        if connection.alive:
            if self._agents.is_outdated(connection.name):
                names = {"agent": connection.title, "name": connection.name}
                self.session.notice("warning", wording.AGENT_OUTDATED.format(**names))
            return connection
        self.fail(connection.error or connection.exit_summary(), connection.last_words())
        return None

    async def log_in(self) -> bool:
        """Log in by the configured method, or ask the user. Return whether to retry now."""
        assert self.connection is not None
        return await self.login.ask(self.connection)

    def await_restart(self, *, waits: bool) -> None:
        """Note that the agent is about to be restarted.

        ``waits`` is true if the session is being opened and will be opened after the restart.
        """
        self._restarts = waits

    def restart_failed(self, reason: str) -> None:
        """Note that the agent was not restarted, and fail the session if it waited for that."""
        if self._restarts:
            self._restarts = False
            self.fail(reason, ())

    def fail(self, reason: str, details: Sequence[str]) -> None:
        """Show why the session could not be opened, and give the first prompt back."""
        session = self.session
        ended = self._restarts and self.connection is not None and self.connection.stopping
        if session.status == "closed" or ended:
            return
        if self.setup.is_others:
            notify(self._observers.on_open_failed, session)
        self._on_failure()
        if session.in_turn:
            turns.end(session, None, reason, details)
        else:
            session.notice("error", reason, details)
        session.status, session.error = "failed", reason
        session.change("status", "error")
        prompt = queue.take(session)
        if prompt is not None:
            queue.hold(session)
            notify(self._observers.on_prompt_returned, session, prompt)

    def ended(self, connection: Connection) -> None:
        """Show that the connection has ended. Its prompts have been answered."""
        session = self.session
        if connection.returns:
            session.status = "starting"
        else:
            session.status = "idle" if connection.stopping else "failed"
            session.error = session.error or connection.error
        session.change("status", "error")

    async def let_go(self) -> None:
        """Close the session at the agent if it supports that. It may not know the session any
        longer.
        """
        connection, session = self.connection, self.session
        assert connection is not None
        try:
            if connection.agent.session_capabilities.close:
                await connection.agent.close_session(session.id)
        except ConnectionClosed:
            return
        finally:
            connection.client.forget(session)

    def cut(self) -> None:
        """Drop the connection, after the session was closed and nothing of it is at the agent."""
        self.connection = None
