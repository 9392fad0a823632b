"""Observers of conversations, called while sessions open and during turns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from msgspec import Struct, field

from acp_nvim.agent.connection import Connection
from acp_nvim.edits.text import Text
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session


class TurnStart(Struct, eq=False):
    """Turn that is about to begin with a prompt."""

    session: Session
    prompt: Prompt
    origin_id: str = ""
    """Agent's id of the stored session that the session continues."""
    can_embed: bool = False
    """Whether the agent accepts embedded resources."""
    is_at_agent: bool = False
    """Whether the agent already received the prompt, during the previous turn."""
    texts: Mapping[str, Text] | None = None
    """Texts of all buffers with unsaved edits, by path. None if they are not known yet."""


OnSession: TypeAlias = Callable[[Session], None]
OnPrompt: TypeAlias = Callable[[Session, Prompt], None]


class ConversationObservers(Struct, frozen=True, eq=False):
    """Observers of all conversations of a host.

    Each list is called in order. An exception ends the turn or the opening with an error.
    """

    on_awaited: list[OnSession] = field(default_factory=list)
    """A prompt waits until its session is open."""
    on_opened: list[Callable[[Session, str], None]] = field(default_factory=list)
    """The session is open at its agent. Called with its `origin_id` too."""
    on_open_failed: list[OnSession] = field(default_factory=list)
    """A stored session of the agent could not be opened here."""
    on_login_needed: list[Callable[[Connection, Session], None]] = field(default_factory=list)
    """The agent refuses until the user logs in."""
    on_turn_starting: list[Callable[[TurnStart], Awaitable[None]]] = field(default_factory=list)
    """A prompt is about to be sent. It leaves the queue after the last observer."""
    on_prompt_sent: list[OnPrompt] = field(default_factory=list)
    """The prompt has left the queue. Attachments may be added to it now."""
    on_prompt_requeued: list[OnPrompt] = field(default_factory=list)
    """A prompt that had left the queue is in it again."""
    on_prompt_returned: list[OnPrompt] = field(default_factory=list)
    """A prompt could not be sent, and is returned to the user with its attachments."""
    on_worth_storing: list[Callable[[Session, Connection], None]] = field(default_factory=list)
    on_turn_answered: list[OnSession] = field(default_factory=list)
    """The agent has answered the prompt. The end of the turn is shown after the last observer."""
    on_turn_cancelled: list[OnSession] = field(default_factory=list)
    """The user cancelled the turn. The agent may still work on it."""
    on_turn_ended: list[Callable[[Session], Awaitable[None]]] = field(default_factory=list)
    """The turn is over. The next one begins after the last observer."""
    on_agent_left: list[OnSession] = field(default_factory=list)
    """The session was closed, or its agent's process has ended."""
