"""Subagents as sessions with their own numbers and chats (v1/subagents)."""

from __future__ import annotations

from collections.abc import Callable

from acp_nvim import wording
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.nvim.screen import Screen
from acp_nvim.session.session import Session
from acp_nvim.session.subagents import Child, child_of
from acp_nvim.session.transcript.entries import Subagent


class SubagentRegistry:
    """Sessions of subagents by number."""

    def __init__(self, screen: Screen, number: Callable[[], int]) -> None:
        """`number` returns the number for the next session."""
        self._screen = screen
        self._number = number

    def child(self, parent: Session, session_id: str) -> Session:
        """Return the child with that id. Create it when its parent first names it."""
        return child_of(parent, session_id, self._new)

    def _new(self, parent: Session, link: Subagent) -> Child:
        child = Child(self._number(), parent, link)
        self._screen.add(child)
        return child

    def get(self, n: object) -> Child | None:
        """Return the child with that number, or None."""
        found = self._screen.sessions.get(n) if isinstance(n, int) else None
        return found if isinstance(found, Child) else None

    def root(self, n: int) -> int:
        """Return the number of the root session of a session."""
        found = self._screen.sessions.get(n)
        return found.root.n if found is not None else n

    def cancel(self, child: Child, conversation: Conversation) -> str:
        """Cancel a child alone, if its agent supports that. Return a message for the user."""
        connection = conversation.connection
        if not child.link.cancellable or connection is None or not connection.alive:
            return wording.SUBAGENT_NOT_CANCELLABLE.format(
                subagent=child.link.label, session=child.root.n
            )
        child.cancel_asked()
        connection.agent.cancel(child.id)
        return wording.SUBAGENT_CANCELLED.format(subagent=child.link.label)
