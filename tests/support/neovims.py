"""Several runs of Neovim over one folder, as `FakeWorkspace`s: each can be killed at any moment.

Example:

    async with neovims(tmp_path) as started:
        first = await started.neovim("first")
        await first.write(path, "one\\n")
        await first.exchange()
        started.kill(first)
        second = await started.neovim("second", agents=0)  # shows what the first one has left
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
    """The tasks of one process, which end with it; no block of code has to be left for that."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self.cancel_scope = anyio.CancelScope()

    def start_soon(self, function: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> None:
        """As a task group does."""
        task = asyncio.get_running_loop().create_task(function(*args))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def kill(self) -> None:
        """Nothing of the process goes on."""
        self.cancel_scope.cancel()
        for task in self._tasks:
            task.cancel()


class Neovims:
    """The runs of Neovim that were started."""

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
        """A new one; its user enters a buffer of the workspace, which is ``work`` if not all of
        them work in one. ``blame``: the option.
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
        """It is killed, and its host: nothing more is written."""
        self._groups[id(neovim)].kill()
        neovim.review.persistence.abandon()

    def kill_all(self) -> None:
        """The test is over."""
        for neovim in self.all:
            self.kill(neovim)
        assert not self.failures, "\n".join(self.failures)

    def _failed(self, _: str, error: BaseException) -> None:
        self.failures.append("".join(traceback.format_exception(error)))

    def _raised(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A callback of the loop has raised, or a task that nobody awaits."""
        self._failed("", context.get("exception") or RuntimeError(context["message"]))


Shown = dict[str, tuple[str, bool, list[tuple[tuple[str, ...], tuple[str, ...]]]]]


def shown(neovim: FakeWorkspace) -> Shown:
    """What is pending, by path: its kind, whether it is in conflict, removed and new lines."""
    return {
        str(Path(entry.path).relative_to(neovim.work)): (entry.kind, entry.conflict, hunks(entry))
        for entry in neovim.review.edits.ledger.files()
    }


def hunks(entry: Pending) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Removed and new lines of each hunk."""
    return [(entry.removed_lines(hunk), hunk.lines) for hunk in entry.hunks]


def writers(neovim: FakeWorkspace) -> dict[str, set[str]]:
    """The names of the agents that wrote what is pending, by path."""
    names = {session.n: session.agent for session in neovim.sessions}
    return {
        str(Path(entry.path).relative_to(neovim.work)): {names[n] for n in entry.writers}
        for entry in neovim.review.edits.ledger.files()
    }
