"""One session at work, as far as the looks at its files have to know."""

from __future__ import annotations

import time
from typing import Any, Final

import anyio

from acp_nvim.agent.fs.paths import Place
from acp_nvim.session.session import Session

GRAIN_NS: Final = 20_000_000
"""How far the clock of files may be behind."""


class Turn:
    """One session at work."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.roots = [Place(root, root).real for root in session.roots]
        self.prompts = 0
        """How many are at work: a second one may begin before all is done for the first."""
        self.named: set[str] = set()
        """Files of tool calls that have ended, to be looked at."""
        self.diffs: list[tuple[str, str | None, str]] = []
        """What such tool calls say they changed."""
        self.seen: dict[int, tuple[Any, ...]] = {}
        """What was known of each tool call when it was looked at last."""
        self.naming = anyio.Lock()
        self.looking = False
        self.again = False
        self.over = anyio.Event()
        self.ended = anyio.Event()
        """Set when a tool call has ended that names files."""
        self.ready = anyio.Event()
        """Set when the files have been looked at as they were before the prompt."""
        self.began = time.time_ns() - GRAIN_NS
        self.rests: list[tuple[int, int]] = []
        """From when to when it had no prompt, in nanoseconds, as far as the looks at the files did
        not keep up: what changed then is the user's.
        """
        self.closed = 0
        """When the agent was done with the last prompt."""
        self.early: dict[str, bytes | None] = {}
        """Files that tool calls have named before that, as they were then."""
