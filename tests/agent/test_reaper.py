"""The guard process: the processes that it ends after the host's death, and those that it
leaves.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from itertools import count
from pathlib import Path

import pytest

from acp_nvim.agent.child import tree
from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.guard import CHILD
from acp_nvim.agent.child.pty import PtyProcess
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.child.tree import ProcessTree
from tests.support.children import STUBBORN, Start
from tests.support.portable import IS_PORTABLE
from tests.support.processes import MARK, marked
from tests.support.waiting import PATIENCE_S, eventually, until

ONLY_WITH_PROC = pytest.mark.skipif(IS_PORTABLE, reason="only /proc has the marks of daemons")


DAEMON = textwrap.dedent("""
    import os, sys, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execlp("sleep", "sleep", "600")
        os._exit(0)
    os.wait()
    print("up", flush=True)
    %s
""")
"""A program whose grandchild leaves its parent, its group and its session."""

HOST = textwrap.dedent("""
    import asyncio, os, sys
    from acp_nvim.agent.transport.stdio import StdioTransport
    from acp_nvim.agent.child.reaper import Reaper

    async def main():
        reaper = Reaper()
        agents = [
            StdioTransport(argv, cwd='/', env=dict(os.environ), reaper=reaper)
            for argv in ([sys.executable, '-c', sys.argv[1]], [sys.executable, '-c', sys.argv[2]])
        ]
        for agent in agents:
            await agent.start()
        for agent in agents:
            while not (await agent.receive()).endswith(b'\\n'):
                pass
        print('up', flush=True)
        await asyncio.Event().wait()

    asyncio.run(main())
""")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda n: n.name)
def test_no_process_survives_a_killed_host(mark: str, number: signal.Signals) -> None:
    """Two agents ignore EOF and SIGTERM. Each has such a child, one of them in its own session."""
    sources = [STUBBORN % (apart, "signal.pause()") for apart in (False, True)]
    with subprocess.Popen(
        [sys.executable, "-c", HOST, *sources],
        env={**os.environ, MARK: mark},
        stdout=subprocess.PIPE,
    ) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"up\n"
        assert len(marked(mark)) == 6, "host, guard, two agents, two grandchildren"
        host.send_signal(number)
    until(lambda: marked(mark) == [], what="all processes of the killed host to end")


@ONLY_WITH_PROC
async def test_a_daemon_ends_with_the_agent_that_started_it(start: Start, mark: str) -> None:
    """This holds even if the agent exits before its children can be listed."""
    process = await start(DAEMON % "os._exit(3)")
    assert await process.wait() == Exit(3, None)
    await process.stop()
    assert "sleep" not in " ".join(it.command for it in marked(mark))


@ONLY_WITH_PROC
@pytest.mark.parametrize("forks", ["", "-f", "-f setsid -f"])
async def test_a_daemon_that_an_agent_starts_at_its_end_ends_too(
    start: Start, mark: str, forks: str
) -> None:
    process = await start(["sh", "-c", f"cat; setsid {forks} sleep 600 & exit"])
    await process.stop()
    assert not marked(mark)


@ONLY_WITH_PROC
def test_a_daemon_ends_although_its_agent_was_reaped_early(mark: str) -> None:
    leader = subprocess.Popen(["true"])
    leader.wait()
    daemon = subprocess.Popen(["sleep", "600"], env={CHILD: mark}, start_new_session=True)
    tree = ProcessTree(leader.pid, mark)
    asyncio.run(tree.scan())
    assert tree.alive()
    tree.signal(signal.SIGKILL)
    assert daemon.wait() == -signal.SIGKILL


@ONLY_WITH_PROC
async def test_a_daemon_of_a_terminal_ends_with_the_host(
    reaper: Reaper, mark: str, tmp_path: Path
) -> None:
    """The release of a terminal leaves the daemons of its command running."""
    process = await PtyProcess.start(
        [sys.executable, "-c", DAEMON % ""],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], MARK: mark},
        reaper=reaper,
        feed=lambda data: None,
    )
    assert await process.wait() == Exit(0, None)
    await process.stop()
    assert [it.command for it in marked(mark) if "sleep" in it.command] == ["sleep 600"]
    await reaper.aclose()
    assert marked(mark) == []


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"], start_new_session=True)


@ONLY_WITH_PROC
async def test_a_daemon_is_found_during_its_exec(
    monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    """A process has no environment for a moment during exec."""
    with sleeper() as leader, sleeper() as daemon:
        looks = count()

        def environment(pid: int) -> list[bytes] | None:
            if pid != daemon.pid:
                return []
            return [f"{CHILD}={mark}".encode()] if next(looks) else None

        monkeypatch.setattr(tree, "environment", environment)
        found = ProcessTree(leader.pid, mark)
        await found.scan()
        found.signal(signal.SIGKILL)
        assert daemon.wait(PATIENCE_S) == -signal.SIGKILL


async def test_the_guard_ends_only_the_listed_groups(reaper: Reaper) -> None:
    sleepers = [sleeper() for _ in range(4)]
    for process in sleepers:
        reaper.add(process.pid)
    reaper.add(sleepers[1].pid)
    reaper.remove(sleepers[1].pid)
    reaper.remove(sleepers[3].pid)
    await reaper.aclose()
    assert [process.poll() for process in sleepers] == [-signal.SIGTERM, None] * 2
    for process in sleepers:
        process.kill()
        process.wait()


async def test_a_guard_with_an_empty_list_exits_without_output(
    start: Start, reaper: Reaper
) -> None:
    process = await start(["cat"])
    guard = reaper._guard
    assert guard is not None
    await process.stop()
    await reaper.aclose()
    assert guard.returncode == 0
    await reaper.aclose()


async def test_a_closed_guard_ends_the_groups_that_are_still_listed(
    start: Start, reaper: Reaper
) -> None:
    process = await start(["sleep", "600"])
    await reaper.aclose()
    assert await process.wait() == Exit(None, "SIGTERM")


async def test_a_killed_guard_is_replaced_by_one_with_all_groups(
    start: Start, reaper: Reaper
) -> None:
    first = await start(["sleep", "600"])
    guard = reaper._guard
    assert guard is not None
    guard.kill()
    await eventually(lambda: guard.poll() is not None)
    second = await start(["sleep", "600"])
    assert reaper._guard is not guard
    await reaper.aclose()
    assert await first.wait() == await second.wait() == Exit(None, "SIGTERM")


@pytest.mark.parametrize("group", [0, 1, -5, os.getpgrp()])
def test_the_guard_never_gets_the_hosts_own_group(group: int) -> None:
    with pytest.raises(ValueError, match="not a child's own"):
        Reaper().add(group)
