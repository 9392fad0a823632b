"""Prompts of sessions: their numbers, and the checkpoints before them."""

from __future__ import annotations

import time
from collections.abc import Container, Mapping, Sequence
from typing import Final

from acp_nvim.edits.text import Text
from acp_nvim.files.bytes.paths import is_below
from acp_nvim.files.changes.turns import real_roots
from acp_nvim.files.checkpoints.checkpoints import Checkpoint
from acp_nvim.files.files import Files
from acp_nvim.files.ports import AgentSession

MAX_LABEL: Final = 60
"""Maximum number of characters of a checkpoint's label, the beginning of its prompt."""


class PromptCheckpoints:
    """Numbers and checkpoints of the prompts of all sessions."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._checkpoints = files.checkpoints
        self._prompts: dict[int, tuple[object, int]] = {}
        """The last prompt of each session, None if it was in an earlier process, and its number."""

    def number(self, session: AgentSession, prompt: object) -> int:
        """Return the number of a prompt, counted from 1. A prompt sent again keeps its number."""
        last, n = self._prompts.get(session.n, (None, 0))
        if last is not prompt:
            n += 1
        self._prompts[session.n] = prompt, n
        return n

    def last(self, session: AgentSession) -> int:
        """Return the number of the last prompt sent, or 0 before the first."""
        return self._prompts.get(session.n, (None, 0))[1]

    def branch(self, session: AgentSession, other: AgentSession, n: int) -> None:
        """Continue `session` in `other` from before prompt `n`.

        Its prompts continue the numbering, and it gets copies of the earlier checkpoints.
        """
        self._checkpoints.branch(session.n, other.n, range(n))
        self._prompts[other.n] = None, n - 1
        self._show(other)

    def continue_session(
        self, session: AgentSession, last: int, earlier: int | None, prompts: Container[int]
    ) -> None:
        """Continue a session of another process after `last` prompts.

        Copy the checkpoints before these `prompts` from the session number `earlier`, if any.
        """
        if earlier is not None:
            self._checkpoints.copy_to(earlier, session.n, prompts)
        self._prompts[session.n] = None, last
        self._show(session)

    def labels(self, n: int) -> dict[int, str]:
        """Return the labels of a session's checkpoints, by number of the prompt."""
        return {checkpoint.n: checkpoint.label for checkpoint in self._checkpoints.of(n)}

    async def create(
        self,
        session: AgentSession,
        n: int,
        label: str,
        unsaved: Mapping[str, Text] | None = None,
    ) -> Checkpoint:
        """Create the checkpoint before prompt `n`, to be completed after a scan.

        `unsaved` are all texts with unsaved edits, or None if they have to be read.
        """
        checkpoint = await self.present(session, n, label, unsaved)
        self._checkpoints.add(session.n, checkpoint)
        self._show(session)
        return checkpoint

    def resume(self, session: AgentSession) -> None:
        """Number further prompts after the checkpoints, which another process made."""
        numbers = [checkpoint.n for checkpoint in self._checkpoints.of(session.n)]
        self._prompts[session.n] = None, max(numbers, default=0)
        self._show(session)

    def _show(self, session: AgentSession) -> None:
        self._files.view.checkpoints(session, self.labels(session.n))

    async def present(
        self,
        session: AgentSession,
        n: int,
        label: str,
        unsaved: Mapping[str, Text] | None = None,
    ) -> Checkpoint:
        """Return a checkpoint of the current state, without adding it to the session's list."""
        snapshots, ledger = self._files.snapshots, self._files.ledger
        words = " ".join(label.split())
        pending = {entry.path: entry for entry in ledger.files()}
        states = {path: self._files.tracked.state(path) for path in pending}
        roots = real_roots(session)
        texts = await self._unsaved_texts(roots, unsaved)
        return Checkpoint(
            n,
            words if len(words) <= MAX_LABEL else words[: MAX_LABEL - 1] + "…",
            time.time(),
            snapshots.trees(roots),
            texts,
            pending,
            snapshots.reasons(roots),
            formats={
                path: (state.user_format, state.agent_format) for path, state in states.items()
            },
            disk_entries=ledger.disk_entries.all(),
        )

    async def _unsaved_texts(
        self, roots: Sequence[str], known: Mapping[str, Text] | None = None
    ) -> dict[str, Text]:
        """Return the texts of buffers with unsaved edits below these directories."""
        texts = await self._files.buffers.unsaved() if known is None else known
        return {
            path: text
            for path, text in texts.items()
            if any(is_below(path, root) for root in roots)
        }
