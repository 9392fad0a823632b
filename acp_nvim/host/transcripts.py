"""Stored session transcripts, for all features."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from acp_nvim import wording
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.session.session import Session

if TYPE_CHECKING:
    from acp_nvim.history.search import StoredSession


class UnreadableError(Exception):
    """Failure to read stored transcripts. The text is a message for the user."""


class Transcripts:
    """Stored transcripts of the sessions of all Neovims.

    This class stores nothing. The feature `history` adds a subclass to the host.
    """

    def __init__(self, echo: Callable[[str, str], None]) -> None:
        self._echo = echo

    @property
    def enabled(self) -> bool:
        """Return whether transcripts are stored."""
        return False

    async def read(self, query: str, *args: Any) -> Any:
        """Run a function of `acp_nvim.history.search`. Return None if nothing is stored.

        Raise `UnreadableError`.
        """
        return None

    async def ask(self, query: str, *args: Any, silent: bool = False) -> Any:
        """Run a query like `read`, but report errors and an empty history unless `silent`."""
        try:
            result = await self.read(query, *args)
        except UnreadableError as error:
            if not silent:
                self._echo("warn", str(error))
            return None
        if result is None and not silent and query not in ("session", "author"):
            self._echo("info", wording.HISTORY_EMPTY if self.enabled else wording.HISTORY_OFF)
        return result

    def follow(self, session: Session, recorded: int) -> None:
        """Append the entries of a session to the record of its agent's session.

        The record already has the first `recorded` entries.
        """

    def stored_of(self, session: Session) -> StoredSession | None:
        """Return the stored session of a read-only chat, or None for any other session."""
        return None

    async def open(self, stored: StoredSession) -> Conversation | None:
        """Show the chat of a stored session if it is open, else a read-only chat.

        Return None if the session has no entries.
        """
        return None

    async def open_child(self, stored: StoredSession, session_id: str) -> None:
        """Show the read-only chat of a subagent of a stored session."""

    def continue_chat(self, chat: Conversation) -> Conversation | None:
        """Continue the stored session of a read-only chat. Return None for any other chat.

        The new chat begins with the transcript.
        """
        return None
