"""Prompts that an agent refused because of a rate limit.

Such prompts wait in the queue. The user gets a notice when they can be sent again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import anyio

from acp_nvim import wording
from acp_nvim.protocol.rate_limit import RateLimit
from acp_nvim.session import queue, turns
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session


def postpone(
    session: Session, prompt: Prompt, limit: RateLimit, agent: str, details: Sequence[str]
) -> None:
    """End the turn of a prompt. Hold it and the prompts behind it, which would be refused too."""
    queue.hold(session)
    queue.hold_returned(session, prompt)
    wait = ""
    if limit.seconds is not None:
        wait = wording.PART_LIMIT_WAIT.format(time=format_duration(limit.seconds))
    turns.end(session, None, wording.RATE_LIMITED.format(agent=agent, wait=wait), details)


async def remind(
    session: Session, prompt: Prompt, seconds: float, agent: str, warn: Callable[[str], None]
) -> None:
    """Warn the user after `seconds`, if the prompt is still held."""
    await anyio.sleep(seconds)
    if session.held and any(queued is prompt for queued in session.queue):
        warn(wording.LIMIT_OVER.format(agent=agent))


def format_duration(seconds: float) -> str:
    """Return a duration for display, rounded up: `30 s`, `3 min`, `2 h 5 min`."""
    whole = math.ceil(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes = math.ceil(whole / 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours} h"] if hours else []
    return " ".join([*parts, f"{minutes} min"] if minutes or not hours else parts)
