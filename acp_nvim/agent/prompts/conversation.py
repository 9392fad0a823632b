"""A session at work: the user's prompts wait in its queue and go one turn at a time; cancelling,
restarting and closing it, and the end of its agent.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from acp_nvim import wording
from acp_nvim.agent.agent import Agent
from acp_nvim.agent.agents import Agents
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.opening.mcp import Fate
from acp_nvim.agent.opening.session_link import SessionLink
from acp_nvim.agent.opening.session_setup import NEW, Origin
from acp_nvim.agent.prompts.conversation_delegate import ConversationDelegate
from acp_nvim.agent.prompts.exchange import Exchange
from acp_nvim.agent.prompts.patience import Patience
from acp_nvim.agent.serving.answering import cancel_questions
from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.refusals import lost_session
from acp_nvim.session import queue, subagents, turns
from acp_nvim.session.calls import call_updates
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks, true_within

Result = TypeVar("Result")
AFTER_TURN_S: Final = 5.0  # how long a lost session waits for the work that follows a turn


class Conversation:
    """Of one session: whatever the user does with it."""

    def __init__(
        self,
        session: Session,
        agents: Agents,
        tasks: Tasks,
        delegate: ConversationDelegate,
        origin: Origin = NEW,
    ) -> None:
        """The session's agent is started by `open` or the first prompt."""
        self.session = session
        self.origin = origin
        self.used = 0.0
        """When the user worked with it last, in seconds of a clock that has no date."""
        self._tasks = tasks
        self._delegate = delegate
        self._patience = Patience(
            session,
            tasks,
            lambda: delegate.settings().timeouts,
            lambda: agents.unreached(session.agent),
        )
        self._link = SessionLink(session, origin, agents, self._patience, delegate, self._rest)
        self._exchange = Exchange(self._link, tasks, self._patience, delegate)
        self._busy = self._woken = False
        self._preparing: Prompt | None = None
        """The first of the queue, while it is made ready to be sent."""

    @property
    def connection(self) -> Connection | None:
        """The connection that serves the session, or did last."""
        return self._link.connection

    @property
    def is_open(self) -> bool:
        """Whether the session exists at a living agent."""
        return self._link.is_open

    @property
    def topic(self) -> str:
        """The first prompt, for as long as there is no title."""
        return self._exchange.topic

    @property
    def servers(self) -> Sequence[Fate]:
        """What became of each MCP server when the session was opened last."""
        return self._link.setup.servers

    def mark_used(self) -> None:
        """The user works with it now."""
        self.used = time.monotonic()

    def remember(self) -> None:
        """Keep it for the list of sessions."""
        self._exchange.remember()

    # -- prompts ----------------------------------------------------------------------------------

    def submit(self, prompt: Prompt) -> int:
        """Queue a prompt; it is sent as soon as those before it are done. Returns how many prompts
        it overtakes: those that wait since a cancel go on waiting.
        """
        session = self.session
        passed = queue.add(session, prompt)
        if not (self._exchange.running or self._preparing or self._link.setup.replays):
            turns.announce(session, prompt)
        self._go_on()
        return passed

    def send_first(self, prompt: Prompt) -> None:
        """Send a prompt before all that wait, as soon as no turn runs."""
        queue.put_first(self.session, prompt)
        self._go_on()

    def _go_on(self) -> None:
        """There is one more prompt to send."""
        self._woken = self._woken or not self._exchange.busy
        if not self.is_open:
            self._delegate.turn_comes(self.session)
        self._wake()

    @property
    def takes_more(self) -> bool:
        """Whether the agent takes a prompt now, while it works on another one."""
        connection = self.connection
        busy = self.is_open and self._exchange.busy
        return busy and connection is not None and connection.agent.takes_more

    def add(self, prompt: Prompt) -> None:
        """Give the agent a prompt while it works on another one."""
        self._tasks.start_soon(self._exchange.added.send, prompt)

    def take_back(self, prompt: Prompt | None = None) -> None:
        """Ask for this prompt back, or for all, that the agent has not inserted."""
        self._exchange.take_back(prompt)

    def run_queue(self) -> None:
        """Go on after a cancel."""
        queue.release(self.session)
        self.open()

    def hold(self) -> bool:
        """Let prompts that were about to be sent wait for `run_queue`; False where none was."""
        session = self.session
        if not queue.moves(session):
            return False
        turns.retract(session)
        queue.hold(session)
        return True

    def cancel(self) -> bool:
        """Cancel the running turn (v1/prompt-turn#cancellation); False when none runs."""
        session, connection = self.session, self.connection
        working = self._exchange.busy or self._exchange.added.prompts or session.at_work
        if connection is None or not connection.alive or not session.id or not working:
            return False
        queue.hold(session)
        already = session.status == "cancelling"
        if not already:
            session.status = "cancelling"
            session.change("status")
            self.take_back()
            connection.agent.cancel(session.id)
            self._delegate.turn_cancelled(session)
        many = cancel_questions(session, self._tasks, "cancel")
        if already:
            return True
        self._tasks.start_soon(self._watch_cancel, session.turn)
        if not many:
            call_updates.close_open(session, "cancelled")
        return True

    async def _watch_cancel(self, turn: int) -> None:
        """After the time for a cancel: end the commands that the agent left running."""
        await self._patience.cancelled(turn)
        if self.connection is not None:
            self.connection.terminals.end_turn(self.session, turn)

    # -- one turn after the other -----------------------------------------------------------------

    def open(self) -> None:
        """Start agent and session now, whatever was before, and go on with the queue."""
        self._woken = True
        self._exchange.may_be_sent()
        self._link.login.over()
        self._wake()

    def _wake(self) -> None:
        if not self._busy:
            self._busy = True
            self._tasks.start_soon(self._work)

    def _rest(self) -> None:
        """The session could not be opened, and later requests to open have failed with this one."""
        self._woken = False

    async def _work(self) -> None:
        """Open the session and send what is queued, as long as somebody asks for it; the death of
        the agent does not. Only one task does this at a time.
        """
        link, exchange = self._link, self._exchange
        try:
            while self._woken:
                self._woken = False
                going = await link.ensure_open()
                while going and (prompt := queue.first(self.session)) is not None:
                    await self._turn(prompt)
                    await exchange.added.finish()
                    going = (not exchange.refused or await link.log_in()) and link.is_open
        except Exception as error:  # a fault of ours must not end the host
            link.fail(self._fault(error), ())
        finally:
            self._busy = False

    def _fault(self, error: Exception) -> str:
        if self.connection is not None:
            self.connection.warnings.failed(error)
        return wording.INTERNAL_ERROR.format(kind=type(error).__name__, reason=error)

    async def _turn(self, prompt: Prompt) -> None:
        """Send one prompt; wait for the end of its turn and of the work that follows a turn."""
        self._preparing = prompt
        try:
            await self._delegate.turn_began(self.session, prompt)
            try:
                await self._send(prompt)
            finally:
                await self._delegate.turn_ended(self.session)
        except Exception as error:
            self._preparing = None
            queue.claim(self.session, prompt)
            turns.end(self.session, None, self._fault(error))
            self._delegate.give_back(self.session, prompt)

    async def _send(self, prompt: Prompt) -> None:
        connection = self.connection
        assert connection is not None
        await prompt.complete()
        self._preparing = None
        if not queue.claim(self.session, prompt):
            return  # held or dropped meanwhile
        blocks = self._exchange.prepare(prompt, connection)
        if blocks:
            self._woken = False  # whatever was asked for before is under way now
            await self._exchange.run(prompt, connection, blocks)

    # -- its agent --------------------------------------------------------------------------------

    async def call(self, act: Callable[[Agent], Awaitable[Result]]) -> Result:
        """Make a call about the session at its agent; once more where the agent has lost the
        session, and it could be opened again. Raises what ``act`` raises.
        """
        assert self.connection is not None
        try:
            return await act(self.connection.agent)
        except RequestError as error:
            running = self._exchange.running
            if running or not lost_session(error) or not await self._reopened():
                raise
        return await act(self.connection.agent)

    async def _reopened(self) -> bool:
        """Whether the session that the agent has lost is open again. Prompts wait meanwhile."""
        if not await true_within(lambda: not self._busy, AFTER_TURN_S):
            return False
        self._busy = True
        try:
            self._link.setup.lose()
            return await self._link.open_now()
        finally:
            self._busy = False
            if self._woken:
                self._wake()

    def will_restart(self) -> None:
        """The agent is about to be ended, then `open` follows: prompts that were never sent go on
        waiting.
        """
        self._link.await_restart(waits=self._busy and not self.is_open)

    def will_not_restart(self, reason: str) -> None:
        """The agent was ended, and `open` does not follow after all."""
        self._link.restart_failed(reason)

    def logged_in(self) -> None:
        """The user has logged in to the session's agent: open it, if it waits for that."""
        if self._link.login.awaited:
            self.open()

    def agent_unreached(self, why: str) -> None:
        """The session's agent is not reached at once: where it waits for that, the chat says why,
        and when it is tried again.
        """
        if self.session.status == "starting":
            self._patience.warn(why)

    def agent_ended(self, connection: Connection) -> None:
        """The agent's process is gone: end whatever is pending. The next prompt starts it again."""
        session = self.session
        if connection is not self.connection or session.status == "closed":
            return
        self._delegate.left_agent(session)
        session.decisions.cancel_all("agent exit")
        call_updates.close_open(session, "failed")
        session.terminals.abandon()
        session.at_work, session.background = False, 0
        subagents.abandon(session)
        if not self._exchange.agent_ended():
            self._say_ended(connection)
        self._link.ended(connection)

    def _say_ended(self, connection: Connection) -> None:
        """No prompt was being answered: a turn of the agent's own ends, or the chat says why it
        waits.
        """
        if self.session.own_turn:
            turns.end(self.session, None, connection.exit_summary())
        elif connection.returns:
            said = connection.exit_summary() + wording.PART_CONNECTING
            self.session.notice("warning", said)

    async def close(self) -> None:
        """Close the session for the user: end its turn and its questions, and close it at the agent
        (v1/session-setup). Raises `RequestError` when the agent refuses.
        """
        session = self.session
        self.cancel()
        cancel_questions(session, self._tasks, "close")
        subagents.abandon(session)
        queue.replace(session, ())
        was_open = self.is_open
        session.status = "closed"
        session.notice("info", wording.CLOSED)
        session.let_go()
        self._delegate.left_agent(session)
        try:
            if was_open:
                await self._link.let_go()
        finally:
            if self._exchange.running is None:
                self._link.cut()
