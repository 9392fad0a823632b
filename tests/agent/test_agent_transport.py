"""Guarantees of every agent transport: a process, or an agent in memory."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.launch import AgentStartError
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.settings import AgentSettings, Settings
from acp_nvim.agent.surroundings import (
    AgentLaunch,
    AgentServices,
    ConnectionObservers,
    Surroundings,
)
from acp_nvim.agent.transport.base import AgentTransport
from acp_nvim.agent.transport.stdio import StdioTransport
from acp_nvim.tasks import Tasks
from tests.support.editor import ROOT
from tests.support.line_agent import in_memory
from tests.support.memory_transport import MemoryAgent
from tests.support.waiting import PATIENCE_S, eventually

Open = Callable[..., AgentTransport]


@pytest.fixture(params=["stdio", "memory"])
async def opened(
    request: pytest.FixtureRequest, tmp_path: Path, reaper: Reaper
) -> AsyncIterator[Open]:
    """Make transports to this agent. All of them are stopped at the end."""
    made: list[AgentTransport] = []

    def make(**options: Any) -> AgentTransport:
        if request.param == "memory":
            made.append(MemoryAgent(in_memory, **options))
        else:
            env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
            argv = [sys.executable, "-m", "tests.support.line_agent"]
            made.append(StdioTransport(argv, cwd=tmp_path, env=env, reaper=reaper, **options))
        return made[-1]

    yield make
    for transport in made:
        await transport.stop()


async def read(transport: AgentTransport, text: bytes) -> None:
    """Receive exactly this text."""
    got = b""
    with anyio.fail_after(PATIENCE_S):
        while len(got) < len(text):
            data = await transport.receive()
            assert data, f"the end came after {got!r}"
            got += data
    assert got == text


async def test_messages_are_answered_in_order(opened: Open) -> None:
    transport = opened()
    await transport.start()
    for n in range(50):
        transport.send(f"say {n}\n".encode())
    await read(transport, b"".join(b"%d\n" % n for n in range(50)))


async def test_last_messages_come_before_an_end_that_repeats(opened: Open) -> None:
    transport = opened()
    await transport.start()
    transport.send(b"say goodbye\nexit 3\n")
    await read(transport, b"goodbye\n")
    with anyio.fail_after(PATIENCE_S):
        assert await transport.receive() == b""
        assert await transport.receive() == b""
        assert await transport.wait() == Exit(3, None)
    assert transport.exit == Exit(3, None)
    transport.send(b"say anybody there\n")
    assert await transport.receive() == b""


async def test_stop_can_be_called_twice(opened: Open) -> None:
    transport = opened()
    await transport.start()
    assert transport.exit is None
    async with anyio.create_task_group() as both:
        both.start_soon(transport.stop)
        both.start_soon(transport.stop)
    assert transport.exit == await transport.stop() == Exit(0, None)


async def test_an_agent_that_was_never_started_can_be_stopped(opened: Open) -> None:
    transport = opened()
    assert await transport.stop() is None
    assert transport.pid is None


async def test_stderr_is_stored_and_reported(opened: Open) -> None:
    output: list[bytes] = []
    transport = opened(on_stderr=output.append)
    await transport.start()
    transport.send(b"complain one\ncomplain two\nsay done\n")
    await read(transport, b"done\n")
    await eventually(lambda: transport.stderr(5) == ["one", "two"])
    assert transport.stderr(1) == ["two"]
    assert b"".join(output) == b"one\ntwo\n"


async def test_a_pause_in_reading_loses_nothing(opened: Open) -> None:
    transport = opened()
    await transport.start()
    transport.send(b"say first\n")
    await read(transport, b"first\n")
    transport.rest(0.2)
    transport.send(b"say second\n")
    with anyio.move_on_after(0.05) as soon:
        await transport.receive()
    assert soon.cancelled_caught
    await read(transport, b"second\n")


# A connection over the transport


class NoFiles:
    async def read(self, session: Any, params: Any) -> Any:
        raise AssertionError(params)

    async def write(self, session: Any, params: Any, answer: Any) -> Any:
        raise AssertionError(params)


class Unlimited:
    """A flow that always has room."""

    async def room(self) -> None:
        return None


class Life:
    """A connection whose agent the fixture opens, with its events."""

    def __init__(self, open_transport: Callable[..., AgentTransport], reaper: Reaper) -> None:
        self.told: list[str] = []
        self.failures: list[str] = []
        self._open = open_transport
        self._reaper = reaper

    def connection(self, tasks: Tasks) -> Connection:
        observers = ConnectionObservers[Connection](
            on_changed=[lambda connection: self.told.append(connection.status)],
            on_ended=[lambda connection: self.told.append("ended")],
        )
        launch = AgentLaunch(self._open, self._reaper, cwd=lambda: "/", env=dict)
        files: Any = NoFiles()
        services = AgentServices(files)
        around = Surroundings(Settings, tasks, Unlimited(), launch, services, observers)
        return Connection("a", AgentSettings(command=["a"]), around)


async def run_connection(
    open_transport: Callable[..., AgentTransport],
    reaper: Reaper,
    act: Callable[[Connection], Any],
) -> tuple[Connection, list[str]]:
    """Start a connection, await `act` with it, and wait for its end."""
    life = Life(open_transport, reaper)
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            connection = life.connection(
                Tasks(group, lambda *what: life.failures.append(str(what)))
            )
            connection.start()
            await act(connection)
            await connection.wait_ended()
    assert not life.failures
    return connection, life.told


def through(opened: Open) -> Callable[..., AgentTransport]:
    """Return the fixture as the function with which a connection opens a transport."""

    def open_transport(command: Any, *, cwd: Any, env: Any, **options: Any) -> AgentTransport:
        return opened(**options)

    return open_transport


async def test_a_connection_does_the_handshake_and_can_be_stopped(
    opened: Open, reaper: Reaper
) -> None:
    async def act(connection: Connection) -> None:
        assert await connection.ready()
        assert connection.status == "ready"
        await connection.stop()

    connection, events = await run_connection(through(opened), reaper, act)
    assert events == ["ready", "ended"]
    assert (connection.status, connection.error) == ("exited", None)


async def test_an_exit_of_the_agent_is_reported_with_its_code(opened: Open, reaper: Reaper) -> None:
    made: list[AgentTransport] = []

    def open_transport(command: Any, **options: Any) -> AgentTransport:
        made.append(through(opened)(command, **options))
        return made[-1]

    async def act(connection: Connection) -> None:
        assert await connection.ready()
        made[0].send(b"complain so long\nexit 4\n")

    connection, events = await run_connection(open_transport, reaper, act)
    assert events == ["ready", "ended"]
    assert connection.status == "exited"
    assert connection.error == "a ended: exit code 4"
    assert connection.last_words() == ["so long"]


async def test_an_agent_that_cannot_be_started_fails_in_one_line(reaper: Reaper) -> None:
    class Missing(MemoryAgent):
        async def start(self) -> None:
            raise AgentStartError("Cannot start a: nobody there")

    async def act(connection: Connection) -> None:
        assert not await connection.ready()

    nobody = partial(_without_life, Missing)
    connection, events = await run_connection(nobody, reaper, act)
    assert (connection.status, connection.error) == ("failed", "Cannot start a: nobody there")
    assert events == ["failed"]


def _without_life(kind: type[MemoryAgent], command: Any, **options: Any) -> MemoryAgent:
    return kind(None)
