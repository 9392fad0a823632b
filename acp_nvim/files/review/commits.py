"""The user's commits, which accept the pending hunks that they contain."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

import anyio
import msgspec

from acp_nvim.edits.pending import Pending
from acp_nvim.files.bytes.file_format import BinaryError, format_change, text_of
from acp_nvim.files.changes.git_tree import HeadMove
from acp_nvim.files.checkpoints.store import StoreError
from acp_nvim.files.files import Files
from acp_nvim.files.review.live_texts import LiveTexts

MAX_DELAY_NS: Final = 200_000_000
"""Maximum time between the start of a tool call and the agent's message about it.

The author of a commit is determined only after this time.
"""


class Commits:
    """Acceptance of pending hunks by the user's commits."""

    def __init__(self, files: Files, live: LiveTexts) -> None:
        self._files = files
        self._live = live
        self._snapshots = files.snapshots
        self.heads: dict[str, str] = {}
        """Commits of HEAD at the last check, by real path of the directory."""
        self._lock = anyio.Lock()
        """Lock held during a check, so that a slow check cannot restore an older commit."""

    async def check(self, roots: Iterable[str]) -> None:
        """Accept the pending hunks that the user has committed since the last check.

        `roots` are directories (real paths).
        """
        async with self._lock:
            for root in self._snapshots.within(roots):
                await self._check_root(root)

    async def _check_root(self, root: str) -> None:
        known, paths = self.heads.get(root), [file.path for file in self._files.ledger.files()]
        if paths:
            paths = self._snapshots.group_by_root([root], paths)[0].get(root, [])
        try:
            head, moves = await self._snapshots.head_moves(root, known)
            runs = await self._users_commits(moves) if paths else []
            results = [await self._snapshots.committed(root, paths, *run) for run in runs]
        except StoreError:
            return  # HEAD is unborn or broken
        self.heads[root] = head or known or ""
        for path, data in (item for texts in results for item in texts.items()):
            async with self._live.hold(path):
                await self._live.sync(path)
                self._on_commit(path, data)

    async def _users_commits(self, moves: Sequence[HeadMove]) -> list[tuple[str, str]]:
        """Return the commits before and after each run of HEAD moves in which the user commits.

        Wait for the message about an agent's tool call if it may be under way.
        """
        age = time.time_ns() - moves[-1].last if moves else MAX_DELAY_NS
        if self._files.turns.is_working and 0 <= age < MAX_DELAY_NS:
            await anyio.sleep((MAX_DELAY_NS - age) / 1e9)
        runs = [(by_agent, list(run)) for by_agent, run in groupby(moves, self._is_by_agent)]
        return [
            (run[0].old, run[-1].new)
            for by_agent, run in runs
            if not by_agent and any(move.is_commit for move in run)
        ]

    def _is_by_agent(self, move: HeadMove) -> bool:
        return self._files.turns.may_have_committed(move.first, move.last, MAX_DELAY_NS)

    def _on_commit(self, path: str, data: bytes | None) -> None:
        live = self._files.buffers.get(path)
        try:
            text = text_of(data, live.format if live else None)
        except BinaryError:
            return
        ledger = self._files.ledger
        entry = ledger.get(path)
        ledger.accept_committed(path, text)
        if entry is not None and entry.format_change and not self._has_agents_format(path, data):
            left = ledger.get(path) or Pending(path, entry.live, entry.live, entry.live)
            left = msgspec.structs.replace(
                left, format_change=entry.format_change, writers=entry.writers
            )
            ledger.reinstate(path, entry.live, left)
        self._files.pending_view.refresh(path)

    def _has_agents_format(self, path: str, data: bytes | None) -> bool:
        """Return whether these bytes have the format that an agent gave the file."""
        agents = self._files.tracked.state(path).agent_format
        change = format_change(agents, data, data)
        return change is None or not change.is_change
