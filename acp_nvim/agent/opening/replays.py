"""Replays that are not drawn, because the chat already shows the session (v1/session-setup,
v2/session-setup).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from acp_nvim.agent.serving.session_router import Mute, SessionRouter

QUIET_S = 0.25
"""Seconds without an update after which a muted replay counts as complete.

Some agents answer `session/load` first and replay afterwards.
"""
REPLAY_S = 5.0
"""Longest wait for the end of such a late replay, in seconds."""


@asynccontextmanager
async def muted(router: SessionRouter, session_id: str) -> AsyncIterator[Mute]:
    """Drop the replay of a session during the request that opens it, and a late one after it."""
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
