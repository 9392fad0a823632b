"""A prompt that waits for its session: the files are scanned meanwhile, and again if that took
long.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest

from acp_nvim.files.changes import turn_start as subject
from acp_nvim.files.changes.turn_start import EarlyScans
from acp_nvim.files.changes.turns import Turns
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks
from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.stalled_agent import let_answer, stalled_agent
from tests.support.waiting import PATIENCE_S

TOLD = lua_chunk(__file__, "note_announced_roots")


class Disk:
    """Scans that last until they are released."""

    def __init__(self) -> None:
        self.told: list[list[str]] = []
        self.looks = 0
        self.free = asyncio.Event()
        self.heard = asyncio.Condition()
        self.turns = Turns(self._tell)

    async def _tell(self, roots: list[str]) -> None:
        async with self.heard:
            self.told.append(roots)
            self.heard.notify_all()

    async def until_told(self, roots: list[str]) -> None:
        async with self.heard:
            await asyncio.wait_for(
                self.heard.wait_for(lambda: self.told[-1:] == [roots]), PATIENCE_S
            )

    async def look_before(self, session: Session) -> None:
        assert self.told == [["/"]]
        self.looks += 1
        await self.free.wait()


@asynccontextmanager
async def waiting(disk: Disk) -> AsyncIterator[tuple[EarlyScans, Session]]:
    """Yield a session whose prompt waits."""

    def failed(name: str, error: Exception) -> None:
        raise AssertionError(f"{name}: {error!r}")

    async with anyio.create_task_group() as group:
        coming = EarlyScans(disk.turns, cast("Any", disk.look_before), Tasks(group, failed))
        session = Session(1, "agent", "/")
        coming.start(session)
        coming.start(session)
        yield coming, session
        group.cancel_scope.cancel()


async def test_a_turn_that_begins_during_the_scan_waits_for_it() -> None:
    disk = Disk()
    async with waiting(disk) as (coming, session):
        await disk.until_told(["/"])
        disk.turns.enter(session)
        assert not coming.use(session)
        asyncio.get_running_loop().call_soon(disk.free.set)
        assert await coming.wait(session)
        assert (disk.looks, disk.told) == (1, [["/"]])


async def test_a_turn_that_begins_right_after_the_scan_needs_no_other() -> None:
    disk = Disk()
    disk.free.set()
    async with waiting(disk) as (coming, session):
        assert await coming.wait(session)
        disk.turns.enter(session)
        assert coming.use(session)
        assert disk.told == [["/"]]


async def test_a_scan_becomes_stale_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neovim then learns that no agent is at work."""
    monkeypatch.setattr(subject, "FRESH_S", 0.0)
    disk = Disk()
    disk.free.set()
    async with waiting(disk) as (coming, session):
        await disk.until_told([])
        assert not coming.use(session)
        assert not await coming.wait(session)


async def test_a_neovim_that_does_not_answer_gets_the_roots_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neovim only reports saves below the announced roots, so the scan must follow the
    announcement.
    """
    monkeypatch.setattr(subject, "ANNOUNCED_S", 0.0)
    disk = Disk()
    busy: Callable[[list[str]], Awaitable[None]] = lambda _: anyio.sleep_forever()  # noqa: E731
    disk.turns = Turns(busy)
    async with waiting(disk) as (coming, session):
        assert not await coming.wait(session)
        assert disk.looks == 0


def test_changes_during_a_slow_opening_belong_to_no_agent(editor: Editor) -> None:
    editor.write("mine.txt", "one\n")
    editor.write("its.txt", "one\n")
    traffic = stalled_agent(editor, "session/new", "script")
    editor.lua(TOLD)
    editor.lua("require('acp').prompt('edits_disk its.txt \"two\\\\n\"')")
    traffic.wait("session/new")
    editor.wait("return vim.deep_equal(_G.told, { 1, 0 })")
    editor.write("mine.txt", "two\n")
    let_answer(editor, "session/new")
    editor.wait_event("AcpTurnEnd")
    editor.wait("#(require('acp').state().sessions[1].edits or {}) == 1")
    assert [edit["path"] for edit in editor.session(1)["edits"]] == [str(editor.work / "its.txt")]
