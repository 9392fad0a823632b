"""A session's wait for the login that its agent asks for: as configured, once; else by the user."""

from __future__ import annotations

from acp_nvim import wording
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.conversation_delegate import ConversationDelegate
from acp_nvim.agent.patience import Patience
from acp_nvim.session.session import Session


class LoginWait:
    """Of one session."""

    def __init__(
        self, session: Session, patience: Patience, delegate: ConversationDelegate
    ) -> None:
        """Nothing is asked for yet."""
        self.awaited = False
        """Whether the session goes on once the user has logged in."""
        self._session = session
        self._patience = patience
        self._delegate = delegate
        self._tried = False
        """Whether the configured method was tried since the agent took a prompt last."""

    def worked(self) -> None:
        """The agent has taken something: its next question is another one."""
        self._tried = False

    def over(self) -> None:
        """The session is opened anew, whatever it waited for."""
        self.awaited = self._tried = False

    async def ask(self, connection: Connection) -> bool:
        """Log in as configured, else ask the user. Returns whether to try again now; the queue goes
        on after a login of the user.
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
        self._delegate.login_needed(connection, session)
        return False
