"""Prompts of a session at its agent: sent, inserted, answered, refused, returned."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio

from acp_nvim import wording
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.notify import notify, notify_in_turn
from acp_nvim.agent.observers import ConversationObservers, TurnStart
from acp_nvim.agent.opening.lost_session import LostSession
from acp_nvim.agent.opening.session_link import SessionLink
from acp_nvim.agent.opening.session_params import trace
from acp_nvim.agent.prompts.added_prompts import AddedPrompts
from acp_nvim.agent.prompts.patience import Patience
from acp_nvim.agent.prompts.rate_limits import PutOffPrompts
from acp_nvim.agent.settings import Settings
from acp_nvim.agent.wire.calls import OutgoingCall
from acp_nvim.agent.wire.endpoint import ConnectionClosed
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import (
    REQUEST_CANCELLED,
    RemoteProtocolError,
    RequestError,
    details,
)
from acp_nvim.protocol.refusals import needs_login, rate_limit
from acp_nvim.session import queue, turns
from acp_nvim.session.prompts import Prompt, aside, ended
from acp_nvim.tasks import Tasks


class Exchange:
    """Prompts of one session at its agent: one running prompt, and those added to it."""

    def __init__(
        self,
        link: SessionLink,
        tasks: Tasks,
        patience: Patience,
        settings: Callable[[], Settings],
        observers: ConversationObservers,
    ) -> None:
        self.session = link.session
        self.running: Prompt | None = None
        self.refused = False
        """Whether the agent requires a login before it accepts the last prompt."""
        self.topic = ""
        """First prompt, as long as there is no title."""
        self.added = AddedPrompts(link, self)
        """Prompts sent during the turn of another one."""
        self._link = link
        self._patience = patience
        self._settings = settings
        self._observers = observers
        self._put_off = PutOffPrompts(self.session, tasks, patience.warn)
        self._lost = LostSession(link, self, observers)
        self._call: OutgoingCall | None = None
        """Request of the running prompt."""
        self._answered = False
        self._worked = False
        """Whether the agent has answered a prompt of the session without an error."""
        self._hands_over = False
        """Whether the last prompt carries the earlier conversation."""

    @property
    def busy(self) -> bool:
        """Return whether a prompt waits for its answer."""
        return self.running is not None and not self._answered

    # -- to the agent -----------------------------------------------------------------------------

    def prepare(self, prompt: Prompt, connection: Connection) -> list[Any]:
        """Return the blocks of a prompt that leaves the queue now. They are empty if it was
        given back.
        """
        session = self.session
        notify(self._observers.on_prompt_sent, session, prompt)
        capabilities = connection.agent.prompt_capabilities
        blocks = prompt.build(capabilities)
        for remark in prompt.left_out:
            session.notice("warning", remark)
        if connection.alive and blocks:
            told = self._handover(prompt, capabilities)
            prompt.blocks = ended(blocks, told)
            return [*prompt.blocks, *told]
        notify(self._observers.on_prompt_returned, session, prompt)
        return []

    def _handover(self, prompt: Prompt, capabilities: schema.PromptCapabilities) -> list[Any]:
        """Return the earlier conversation for the agent. A `/command` accepts no other text."""
        told = self._link.setup.handover
        self._hands_over = bool(told) and not prompt.text.startswith("/")
        return [aside("earlier-session", told, capabilities)] if self._hands_over else []

    async def run(self, prompt: Prompt, connection: Connection, blocks: list[Any]) -> None:
        """Begin a turn with a prompt and wait for its end."""
        session = self.session
        self.running, self._answered, self.refused = prompt, False, False
        self.topic = self.topic or prompt.text
        if session.at_work:
            queue.wait_at_agent(session, prompt)
        else:
            turns.begin(session, prompt, connection.title)
        self._listen()
        self._lost.begin()
        await self.ask(prompt, connection, blocks)
        if self._link.setup.lost and session.in_turn:
            await self._lost.ask_again(prompt)
        self._patience.rest()

    async def ask(self, prompt: Prompt, connection: Connection, blocks: list[Any]) -> None:
        """Send a prompt to the agent. Wait for the end of its turn, or until the session proves
        lost.
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
            pass  # _on_response handles it, in wire order
        except ConnectionClosed:
            await connection.ended()
        finally:
            self.running = self._call = None

    def meta(self, prompt: Prompt) -> dict[str, Any]:
        """Return the `_meta` of a prompt: its own, and the configured trace
        (rfds/meta-propagation).
        """
        assert self._link.connection is not None
        configured = trace(self._settings(), self._link.connection.spec)
        return {**configured, **(prompt.meta or {})}

    def turn_start(self, prompt: Prompt, *, is_at_agent: bool = False) -> TurnStart:
        """Return the values that observers get before a turn."""
        agent = self._link.connection.agent if self._link.connection is not None else None
        return TurnStart(
            self.session,
            prompt,
            self._link.setup.origin_id,
            embeds=agent is not None and agent.prompt_capabilities.embedded_context is True,
            is_at_agent=is_at_agent,
            texts=None if is_at_agent else prompt.fresh_unsaved(time.monotonic()),
        )

    async def follow(self, prompt: Prompt, over: anyio.Event) -> None:
        """Wait for a turn that begins with a prompt already sent."""
        try:
            turn = self.turn_start(prompt, is_at_agent=True)
            await notify_in_turn(self._observers.on_turn_starting, turn)
            await over.wait()
        finally:
            await notify_in_turn(self._observers.on_turn_ended, self.session)

    def _listen(self) -> None:
        """Warn the user if the agent is silent in the turn that has begun."""
        connection = self._link.connection
        if connection is not None:
            connection.begin_turn()
            self._patience.listen(partial(connection.router.heard, self.session))

    def take_back(self, prompt: Prompt | None = None) -> None:
        """Ask the agent to return this prompt, or all, that it has not inserted."""
        connection = self._link.connection
        waiting = [one for one in self.session.at_agent if prompt in (None, one)]
        for one in waiting:
            if one is not self.running:
                self.added.take_back(one)
            elif self._call is not None and connection is not None:
                connection.agent.take_back(self._call)

    # -- from the agent ---------------------------------------------------------------------------

    def inserted(self, prompt: Prompt, message_id: str) -> None:
        """Handle a prompt that the agent inserted: its turn begins, if none runs.

        Without an id its message is recognized by its text.
        """
        session = self.session
        if queue.leave_agent(session, prompt):
            self._begin(prompt, message_id or None)
        elif message_id:
            turns.name_prompt(session, message_id)

    def _begin(self, prompt: Prompt, message_id: str | None) -> None:
        session, connection = self.session, self._link.connection
        if session.in_turn:
            turns.insert(session, prompt, message_id)
            session.observer.changed(session)
        elif connection is not None:
            turns.begin(session, prompt, connection.title, message_id)
            self._listen()

    def _on_response(self, result: Any, error: Exception | None) -> None:
        """End the turn.

        This runs in wire order, so everything that came before the answer is drawn before the end
        of the turn.
        """
        if isinstance(error, ConnectionClosed):
            return  # `agent_ended` handles it
        self._answered = True
        if error is not None and self._lost.is_meant(error, self.running):
            self._link.setup.lose(wording.PART_SENT_AGAIN)
        else:
            self.answered(self.running, result, error)

    def answered(self, prompt: Prompt | None, result: Any, error: Exception | None) -> None:
        """Handle the answer to a prompt. End its turn if one is running."""
        waited = prompt is not None and queue.leave_agent(self.session, prompt)
        if error is None:
            self._worked = True
            self._link.login.worked()
            if self._hands_over:
                self._link.setup.handed_over()
            if self.session.in_turn:
                turns.end(self.session, result.stop_reason, usage=schema.given(result.usage))
            self.remember()
        elif waited and prompt is not None and self._takes_back(error):
            notify(self._observers.on_prompt_requeued, self.session, prompt)
            queue.put_held(self.session, [prompt])
        else:
            self._on_error(error, prompt)

    def _takes_back(self, error: Exception) -> bool:
        """Return whether the agent returns a prompt that it had not inserted, as a cancel asks."""
        withdrawn = isinstance(error, RequestError) and error.code == REQUEST_CANCELLED
        return withdrawn or self.session.status == "cancelling"

    def _on_error(self, error: Exception, prompt: Prompt | None) -> None:
        """Handle an error as the answer to a prompt."""
        from acp_nvim.agent.opening import tool_trouble

        session, connection = self.session, self._link.connection
        withdrawn = isinstance(error, RequestError) and error.code == REQUEST_CANCELLED
        if session.status == "cancelling" or withdrawn:
            turns.end(session, "cancelled")
        elif prompt is not None and (limit := rate_limit(error)) is not None:
            notify(self._observers.on_prompt_requeued, session, prompt)
            title = connection.title if connection is not None else session.agent
            told = [
                line for line in details(error) if not line.isdecimal()
            ]  # a bare number is the wait
            self._put_off.put_off(prompt, limit, title, [str(error), *told])
        elif prompt is not None and needs_login(error):
            self.refused = True
            queue.put_first(session, prompt)
            notify(self._observers.on_prompt_requeued, session, prompt)
            turns.end(session, None, wording.PROMPT_WAITS_FOR_LOGIN, quiet=True)
        else:
            way_out = tool_trouble.way_out(session, error, is_first=not self._worked)
            turns.end(session, None, str(error), [*details(error), *way_out])
            if prompt is not None:
                notify(self._observers.on_prompt_returned, session, prompt)

    def may_be_sent(self) -> None:
        """Forget the refusal, since the agent is started again."""
        self.refused = False

    def remember(self) -> None:
        """Store the session for the list of sessions."""
        connection = self._link.connection
        if connection is not None and self.session.id:
            notify(self._observers.on_prompt_answered, self.session, connection, self.topic)

    def agent_ended(self) -> bool:
        """End the turn of the running prompt after the agent's end. Return whether there was
        one.
        """
        if self.running is None or self._answered:
            return False
        self._answered = True
        queue.leave_agent(self.session, self.running)
        self._end_with_agent(self.running)
        return True

    def _end_with_agent(self, prompt: Prompt) -> None:
        """Show how the agent ended and give the prompt back.

        Version 1 cannot resume a turn whose agent ended. Other prompts wait for the user or for a
        new connection.
        """
        session, connection = self.session, self._link.connection
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
        notify(self._observers.on_prompt_returned, session, prompt)
