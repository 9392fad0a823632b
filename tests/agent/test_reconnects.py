"""Reconnects: number of attempts and pauses between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import anyio
import pytest

from acp_nvim.agent.agents import Agents
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.remote_agents import FIRST_PAUSES, Attempts
from acp_nvim.agent.restarts import PAUSES, STEADY_S, Reconnects
from acp_nvim.agent.transport.base import AgentTransport, TransportError
from tests.support.waiting import PATIENCE_S


class Started:
    """A stand-in for `Agents` that records starts with their pauses."""

    def __init__(self) -> None:
        self.pauses: list[Iterator[float]] = []

    def start(self, name: str, pauses: Iterator[float]) -> None:
        self.pauses.append(pauses)


class Broken:
    """A broken connection that had been up since a given time."""

    def __init__(self, up_since: float | None) -> None:
        self.name, self.up_since = "far", up_since


def reconnect_pauses(*ups: tuple[float | None, float]) -> list[Iterator[float]]:
    """Return the pauses of connections that were up since one time and broke at the other."""
    started, now = Started(), [0.0]
    reconnects = Reconnects(cast(Agents, started), lambda name: [], lambda: now[0])
    for since, now[0] in ups:
        reconnects.reconnect(cast(Connection, Broken(since)))
    return started.pauses


def test_pauses_grow_and_end_after_some_ten_minutes() -> None:
    (pauses,) = reconnect_pauses((0, 100))
    waits = list(pauses)
    assert waits == sorted(waits)
    assert waits[: len(PAUSES)] == list(PAUSES)
    assert 540 < sum(waits) < 720


def test_a_steady_connection_resets_the_pauses() -> None:
    first, second = reconnect_pauses((0, 100), (100, 100 + STEADY_S))
    assert [next(first), next(first)] == [0.0, 0.5]
    assert next(second) == 0.0


def test_pauses_grow_for_a_server_that_ends_each_connection() -> None:
    first, second, third = reconnect_pauses((0, 100), (100, 101), (101, 102))
    assert [next(first), next(second), next(third)] == [0.0, 0.5, 1.0]


async def test_a_permanent_failure_is_not_tried_again_at_first() -> None:
    reports: list[float] = []
    for error in (TransportError("gone"), TransportError("gone", soon=True, after=61)):
        attempts = Attempts(None)
        await attempts.first()
        with pytest.raises(TransportError, match="gone"):
            await attempts.wait_before_next(error, reports.append)
    assert reports == []


async def test_a_busy_server_is_tried_again_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reports: list[float] = []
    monkeypatch.setattr("acp_nvim.agent.remote_agents.FIRST_PAUSES", (0.0, 0.0))
    attempts = Attempts(None)
    await attempts.wait_before_next(TransportError("busy", soon=True, after=0.01), reports.append)
    await attempts.wait_before_next(TransportError("nobody there", soon=True), reports.append)
    with pytest.raises(TransportError, match="busy"):
        await attempts.wait_before_next(TransportError("busy", soon=True), reports.append)
    assert reports == [0.01, 0.0]
    assert 5 < sum(FIRST_PAUSES) < 20


async def test_an_attempt_waits_as_long_as_the_server_asks() -> None:
    reports: list[float] = []
    attempts = Attempts(iter([0.0, 0.5, 1.0]))
    await attempts.first()

    async def stop() -> None:
        attempts.stop()

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(stop)
            with pytest.raises(TransportError):
                await attempts.wait_before_next(TransportError("busy", after=120), reports.append)
    assert reports == [120]


async def test_a_permanent_failure_is_not_tried_again() -> None:
    attempts = Attempts(iter([0.0, 0.0, 0.0]))
    with pytest.raises(TransportError, match="no entry"):
        await attempts.wait_before_next(
            TransportError("no entry", again=False), lambda seconds: None
        )
    await attempts.wait_before_next(TransportError("later"), lambda seconds: None)


async def test_when_all_pauses_are_used_up_no_attempt_is_made() -> None:
    used: Any = iter([])
    with pytest.raises(TransportError, match="kept ending"):
        await Attempts(used).first()


async def test_a_stop_of_the_agent_ends_a_hanging_attempt() -> None:
    class Hanging:
        stopped = False

        async def start(self) -> None:
            await anyio.sleep_forever()

        async def stop(self) -> None:
            self.stopped = True

    attempts, transport = Attempts(None), Hanging()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:

            async def stop() -> None:
                attempts.stop()

            group.start_soon(stop)
            with pytest.raises(TransportError):
                await attempts.start(cast(AgentTransport, transport))
    assert transport.stopped
