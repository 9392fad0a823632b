"""Opening of a session at its agent: connection, login, requests, failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import structs

from acp_nvim import wording
from acp_nvim.agent.agents import Agents, UnknownAgent
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.notify import notify
from acp_nvim.agent.observers import ConversationObservers
from acp_nvim.agent.opening import initial_options
from acp_nvim.agent.opening.initial_options import InitialOptions
from acp_nvim.agent.opening.mcp import ServerOutcome
from acp_nvim.agent.opening.opening import Opening
from acp_nvim.agent.opening.origin import NEW, Origin
from acp_nvim.agent.opening.session_params import SessionParams
from acp_nvim.agent.prompts.wait_warnings import WaitWarnings
from acp_nvim.agent.wire.endpoint import ConnectionClosed
from acp_nvim.protocol.errors import RemoteProtocolError, RequestError, details
from acp_nvim.protocol.refusals import needs_login
from acp_nvim.session import agent_work, options, queue, turns
from acp_nvim.session.session import Session


class SessionOpener:
    """Opener of one session.

    The first opening follows its origin. Later ones use the best method that the agent supports.
    """

    def __init__(
        self,
        session: Session,
        origin: Origin,
        agents: Agents,
        warnings: WaitWarnings,
        observers: ConversationObservers,
        on_failure: Callable[[], None],
    ) -> None:
        """`on_failure` is called when the session cannot be opened."""
        self.session = session
        self.origin = origin
        self.connection: Connection | None = None
        """Connection that serves the session, or last served it."""
        self.handover = ""
        """Earlier conversation for an agent that lacks it, sent with the next suitable prompt."""
        self.is_lost = False
        """Whether the agent has lost the session, which must be opened again."""
        self.is_login_awaited = False
        """Whether the session continues once the user has logged in."""
        self._agents = agents
        self._warnings = warnings
        self._observers = observers
        self._on_failure = on_failure
        self._was_open = origin.kind == "reopen"
        """Whether the session has been open in this or an earlier process of the host."""
        self._was_open_here = False
        """Whether the session has been open in this process, which then knows its options."""
        self._opened_at: Connection | None = None
        """Connection at which the session was last opened."""
        self._params = SessionParams()
        self._first_options = options.current_choices(session)
        """Options that the agent first gave the session."""
        self._lost_line = ""
        """End of the line that reports the loss of the session."""
        self._is_login_tried = False
        """Whether the configured login has been tried since the agent last accepted a request."""
        self._awaits_restart = False
        """Whether the session is waiting for its agent to restart."""

    @property
    def is_open(self) -> bool:
        """Return whether the session is open at a running agent."""
        return (
            self.connection is not None
            and self.connection.is_alive
            and bool(self.session.id)
            and not self.is_lost
            and self.session.status in ("idle", "running", "cancelling")
        )

    @property
    def will_replay(self) -> bool:
        """Return whether a replay of the session is still to come."""
        return not self._was_open and self.origin.kind == "load"

    @property
    def servers(self) -> Sequence[ServerOutcome]:
        """Return the outcome for each MCP server at the last opening."""
        return self._params.outcomes

    # -- opening ----------------------------------------------------------------------------------

    async def ensure_open(self) -> bool:
        """Open the session if necessary. Return whether prompts can be sent."""
        if self.session.status == "closed":
            return False
        return self.is_open or await self.open()

    async def open(self) -> bool:
        """Open the session, or report why that failed. Return whether it is open."""
        connection = await self._connect()
        if connection is None:
            return False
        try:
            await self._open_at(connection)
        except RequestError as error:
            if needs_login(error) and self.session.status != "closed":
                return await self.log_in() and await self.ensure_open()
            self.fail(str(error), details(error))
            return False
        except (ConnectionClosed, RemoteProtocolError) as error:
            if isinstance(error, ConnectionClosed) and connection.will_reconnect:
                await connection.wait_ended()  # a new connection replaces it
                return await self.ensure_open()
            self.fail(connection.error or str(error), connection.last_words())
            return False
        self._awaits_restart = False
        self.allow_login()
        notify(self._observers.on_opened, self.session, self.origin.id)
        if self.session.status == "closed":  # closed by the user while it was being opened
            await self.close_at_agent()
            return False
        return True

    async def _connect(self) -> Connection | None:
        """Return the connection to the session's agent, started if necessary.

        Return None if there is no connection, which is reported, or if the user has closed the
        session in the meantime.
        """
        try:
            with self._warnings.if_unanswered("initialize"):
                connection = await self._agents.get(self.session.agent)
        except UnknownAgent as error:
            self.fail(str(error), ())
            return None
        if self.session.status == "closed":
            return None
        self.connection = connection
        if connection.is_alive:
            if self._agents.consume_settings_change(connection.name):
                names = {"agent": connection.title, "name": connection.name}
                self.session.notice("warning", wording.AGENT_OUTDATED.format(**names))
            return connection
        self.fail(connection.error or connection.exit_summary(), connection.last_words())
        return None

    async def _open_at(self, connection: Connection) -> None:
        """Open the session at a connection and set its options.

        Raise `RequestError` if the agent refuses, including -32000. If a session that was open
        before is refused, a new one replaces it, with the reason in the chat.
        """
        session = self.session
        # A new connection means that the process has ended.
        self.is_lost = self.is_lost and connection is self._opened_at
        self._opened_at = connection
        session.status = "starting"
        session.change("status")
        session.transcript.speaker = connection.title
        initial = self._initial_options(connection)
        before = options.current_choices(session)
        result = await self._request(connection, initial)
        connection.ask(session, self._params)
        if self._was_open_here:
            options.restore_choices(session, result, before, self._first_options)
        options.apply_result(session, result)
        self._was_open, self._was_open_here, self.is_lost = True, True, False
        self._first_options = options.current_choices(session)
        with self._warnings.if_unanswered("session/set_mode or session/set_config_option"):
            problems = await initial_options.apply(connection.agent, session, initial)
        for problem in problems.values():
            session.notice("warning", problem)
        agent_work.on_opened(session)

    def _initial_options(self, connection: Connection) -> InitialOptions:
        """Return the choices made in the session, or else the configured defaults."""
        if not self._was_open:
            return initial_options.configured_options(
                connection.spec, connection.preset(self.session)
            )
        if self._was_open_here:
            return initial_options.chosen_options(self.session)
        return self.origin.chosen

    async def _request(self, connection: Connection, initial: InitialOptions) -> Any:
        """Show the remarks on the parameters, and send the requests that open the session.

        Return the last result. Store the parameters of the last request, and the earlier
        conversation if the agent lacks it.
        """
        params = connection.session_params(self.session)
        if connection.agent.session_capabilities.options:
            params = structs.replace(params, options=initial.options)
        self._params = params
        if not (connection.spec.shares_files or self._was_open):
            text = wording.FILES_WITHHELD.format(agent=connection.title, name=connection.name)
            self.session.notice("info", text)
        for note in params.notes if not self._was_open else ():
            self.session.notice("info", note)
        for remark in params.remarks if not self.is_lost else ():
            self.session.notice("warning", remark)
        opening = Opening(
            self.session, self.origin, connection, params, self._warnings.if_unanswered
        )
        try:
            if not self._was_open:
                return await opening.open_first()
            # After an exit, the user may not want to pay for the whole conversation again.
            hands_over = self.is_lost or (self.origin.hands_over and not self._was_open_here)
            lost = self._lost_line if self.is_lost else None
            return await opening.open_again(lost, hands_over=hands_over)
        finally:
            self._params = opening.params
            self.handover = opening.handover or self.handover
            if opening.shows_entries:
                self.origin = structs.replace(self.origin, entries=tuple)

    def lose(self, line: str = "") -> None:
        """Record that a running agent lost the session. `line` ends the message about it."""
        self.is_lost, self._lost_line = True, line

    def on_handed_over(self) -> None:
        """Drop the earlier conversation after the agent has received it."""
        self.handover = ""

    # -- login ------------------------------------------------------------------------------------

    async def log_in(self) -> bool:
        """Log in with the configured method once, else ask the user. Return whether to retry now.

        Once the user has logged in, the queue continues automatically.
        """
        session, connection = self.session, self.connection
        assert connection is not None
        if not self._is_login_tried:
            self._is_login_tried = True
            with self._warnings.if_unanswered("authenticate"):
                if await connection.login.try_configured():
                    return True
        count = len(session.queue)
        waiting = wording.PART_PROMPTS_WAITING.format(count=count) if count else ""
        session.notice(
            "warning", wording.LOGIN_NEEDED.format(agent=connection.title, waiting=waiting)
        )
        session.error = wording.LOGIN_ASKED
        session.change("error")
        self.is_login_awaited = True
        notify(self._observers.on_login_needed, connection, session)
        return False

    def allow_login(self) -> None:
        """Allow the configured login again, since the agent accepted a request."""
        self._is_login_tried = False

    def stop_awaiting_login(self) -> None:
        """Stop waiting for a login, since the session is opened again."""
        self.is_login_awaited = self._is_login_tried = False

    # -- failure and end --------------------------------------------------------------------------

    def fail(self, reason: str, details: Sequence[str]) -> None:
        """Show why the session could not be opened, and return the first prompt to the user.

        Hold the other prompts. Do nothing if the session is closed or is waiting for a restart.
        """
        session, connection = self.session, self.connection
        will_restart = self._awaits_restart and connection is not None and connection.stopping
        if session.status == "closed" or will_restart:
            return
        if not self._was_open and self.origin is not NEW:
            notify(self._observers.on_open_failed, session)
        self._on_failure()
        if session.in_turn:
            turns.end(session, None, reason, details)
        else:
            session.notice("error", reason, details)
        session.status, session.error = "failed", reason
        session.change("status", "error")
        prompt = queue.pop(session)
        if prompt is not None:
            queue.hold(session)
            notify(self._observers.on_prompt_returned, session, prompt)

    def await_restart(self, *, is_opening: bool) -> None:
        """Prepare for a restart of the agent.

        `is_opening` is true if the session is being opened now. It is then opened again after the
        restart.
        """
        self._awaits_restart = is_opening

    def on_restart_failed(self, reason: str) -> None:
        """Fail the session if it waited for the restart."""
        if self._awaits_restart:
            self._awaits_restart = False
            self.fail(reason, ())

    def on_connection_ended(self, connection: Connection) -> None:
        """Show that the connection has ended. Its prompts have been answered."""
        session = self.session
        if connection.will_reconnect:
            session.status = "starting"
        else:
            session.status = "idle" if connection.stopping else "failed"
            session.error = session.error or connection.error
        session.change("status", "error")

    async def close_at_agent(self) -> None:
        """Close the session at the agent, if the agent supports that and is still running."""
        connection, session = self.connection, self.session
        assert connection is not None
        try:
            if connection.agent.session_capabilities.close:
                await connection.agent.close_session(session.id)
        except ConnectionClosed:
            return
        finally:
            connection.client.forget(session)

    def drop_connection(self) -> None:
        """Drop the connection of a closed session that was never open at the agent."""
        self.connection = None
