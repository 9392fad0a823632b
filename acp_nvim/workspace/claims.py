"""Claims: only one Neovim at a time decides what is pending in a workspace, or restores files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from acp_nvim.edits.pending import Pending

Seen = dict[str, Pending | None]
"""The pending edits of files before another Neovim's changes were taken over."""

Claim = Callable[[Sequence[str]], AbstractAsyncContextManager[Seen]]
"""Be the only Neovim that decides edits of these files, or of those in the workspaces of these
directories; gives what the user saw of those that another one has changed. BusyError.
"""


class BusyError(Exception):
    """Another Neovim holds the journal."""
