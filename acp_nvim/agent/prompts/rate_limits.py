"""Prompts that an agent refused because of a rate limit.

They wait in the queue, and the user gets a notice when they can be sent again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import anyio

from acp_nvim import wording
from acp_nvim.session import queue, turns
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks

if TYPE_CHECKING:
    from acp_nvim.protocol.rate_limit import RateLimit


class PutOffPrompts:
    """Postponed prompts of one session."""

    def __init__(self, session: Session, tasks: Tasks, warn: Callable[[str], None]) -> None:
        """Set up without prompts. ``warn`` shows a warning outside of a turn."""
        self._session = session
        self._tasks = tasks
        self._warn = warn

    def put_off(self, prompt: Prompt, limit: RateLimit, agent: str, details: Sequence[str]) -> None:
        """End the turn of a prompt. Hold it and those behind it for the user.

        The agent would refuse them all.
        """
        session = self._session
        queue.hold(session)
        queue.put_held(session, [prompt])
        wait = (
            ""
            if limit.seconds is None
            else wording.PART_LIMIT_WAIT.format(time=spoken(limit.seconds))
        )
        turns.end(session, None, wording.RATE_LIMITED.format(agent=agent, wait=wait), details)
        if limit.seconds is not None:
            self._tasks.start_soon(self._remind, prompt, limit.seconds, agent)

    async def _remind(self, prompt: Prompt, seconds: float, agent: str) -> None:
        await anyio.sleep(seconds)
        if self._session.held and any(one is prompt for one in self._session.queue):
            self._warn(wording.LIMIT_OVER.format(agent=agent))


def spoken(seconds: float) -> str:
    """Return a duration for people, rounded up: `30 s`, `3 min`, `2 h 5 min`."""
    whole = math.ceil(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes = math.ceil(whole / 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours} h"] if hours else []
    return " ".join([*parts, f"{minutes} min"] if minutes or not hours else parts)
