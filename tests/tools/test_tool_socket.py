"""Access to the socket of the tools, and the end of relays."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from acp_nvim.tools.server import tool_socket, toolbox
from tests.support.served_tools import ECHO, RELAY, ServedTools, Waits, serve_tools
from tests.support.waiting import eventually

CALL = {"name": "echo", "arguments": {"text": "a"}}


async def refused(served: ServedTools, kind: str, count: int = 1) -> None:
    await eventually(lambda: served.socket.refused[kind] == count, kind)


def connections(served: ServedTools) -> int:
    assert served.session.tools is not None
    return served.session.tools.connected


async def test_a_relay_carries_calls(tmp_path: Path) -> None:
    async with serve_tools(tmp_path, [ECHO]) as served:
        relay = await served.relay()
        assert (await relay.ask("tools/call", CALL))["result"]["structuredContent"] == {"said": "a"}
        use = served.session.tools
        assert use is not None
        assert (use.offered().names, use.connected, use.calls, use.has_connected) == (
            ["echo"],
            1,
            1,
            True,
        )
        assert not served.faults
        assert not served.socket.refused


async def test_big_calls_pass_both_ways_at_once(tmp_path: Path) -> None:
    """Neither end waits for the other one to read."""
    text = "x" * 1_000_000
    async with serve_tools(tmp_path, [ECHO]) as served:
        relay = await served.relay()
        params = {"name": "echo", "arguments": {"text": text}}
        for _ in range(20):
            relay.begin("tools/call", params)
        for _ in range(20):
            frame = await relay.next()
            assert frame is not None
            assert frame["result"]["content"][0]["text"] == text


@pytest.fixture
def short() -> Iterator[Path]:
    """Make a directory whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="acp-", dir="/tmp") as path:
        yield Path(path)


def names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_the_socket_is_private_and_removed_with_the_door(short: Path) -> None:
    async with serve_tools(short, [ECHO]) as served:
        path = Path(served.access.address)
        assert path.parent == short / "acp.nvim"
        assert (mode(path.parent), mode(path)) == (0o700, 0o600)
        relay = await served.relay()
        await relay.ask("ping")
        served.socket.close()
        assert not names(path.parent)
        assert await relay.end() == 0


async def test_a_long_path_is_replaced_by_a_shorter_one(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(short))
    async with serve_tools(short / ("x" * 120), [ECHO]) as served:
        path = Path(served.access.address)
        assert path.parent == short / f"acp.nvim-{os.getuid()}"
        assert (mode(path.parent), mode(path)) == (0o700, 0o600)
        assert "result" in await (await served.relay()).ask("ping")


async def test_a_directory_of_another_user_is_not_used(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(short))
    theirs = short / "theirs"
    theirs.mkdir()
    for name in ("acp.nvim", f"acp.nvim-{os.getuid()}"):
        (short / name).symlink_to(theirs)
    async with serve_tools(short, [ECHO]) as served:
        path = Path(served.access.address)
        assert mode(path.parent) == 0o700
        assert path.parent.name.startswith("acp-")
        assert "result" in await (await served.relay()).ask("ping")
    assert not names(theirs)
    assert path.parent.name not in names(short)


def dead_sockets(directory: Path, *pids: int) -> list[str]:
    """Make sockets without a listener, by the process in their names."""
    directory.mkdir()
    for pid in pids:
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(directory / f"{pid}-0.sock"))
    return names(directory)


async def test_sockets_of_killed_hosts_are_removed(short: Path) -> None:
    program = await asyncio.create_subprocess_exec("true")
    await program.wait()
    left, lives = sorted(
        dead_sockets(short / "acp.nvim", program.pid, os.getppid()),
        key=lambda name: name.startswith(f"{os.getppid()}-"),
    )
    async with serve_tools(short, [ECHO]):
        there = names(short / "acp.nvim")
    assert left not in there
    assert lives in there


async def test_a_session_without_tools_is_refused(tmp_path: Path) -> None:
    async with serve_tools(tmp_path, [ECHO]) as served:
        assert served.socket.admit(served.session, False) is None
        assert served.socket.admit(served.session, ["other"]) is None
        assert await (await served.relay()).end() == 0  # its token has expired
        await refused(served, "wrong token")


# -- malicious clients ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        (b"guessed\n", "wrong token"),
        (b"\n", "wrong token"),
        (b"\xff\xfe\n", "wrong token"),
        (b"x" * 100_000, "no token"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "wrong token"),
    ],
)
async def test_a_client_without_a_token_is_refused(tmp_path: Path, first: bytes, kind: str) -> None:
    async with serve_tools(tmp_path, [ECHO]) as served:
        reader, writer = await served.connect()
        writer.write(first)
        assert await ended(reader) == b""
        await refused(served, kind)
        writer.close()
        assert "result" in await (await served.relay()).ask("ping")


async def ended(reader: asyncio.StreamReader) -> bytes:
    """Return the data until the door closed the connection."""
    data = b""
    with suppress(ConnectionError):
        while piece := await reader.read(1 << 16):
            data += piece
    return data


async def test_a_silent_client_is_refused_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_socket, "TOKEN_S", 0.02)
    async with serve_tools(tmp_path, [ECHO]) as served:
        reader, writer = await served.connect()
        assert await ended(reader) == b""
        await refused(served, "no token")
        writer.close()


async def test_a_client_that_leaves_at_once_is_not_a_fault(tmp_path: Path) -> None:
    async with serve_tools(tmp_path, [ECHO]) as served:
        _, writer = await served.connect()
        writer.transport.abort()
        await refused(served, "no token")
        assert not served.faults


async def test_a_hundred_megabytes_of_a_line_cost_nothing(tmp_path: Path) -> None:
    async with serve_tools(tmp_path, [ECHO]) as served:
        reader, writer = await served.connect()
        writer.write(served.access.token.encode() + b"\n")
        for _ in range(100):
            writer.write(b"x" * (1 << 20))
            await writer.drain()
        writer.write(b'\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        assert await reader.readline() == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
        writer.close()
        await refused(served, "bad message: oversize")


async def test_garbage_ends_a_connection(tmp_path: Path) -> None:
    async with serve_tools(tmp_path, [ECHO]) as served:
        reader, writer = await served.connect()
        writer.write(served.access.token.encode() + b"\n" + b"garbage\n" * 1000)
        assert b"-32700" in await ended(reader)
        await eventually(lambda: connections(served) == 0)
        assert served.socket.refused["bad message: json"] > 100
        writer.close()


async def test_the_number_of_connections_is_limited(tmp_path: Path) -> None:
    async with serve_tools(tmp_path, [ECHO]) as served:
        relays = [await served.relay() for _ in range(tool_socket.MAX_CONNECTIONS)]
        for relay in relays:
            assert "result" in await relay.ask("ping")
        assert await (await served.relay()).end() == 0
        await refused(served, "too many connections")
        relays[0].process.kill()
        await eventually(lambda: connections(served) < tool_socket.MAX_CONNECTIONS)
        assert "result" in await (await served.relay()).ask("ping")


async def test_a_token_opens_its_own_session(tmp_path: Path) -> None:
    async with serve_tools(tmp_path, [ECHO]) as served:
        other = ServedTools(served.socket, served.toolbox, served.faults)
        other.session = type(served.session)(2, "agent", "/")
        other.admit()
        assert other.access.token != served.access.token
        relay = await other.relay()
        await relay.ask("tools/call", CALL)
        assert other.session.tools is not None
        assert served.session.tools is not None
        assert (served.session.tools.calls, other.session.tools.calls) == (0, 1)
        await other.close()


# -- ends ------------------------------------------------------------------------------------------


async def test_a_relay_ends_with_its_session(tmp_path: Path) -> None:
    wait = Waits()
    async with serve_tools(tmp_path, [wait.tool]) as served:
        relay = await served.relay()
        relay.begin("tools/call", {"name": "wait", "arguments": {"text": ""}})
        await wait.began.wait()
        served.socket.withdraw(served.session)
        assert await relay.end() == 0
        await wait.ended.wait()


async def test_a_relay_ends_when_its_session_gets_a_new_token(tmp_path: Path) -> None:
    async with serve_tools(tmp_path, [ECHO]) as served:
        relay = await served.relay()
        await relay.ask("ping")
        served.admit()
        assert await relay.end() == 0
        assert "result" in await (await served.relay()).ask("ping")


async def test_a_relay_ends_with_the_input_of_its_agent(tmp_path: Path) -> None:
    async with serve_tools(tmp_path, [ECHO]) as served:
        relay = await served.relay()
        relay.begin("tools/call", CALL)
        assert relay.process.stdin
        relay.process.stdin.close()
        frame = await relay.next()
        assert frame is not None
        assert frame["result"]["structuredContent"] == {"said": "a"}
        assert await relay.end() == 0


async def test_a_call_ends_with_its_relay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_socket, "DRAIN_S", 0.05)
    wait = Waits()
    async with serve_tools(tmp_path, [wait.tool]) as served:
        relay = await served.relay()
        relay.begin("tools/call", {"name": "wait", "arguments": {"text": ""}})
        await wait.began.wait()
        relay.process.send_signal(signal.SIGKILL)
        await wait.ended.wait()
        await eventually(lambda: connections(served) == 0)
        assert not served.faults


async def test_a_relay_without_a_reader_ends(tmp_path: Path) -> None:
    """Its agent has exited, while another process still holds its input open."""
    async with serve_tools(tmp_path, [ECHO]) as served:
        ours, theirs = os.pipe()
        keep_in, keep_out = os.pipe()
        argv = [sys.executable, "-I", "-S", RELAY]
        relay = await asyncio.create_subprocess_exec(
            *argv, stdin=keep_in, stdout=theirs, env=served.env()
        )
        os.close(theirs)
        await eventually(lambda: connections(served) == 1)
        os.close(ours)
        assert await relay.wait() == 0
        for end in (keep_in, keep_out):
            os.close(end)


@pytest.mark.parametrize(
    "env", [{}, {"ACP_NVIM_SOCKET": "/nowhere", "ACP_NVIM_TOKEN": "x"}, {"ACP_NVIM_SOCKET": "x"}]
)
def test_a_relay_without_a_door_reports_it_in_one_line(env: dict[str, str]) -> None:
    argv = [sys.executable, "-I", "-S", RELAY]
    ran = subprocess.run(argv, env=env, capture_output=True, timeout=20, check=False)
    assert ran.returncode == 1
    assert ran.stdout == b""
    assert ran.stderr.startswith(b"acp.nvim: ")
    assert ran.stderr.count(b"\n") == 1


def test_a_relay_imports_few_modules() -> None:
    """Each import delays the agent."""
    code = f"import sys; sys.argv = ['x']; exec(open({RELAY!r}).read().split('if __name__')[0])"
    shown = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"{code}\nprint(*sys.modules)"],
        capture_output=True,
        check=True,
    )
    assert not {"socket", "re", "enum", "asyncio"} & set(shown.stdout.decode().split())


async def test_a_text_that_is_too_long_is_cut(tmp_path: Path) -> None:
    async with serve_tools(tmp_path, [ECHO]) as served:
        relay = await served.relay()
        params = {"name": "echo", "arguments": {"text": "x" * 100_000, "times": 100}}
        answer = await relay.ask("tools/call", params)
        assert len(answer["result"]["content"][0]["text"]) < toolbox.TEXT_CHARACTERS + 100
