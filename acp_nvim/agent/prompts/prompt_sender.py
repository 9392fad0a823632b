"""Prompts of a session, from sending to the answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import anyio

from acp_nvim import wording
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.notify import notify, notify_in_turn
from acp_nvim.agent.observers import ConversationObservers, TurnStart
from acp_nvim.agent.opening.session_opener import SessionOpener
from acp_nvim.agent.opening.session_params import trace
from acp_nvim.agent.prompts.wait_warnings import WaitWarnings
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
from acp_nvim.protocol.refusals import is_session_lost, needs_login, rate_limit
from acp_nvim.session import queue, turns
from acp_nvim.session.prompts import Prompt, earlier_session_block, end_with_newline
from acp_nvim.tasks import Tasks


class SentPrompt:
    """Prompt that the agent has not answered yet."""

    def __init__(self, prompt: Prompt, *, is_resent: bool = False) -> None:
        self.prompt = prompt
        self.is_resent = is_resent
        """Whether the agent had lost the session to which the prompt was first sent."""
        self.is_answered = False
        self.call: OutgoingCall | None = None

    def begin(self, call: OutgoingCall) -> None:
        self.call = call

    def answer(self) -> None:
        self.is_answered = True


class PromptSender:
    """Sender of one session's prompts: the running one, and others added to its turn."""

    def __init__(
        self,
        opener: SessionOpener,
        tasks: Tasks,
        warnings: WaitWarnings,
        settings: Callable[[], Settings],
        observers: ConversationObservers,
    ) -> None:
        self.session = opener.session
        self.needs_login = False
        """Whether the agent requires a login before it accepts the last prompt."""
        self._opener = opener
        self._tasks = tasks
        self._warnings = warnings
        self._settings = settings
        self._observers = observers
        self._running: SentPrompt | None = None
        self._added: list[SentPrompt] = []
        """Prompts sent during the turn of another prompt."""
        self._unsure: list[Prompt] = []
        """Added prompts that the agent may have received before it ended."""
        self._added_answered = anyio.Event()
        self._calls_before = 0
        """Number of tool calls before the turn."""
        self._has_worked = False
        """Whether the agent has answered a prompt of the session without an error."""
        self._hands_over = False
        """Whether the last prompt contains the earlier conversation."""

    @property
    def has_running(self) -> bool:
        """Return whether the agent is answering a prompt, or its answer is being handled."""
        return self._running is not None

    @property
    def is_busy(self) -> bool:
        """Return whether a prompt is waiting for its answer."""
        return self._running is not None and not self._running.is_answered

    @property
    def has_added(self) -> bool:
        """Return whether the turn of an added prompt is still running."""
        return bool(self._added)

    # -- a turn -----------------------------------------------------------------------------------

    def turn_start(self, prompt: Prompt, *, is_at_agent: bool = False) -> TurnStart:
        """Return the argument for the observers in `on_turn_starting`."""
        connection = self._opener.connection
        agent = connection.agent if connection is not None else None
        return TurnStart(
            self.session,
            prompt,
            self._opener.origin.id,
            can_embed=agent is not None and agent.prompt_capabilities.embedded_context is True,
            is_at_agent=is_at_agent,
            texts=None if is_at_agent else prompt.fresh_unsaved(time.monotonic()),
        )

    def prepare(self, prompt: Prompt, connection: Connection) -> list[Any]:
        """Notify the observers of a prompt that leaves the queue, and return its blocks.

        Show a warning for each part that was left out. If the agent has ended or there are no
        blocks, return the prompt to the user and return an empty list.
        """
        session = self.session
        notify(self._observers.on_prompt_sent, session, prompt)
        capabilities = connection.agent.prompt_capabilities
        blocks = prompt.build(capabilities)
        for remark in prompt.left_out:
            session.notice("warning", remark)
        if connection.is_alive and blocks:
            handover = self._handover(prompt, capabilities)
            prompt.blocks = end_with_newline(blocks, handover)
            return [*prompt.blocks, *handover]
        notify(self._observers.on_prompt_returned, session, prompt)
        return []

    def _handover(self, prompt: Prompt, capabilities: schema.PromptCapabilities) -> list[Any]:
        """Return the earlier conversation for the agent, unless the prompt is a `/command`."""
        text = self._opener.handover
        self._hands_over = bool(text) and not prompt.text.startswith("/")
        return [earlier_session_block(text, capabilities)] if self._hands_over else []

    async def run(self, prompt: Prompt, connection: Connection, blocks: Sequence[Any]) -> None:
        """Begin a turn with a prompt and wait for its end.

        If the agent has lost the session, open it again and send the prompt again.
        """
        session = self.session
        sent = self._running = SentPrompt(prompt)
        self.needs_login = False
        if prompt.text and not session.topic:
            session.topic = prompt.text
            session.change("topic")
        if session.at_work:
            queue.add_at_agent(session, prompt)
        else:
            turns.begin(session, prompt, connection.title)
        self._watch_silence()
        self._calls_before = len(session.tool_calls)
        await self._request(sent, connection, blocks)
        if self._opener.is_lost and session.in_turn:
            await self._send_again(prompt)
        self._warnings.stop_watching()

    async def _request(
        self, sent: SentPrompt, connection: Connection, blocks: Sequence[Any]
    ) -> None:
        """Send a prompt to the agent, and wait for the turn to finish."""
        self._running = sent
        try:
            call = self._begin_request(sent, connection, blocks, self._on_answer)
            sent.begin(call)
            await call.answer()
        except (RequestError, RemoteProtocolError):
            pass  # _on_answer handles it, in wire order
        except ConnectionClosed:
            await connection.wait_ended()
        finally:
            self._running = None

    async def _send_again(self, prompt: Prompt) -> None:
        """Open a lost session again and send it the prompt, in the same turn.

        Until then the prompt is in the queue. It stays there if the session cannot be opened.
        """
        session, opener = self.session, self._opener
        queue.prepend(session, prompt)
        notify(self._observers.on_prompt_requeued, session, prompt)
        is_open = await opener.open()
        connection = opener.connection
        if is_open and connection is not None and queue.claim(session, prompt):
            turns.update_status(session)
            blocks = self.prepare(prompt, connection)
            if blocks:
                await self._request(SentPrompt(prompt, is_resent=True), connection, blocks)
        if session.in_turn:
            message = wording.PROMPT_WAITS_FOR_LOGIN if opener.is_login_awaited else None
            turns.end(session, None if message else "cancelled", message)

    def _begin_request(
        self,
        sent: SentPrompt,
        connection: Connection,
        blocks: Sequence[Any],
        on_answer: Callable[[SentPrompt, Any, Exception | None], None],
    ) -> OutgoingCall:
        prompt = sent.prompt
        return connection.agent.begin_prompt(
            self.session.id,
            blocks,
            partial(on_answer, sent),
            {**trace(self._settings(), connection.spec), **(prompt.meta or {})},
            partial(self._on_inserted, prompt),
        )

    def _watch_silence(self) -> None:
        """Warn the user if the agent is silent in the turn that has begun."""
        connection = self._opener.connection
        if connection is not None:
            connection.begin_turn()
            self._warnings.watch(partial(connection.router.received_count, self.session))

    # -- prompts added to a turn (v2/prompt-lifecycle) --------------------------------------------

    async def add(self, prompt: Prompt) -> None:
        """Send a prompt now. The agent inserts it into the running turn or begins another turn."""
        connection = self._opener.connection
        await prompt.complete()
        if connection is None or not self._opener.is_open:
            queue.prepend(self.session, prompt)
            return
        blocks = self.prepare(prompt, connection)
        if not blocks:
            return
        sent = SentPrompt(prompt)
        self._added.append(sent)
        queue.add_at_agent(self.session, prompt)
        sent.begin(self._begin_request(sent, connection, blocks, self._on_added_answer))

    async def finish_added(self) -> None:
        """Wait until all added prompts are answered, one turn after another."""
        while self._added:
            answered = self._added_answered
            try:
                turn = self.turn_start(self._added[0].prompt, is_at_agent=True)
                await notify_in_turn(self._observers.on_turn_starting, turn)
                await answered.wait()
            finally:
                await notify_in_turn(self._observers.on_turn_ended, self.session)

    def recall(self, prompt: Prompt | None = None) -> None:
        """Ask the agent to return a prompt that it has not inserted, or all such prompts."""
        connection = self._opener.connection
        if connection is None:
            return
        waiting = {id(other) for other in self.session.at_agent if prompt in (None, other)}
        for sent in (*self._added, self._running):
            if sent is not None and sent.call is not None and id(sent.prompt) in waiting:
                connection.agent.cancel_request(sent.call)

    # -- from the agent ---------------------------------------------------------------------------

    def _on_inserted(self, prompt: Prompt, message_id: str) -> None:
        """Handle a prompt that the agent inserted. If no turn is running, begin its turn.

        A message without an id is recognized by its text.
        """
        session, connection = self.session, self._opener.connection
        if not queue.remove_at_agent(session, prompt):
            if message_id:
                turns.name_prompt(session, message_id)
        elif session.in_turn:
            turns.add_prompt(session, prompt, message_id or None)
            session.observer.on_change(session)
        elif connection is not None:
            turns.begin(session, prompt, connection.title, message_id or None)
            self._watch_silence()

    def _on_answer(self, sent: SentPrompt, result: Any, error: Exception | None) -> None:
        """Handle the answer to the running prompt.

        This runs in wire order, so everything that came before the answer is drawn before the end
        of the turn.
        """
        if isinstance(error, ConnectionClosed):
            return  # see `on_agent_ended`
        sent.answer()
        if error is not None and self._should_send_again(sent, error):
            self._opener.lose(wording.PART_SENT_AGAIN)
        else:
            notify(self._observers.on_turn_answered, self.session)
            self._end_turn(sent.prompt, result, error)

    def _should_send_again(self, sent: SentPrompt, error: Exception) -> bool:
        """Return whether the session is lost and its prompt should be sent again.

        A prompt is not sent again if it was already sent twice, if the agent has inserted it under
        an id, or if the agent has started a tool call.
        """
        session = self.session
        is_fresh = session.prompt_message is not None and not sent.is_resent
        is_idle = len(session.tool_calls) == self._calls_before
        return is_session_lost(error) and is_fresh and is_idle and session.status == "running"

    def _on_added_answer(self, sent: SentPrompt, result: Any, error: Exception | None) -> None:
        self._added.remove(sent)
        if not isinstance(error, ConnectionClosed):
            self._end_turn(sent.prompt, result, error)
        elif queue.remove_at_agent(self.session, sent.prompt):
            queue.hold_returned(self.session, sent.prompt)
            self._unsure.append(sent.prompt)
        event, self._added_answered = self._added_answered, anyio.Event()
        event.set()

    def _end_turn(self, prompt: Prompt, result: Any, error: Exception | None) -> None:
        """End the turn of a prompt, if one is running, with the agent's result or error.

        Unless there is an error, store the session.
        """
        session = self.session
        was_waiting = queue.remove_at_agent(session, prompt)
        if error is not None:
            self._on_error(prompt, error, was_waiting=was_waiting)
            return
        self._has_worked = True
        self._opener.allow_login()
        if self._hands_over:
            self._opener.on_handed_over()
        if session.in_turn:
            turns.end(session, result.stop_reason, usage=schema.given(result.usage))
        self.store()

    def _on_error(self, prompt: Prompt, error: Exception, *, was_waiting: bool) -> None:
        """Handle the error that answered a prompt.

        Queue the prompt again if the agent requires a login or reports a rate limit, or if the
        prompt was cancelled before the agent inserted it (`was_waiting`). After a later cancel,
        only end the turn. After any other error, end the turn with it and return the prompt to the
        user.
        """
        session = self.session
        is_withdrawn = isinstance(error, RequestError) and error.code == REQUEST_CANCELLED
        is_cancelled = is_withdrawn or session.status == "cancelling"
        if is_cancelled and was_waiting:
            self._requeue(prompt)
            queue.hold_returned(session, prompt)
        elif is_cancelled:
            turns.end(session, "cancelled")
        elif (limit := rate_limit(error)) is not None:
            self._requeue(prompt)
            self._postpone(prompt, limit, error)
        elif needs_login(error):
            self.needs_login = True
            queue.prepend_returned(session, prompt)
            self._requeue(prompt)
            turns.end(session, None, wording.PROMPT_WAITS_FOR_LOGIN, quiet=True)
        else:
            from acp_nvim.agent.opening import tool_trouble

            hint = tool_trouble.tools_hint(session, error, is_first=not self._has_worked)
            turns.end(session, None, str(error), [*details(error), *hint])
            notify(self._observers.on_prompt_returned, session, prompt)

    def _requeue(self, prompt: Prompt) -> None:
        notify(self._observers.on_prompt_requeued, self.session, prompt)

    def _postpone(self, prompt: Prompt, limit: Any, error: Exception) -> None:
        from acp_nvim.agent.prompts import rate_limits

        session, connection = self.session, self._opener.connection
        title = connection.title if connection is not None else session.agent
        # A bare number is the wait.
        reasons = [str(error), *(line for line in details(error) if not line.isdecimal())]
        rate_limits.postpone(session, prompt, limit, title, reasons)
        if limit.seconds is not None:
            self._tasks.start_soon(
                rate_limits.remind, session, prompt, limit.seconds, title, self._warnings.warn
            )

    def allow_sending(self) -> None:
        """Allow sending without a new login, since the session is opened again."""
        self.needs_login = False

    def store(self) -> None:
        """Add the session to the list of stored sessions, or update it there."""
        connection = self._opener.connection
        if connection is not None and self.session.id:
            notify(self._observers.on_worth_storing, self.session, connection)

    def on_agent_ended(self) -> bool:
        """End the turn of the running prompt. Return False if none was running."""
        sent = self._running
        if sent is None or sent.is_answered:
            return False
        sent.answer()
        queue.remove_at_agent(self.session, sent.prompt)
        self._end_with_agent(sent.prompt)
        return True

    def report_unsure(self) -> None:
        """Report the prompts on hold that the agent may have received before it ended."""
        unsure, self._unsure = self._unsure, []
        count = sum(prompt in unsure for prompt in self.session.queue)
        if count:
            line = wording.ONE_UNSURE if count == 1 else wording.UNSURE
            self.session.notice("info", line.format(count=count))

    def _end_with_agent(self, prompt: Prompt) -> None:
        """Show how the agent ended, and return the prompt to the user.

        Version 1 cannot resume a turn whose agent ended. Other prompts wait for the user or for a
        new connection.
        """
        session, connection = self.session, self._opener.connection
        reason = connection.exit_summary() if connection else wording.AGENT_GONE
        last_words: list[str] = []
        returns = connection is not None and connection.will_reconnect
        if returns:
            reason += wording.PART_CONNECTING
        elif connection is None or not connection.stopping:
            reason += wording.PART_RESTART
            last_words = connection.last_words() if connection else []
        turns.end(session, None, reason, last_words, "\n".join((reason, *last_words)))
        if not returns:
            queue.hold(session)
        notify(self._observers.on_prompt_returned, session, prompt)
