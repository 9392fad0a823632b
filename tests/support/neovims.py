r"""Several runs of Neovim over one folder, as `FakeWorkspace`s: each can be killed at any moment.

Example:

    async with neovims(tmp_path) as started:
        first = await started.neovim("first")
        await first.write(path, "one\n")
        await first.exchange()
        started.kill(first)
        second = await started.neovim("second", agents=0)  # shows the edits of the first one
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio

from acp_nvim.edits.pending import Pending
from acp_nvim.tasks import Tasks
from tests.support.fake_workspace import FakeWorkspace


class MortalGroup:
    """Task group of one process, which ends with the process instead of at the end of a block."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self.cancel_scope = anyio.CancelScope()

    def start_soon(self, function: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> None:
        """Start a task, like a task group."""
        task = asyncio.get_running_loop().create_task(function(*args))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def kill(self) -> None:
        """Cancel all tasks of the process."""
        self.cancel_scope.cancel()
        for task in self._tasks:
            task.cancel()


class Neovims:
    """Runs of Neovim that were started."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.failures: list[str] = []
        self._groups: dict[int, MortalGroup] = {}
        self.all: list[FakeWorkspace] = []

    async def neovim(
        self,
        name: str,
        agents: int = 1,
        work: Path | None = None,
        *,
        enters: bool = True,
        blame: bool = False,
    ) -> FakeWorkspace:
        """Start a Neovim; its user enters a buffer of the workspace, which is ``work`` if they do
        not all work in one. ``blame`` is the option.
        """
        asyncio.get_running_loop().set_exception_handler(self._raised)
        group: Any = MortalGroup()
        found = FakeWorkspace(self.root, Tasks(group, self._failed), agents, name, work)
        found.options.blame = blame
        self._groups[id(found)] = group
        self.all.append(found)
        if enters:
            await found.open()
        return found

    def kill(self, neovim: FakeWorkspace) -> None:
        """Kill a Neovim and its host, which then write nothing more."""
        self._groups[id(neovim)].kill()
        neovim.core.persistence.abandon()

    def kill_all(self) -> None:
        """Kill all Neovims at the end of the test."""
        for neovim in self.all:
            self.kill(neovim)
        assert not self.failures, "\n".join(self.failures)

    def _failed(self, _: str, error: BaseException) -> None:
        self.failures.append("".join(traceback.format_exception(error)))

    def _raised(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Record an error of a callback of the loop, or of a task that is not awaited."""
        self._failed("", context.get("exception") or RuntimeError(context["message"]))


Shown = dict[str, tuple[str, bool, list[tuple[tuple[str, ...], tuple[str, ...]]]]]


def pending_by_path(neovim: FakeWorkspace) -> Shown:
    """Return the pending edits by path: kind, conflict, removed and new lines."""
    return {
        str(Path(entry.path).relative_to(neovim.work)): (
            entry.kind,
            entry.is_conflict,
            hunks(entry),
        )
        for entry in neovim.core.files.ledger.files()
    }


def hunks(entry: Pending) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return removed and new lines of each hunk."""
    return [(entry.removed_lines(hunk), hunk.lines) for hunk in entry.hunks]


def writers(neovim: FakeWorkspace) -> dict[str, set[str]]:
    """Return the names of the agents that wrote pending edits by path."""
    names = {session.n: session.agent for session in neovim.sessions}
    return {
        str(Path(entry.path).relative_to(neovim.work)): {names[n] for n in entry.writers}
        for entry in neovim.core.files.ledger.files()
    }
