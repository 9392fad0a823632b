"""A session at work: its queue of prompts, one turn at a time, opened and reopened as needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import anyio
from anyio.abc import TaskGroup

from acp_nvim.agent.agents import Agents, UnknownAgent
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.endpoint import ConnectionClosed
from acp_nvim.agent.opening import Opening
from acp_nvim.agent.settings import Settings
from acp_nvim.protocol.errors import AUTH_REQUIRED, RemoteProtocolError, RequestError
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session


class Front(Protocol):
    """What a conversation tells the editor's side."""

    def give_back(self, session: Session, text: str) -> None:
        """Put a prompt that could not be sent back into the composer."""
        ...

    def login_needed(self, connection: Connection, session: Session) -> None:
        """The agent refuses until the user logs in."""
        ...

    def settings(self) -> Settings:
        """The user's options."""
        ...


class Conversation:
    """Ties a session to the connection that serves it."""

    def __init__(self, session: Session, agents: Agents, tasks: TaskGroup, front: Front) -> None:
        """The session's agent is started by `open` or the first prompt."""
        self.session = session
        self.connection: Connection | None = None
        self.running: Prompt | None = None
        self.turn = 0
        self._agents = agents
        self._tasks = tasks
        self._front = front
        self._busy = False
        self._opening = Opening(session)
        self._answered = False

    # -- prompts ----------------------------------------------------------------------------------

    def submit(self, prompt: Prompt) -> None:
        """Queue a prompt; it is sent as soon as those before it are done."""
        self.session.queue.append(prompt)
        self.session.change("queue")
        self.wake()

    def wake(self) -> None:
        """Go on with the queue unless something does already."""
        if not self._busy:
            self._busy = True
            self._tasks.start_soon(self._work)

    def open(self) -> None:
        """Start agent and session now, without a prompt."""
        self.wake()

    def run_queue(self) -> None:
        """Go on after a cancel."""
        self.session.held = False
        self.wake()

    async def _work(self) -> None:
        try:
            while await self._ensure_open() and self.session.queue and not self.session.held:
                prompt = self.session.queue.pop(0)
                self.session.change("queue")
                await self._turn(prompt)
        finally:
            self._busy = False

    async def _turn(self, prompt: Prompt) -> None:
        """Send one prompt and wait for the end of its turn."""
        connection = self.connection
        assert connection is not None
        session = self.session
        blocks = prompt.build(connection.agent.prompt_capabilities)
        self.running, self._answered = prompt, False
        self.turn += 1
        session.begin_turn(prompt, connection.title)
        try:
            await connection.agent.prompt(session.id, blocks, self._on_response)
        except (RequestError, RemoteProtocolError):
            pass  # told by _on_response, in wire order
        except ConnectionClosed:
            await connection.ended()
        finally:
            self.running = None

    def _on_response(self, result: Any, error: Exception | None) -> None:
        """Called in wire order, so nothing that came before the answer is drawn after the end of
        the turn.
        """
        if isinstance(error, ConnectionClosed):
            return  # `agent_ended` knows more
        self._answered = True
        if error is None:
            self.session.end_turn(result.stop_reason)
        else:
            self._refused(error)

    def _refused(self, error: Exception) -> None:
        """The agent answered the prompt with an error."""
        session, prompt = self.session, self.running
        if session.status == "cancelling":
            session.end_turn("cancelled")
        elif isinstance(error, RequestError) and error.code == AUTH_REQUIRED:
            session.end_turn(
                None, "the agent asks for a login: :Acp login; the prompt waits in the queue"
            )
            if prompt is not None:
                session.queue.insert(0, prompt)
                session.change("queue")
            self._login()
        else:
            session.end_turn(None, str(error), _details(error))
            if prompt is not None:
                self._front.give_back(session, prompt.text)

    def _died(self) -> None:
        """v1 has no way to go on in a turn whose agent died: say how it ended and give the prompt
        back.
        """
        session, connection = self.session, self.connection
        reason = connection.epitaph() if connection else "the agent is gone"
        session.end_turn(
            None, f"{reason}; :Acp restart goes on", connection.last_words() if connection else ()
        )
        if self.running is not None:
            self._front.give_back(session, self.running.text)

    # -- cancel -----------------------------------------------------------------------------------

    def cancel(self) -> bool:
        """Cancel the running turn (v1/prompt-turn#cancellation); False when none runs."""
        session, connection = self.session, self.connection
        if self.running is None or connection is None or not session.id or self._answered:
            return False
        session.held = True
        session.decisions.cancel_all("cancel")
        if session.status == "cancelling":
            return True
        session.status = "cancelling"
        session.close_calls("cancelled")
        session.change("status")
        connection.agent.cancel(session.id)
        self._tasks.start_soon(self._watch_cancel, self.turn)
        return True

    async def _watch_cancel(self, turn: int) -> None:
        """Name an agent that does not end the turn."""
        seconds = self._front.settings().timeouts.cancel_s
        await anyio.sleep(seconds)
        session = self.session
        if self.turn != turn or session.status != "cancelling":
            return
        title = (
            f"{session.agent} has not ended the turn {seconds:g} s after the cancel; "
            ":Acp restart ends its process"
        )
        session.remark("warning", title)
        session.event("AcpNotice", severity="warning", title=title)

    # -- opening ----------------------------------------------------------------------------------

    async def _ensure_open(self) -> bool:
        """Return whether prompts can be sent, after starting whatever was missing."""
        if (
            self.connection is not None
            and self.connection.alive
            and self.session.id
            and self.session.status != "failed"
        ):
            return True
        if self.session.status == "closed":
            return False
        return await self._open()

    async def _open(self) -> bool:
        session = self.session
        try:
            connection = await self._agents.get(session.agent)
        except UnknownAgent as error:
            self._not_opened(str(error), ())
            return False
        self.connection = connection
        if not connection.alive:
            self._not_opened(connection.error or connection.epitaph(), connection.last_words())
            return False
        try:
            await self._opening.run(connection)
        except RequestError as error:
            if error.code == AUTH_REQUIRED:
                self._login()
            else:
                self._not_opened(str(error), _details(error))
            return False
        except (ConnectionClosed, RemoteProtocolError) as error:
            self._not_opened(connection.error or str(error), connection.last_words())
            return False
        return True

    def _login(self) -> None:
        """Prompts wait in the queue until the user has logged in."""
        assert self.connection is not None
        self.session.held = True
        self._front.login_needed(self.connection, self.session)

    def _not_opened(self, reason: str, details: Sequence[str]) -> None:
        """No session, no turn: say why, and give the first prompt back."""
        session = self.session
        session.status, session.error = "failed", reason
        session.remark("error", reason, details)
        session.change("status", "error")
        if session.queue:
            prompt = session.queue.pop(0)
            session.held = bool(session.queue)
            session.change("queue")
            self._front.give_back(session, prompt.text)

    # -- the end of the agent ---------------------------------------------------------------------

    def agent_ended(self, connection: Connection) -> None:
        """The process is gone: nothing is pending any more, and the next prompt starts it again."""
        session = self.session
        if connection is not self.connection or session.status == "closed":
            return
        session.decisions.cancel_all("agent exit")
        session.close_calls("failed")
        if self.running is not None and not self._answered:
            self._answered = True
            self._died()
        session.status = "failed"
        session.error = session.error or connection.error
        session.change("status", "error")


def _details(error: Exception) -> list[str]:
    """Whatever else the agent said about an error, on one line (`error.data` may be anything)."""
    data = getattr(error, "data", None)
    return [str(data)[:2000]] if data else []
