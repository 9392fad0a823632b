"""Memory that is released after a turn."""

from __future__ import annotations

import anyio
import pytest

from acp_nvim import memory
from acp_nvim.agent.wire.traffic import BLOCK_BYTES, Traffic
from acp_nvim.memory import Memory
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks
from tests.support.waiting import eventually


@pytest.mark.parametrize("turns_left", [0, 1])
async def test_a_log_is_compressed_after_the_last_turn(
    monkeypatch: pytest.MonkeyPatch, turns_left: int
) -> None:
    monkeypatch.setattr(memory, "REST_S", 0.0)
    trimmed: list[str] = []
    monkeypatch.setattr(memory, "trim", lambda: trimmed.append("heap"))
    log, running = Traffic(), [True] * turns_left
    for _ in range(20):
        log.add("in", b"a line\n" * (BLOCK_BYTES // 7))
    failures: list[Exception] = []
    async with anyio.create_task_group() as group:
        tasks = Tasks(group, lambda _, error: failures.append(error))
        tidy = Memory(lambda: [log], lambda: bool(running), tasks)
        await tidy.on_turn_ended(Session(1, "agent", "/w"))
        if turns_left:
            await eventually(lambda: not tidy.is_due)
            assert not trimmed
            running.clear()
            await tidy.on_turn_ended(Session(1, "agent", "/w"))
        await eventually(lambda: trimmed)
    assert not log.pack()
    assert trimmed == ["heap"]
    assert not failures


def test_the_heap_can_be_trimmed() -> None:
    memory.trim()
    memory.trim()
