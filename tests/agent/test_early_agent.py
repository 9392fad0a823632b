"""The early agent, which starts before the imports of the host.

The host uses it or ends it, and it never survives the host.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import anyio
import pytest

from acp_nvim.agent.child import early
from acp_nvim.agent.child.early import VARIABLE, EarlyAgent
from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.guard import CHILD
from acp_nvim.agent.child.launch import AgentStartError
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.child.tree import process_stat
from acp_nvim.agent.transport.stdio import EarlyStart, StdioTransport
from tests.support.children import STUBBORN, read_line
from tests.support.editor import ROOT
from tests.support.processes import MARK, marked
from tests.support.waiting import PATIENCE_S, eventually, until

SAY = (
    "import os, sys; print((os.getpid(), *sys.argv[1:], os.environ['KEY']), flush=True);"
    "print(input()[::-1], flush=True)"
)
WAIT = "import os, signal, sys; print(os.getpid(), flush=True); sys.stdin.read(); signal.pause()"


def described(words: list[str], cwd: object, env: Mapping[str, str]) -> str:
    """Describe an agent as `lua/acp/base/host/early_agent.lua` does."""
    lines = [str(cwd), str(len(words)), *words, *(f"{name}={env[name]}" for name in env)]
    return "\n".join(line.replace("%", "%25").replace("\n", "%0A") for line in lines)


class Early:
    """An early agent and the connection that takes it over."""

    def __init__(self, mark: str, cwd: Path) -> None:
        self.cwd = cwd
        self.around = {"PATH": os.environ["PATH"], MARK: mark}
        self.agent: EarlyAgent | None = None
        self._made: list[StdioTransport] = []
        self._reaper = Reaper()
        self._start = EarlyStart(self._reaper)

    def begin(self, *words: str, **env: str) -> EarlyAgent | None:
        """Start the agent as the host does first."""
        self.agent = early.start(described(list(words), self.cwd, env), self.around)
        self._reaper = Reaper(self.agent)
        self._start = EarlyStart(self._reaper, self.agent)
        return self.agent

    def transport(self, *words: str, cwd: Path | None = None, **env: str) -> StdioTransport:
        """Open the transport as a connection does later."""
        made = StdioTransport(
            words,
            cwd=cwd or self.cwd,
            env={**self.around, **env},
            reaper=self._reaper,
            kill_s=0.3,
            early=self._start,
        )
        self._made.append(made)
        return made

    async def close(self) -> None:
        for transport in self._made:
            await transport.stop()
        await self._start.end()
        await self._reaper.aclose()


@pytest.fixture
async def host(mark: str, tmp_path: Path) -> AsyncIterator[Early]:
    found = Early(mark, tmp_path)
    yield found
    await found.close()
    assert marked(mark) == []


async def test_a_connection_uses_the_early_process(host: Early) -> None:
    words = (sys.executable, "-c", SAY, "a b", "100%\n%0A", "é")
    agent = host.begin(*words, KEY="x=y\n%25")
    transport = host.transport(*words, KEY="x=y\n%25")
    await transport.start()
    assert agent is not None
    assert transport.pid == agent.process.pid
    said = (agent.process.pid, "a b", "100%\n%0A", "é", "x=y\n%25")
    assert await read_line(transport) == f"{said!r}\n".encode()
    transport.send(b"abc\n")
    assert await read_line(transport) == b"cba\n"
    assert await transport.receive() == b""
    assert await transport.wait() == Exit(0, None)


async def test_the_end_of_the_early_agent_includes_its_children(host: Early, mark: str) -> None:
    """The agent ignores the end of its input and SIGTERM, as does its child in another session."""
    words = (sys.executable, "-c", STUBBORN % (True, "signal.pause()"))
    host.begin(*words)
    transport = host.transport(*words)
    await transport.start()
    assert await read_line(transport) == b"child\n"
    assert len([one for one in marked(mark) if "guard" not in one.command]) == 2
    await transport.stop()
    assert [one for one in marked(mark) if "guard" not in one.command] == []
    assert transport.exit == Exit(None, "SIGKILL")


async def test_the_output_of_an_early_agent_that_exits_at_once_is_read(host: Early) -> None:
    words = (sys.executable, "-c", "import sys; print('no licence', file=sys.stderr); sys.exit(7)")
    agent = host.begin(*words)
    assert agent is not None
    await eventually(lambda: (stat := process_stat(agent.process.pid)) and stat.is_zombie)
    transport = host.transport(*words)
    await transport.start()
    with anyio.fail_after(PATIENCE_S):
        assert await transport.receive() == b""
        assert await transport.wait() == Exit(7, None)
    assert transport.stderr(5) == ["no licence"]


OTHERS: dict[str, Callable[[Early], StdioTransport]] = {
    "words": lambda host: host.transport(sys.executable, "-c", WAIT, "-v"),
    "directory": lambda host: host.transport(sys.executable, "-c", WAIT, cwd=Path("/")),
    "environment": lambda host: host.transport(sys.executable, "-c", WAIT, KEY="other"),
    "program": lambda host: host.transport(os.path.realpath(sys.executable), "-c", WAIT),
}


@pytest.mark.parametrize("difference", OTHERS)
async def test_an_early_agent_with_other_settings_is_replaced(
    host: Early, mark: str, difference: str
) -> None:
    agent = host.begin(sys.executable, "-c", WAIT)
    transport = OTHERS[difference](host)
    await transport.start()
    assert agent is not None
    assert transport.pid != agent.process.pid
    assert await read_line(transport) == b"%d\n" % (transport.pid or 0)
    assert agent.process.pid not in [one.pid for one in marked(mark)]


async def test_only_the_first_connection_gets_the_early_agent(host: Early) -> None:
    host.begin(sys.executable, "-c", WAIT)
    first, second = (host.transport(sys.executable, "-c", WAIT) for _ in range(2))
    await first.start()
    await second.start()
    assert first.pid != second.pid


@pytest.mark.parametrize("kind", ["missing", "no file", "not executable", "no program", "folder"])
async def test_a_program_that_cannot_start_is_reported_as_usual(
    host: Early, reaper: Reaper, tmp_path: Path, kind: str
) -> None:
    text = tmp_path / "text"
    text.write_text("words", encoding="utf-8")
    other = tmp_path / "other"
    other.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    other.chmod(0o755)
    words = {
        "missing": "acp-no-such-agent",
        "no file": "./nothing",
        "not executable": "./text",
        "no program": "./other",
        "folder": str(tmp_path),
    }[kind]
    assert host.begin(words) is None
    with pytest.raises(AgentStartError) as told:
        await host.transport(words).start()
    alone = StdioTransport([words], cwd=tmp_path, env=host.around, reaper=reaper)
    with pytest.raises(AgentStartError) as usual:
        await alone.start()
    assert str(told.value) == str(usual.value)


async def test_a_path_that_depends_on_the_directory_waits_for_the_host(
    host: Early, tmp_path: Path
) -> None:
    (tmp_path / "agent").symlink_to("/bin/cat")
    host.around["PATH"] = f".:{host.around['PATH']}"
    assert host.begin("agent") is None


def serve(mark: str, cwd: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start a host as Neovim does, with an early agent."""
    env = {**os.environ, MARK: mark, VARIABLE: described(list(words), cwd, {})}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-m", "acp_nvim"], cwd=ROOT, env=env, stdin=pipe, stdout=pipe
    )


@pytest.mark.parametrize("way", ["killed", "left"])
def test_the_early_agent_ends_with_a_host_that_never_uses_it(
    mark: str, tmp_path: Path, way: str
) -> None:
    """The host is killed during its imports, or its Neovim exits."""
    note = tmp_path / "pid"
    program = f"import os; open({str(note)!r}, 'w').write(str(os.getpid()))\n" + WAIT
    with serve(mark, tmp_path, sys.executable, "-c", program) as host:
        until(lambda: note.exists() and note.read_text(), what="the agent to be there")
        if way == "killed":
            host.send_signal(signal.SIGKILL)
        assert host.stdin is not None
        host.stdin.close()
    until(lambda: marked(mark) == [], what="all processes of the host to end")


def test_the_early_agent_does_not_see_its_description(mark: str, tmp_path: Path) -> None:
    note = tmp_path / "environment"
    program = f"import os; open({str(note)!r}, 'w').write('\\n'.join(os.environ)); input()"
    with serve(mark, tmp_path, sys.executable, "-c", program) as host:
        until(lambda: note.exists() and note.read_text(), what="the agent to be there")
        assert host.stdin is not None
        host.stdin.close()
    names = note.read_text().split("\n")
    assert VARIABLE not in names
    assert CHILD in names
