"""Commands in a pseudoterminal, with real processes."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.launch import AgentStartError
from acp_nvim.agent.child.pty import COLUMNS, ROWS, PtyProcess
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.child.tree import process_stat
from acp_nvim.tasks import true_within
from tests.support.processes import MARK, marked
from tests.support.waiting import PATIENCE_S

KILL_S = 0.3


class Terminals:
    """Commands in pseudoterminals, which all end with the test."""

    def __init__(self, cwd: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.reaper = Reaper()
        self.output = bytearray()
        self.ends: list[Exit] = []
        self._cwd = cwd
        self._started: list[PtyProcess] = []

    async def start(self, *argv: str, **more: Any) -> PtyProcess:
        """Start a command and collect its output in `output`."""
        process = await PtyProcess.start(
            argv,
            cwd=self._cwd,
            env={"PATH": os.environ["PATH"], MARK: self.mark, **more},
            reaper=self.reaper,
            feed=self.output.extend,
            on_end=self.ends.append,
            kill_s=KILL_S,
        )
        self._started.append(process)
        return process

    async def run(self, *argv: str) -> str:
        """Start a command, wait for its exit, and return its output."""
        process = await self.start(*argv)
        with anyio.fail_after(PATIENCE_S):
            await process.wait()
        return self.output.decode()

    async def close(self) -> None:
        for process in self._started:
            await process.stop()
        await self.reaper.aclose()
        assert marked(self.mark) == []


@pytest.fixture
async def pty(tmp_path: Path) -> AsyncIterator[Terminals]:
    terminals = Terminals(tmp_path)
    yield terminals
    await terminals.close()


async def eventually(condition: Callable[[], object]) -> None:
    assert await true_within(lambda: bool(condition()), PATIENCE_S)


async def test_a_command_has_its_own_terminal(pty: Terminals) -> None:
    output = await pty.run("sh", "-c", "test -t 0 && test -t 1 && test -t 2 && tty && stty size")
    device, size = output.split("\r\n")[:2]
    assert device.startswith("/dev/pts/")
    assert size == f"{ROWS} {COLUMNS}"
    assert pty.ends == [Exit(0, None)]


async def test_a_command_leads_a_session_with_a_controlling_terminal(pty: Terminals) -> None:
    process = await pty.start("sh", "-c", "echo > /dev/tty; read x")
    stat = process_stat(process.pid)
    assert stat is not None
    assert stat.group == stat.session == process.pid
    await eventually(lambda: pty.output)
    assert process.pid in pty.reaper.groups
    process.write(b"\x03")
    assert await process.wait() == Exit(None, "SIGINT"), "^C comes from the device"
    assert pty.reaper.groups == set()


async def test_arguments_arrive_unchanged(pty: Terminals) -> None:
    words = ["a b", "$HOME", "'", '"', ";", "*", "", "-x", "\\", "é🙂"]
    script = "import sys; print('|'.join(sys.argv[1:]))"
    output = await pty.run(sys.executable, "-c", script, *words)
    assert output == "|".join(words) + "\r\n"


async def test_typed_text_arrives(pty: Terminals) -> None:
    process = await pty.start("sh", "-c", "read x; echo got $x")
    process.write(b"words\r")
    await process.wait()
    assert b"got words" in pty.output
    process.write(b"too late")


async def test_much_typed_text_waits_for_its_reader(pty: Terminals) -> None:
    count = 300_000
    script = "stty raw -echo; echo ready; head -c 300000 | wc -c"
    process = await pty.start("sh", "-c", script)
    await eventually(lambda: b"ready" in pty.output)
    process.write(b"x" * count)
    with anyio.fail_after(PATIENCE_S):
        await process.wait()
    assert str(count).encode() in pty.output


@pytest.mark.parametrize(
    ("script", "end"),
    [
        ("exit 3", Exit(3, None)),
        ("kill -TERM $$", Exit(None, "SIGTERM")),
        ("kill -KILL $$", Exit(None, "SIGKILL")),
    ],
)
async def test_all_waiters_get_the_exit(pty: Terminals, script: str, end: Exit) -> None:
    process = await pty.start("sh", "-c", script)
    ends: list[Exit] = []

    async def wait() -> None:
        ends.append(await process.wait())

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(wait)
    assert ends == [end] * 3
    assert pty.ends == [end]
    assert process.exit == end


async def test_all_output_is_read_before_the_exit_is_reported(pty: Terminals) -> None:
    output = await pty.run(sys.executable, "-c", "print('x' * 500_000, end='END')")
    assert output == "x" * 500_000 + "END"


async def test_a_child_with_the_open_device_does_not_delay_the_exit(pty: Terminals) -> None:
    process = await pty.start("sh", "-c", "trap '' HUP; sleep 600 & echo done")
    with anyio.fail_after(PATIENCE_S):
        assert await process.wait() == Exit(0, None)
    assert b"done" in pty.output
    assert process.pid in pty.reaper.groups, "what stays behind is still ours"
    await process.stop()
    assert marked(pty.mark) == []
    assert pty.reaper.groups == set()


async def test_stop_ends_children_that_ignore_it_or_left_the_group(pty: Terminals) -> None:
    script = "trap '' TERM HUP; setsid sleep 600 & sleep 600 & echo up; while :; do sleep 1; done"
    process = await pty.start("sh", "-c", script)
    await eventually(lambda: b"up" in pty.output)
    with anyio.fail_after(PATIENCE_S):
        await process.stop()
        await process.stop()
    assert marked(pty.mark) == []
    assert process.exit == Exit(None, "SIGKILL")
    assert pty.ends == [Exit(None, "SIGKILL")]


async def test_a_flood_leaves_time_for_others(pty: Terminals) -> None:
    process = await pty.start("yes")
    await eventually(lambda: len(pty.output) > 5_000_000)
    with anyio.fail_after(PATIENCE_S):
        await process.stop()
    assert process.exit == Exit(None, "SIGTERM")


@pytest.mark.parametrize("argv", [["no-such-program-here"], ["/etc/passwd"], [""]])
async def test_a_command_that_cannot_be_started_is_reported(
    pty: Terminals, argv: list[str]
) -> None:
    with pytest.raises(AgentStartError):
        await pty.start(*argv)


async def test_no_descriptor_is_left(pty: Terminals) -> None:
    await pty.run("true")
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208
    for _ in range(20):
        process = await pty.start("echo", "hi")
        await process.wait()
        await process.stop()
    assert len(os.listdir("/dev/fd")) == before  # noqa: PTH208
