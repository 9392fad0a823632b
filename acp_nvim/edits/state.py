"""All that a ledger knows, as values: what another ledger needs to go on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from acp_nvim.edits.pending import Pending, Restoration


class Reject(msgspec.Struct, frozen=True):
    """One file's rejection: its entry before and after, and what was asked of buffer and disk."""

    before: Pending
    after: Pending | None
    steps: list[Restoration]


class State(msgspec.Struct, frozen=True):
    """A ledger at some moment. Whoever has one does not change it; what did not change since the
    last one is the same object.
    """

    files: dict[str, Pending] = {}
    """By path, in the order in which they were first written."""
    rejects: list[list[Reject]] = []
    """What can be taken back, the last one at the end."""
    undone: list[Pending] = []
    """What was pending before steps that the user may undo."""
    settled: dict[str, Pending] = {}
    """Files of such steps in which nothing is pending."""

    def __bool__(self) -> bool:
        """Whether anything can still be decided: what is pending, or a reject taken back."""
        return bool(self.files or self.rejects)
