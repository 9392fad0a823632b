"""Replays that are not drawn: the chat shows the session already (v1/session-setup, v2/session-
setup).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from acp_nvim.agent.serving.session_router import Mute, SessionRouter

QUIET_S = 0.25
"""A replay that is not drawn is over when nothing of it has come for this time, in seconds: some
agents answer `session/load` first and replay afterwards.
"""
REPLAY_S = 5.0
"""The longest wait for the end of such a late replay, in seconds."""


@asynccontextmanager
async def muted(router: SessionRouter, session_id: str) -> AsyncIterator[Mute]:
    """Drop the replay of a session around the request that opens it, and one that comes late."""
    mute = router.mute(session_id)
    try:
        yield mute
        with anyio.move_on_after(REPLAY_S):
            before = -1
            while before != mute.dropped:
                before = mute.dropped
                await anyio.sleep(QUIET_S)
    finally:
        router.unmute(session_id)
