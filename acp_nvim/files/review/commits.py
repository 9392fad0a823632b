"""Commits of the user, which accept the pending hunks that they contain."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

import anyio
import msgspec

from acp_nvim.edits.pending import Pending
from acp_nvim.files.bytes.file_format import BinaryError, format_change, text_of
from acp_nvim.files.checkpoints.store import StoreError
from acp_nvim.files.files import Files
from acp_nvim.files.review.live_texts import LiveTexts

HEARD_NS: Final = 200_000_000
"""How long a tool call may have run before it is received. A commit is judged after this time."""


class Commits:
    """HEADs of work trees at the last check."""

    def __init__(self, files: Files, live: LiveTexts) -> None:
        self._files = files
        self._live = live
        self._snapshots = files.snapshots
        self.heads: dict[str, str] = {}
        """Commits at the last check, by real path."""

    async def check(self, roots: Iterable[str]) -> None:
        """Accept the pending hunks that the user has committed since the last check.

        ``roots`` are directories (real paths).
        """
        roots = self._snapshots.within(roots)
        pending = self._snapshots.by_root(roots, [e.path for e in self._files.ledger.files()])[0]
        for root in roots:
            paths, known = pending.get(root, []), self.heads.get(root)
            try:
                head, at, texts = await self._snapshots.committed(root, paths, known)
            except StoreError:
                continue  # an unborn or broken HEAD has committed nothing
            self.heads[root] = head or known or ""
            if texts and await self._is_by_agent(at):
                continue
            for path, data in texts.items():
                async with self._live.hold(path):
                    await self._live.sync(path)
                    self._on_commit(path, data)

    async def _is_by_agent(self, at: int) -> bool:
        """Return whether an agent may have made the commit of that time, in nanoseconds.

        Wait for the message of its tool call if that may be under way.
        """
        turns, age = self._files.turns, time.time_ns() - at
        if turns.is_working and 0 <= age < HEARD_NS:
            await anyio.sleep((HEARD_NS - age) / 1e9)
        return turns.may_have_committed(at, HEARD_NS)

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
        found = format_change(agents, data, data)
        return found is None or not found.is_change
