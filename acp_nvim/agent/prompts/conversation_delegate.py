"""Port of a conversation to the editor."""

from __future__ import annotations

from typing import Protocol

from acp_nvim.agent.connection import Connection
from acp_nvim.agent.settings import Settings
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session


class ConversationDelegate(Protocol):
    """Receiver of a conversation's events, and source of its options."""

    def give_back(self, session: Session, prompt: Prompt) -> None:
        """Put a prompt that could not be sent back into the composer, with its attachments."""
        ...

    def waits_again(self, prompt: Prompt) -> None:
        """Handle the return of a running prompt to the queue."""
        ...

    def login_needed(self, connection: Connection, session: Session) -> None:
        """Handle an agent that refuses until the user logs in."""
        ...

    def opened(self, session: Session) -> None:
        """Handle a session opened at its agent, for the first time or again."""
        ...

    def turn_comes(self, session: Session) -> None:
        """Handle a prompt that waits until the session is open."""
        ...

    async def turn_began(self, session: Session, prompt: Prompt) -> None:
        """Prepare for a prompt that is about to be sent. It is still in the queue."""
        ...

    async def turn_follows(self, session: Session, prompt: Prompt) -> None:
        """Prepare for a turn that begins with a prompt sent during the previous one."""
        ...

    def under_way(self, session: Session, prompt: Prompt) -> None:
        """Handle a prompt that has left the queue. It runs until `turn_ended`.

        More prompts may be added to it from now on.
        """
        ...

    async def turn_ended(self, session: Session) -> None:
        """Finish a turn. The next one begins when this returns."""
        ...

    def turn_cancelled(self, session: Session) -> None:
        """Handle a turn cancelled by the user. The agent may still work on it."""
        ...

    def left_agent(self, session: Session) -> None:
        """Handle a closed session or an ended agent process."""
        ...

    def leave(self, n: int) -> None:
        """Make another session the current one."""
        ...

    def remember(self, session: Session, connection: Connection, topic: str) -> None:
        """Store the data by which the session can be found again."""
        ...

    def settings(self) -> Settings: ...
