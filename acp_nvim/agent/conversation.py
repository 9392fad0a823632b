"""A session at work: it sends the prompts of its queue, one turn at a time, and opens the session
at its agent as often as needed.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import anyio

from acp_nvim import wording
from acp_nvim.agent.added_prompts import AddedPrompts
from acp_nvim.agent.agent import Agent
from acp_nvim.agent.agents import Agents, UnknownAgent
from acp_nvim.agent.answering import cancel_questions
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.conversation_delegate import ConversationDelegate
from acp_nvim.agent.login_wait import LoginWait
from acp_nvim.agent.lost_session import LostSession
from acp_nvim.agent.mcp import Fate
from acp_nvim.agent.patience import Patience
from acp_nvim.agent.rate_limits import PutOffPrompts
from acp_nvim.agent.session_params import trace
from acp_nvim.agent.session_setup import NEW, Origin, SessionSetup
from acp_nvim.agent.wire.calls import OutgoingCall
from acp_nvim.agent.wire.endpoint import ConnectionClosed
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import (
    REQUEST_CANCELLED,
    RemoteProtocolError,
    RequestError,
    details,
)
from acp_nvim.protocol.refusals import lost_session, needs_login, rate_limit
from acp_nvim.session import call_updates, queue, subagents, turns
from acp_nvim.session.prompts import Prompt, aside
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks, true_within

Result = TypeVar("Result")
AFTER_TURN_S: Final = 5.0  # how long a lost session waits for the work that follows a turn


class Conversation:
    """Ties a session to the connection that serves it."""

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
        self.connection: Connection | None = None
        self.running: Prompt | None = None
        self.used = 0.0
        """When the user worked with it last, in seconds of a clock that has no date."""
        self._agents = agents
        self._tasks = tasks
        self._delegate = delegate
        self._busy = self._woken = False
        self._patience = Patience(
            session, tasks, lambda: delegate.settings().timeouts, self._unreached
        )
        self.login = LoginWait(session, self._patience, delegate)
        self._setup = SessionSetup(session, origin, self._patience.answer)
        self._call: OutgoingCall | None = None
        """The request of the running prompt."""
        self.added = AddedPrompts(self)
        """Prompts that the agent got while it worked on another one."""
        self._put_off = PutOffPrompts(session, tasks, self._patience.warn)
        self._answered = False
        self._refused = False
        self._lost = LostSession(self, delegate)
        self._hands_over = False
        """Whether the prompt that went last has what was said before."""
        self._preparing: Prompt | None = None
        """The first of the queue, while it is made ready to be sent."""
        self._restarts = False
        """Whether it waits for a restart of its agent."""
        self.topic = ""
        """The first prompt, for as long as there is no title."""

    def mark_used(self) -> None:
        """The user works with it now."""
        self.used = time.monotonic()

    # -- prompts ----------------------------------------------------------------------------------

    def submit(self, prompt: Prompt) -> int:
        """Queue a prompt; it is sent as soon as those before it are done. Returns how many prompts
        it overtakes: those that wait since a cancel go on waiting.
        """
        session = self.session
        passed = queue.add(session, prompt)
        if not (self.running or self._preparing or self._setup.replays):
            turns.announce(session, prompt)
        self._woken = self._woken or self.running is None or self._answered
        if not self.is_open:
            self._delegate.turn_comes(session)
        self._wake()
        return passed

    def send_first(self, prompt: Prompt) -> None:
        """Send a prompt before all that wait, as soon as no turn runs."""
        queue.put_first(self.session, prompt)
        self._woken = self._woken or self.running is None or self._answered
        if not self.is_open:
            self._delegate.turn_comes(self.session)
        self._wake()

    def open(self) -> None:
        """Start agent and session now, whatever was before, and go on with the queue."""
        self._woken = True
        self._refused = False
        self.login.over()
        self._wake()

    def will_restart(self) -> None:
        """The agent is about to be ended, then `open` follows: prompts that were never sent go on
        waiting.
        """
        self._restarts = self._busy and not self.is_open

    def will_not_restart(self, reason: str) -> None:
        """The agent was ended, and `open` does not follow after all."""
        if self._restarts:
            self._restarts = False
            self.not_opened(reason, ())

    def run_queue(self) -> None:
        """Go on after a cancel."""
        queue.release(self.session)
        self.open()

    def _wake(self) -> None:
        if not self._busy:
            self._busy = True
            self._tasks.start_soon(self._work)

    async def _work(self) -> None:
        """Open the session and send what is queued, as long as somebody asks for it; the death of
        the agent does not. Only one task does this at a time.
        """
        try:
            while self._woken:
                self._woken = False
                going = await self._ensure_open()
                while going and (prompt := queue.first(self.session)) is not None:
                    await self._turn(prompt)
                    await self.added.finish()
                    going = (not self._refused or await self._log_in()) and self.is_open
        except Exception as error:  # a fault of ours must not end the host
            self.not_opened(self._fault(error), ())
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
                await self._exchange(prompt)
            finally:
                await self._delegate.turn_ended(self.session)
        except Exception as error:
            self._preparing = None
            queue.claim(self.session, prompt)
            turns.end(self.session, None, self._fault(error))
            self._delegate.give_back(self.session, prompt)

    async def _exchange(self, prompt: Prompt) -> None:
        connection = self.connection
        assert connection is not None
        session = self.session
        await prompt.complete()
        self._preparing = None
        if not queue.claim(session, prompt):
            return  # held or dropped meanwhile
        blocks = self.prepare(prompt, connection)
        if not blocks:
            return
        self.running, self._answered, self._refused = prompt, False, False
        self._woken = False  # whatever was asked for before is under way now
        self.topic = self.topic or prompt.text
        if session.at_work:
            queue.wait_at_agent(session, prompt)
        else:
            turns.begin(session, prompt, connection.title)
        self._listen()
        self._lost.begin()
        await self.ask(prompt, connection, blocks)
        if self._setup.lost and session.in_turn:
            await self._lost.ask_again(prompt)
        self._patience.rest()

    def _listen(self) -> None:
        """Name an agent that is silent in the turn that has begun."""
        if self.connection is not None:
            self._patience.listen(partial(self.connection.router.heard, self.session))

    async def ask(self, prompt: Prompt, connection: Connection, blocks: list[Any]) -> None:
        """Put a prompt to the agent and wait for the end of its turn, or until the session turns
        out to be lost.
        """
        self.running, self._answered = prompt, False
        try:
            self._call = connection.agent.begin_prompt(
                self.session.id,
                blocks,
                self._on_response,
                self.meta(prompt),
                partial(self.inserted, prompt),
            )
            await self._call.answer()
        except (RequestError, RemoteProtocolError):
            pass  # told by _on_response, in wire order
        except ConnectionClosed:
            await connection.ended()
        finally:
            self.running = self._call = None

    def prepare(self, prompt: Prompt, connection: Connection) -> list[Any]:
        """Return the blocks of a prompt that leaves the queue now; none where it was given back."""
        session = self.session
        self._delegate.under_way(session, prompt)
        capabilities = connection.agent.prompt_capabilities
        blocks = prompt.build(capabilities)
        for remark in prompt.left_out:
            session.notice("warning", remark)
        if connection.alive and blocks:
            return [*blocks, *self._handover(prompt, capabilities)]
        self._delegate.give_back(session, prompt)
        return []

    def _handover(self, prompt: Prompt, capabilities: schema.PromptCapabilities) -> list[Any]:
        """Return what the agent is told of the conversation so far; `/command` takes no more."""
        told = self._setup.handover
        self._hands_over = bool(told) and not prompt.text.startswith("/")
        return [aside("earlier-session", told, capabilities)] if self._hands_over else []

    @property
    def servers(self) -> Sequence[Fate]:
        """What became of each MCP server when the session was opened last."""
        return self._setup.servers

    @property
    def takes_more(self) -> bool:
        """Whether the agent takes a prompt now, while it works on another one."""
        connection = self.connection
        busy = self.running is not None and not self._answered
        return self.is_open and busy and connection is not None and connection.agent.takes_more

    def add(self, prompt: Prompt) -> None:
        """Give the agent a prompt while it works on another one."""
        self._tasks.start_soon(self.added.send, prompt)

    async def follow(self, prompt: Prompt, over: anyio.Event) -> None:
        """Wait for a turn that begins with a prompt which the agent has already."""
        try:
            await self._delegate.turn_follows(self.session, prompt)
            await over.wait()
        finally:
            await self._delegate.turn_ended(self.session)

    def inserted(self, prompt: Prompt, message_id: str) -> None:
        """The agent has put a prompt into the session: its turn begins, if none runs. Without an id
        its message is known by its text.
        """
        session = self.session
        if queue.leave_agent(session, prompt):
            self._begin(prompt, message_id or None)
        elif message_id:
            turns.name_prompt(session, message_id)

    def _begin(self, prompt: Prompt, message_id: str | None) -> None:
        session = self.session
        if session.in_turn:
            turns.insert(session, prompt, message_id)
            session.observer.changed(session)
        elif self.connection is not None:
            turns.begin(session, prompt, self.connection.title, message_id)
            self._listen()

    def meta(self, prompt: Prompt) -> dict[str, Any]:
        """`_meta` of a prompt: its own, and the configured trace (rfds/meta-propagation)."""
        assert self.connection is not None
        configured = trace(self._delegate.settings(), self.connection.spec)
        return {**configured, **(prompt.meta or {})}

    def _on_response(self, result: Any, error: Exception | None) -> None:
        """End the turn. Called in wire order, so nothing that came before the answer is drawn after
        the end of the turn.
        """
        if isinstance(error, ConnectionClosed):
            return  # `agent_ended` knows more
        self._answered = True
        if error is not None and self._lost.is_meant(error, self.running):
            self._setup.lose(wording.PART_SENT_AGAIN)
        else:
            self.answered(self.running, result, error)

    def answered(self, prompt: Prompt | None, result: Any, error: Exception | None) -> None:
        """A prompt is answered: its turn is over, if it has begun and not ended with another's."""
        waited = prompt is not None and queue.leave_agent(self.session, prompt)
        if error is None:
            self.login.worked()
            if self._hands_over:
                self._setup.handed_over()
            if self.session.in_turn:
                turns.end(self.session, result.stop_reason, usage=schema.given(result.usage))
            self.remember()
        elif waited and prompt is not None and self._takes_back(error):
            self._delegate.waits_again(prompt)
            queue.put_held(self.session, [prompt])
        else:
            self._refusal(error, prompt)

    def _takes_back(self, error: Exception) -> bool:
        """Whether the agent gives back a prompt that it had not inserted, as a cancel asks."""
        withdrawn = isinstance(error, RequestError) and error.code == REQUEST_CANCELLED
        return withdrawn or self.session.status == "cancelling"

    def _refusal(self, error: Exception, prompt: Prompt | None) -> None:
        """The agent answered a prompt with an error."""
        session = self.session
        if session.status == "cancelling":
            turns.end(session, "cancelled")
        elif prompt is not None and (limit := rate_limit(error)) is not None:
            self._delegate.waits_again(prompt)
            title = self.connection.title if self.connection is not None else session.agent
            told = [line for line in details(error) if not line.isdecimal()]  # it is the wait
            self._put_off.put_off(prompt, limit, title, [str(error), *told])
        elif prompt is not None and needs_login(error):
            self._refused = True
            queue.put_first(session, prompt)
            self._delegate.waits_again(prompt)
            turns.end(session, None, wording.PROMPT_WAITS_FOR_LOGIN)
        else:
            turns.end(session, None, str(error), details(error))
            if prompt is not None:
                self._delegate.give_back(session, prompt)

    def _died(self) -> None:
        """Say how the agent ended and give the prompt back: version 1 has no way to go on in a turn
        whose agent died. The others wait for the user, or for a connection that is taken up again.
        """
        session, connection = self.session, self.connection
        reason = connection.exit_summary() if connection else wording.AGENT_GONE
        words: list[str] = []
        returns = connection is not None and connection.returns
        if returns:
            reason += wording.PART_CONNECTING
        elif connection is None or not connection.stopping:
            reason += wording.PART_RESTART
            words = connection.last_words() if connection else []
        turns.end(session, None, reason, words, "\n".join((reason, *words)))
        if not returns:
            queue.hold(session)
        if self.running is not None:
            self._delegate.give_back(session, self.running)

    async def call(self, act: Callable[[Agent], Awaitable[Result]]) -> Result:
        """Make a call about the session at its agent; once more where the agent has lost the
        session, and it could be opened again. Raises what ``act`` raises.
        """
        assert self.connection is not None
        try:
            return await act(self.connection.agent)
        except RequestError as error:
            if self.running or not lost_session(error) or not await self._reopened():
                raise
        return await act(self.connection.agent)

    async def _reopened(self) -> bool:
        """Whether the session that the agent has lost is open again. Prompts wait meanwhile."""
        if not await true_within(lambda: not self._busy, AFTER_TURN_S):
            return False
        self._busy = True
        try:
            self._setup.lose()
            return await self.open_now()
        finally:
            self._busy = False
            if self._woken:
                self._wake()

    # -- cancel -----------------------------------------------------------------------------------

    def cancel(self) -> bool:
        """Cancel the running turn (v1/prompt-turn#cancellation); False when none runs."""
        session, connection = self.session, self.connection
        prompted = self.running is not None and not self._answered
        working = prompted or self.added.prompts or session.at_work
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

    def take_back(self, prompt: Prompt | None = None) -> None:
        """Ask for this prompt back, or for all, that the agent has not inserted."""
        waiting = [one for one in self.session.at_agent if prompt in (None, one)]
        for one in waiting:
            if one is not self.running:
                self.added.take_back(one)
            elif self._call is not None and self.connection is not None:
                self.connection.agent.take_back(self._call)

    def hold(self) -> bool:
        """Let prompts that were about to be sent wait for `run_queue`; False where none was."""
        session = self.session
        if not queue.moves(session):
            return False
        turns.retract(session)
        queue.hold(session)
        return True

    async def _watch_cancel(self, turn: int) -> None:
        """After the time for a cancel: end the commands that the agent left running."""
        await self._patience.cancelled(turn)
        if self.connection is not None:
            self.connection.terminals.end_turn(self.session, turn)

    # -- opening ----------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether the session exists at a living agent."""
        return (
            self.connection is not None
            and self.connection.alive
            and bool(self.session.id)
            and not self._setup.lost
            and self.session.status in ("idle", "running", "cancelling")
        )

    async def _ensure_open(self) -> bool:
        """Return whether prompts can be sent, after starting whatever was missing."""
        if self.session.status == "closed":
            return False
        return self.is_open or await self.open_now()

    def _unreached(self) -> str | None:
        connection = self._agents.connections.get(self.session.agent)
        return connection.unreached if connection is not None else None

    async def open_now(self) -> bool:
        """Return whether the session is open, after opening it; why not is told."""
        session = self.session
        try:
            with self._patience.answer("initialize"):
                connection = await self._agents.get(session.agent)
        except UnknownAgent as error:
            self.not_opened(str(error), ())
            return False
        self.connection = connection
        if not connection.alive:
            self.not_opened(connection.error or connection.exit_summary(), connection.last_words())
            return False
        try:
            await self._setup.run(connection)
        except RequestError as error:
            if needs_login(error):
                return await self._log_in() and await self._ensure_open()
            self.not_opened(str(error), details(error))
            return False
        except (ConnectionClosed, RemoteProtocolError) as error:
            if isinstance(error, ConnectionClosed) and connection.returns:
                await connection.ended()  # another one takes its place
                return await self._ensure_open()
            self.not_opened(connection.error or str(error), connection.last_words())
            return False
        self._restarts = False
        self.login.worked()
        if session.status == "closed":  # by the user, meanwhile
            await self._let_go()
            return False
        return True

    async def _log_in(self) -> bool:
        assert self.connection is not None
        return await self.login.ask(self.connection)

    def logged_in(self) -> None:
        """The user has logged in to the session's agent: open it, if it waits for that."""
        if self.login.awaited:
            self.open()

    def not_opened(self, reason: str, details: Sequence[str]) -> None:
        """The session could not be opened: say why, and give the first prompt back."""
        session = self.session
        ended = self._restarts and self.connection is not None and self.connection.stopping
        if session.status == "closed" or ended:
            return
        if self._setup.is_others:
            self._delegate.leave(session.n)
        self._woken = False  # later requests to open have failed with this one
        if session.in_turn:
            turns.end(session, None, reason, details)
        else:
            session.notice("error", reason, details)
        session.status, session.error = "failed", reason
        session.change("status", "error")
        prompt = queue.take(session)
        if prompt is not None:
            queue.hold(session)
            self._delegate.give_back(session, prompt)

    def remember(self) -> None:
        """Keep it for the list of sessions."""
        if self.connection is not None and self.session.id:
            self._delegate.remember(self.session, self.connection, self.topic)

    # -- the end ----------------------------------------------------------------------------------

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
                await self._let_go()
        finally:
            if self.running is None:
                self.connection = None

    async def _let_go(self) -> None:
        """Close the session at an agent that offers it; it may not know the session any more."""
        connection, session = self.connection, self.session
        assert connection is not None
        try:
            if connection.agent.session_capabilities.close:
                await connection.agent.close_session(session.id)
        except ConnectionClosed:
            return
        finally:
            connection.client.forget(session)

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
        if self.running is not None and not self._answered:
            self._answered = True
            queue.leave_agent(session, self.running)
            self._died()
        elif session.own_turn:
            turns.end(session, None, connection.exit_summary())
        elif connection.returns:
            session.notice("warning", connection.exit_summary() + wording.PART_CONNECTING)
        if connection.returns:
            session.status = "starting"
        else:
            session.status = "idle" if connection.stopping else "failed"
            session.error = session.error or connection.error
        session.change("status", "error")
