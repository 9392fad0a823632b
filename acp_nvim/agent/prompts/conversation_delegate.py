"""The port of a conversation to the editor."""

from __future__ import annotations

from typing import Protocol

from acp_nvim.agent.connection import Connection
from acp_nvim.agent.settings import Settings
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session


class ConversationDelegate(Protocol):
    """Whom a conversation tells about its prompts, and asks for options."""

    def give_back(self, session: Session, prompt: Prompt) -> None:
        """Put a prompt that could not be sent back into the composer, attachments included."""
        ...

    def waits_again(self, prompt: Prompt) -> None:
        """A prompt that was under way is in the queue again."""
        ...

    def login_needed(self, connection: Connection, session: Session) -> None:
        """The agent refuses until the user logs in."""
        ...

    def opened(self, session: Session) -> None:
        """The session is open at its agent, for the first time or again."""
        ...

    def turn_comes(self, session: Session) -> None:
        """A prompt waits until the session is open."""
        ...

    async def turn_began(self, session: Session, prompt: Prompt) -> None:
        """A prompt is about to be sent. It still waits."""
        ...

    async def turn_follows(self, session: Session, prompt: Prompt) -> None:
        """A prompt that was sent before begins a turn after the one that ran then."""
        ...

    def under_way(self, session: Session, prompt: Prompt) -> None:
        """A prompt has left the queue; more may be added to it now. It is being answered until
        `turn_ended`.
        """
        ...

    async def turn_ended(self, session: Session) -> None:
        """A turn is over; the next one begins when this returns."""
        ...

    def turn_cancelled(self, session: Session) -> None:
        """The user has cancelled the running turn; the agent may still work on it."""
        ...

    def left_agent(self, session: Session) -> None:
        """The session is closed, or its agent's process is gone."""
        ...

    def leave(self, n: int) -> None:
        """This session is not to be the current one any longer."""
        ...

    def remember(self, session: Session, connection: Connection, topic: str) -> None:
        """The session can be found again by these."""
        ...

    def settings(self) -> Settings:
        """The user's options."""
        ...
