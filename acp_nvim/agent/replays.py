"""What is told of a session while it is opened again: its chat may show it already (v1/session-
setup, v2/session-setup).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio

from acp_nvim.agent.session_router import PAST, SessionRouter
from acp_nvim.protocol import schema
from acp_nvim.session.entries import Entry, Message
from acp_nvim.session.session import Session

QUIET_S = 0.25
"""A replay that is not drawn is over when nothing of it has come for this time, in seconds: some
agents answer `session/load` first and replay afterwards.
"""
REPLAY_S = 5.0
"""The longest wait for the end of such a late replay, in seconds."""


@asynccontextmanager
async def muted(router: SessionRouter, session_id: str) -> AsyncIterator[None]:
    """Drop the replay of a session: its chat is on the screen already."""
    router.mute(session_id)
    try:
        yield
        await _quiet(lambda: router.muted[session_id])
    finally:
        router.unmute(session_id)


@asynccontextmanager
async def compared(router: SessionRouter, session: Session, *, asked: bool) -> AsyncIterator[None]:
    """Apply what is new in the replay of a session, by an agent that names all things by ids;
    `asked` to replay or not. Its subagents are replayed with it.
    """
    from acp_nvim.session.retelling import Retelling

    session.mark_ids()
    retellings = {one: Retelling(one, tells=asked) for one in (session, *session.children.values())}
    for one, retelling in retellings.items():
        router.filter(one, retelling)
    try:
        yield
        await _quiet(lambda: sum(retelling.heard for retelling in retellings.values()))
        if retellings[session].heard:
            session.keep_ids()
    finally:
        for one in retellings:
            router.unfilter(one)


@asynccontextmanager
async def withheld(
    router: SessionRouter, session: Session, before: Sequence[Entry]
) -> AsyncIterator[None]:
    """Show these entries in front of all that is told of a session, unless its agent replays it."""
    told = Withheld()
    router.filter(session, told)
    try:
        yield
        await _quiet(lambda: told.heard)
        if not told.replays(before):
            session.transcript.inherit(before)
            session.observer.changed(session)
    finally:
        router.unfilter(session)


async def _quiet(heard: Callable[[], int]) -> None:
    """Wait until no more of a replay comes."""
    with anyio.move_on_after(REPLAY_S):
        before = -1
        while before != heard():
            before = heard()
            await anyio.sleep(QUIET_S)


class Withheld:
    """Keeps updates that tell of messages and work, in their order, while nobody can tell whether
    they are a replay.
    """

    def __init__(self) -> None:
        """Nothing is told yet."""
        self._updates: list[Any] = []

    @property
    def heard(self) -> int:
        """How many updates are kept."""
        return len(self._updates)

    def news(self, update: Any) -> Sequence[Any]:
        """Return what is not kept."""
        if not isinstance(update, PAST):
            return (update,)
        self._updates.append(update)
        return ()

    def end(self) -> Sequence[Any]:
        """Return all that was kept."""
        return self._updates

    def replays(self, entries: Sequence[Entry]) -> bool:
        """Whether the agent replays these entries: it tells of words of the user, or of a message
        of them.
        """
        ids = {entry.message_id for entry in entries if isinstance(entry, Message)} - {None}
        return any(_is_users(it) or getattr(it, "message_id", None) in ids for it in self._updates)


def _is_users(update: Any) -> bool:
    return isinstance(update, schema.UserMessageChunk) or getattr(update, "role", "") == "user"
