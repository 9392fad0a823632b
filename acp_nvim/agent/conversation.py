"""A session at work: it sends the prompts of its queue, one turn at a time, and opens the session
at its agent as often as needed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

import anyio
import anyio.lowlevel

from acp_nvim import wording
from acp_nvim.agent.added_prompts import AddedPrompts
from acp_nvim.agent.agents import Agents, UnknownAgent
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.conversation_delegate import ConversationDelegate
from acp_nvim.agent.session_params import trace
from acp_nvim.agent.session_setup import NEW, Origin, SessionSetup
from acp_nvim.agent.wire.calls import OutgoingCall
from acp_nvim.agent.wire.endpoint import ConnectionClosed
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import (
    AUTH_REQUIRED,
    REQUEST_CANCELLED,
    RemoteProtocolError,
    RequestError,
    details,
)
from acp_nvim.session import queue, subagents
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.questions.decisions import AT_ONCE
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks

OPEN_S: Final = 10.0
"""How long an agent may take for each answer that a session waits for until the user is told."""


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
        self.awaits_login = False
        self.used = 0.0
        """When the user worked with it last, in seconds of a clock that has no date."""
        self._agents = agents
        self._tasks = tasks
        self._delegate = delegate
        self._busy = self._woken = False
        self._setup = SessionSetup(session, origin, self._watched)
        self._call: OutgoingCall | None = None
        """The request of the running prompt."""
        self.added = AddedPrompts(self)
        """Prompts that the agent got while it worked on another one."""
        self._answered = False
        self._refused = False
        self._hands_over = False
        """Whether the prompt that went last has what was said before."""
        self._preparing: Prompt | None = None
        """The first of the queue, while it is made ready to be sent."""
        self._configured = False
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
            session.announce(prompt)
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
        self.awaits_login = self._refused = self._configured = False
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
                    going = (not self._refused or await self._login()) and self.is_open
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
            self.session.end_turn(None, self._fault(error))
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
            session.begin_turn(prompt, connection.title)
        try:
            self._call = connection.agent.begin_prompt(
                session.id,
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
        blocks = prompt.build(connection.agent.prompt_capabilities)
        for remark in prompt.left_out:
            session.notice("warning", remark)
        if connection.alive and blocks:
            return [*self._handover(prompt), *blocks]
        self._delegate.give_back(session, prompt)
        return []

    def _handover(self, prompt: Prompt) -> list[Any]:
        """Return what the agent is told of the conversation so far; a slash command stays the
        first text.
        """
        told = self._setup.handover
        self._hands_over = bool(told) and not prompt.text.startswith("/")
        return [schema.TextContent(told)] if self._hands_over else []

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
        """The agent has put a prompt into the session: its turn begins, if none runs."""
        session = self.session
        if queue.leave_agent(session, prompt):
            self._begin(prompt, message_id)
        else:
            session.name_prompt(message_id)

    def _begin(self, prompt: Prompt, message_id: str) -> None:
        session = self.session
        if session.in_turn:
            session.insert(prompt, message_id)
            session.observer.changed(session)
        elif self.connection is not None:
            session.begin_turn(prompt, self.connection.title, message_id)

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
        self.answered(self.running, result, error)

    def answered(self, prompt: Prompt | None, result: Any, error: Exception | None) -> None:
        """A prompt is answered: its turn is over, if it has begun and not ended with another's."""
        waited = prompt is not None and queue.leave_agent(self.session, prompt)
        if error is None:
            self._configured = False
            if self._hands_over:
                self._setup.handed_over()
            if self.session.in_turn:
                self.session.end_turn(result.stop_reason)
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
            session.end_turn("cancelled")
        elif isinstance(error, RequestError) and error.code == AUTH_REQUIRED and prompt is not None:
            self._refused = True
            queue.put_first(session, prompt)
            self._delegate.waits_again(prompt)
            session.end_turn(None, wording.PROMPT_WAITS_FOR_LOGIN)
        else:
            session.end_turn(None, str(error), details(error))
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
        session.end_turn(None, reason, words, "\n".join((reason, *words)))
        if not returns:
            queue.hold(session)
        if self.running is not None:
            self._delegate.give_back(session, self.running)

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
        many = self._cancel_asked("cancel")
        if already:
            return True
        self._tasks.start_soon(self._watch_cancel, session.turn)
        if not many:
            session.close_calls("cancelled")
        return True

    def take_back(self, prompt: Prompt | None = None) -> None:
        """Ask for this prompt back, or for all, that the agent has not inserted."""
        waiting = [one for one in self.session.at_agent if prompt in (None, one)]
        for one in waiting:
            if one is not self.running:
                self.added.take_back(one)
            elif self._call is not None and self.connection is not None:
                self.connection.agent.take_back(self._call)

    def _cancel_asked(self, by: str) -> bool:
        """Answer all pending questions as cancelled. Very many are answered in steps and their tool
        calls closed after that, so that nothing else has to wait. Returns whether that goes on.
        """
        decisions = self.session.decisions
        many = len(decisions) > AT_ONCE
        if many:
            self._tasks.start_soon(self._cancel_many, decisions.cancelling(by))
        else:
            decisions.cancel_all(by)
        return many

    async def _cancel_many(self, steps: Iterator[None]) -> None:
        for _ in steps:
            await anyio.lowlevel.checkpoint()
        while self.session.close_calls("cancelled", AT_ONCE):
            await anyio.lowlevel.checkpoint()

    def hold(self) -> bool:
        """Let prompts that were about to be sent wait for `run_queue`; False where none was."""
        session = self.session
        if not queue.moves(session):
            return False
        session.retract()
        queue.hold(session)
        return True

    async def _watch_cancel(self, turn: int) -> None:
        """After the time for a cancel: name an agent that has not ended the turn, and end the
        commands that it left running.
        """
        seconds = self._delegate.settings().timeouts.cancel_s
        await anyio.sleep(seconds)
        if self.session.turn == turn and self.session.status == "cancelling":
            self._warn(wording.PART_ENDED.format(seconds=seconds), wording.PART_ENDS)
        if self.connection is not None:
            self.connection.terminals.end_turn(self.session, turn)

    def _warn(self, what: str, way_out: str) -> None:
        """Tell the user that the agent keeps them waiting, and the way out."""
        session = self.session
        self._say_warning(
            wording.AGENT_SILENT.format(agent=session.agent, what=what, way_out=way_out)
        )

    def _say_warning(self, title: str) -> None:
        session = self.session
        session.notice("warning", title)
        replaying, session.replaying = session.replaying, False  # this is of now
        session.event("AcpNotice", severity="warning", title=title)
        session.replaying = replaying

    # -- opening ----------------------------------------------------------------------------------

    def _watched(self, question: str) -> AbstractContextManager[None]:
        """Around a request that the session waits for: after `OPEN_S` the user is told, once. The
        answer counts whenever it comes.
        """
        return self._tasks.if_slow(OPEN_S, partial(self._silent, question))

    def _silent(self, question: str) -> None:
        connection = self._agents.connections.get(self.session.agent)
        if connection is not None and connection.unreached is not None:
            self._say_warning(connection.unreached)
        elif self.session.status != "closed":
            self._warn(
                wording.PART_ANSWERED.format(question=question, seconds=OPEN_S),
                wording.PART_STARTS_ANEW,
            )

    @property
    def is_open(self) -> bool:
        """Whether the session exists at a living agent."""
        return (
            self.connection is not None
            and self.connection.alive
            and bool(self.session.id)
            and self.session.status in ("idle", "running", "cancelling")
        )

    async def _ensure_open(self) -> bool:
        """Return whether prompts can be sent, after starting whatever was missing."""
        if self.session.status == "closed":
            return False
        return self.is_open or await self._open()

    async def _open(self) -> bool:
        session = self.session
        try:
            with self._watched("initialize"):
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
            if error.code == AUTH_REQUIRED:
                return await self._login() and await self._ensure_open()
            self.not_opened(str(error), details(error))
            return False
        except (ConnectionClosed, RemoteProtocolError) as error:
            if isinstance(error, ConnectionClosed) and connection.returns:
                await connection.ended()  # another one takes its place
                return await self._ensure_open()
            self.not_opened(connection.error or str(error), connection.last_words())
            return False
        self._configured = self._restarts = False
        if session.status == "closed":  # by the user, meanwhile
            await self._let_go()
            return False
        return True

    async def _login(self) -> bool:
        """The agent asks for a login: log in as configured, once; else ask the user. Returns
        whether to try again now. The queue goes on after the login.
        """
        connection, session = self.connection, self.session
        assert connection is not None
        if not self._configured:
            self._configured = True
            with self._watched("authenticate"):
                if await connection.try_configured():
                    return True
        count = len(session.queue)
        waiting = wording.PART_PROMPTS_WAITING.format(count=count) if count else ""
        session.notice(
            "warning", wording.LOGIN_NEEDED.format(agent=connection.title, waiting=waiting)
        )
        session.error = wording.LOGIN_ASKED
        session.change("error")
        self.awaits_login = True
        self._delegate.login_needed(connection, session)
        return False

    def logged_in(self) -> None:
        """The user has logged in to the session's agent: open it, if it waits for that."""
        if self.awaits_login:
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
        session.status, session.error = "failed", reason
        session.notice("error", reason, details)
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
        self._cancel_asked("close")
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
        session.close_calls("failed")
        session.terminals.abandon()
        session.at_work, session.background = False, 0
        subagents.abandon(session)
        if self.running is not None and not self._answered:
            self._answered = True
            queue.leave_agent(session, self.running)
            self._died()
        elif session.own_turn:
            session.end_turn(None, connection.exit_summary())
        elif connection.returns:
            session.notice("warning", connection.exit_summary() + wording.PART_CONNECTING)
        if connection.returns:
            session.status = "starting"
        else:
            session.status = "idle" if connection.stopping else "failed"
            session.error = session.error or connection.error
        session.change("status", "error")
