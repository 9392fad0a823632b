"""Child processes from start to end. Survivors are read from /proc."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.guard import CHILD
from acp_nvim.agent.child.launch import AgentStartError
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.child.stderr import StderrRing
from acp_nvim.agent.child.tree import process_stat
from acp_nvim.agent.transport.stdio import StdioTransport
from acp_nvim.tasks import true_within
from tests.support.children import FOREVER, KILL_S, QUIET, STUBBORN, Start, read_all, read_line
from tests.support.processes import MARK, marked
from tests.support.waiting import PATIENCE_S, eventually

# Starting


async def test_bytes_and_environment_reach_the_child(
    start: Start, mark: str, tmp_path: Path
) -> None:
    process = await start(["sh", "-c", "cat; pwd; env"])
    process.send(b"hello\n")
    assert await read_line(process) == b"hello\n"
    await process.stop()
    hello = (await read_all(process)).decode().splitlines()
    assert str(tmp_path) in hello
    # PWD, OLDPWD, SHLVL and _ are the shell's own.
    names = {line.split("=")[0] for line in hello if "=" in line} - {"PWD", "OLDPWD", "SHLVL", "_"}
    assert names == {"PATH", MARK, CHILD}
    assert process.exit == Exit(0, None)


async def test_messages_that_are_sent_together_arrive_whole_and_in_order(start: Start) -> None:
    process = await start(["cat"])
    lines = [b"%d\n" % n for n in range(1000)]
    for line in lines[:700]:
        process.send(line)
    seen = await read_line(process)
    for line in lines[700:]:
        process.send(line)
    await process.stop()
    assert seen + await read_all(process) == b"".join(lines), "also what was sent right before"


async def test_a_child_leads_a_session_of_its_own(start: Start) -> None:
    process = await start(["cat"])
    assert process.pid is not None
    stat = process_stat(process.pid)
    assert stat is not None
    assert stat.group == stat.session == process.pid
    assert stat.parent == os.getpid()


def program(tmp_path: Path, name: str, text: str, mode: int) -> str:
    path = tmp_path / name
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "No command is given"),
        ([""], "No command is given"),
        (["no-such-agent"], "Cannot start no-such-agent: not found on PATH"),
        (["./missing"], "Cannot start ./missing: no such file"),
        (["/"], "Cannot start /: it is a directory"),
        (["./plain"], "Cannot start ./plain: {tmp_path}/plain is not executable"),
        (["plain"], "Cannot start plain: {tmp_path}/plain is not executable"),
        (["./script"], "Cannot start ./script: the interpreter named in its first line"),
        (["./garbage"], "Cannot start ./garbage: not a program"),
        (["cat", "a\0b"], "Cannot start cat: embedded null byte"),
    ],
)
async def test_a_failed_start_is_reported_in_one_line(
    argv: list[str], message: str, tmp_path: Path, reaper: Reaper
) -> None:
    program(tmp_path, "plain", "#!/bin/sh\n", 0o644)
    program(tmp_path, "script", "#!/no/such/interpreter\n", 0o755)
    program(tmp_path, "garbage", "\1\2\3", 0o755)
    env = {"PATH": f"{os.environ['PATH']}:{tmp_path}"}
    with pytest.raises(AgentStartError) as caught:
        await StdioTransport(argv, cwd=tmp_path, env=env, reaper=reaper).start()
    assert str(caught.value).startswith(message.format(tmp_path=tmp_path))
    assert "\n" not in str(caught.value)
    assert not reaper.groups


async def test_a_missing_directory_is_not_reported_as_a_missing_program(
    reaper: Reaper, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    with pytest.raises(AgentStartError, match=f"the directory {gone} does not exist"):
        await StdioTransport(["cat"], cwd=gone, env={"PATH": "/bin"}, reaper=reaper).start()


# Streams


def unsent(process: StdioTransport) -> int:
    """Return the number of bytes that the pipe has not accepted yet."""
    assert process._pipes.stdin is not None
    return process._pipes.stdin.get_write_buffer_size()


async def test_a_large_message_is_written_whole_to_a_slow_reader(start: Start) -> None:
    process = await start(
        "import sys; sys.stdin.buffer.readline(); n = len(sys.stdin.buffer.read(9_000_000));"
        "print(n, flush=True); sys.stdin.buffer.read()"
    )
    process.send(b"x" * 9_000_000)
    assert unsent(process) > 8_000_000
    process.send(b"\n")
    process.send(b"y" * 9_000_000)
    assert await read_line(process) == b"9000000\n"
    assert unsent(process) == 0


async def test_reading_stops_without_a_receiver_and_loses_nothing(start: Start) -> None:
    process = await start("import sys; sys.stdout.buffer.write(b'0123456789' * 600_000)")
    await eventually(lambda: process._pipes.stdout.size >= 1 << 20)
    assert await true_within(lambda: process._pipes.stdout.size > 2 << 20, 0.2) is False
    assert await read_all(process) == b"0123456789" * 600_000


async def test_a_condition_counts_after_it_has_held_for_a_moment() -> None:
    answers = iter([False, True, False])
    assert await true_within(lambda: next(answers), 5)


async def test_output_during_a_pause_is_read_afterwards_and_at_the_exit(
    start: Start,
) -> None:
    read = "sys.stdin.readline()"
    process = await start(f"import sys; {read}; print('one', flush=True); {read}")
    process.rest(0.2)
    rested = process._pipes._resting
    process.send(b"\n")
    assert rested is not None
    assert await read_line(process) == b"one\n"
    assert process._pipes._resting is None
    process.rest(3600)
    process.send(b"\n")
    assert await process.receive() == b""


async def test_output_before_the_exit_is_read_after_a_pause(
    start: Start,
) -> None:
    # One pipe's worth more than is read ahead: the writer can exit while its last output waits.
    size = (1 << 20) + 40_000
    process = await start(f"import sys; sys.stdout.buffer.write(b'z' * {size})")
    await process.wait()
    await eventually(lambda: process._ending is not None and process._ending.done())
    assert len(await read_all(process)) == size


async def test_stderr_is_read_and_its_last_lines_are_stored(start: Start) -> None:
    process = await start(
        "import sys\n"
        "for i in range(20): sys.stderr.buffer.write(b'x' * 1_000_000 + b'\\n')\n"
        "for i in range(1000): print('line', i, file=sys.stderr)\n"
        "print('\\xff tail', end='', file=sys.stderr, flush=True)\n"
        "print('done', flush=True); sys.stdin.read()"
    )
    assert await read_line(process) == b"done\n"
    await eventually(lambda: process.stderr(1) == ["ÿ tail"])
    assert process.stderr(3) == ["line 998", "line 999", "ÿ tail"]
    assert len(process.stderr(1000)) == 500


async def test_a_broken_pipe_is_reported_as_the_exit(start: Start) -> None:
    process = await start("import os; os.close(0); print('closed', flush=True); os._exit(7)")
    assert await read_line(process) == b"closed\n"
    for _ in range(20):
        process.send(b"x" * 100_000)
    assert await process.wait() == Exit(7, None)
    process.send(b"more")
    assert await read_all(process) == b""


async def test_an_exit_in_the_middle_of_a_write_is_read_to_the_last_byte(start: Start) -> None:
    process = await start(
        "import os, signal; os.write(1, b'{\"half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert await read_all(process) == b'{"half'
    assert await process.wait() == Exit(None, "SIGKILL")
    assert str(process.exit) == "killed by SIGKILL"


# The end


async def test_closing_stdin_ends_an_agent_that_listens(start: Start, reaper: Reaper) -> None:
    process = await start("import sys; sys.stdin.read(); sys.exit(3)", kill_s=20)
    assert reaper.groups == {process.pid}
    with anyio.fail_after(PATIENCE_S):
        assert await process.stop() == Exit(3, None)
    assert reaper.groups == set()


async def test_an_agent_that_ignores_eof_gets_sigterm(start: Start) -> None:
    process = await start("import signal; print('up', flush=True)" + FOREVER)
    await read_line(process)
    assert await process.stop() == Exit(None, "SIGTERM")


async def test_an_agent_that_ignores_sigterm_too_gets_sigkill(start: Start, mark: str) -> None:
    process = await start(QUIET + "print('up', flush=True)" + FOREVER)
    await read_line(process)
    assert await process.stop() == Exit(None, "SIGKILL")
    assert marked(mark) == []


@pytest.mark.parametrize("apart", [False, True], ids=["in the group", "in a session of its own"])
async def test_grandchildren_are_ended_with_it(start: Start, mark: str, apart: bool) -> None:
    process = await start(STUBBORN % (apart, "signal.pause()"))
    assert await read_line(process) == b"child\n"
    assert len(marked(mark)) == 2
    await process.stop()
    assert marked(mark) == []


async def test_a_grandchild_in_another_session_is_ended_after_eof(start: Start, mark: str) -> None:
    process = await start(STUBBORN % (True, "sys.stdin.read()"))
    assert await read_line(process) == b"child\n"
    assert await process.stop() == Exit(0, None)
    assert marked(mark) == []


async def test_grandchildren_left_by_an_agent_that_exits_are_ended(
    start: Start, mark: str, reaper: Reaper
) -> None:
    process = await start(STUBBORN % (False, "sys.stdin.readline()"))
    assert await read_line(process) == b"child\n"
    process.send(b"go\n")
    assert await process.wait() == Exit(0, None)
    await eventually(lambda: marked(mark) == [])
    await eventually(lambda: reaper.groups == set())


async def test_one_job_of_a_shell_with_job_control_is_found_by_its_session(
    start: Start, mark: str
) -> None:
    process = await start(["sh", "-c", "set -m; sleep 600 & echo up; read -r line; exit 4"])
    assert await read_line(process) == b"up\n"
    assert len(marked(mark)) == 2
    process.send(b"go\n")
    assert await process.wait() == Exit(4, None)
    await eventually(lambda: marked(mark) == [])


async def test_an_inherited_stdout_does_not_block_the_reader(start: Start, mark: str) -> None:
    # Forked twice, in its own session, without the mark: nothing connects it to the agent.
    daemon = f"(env -u {CHILD} setsid sh -c 'echo up; exec sleep 600' &)"
    process = await start(["sh", "-c", f"{daemon}; read -r line"])
    assert await read_line(process) == b"up\n"
    process.send(b"go\n")
    assert await process.wait() == Exit(0, None)
    with anyio.fail_after(KILL_S + 2):
        assert await process.receive() == b""
    await eventually(lambda: [p.command for p in marked(mark)] == ["sleep 600"])


async def test_stop_can_be_called_by_many_and_again(start: Start) -> None:
    process = await start(QUIET + "print('up', flush=True)" + FOREVER)
    await read_line(process)
    exits = await asyncio.gather(*(process.stop() for _ in range(5)))
    assert exits == [Exit(None, "SIGKILL")] * 5
    assert await process.stop() == Exit(None, "SIGKILL")
    await process.aclose()


async def test_a_caller_that_is_cancelled_does_not_stop_the_end(start: Start, mark: str) -> None:
    process = await start(QUIET + "print('up', flush=True)" + FOREVER)
    await read_line(process)
    with anyio.move_on_after(0.01) as scope:
        await process.stop()
    assert scope.cancelled_caught
    await eventually(lambda: marked(mark) == [])


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
async def test_a_loop_that_is_closed_leaves_no_process(tmp_path: Path, mark: str) -> None:
    """This does not need the guard, which is still running during the check."""
    reaper = Reaper()

    async def leave() -> None:
        env = {"PATH": os.environ["PATH"], MARK: mark}
        argv = [sys.executable, "-c", QUIET + "print('up', flush=True)" + FOREVER]
        process = StdioTransport(argv, cwd=tmp_path, env=env, reaper=reaper, kill_s=60)
        await process.start()
        await read_line(process)
        with anyio.move_on_after(0.01):
            await process.stop()

    # In a thread, which has its own loop that really ends.
    await anyio.to_thread.run_sync(lambda: anyio.run(leave))
    await eventually(lambda: marked(mark) == [])
    await reaper.aclose()
    gc.collect()  # the child can no longer be waited for, and the warning belongs to this test


# stderr


@given(st.lists(st.binary(max_size=30)), st.sampled_from([1, 2, 7, 1000]))
def test_any_split_of_stderr_gives_the_same_lines(lines: list[bytes], size: int) -> None:
    stream = b"\n".join(lines)
    whole, split = StderrRing(), StderrRing()
    whole.feed(stream)
    for start in range(0, len(stream), size):
        split.feed(stream[start : start + size])
    assert split.tail() == whole.tail()


def test_lines_of_stderr_are_bounded_in_number_and_length() -> None:
    pieces: list[bytes] = []
    ring = StderrRing(pieces.append)
    for n in range(600):
        ring.feed(b"%d " % n + b"x" * 10_000)
        ring.feed(b"\r\n")
    ring.feed(b"y" * 10_000_000)
    tail = ring.tail()
    assert len(tail) == 500
    assert tail[-1] == "y" * 4096 + "…"
    assert tail[0] == "101 " + "x" * 4092 + "…"
    assert ring.tail(2) == tail[-2:]
    assert ring.tail(0) == []
    fed = sum(len(b"%d " % n) + 10_002 for n in range(600)) + 10_000_000
    assert sum(map(len, pieces)) == fed
