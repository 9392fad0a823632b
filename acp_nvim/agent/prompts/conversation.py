"""Conversation with an agent: queued prompts, one turn at a time.

This module also covers cancelling, restarting and closing a session, and the end of its agent.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from acp_nvim import wording
from acp_nvim.agent.agent import Agent
from acp_nvim.agent.agents import Agents
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.notify import notify, notify_in_turn
from acp_nvim.agent.observers import ConversationObservers
from acp_nvim.agent.opening.mcp import ServerOutcome
from acp_nvim.agent.opening.origin import NEW, Origin
from acp_nvim.agent.opening.session_opener import SessionOpener
from acp_nvim.agent.prompts.prompt_sender import PromptSender
from acp_nvim.agent.prompts.wait_warnings import WaitWarnings
from acp_nvim.agent.serving.answering import cancel_questions
from acp_nvim.agent.settings import Settings
from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.refusals import is_session_lost
from acp_nvim.session import queue, subagents, turns
from acp_nvim.session.calls import call_updates
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks, true_within

Result = TypeVar("Result")
AFTER_TURN_S: Final = 5.0
"""Time that a lost session waits for the work after a turn, in seconds."""


class Conversation:
    """The user's actions in one session."""

    def __init__(
        self,
        session: Session,
        agents: Agents,
        tasks: Tasks,
        settings: Callable[[], Settings],
        observers: ConversationObservers,
        origin: Origin = NEW,
    ) -> None:
        """Create the conversation without an agent. `open` or the first prompt starts it."""
        self.session = session
        self.origin = origin
        self.used = 0.0
        """Time of the last use by the user, in seconds of a monotonic clock."""
        self._tasks = tasks
        self._observers = observers
        self._warnings = WaitWarnings(
            session,
            tasks,
            lambda: settings().timeouts,
            lambda: agents.unreached_reason(session.agent),
        )
        self._opener = SessionOpener(
            session, origin, agents, self._warnings, observers, self._stop_trying
        )
        self._sender = PromptSender(self._opener, tasks, self._warnings, settings, observers)
        self._is_working = self._is_woken = False
        self._preparing: Prompt | None = None
        """First prompt of the queue, while it is being prepared for sending."""

    @property
    def connection(self) -> Connection | None:
        """Return the connection that serves the session, or last served it."""
        return self._opener.connection

    @property
    def is_open(self) -> bool:
        """Return whether the session is open at a running agent."""
        return self._opener.is_open

    @property
    def servers(self) -> Sequence[ServerOutcome]:
        """Return the outcome for each MCP server at the last opening."""
        return self._opener.servers

    def mark_used(self) -> None:
        self.used = time.monotonic()

    def store(self) -> None:
        """Add the session to the list of stored sessions, or update it there."""
        self._sender.store()

    # -- prompts ----------------------------------------------------------------------------------

    def submit(self, prompt: Prompt) -> int:
        """Queue a prompt. It is sent as soon as the prompts before it are done.

        Return the number of prompts that it overtakes, because they have been on hold since a
        cancel.
        """
        session = self.session
        passed = queue.add(session, prompt)
        if not (self._sender.has_running or self._preparing or self._opener.will_replay):
            turns.announce(session, prompt)
        self._start_sending()
        return passed

    def send_first(self, prompt: Prompt) -> None:
        """Send a prompt before all queued ones as soon as no turn runs."""
        queue.prepend(self.session, prompt)
        self._start_sending()

    def send_reason(self, prompt: Prompt) -> None:
        """Send the reason for an answer as the next prompt.

        If the session is closed, return the reason to the composer.
        """
        if self.session.status == "closed":
            notify(self._observers.on_prompt_returned, self.session, prompt)
            return
        queue.add_reason(self.session, prompt)
        self._start_sending()

    def _return_reasons(self) -> None:
        """Put all reasons that the agent has not received into the composer.

        Each is inserted before the composer's text, so begin with the last one.
        """
        for prompt in reversed(queue.take_reasons(self.session)):
            notify(self._observers.on_prompt_returned, self.session, prompt)

    def _start_sending(self) -> None:
        """Start sending, because a prompt was queued."""
        self._is_woken = self._is_woken or not self._sender.is_busy
        if not self.is_open:
            notify(self._observers.on_awaited, self.session)
        self._wake()

    @property
    def can_add_prompts(self) -> bool:
        """Return whether the agent accepts a prompt during a running turn."""
        connection = self.connection
        is_busy = self.is_open and self._sender.is_busy
        return is_busy and connection is not None and connection.agent.can_add_prompts

    def add(self, prompt: Prompt) -> None:
        """Send a prompt to the agent during a running turn."""
        self._tasks.start_soon(self._sender.add, prompt)

    def recall(self, prompt: Prompt | None = None) -> None:
        """Ask the agent to return a prompt that it has not inserted, or all such prompts."""
        self._sender.recall(prompt)

    def run_queue(self) -> None:
        """Continue the queue after a cancel."""
        queue.release(self.session)
        self.open()

    def hold(self) -> bool:
        """Hold unsent prompts until `run_queue`. Return False if there are none."""
        session = self.session
        if not queue.has_sendable(session):
            return False
        turns.retract(session)
        queue.hold(session)
        return True

    def cancel(self, *, holds_queue: bool = True) -> bool:
        """Cancel the running turn (v1/prompt-turn#cancellation). Return False if none runs.

        `holds_queue`: hold the queued prompts until `run_queue`.
        """
        session, connection = self.session, self.connection
        is_working = self._sender.is_busy or self._sender.has_added or session.at_work
        if connection is None or not connection.is_alive or not session.id or not is_working:
            return False
        if holds_queue:
            queue.hold(session)
        if session.status == "cancelling":
            cancel_questions(session, self._tasks, "cancel")
            return True
        session.status = "cancelling"
        session.own_cancels += 1
        session.change("status")
        self.recall()
        connection.agent.cancel(session.id)
        notify(self._observers.on_turn_cancelled, session)
        is_running_in_steps = cancel_questions(session, self._tasks, "cancel")
        self._tasks.start_soon(self._watch_cancel, session.turn)
        if not is_running_in_steps:
            call_updates.close_open(session, "cancelled")
        return True

    async def _watch_cancel(self, turn: int) -> None:
        """Warn the user if a cancel does not end the turn in time. Then end the turn's commands."""
        await self._warnings.if_not_cancelled(turn)
        if self.connection is not None:
            await self.connection.terminals.end_turn(self.session, turn)

    # -- one turn after the other -----------------------------------------------------------------

    def open(self) -> None:
        """Start the agent and the session now, then send the queue."""
        self._is_woken = True
        self._sender.allow_sending()
        self._opener.stop_awaiting_login()
        self._wake()

    def _wake(self) -> None:
        if not self._is_working:
            self._is_working = True
            self._tasks.start_soon(self._send_queue)

    def _stop_trying(self) -> None:
        """Stop sending, since the session could not be opened.

        Requests made while it was being opened are dropped.
        """
        self._is_woken = False

    async def _send_queue(self) -> None:
        """Open the session and send its queue, as long as `_is_woken` is set.

        Only one task runs this. The end of the agent does not set `_is_woken`.
        """
        opener, sender = self._opener, self._sender
        try:
            while self._is_woken:
                self._is_woken = False
                is_open = await opener.ensure_open()
                while is_open and (prompt := queue.next_prompt(self.session)) is not None:
                    await self._turn(prompt)
                    await sender.finish_added()
                    has_access = not sender.needs_login or await opener.log_in()
                    is_open = has_access and opener.is_open
        except Exception as error:  # an internal error must not end the host
            opener.fail(self._fault(error), ())
        finally:
            self._is_working = False

    def _fault(self, error: Exception) -> str:
        if self.connection is not None:
            self.connection.warnings.on_error(error)
        return wording.INTERNAL_ERROR.format(kind=type(error).__name__, reason=error)

    async def _turn(self, prompt: Prompt) -> None:
        """Send one prompt. Wait for its turn, and for the work after the turn, to finish.

        After an internal error, return the prompt to the user.
        """
        self._preparing = prompt
        try:
            turn = self._sender.turn_start(prompt)
            await notify_in_turn(self._observers.on_turn_starting, turn)
            try:
                connection = self.connection
                assert connection is not None
                await prompt.complete()
                self._preparing = None
                is_free = queue.claim(self.session, prompt)  # the user may have held or dropped it
                blocks = self._sender.prepare(prompt, connection) if is_free else ()
                if blocks:
                    self._is_woken = False  # earlier requests are covered by this turn
                    await self._sender.run(prompt, connection, blocks)
            finally:
                await notify_in_turn(self._observers.on_turn_ended, self.session)
        except Exception as error:
            self._preparing = None
            queue.claim(self.session, prompt)
            turns.end(self.session, None, self._fault(error))
            notify(self._observers.on_prompt_returned, self.session, prompt)

    # -- its agent --------------------------------------------------------------------------------

    async def call(self, act: Callable[[Agent], Awaitable[Result]]) -> Result:
        """Call the session's agent.

        If the agent has lost the session, open it again and retry once. Raise the errors of
        `act`.
        """
        assert self.connection is not None
        try:
            return await act(self.connection.agent)
        except RequestError as error:
            is_sending = self._sender.has_running
            if is_sending or not is_session_lost(error) or not await self._reopen():
                raise
        return await act(self.connection.agent)

    async def _reopen(self) -> bool:
        """Open a lost session again, while prompts wait. Return whether that worked."""
        if not await true_within(lambda: not self._is_working, AFTER_TURN_S):
            return False
        self._is_working = True
        try:
            self._opener.lose()
            return await self._opener.open()
        finally:
            self._is_working = False
            if self._is_woken:
                self._wake()

    def prepare_restart(self) -> None:
        """Prepare for a restart: the agent is about to be ended, and `open` follows.

        Prompts that were never sent stay in the queue.
        """
        self._opener.await_restart(is_opening=self._is_working and not self.is_open)

    def on_restart_failed(self, reason: str) -> None:
        """Fail the session if it waited for a restart, which has failed."""
        self._opener.on_restart_failed(reason)

    def on_login(self) -> None:
        """Open the session if it was waiting for the user to log in."""
        if self._opener.is_login_awaited:
            self.open()

    def on_agent_unreached(self, why: str) -> None:
        """Show why the agent cannot be reached, if the session is waiting for it."""
        if self.session.status == "starting":
            self._warnings.warn(why)

    def on_agent_ended(self, connection: Connection) -> None:
        """End all pending work of the ended agent. The next prompt starts it again."""
        session = self.session
        if connection is not self.connection or session.status == "closed":
            return
        notify(self._observers.on_agent_left, session)
        session.decisions.cancel_all("agent exit")
        call_updates.close_open(session, "failed")
        session.terminals.abandon()
        session.at_work, session.background = False, 0
        subagents.abandon(session)
        if not connection.will_reconnect:
            self._return_reasons()
        if not self._sender.on_agent_ended():
            self._show_end(connection)
        self._sender.report_unsure()
        self._opener.on_connection_ended(connection)

    def _show_end(self, connection: Connection) -> None:
        """End the agent's own turn, or report that the session is waiting for a new connection."""
        if self.session.own_turn:
            turns.end(self.session, None, connection.exit_summary())
        elif connection.will_reconnect:
            message = connection.exit_summary() + wording.PART_CONNECTING
            self.session.notice("warning", message)

    async def close(self) -> None:
        """Close the session, here and at the agent (v1/session-setup).

        Raise `RequestError` if the agent refuses.
        """
        session = self.session
        self.cancel()
        cancel_questions(session, self._tasks, "close")
        subagents.abandon(session)
        self._return_reasons()
        queue.replace(session, ())
        was_open = self.is_open
        session.status = "closed"
        session.notice("info", wording.CLOSED)
        session.clear()
        notify(self._observers.on_agent_left, session)
        try:
            if was_open:
                await self._opener.close_at_agent()
        finally:
            if not self._sender.has_running:
                self._opener.drop_connection()
