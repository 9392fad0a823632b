"""Removal of all functions that only Linux has, if `ACP_TEST_PORTABLE` is set.

The plugin then runs as on macOS or a BSD: without `/proc`, inotify, pidfd and the functions of
glibc. The tests find processes by psutil then (`tests/support/processes.py`).
"""

from __future__ import annotations

import os
from asyncio import unix_events
from pathlib import Path

IS_PORTABLE = bool(os.environ.get("ACP_TEST_PORTABLE"))
NOWHERE = "/nonexistent/proc"


def hide_linux_functions() -> None:
    """Remove the functions of Linux from the product in this process."""
    if hasattr(unix_events, "can_use_pidfd"):
        unix_events.can_use_pidfd = lambda: False
    from acp_nvim import memory
    from acp_nvim.agent.child import guard, tree
    from acp_nvim.files.changes import folder_watch

    tree.PROC = Path(NOWHERE)
    guard.GUARD = guard.GUARD.replace("/proc/", f"{NOWHERE}/")
    folder_watch.FolderWatch._open = lambda self: False  # type: ignore[method-assign]
    memory.trim = lambda: None
