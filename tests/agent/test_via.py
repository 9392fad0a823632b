"""Commands in another place: the words before them, and the step that failed."""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.remote_agents import via_agent
from acp_nvim.agent.serving.commands import Command
from acp_nvim.agent.serving.servers import OwnServer
from acp_nvim.agent.settings import AgentSettings
from acp_nvim.agent.surroundings import AgentLaunch
from acp_nvim.agent.transport.base import TransportError
from acp_nvim.agent.transport.stdio import StdioTransport
from acp_nvim.agent.transport.via import Via, via_of
from acp_nvim.agent.transport.via_guard import MAX_BANNER
from acp_nvim.protocol import schema
from acp_nvim.session.output.terminal import Launch
from acp_nvim.session.questions import requests
from acp_nvim.tasks import Tasks
from tests.support.other_place import SSHD, sshd

_SOCKET: Final = schema.EnvVariable("ACP_NVIM_SOCKET", "/of/this/machine")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"via": "ssh", "host": "me@box"},
            "ssh -T -o BatchMode=yes me@box 'echo '\"'\"'a b'\"'\"''",
        ),
        ({"via": ["ssh", "-t", "-p", "7", "box"]}, "ssh -T -o BatchMode=yes -p 7 box"),
        ({"via": "docker", "container": "dev"}, "docker exec -i -w /w dev echo 'a b'"),
        ({"via": ["docker", "exec", "-it", "dev"]}, "docker exec -i dev echo 'a b'"),
        ({"via": "kubectl", "pod": "p"}, "kubectl exec -i p -- echo 'a b'"),
        ({"via": "kubectl", "pod": "p", "container": "c"}, "kubectl exec -i p -c c -- echo"),
        ({"via": "devcontainer"}, "devcontainer exec --workspace-folder /here echo 'a b'"),
        ({"via": ["guix", "shell", "--"]}, "guix shell -- echo 'a b'"),
    ],
)
def test_the_words_before_a_command(spec: dict[str, Any], words: str) -> None:
    via = via_of(AgentSettings(**spec), None, "/here")
    assert shlex.join(via.command(["echo", "a b"], "/w")).startswith(words)


def test_only_a_login_has_a_terminal() -> None:
    ssh, docker = Via(("ssh", "box")), Via(("docker", "exec", "-i", "dev"))
    assert ssh.command(["login"], tty=True, variables=["KEY"])[:4] == [
        *("ssh", "-t", "-o", "SendEnv=KEY"),
    ]
    assert docker.command(["login"], tty=True, variables=["KEY"]) == [
        *("docker", "exec", "-i", "-t", "-e", "KEY", "dev", "login"),
    ]


@pytest.fixture
async def launch() -> AsyncIterator[AgentLaunch]:
    reaper = Reaper()

    def transport(command: Any, **options: Any) -> StdioTransport:
        return StdioTransport(command, reaper=reaper, **options)

    yield AgentLaunch(transport, reaper, cwd=lambda: "/", env=lambda: dict(os.environ))
    await reaper.aclose()


async def failure(launch: AgentLaunch, **spec: Any) -> str:
    """Return why an agent could not be started."""
    far = await via_agent("far", AgentSettings(**{"command": ["cat"], **spec}), launch)
    transport = far.transport(1, lambda data: None)
    try:
        with pytest.raises(TransportError) as error:
            await transport.start()
    finally:
        await transport.stop()
    return str(error.value)


async def test_the_failed_step_of_ssh_is_named(tmp_path: Path, launch: AgentLaunch) -> None:
    if SSHD is None:
        pytest.skip("there is no sshd here")
    with sshd(tmp_path / "sshd") as box:
        words = ["ssh", "-F", str(box.config)]
        assert "the host is unknown" in await failure(launch, via=[*words, "nowhere.invalid"])
        refused = await failure(launch, via=["ssh", "-F", str(box.stranger), "box"])
        assert "the host refuses your key" in refused
        box_words = [*words, "box"]
        missing = await failure(launch, via=box_words, command=["no-agent"])
        assert missing.endswith("box: the program no-agent was not found there")
        missing = await failure(launch, via=box_words, cwd="/no/folder")
        assert missing.endswith("box: there is no directory /no/folder there")
    assert "the host does not answer" in await failure(launch, via=box_words)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Error response from daemon: No such container: dev", "the container is not running"),
        ("Error response from daemon: container 12ab is not running", "the container is not"),
        ('OCI runtime exec failed: chdir to cwd ("/w") failed', "the directory does not exist"),
        ("Cannot connect to the Docker daemon at unix:///x", "the container service"),
        ("something else", "something else"),
    ],
)
async def test_the_failed_step_of_a_container_is_named(
    text: str, reason: str, launch: AgentLaunch
) -> None:
    words = ["sh", "-c", f"echo {shlex.quote(text)} >&2; exit 126"]
    assert reason in await failure(launch, via=words)


@pytest.mark.parametrize("reads", ["read -r one", "head -c 9 >/dev/null", "exec </dev/null"])
async def test_a_program_that_reads_or_replaces_the_input_is_named(
    reads: str, launch: AgentLaunch, tmp_path: Path
) -> None:
    """The agent does not start, since its guard has no mark by which to end its processes."""
    words = ["sh", "-c", f'{reads}; exec env -u ACP_NVIM_CHILD "$@"', "via"]
    reason = await failure(launch, via=words, command=["touch", str(tmp_path / "started")])
    assert reason.endswith("failed: stdin was read or closed before the command started")
    assert not (tmp_path / "started").exists()


async def test_a_missing_client_is_named(launch: AgentLaunch) -> None:
    assert "Cannot start no-such-ssh" in await failure(launch, via=["no-such-ssh", "box"])


async def test_a_banner_is_a_remark_and_no_message(tmp_path: Path, launch: AgentLaunch) -> None:
    prefix = tmp_path / "prefix"
    prefix.write_text('#!/bin/sh\nprintf "Welcome\\nLast login: now"\nexec "$@"\n')
    prefix.chmod(0o755)
    remarks: list[bytes] = []
    there = tmp_path / "a\tb"
    there.mkdir()
    spec = AgentSettings(command=["cat"], via=[str(prefix)], cwd=str(there))
    far = await via_agent("far", spec, launch)
    transport = far.transport(1, remarks.append)
    await transport.start()
    transport.send(b"hello\n")
    assert await transport.receive() == b"hello\n"
    assert b"".join(remarks) == b"Welcome\nLast login: now\n"
    assert far.place.directory("/anywhere") == str(there)
    exit = await transport.stop()
    assert exit is not None
    assert exit.code == 0


@pytest.mark.parametrize("starts", [True, False])
async def test_output_before_a_terminal_command_starts_is_bounded(
    starts: bool, launch: AgentLaunch
) -> None:
    far = await via_agent("far", AgentSettings(command=["cat"], via=["env"]), launch)
    judged = requests.command(["true"])
    command = Command(["true"], "/", {}, "true", judged, Launch("true"))
    output: list[bytes] = []
    there = far.place.terminal(command, "mark", output.append, lambda _: None)
    for _ in range(3):
        there.feed(b"x" * MAX_BANNER)
    assert output == []
    if starts:
        there.feed(b"\nmark-there ready /root\t/\t\nout")
    there.on_end(Exit(0, None))
    assert output == [b"out" if starts else b"x" * MAX_BANNER]


async def test_no_variable_of_the_environment_is_changed_there(launch: AgentLaunch) -> None:
    names = ("line", "value", "directory", "grace", "relays", "code", "targets")
    show = 'printf "%s\\n" "$line,$value,$directory,$grace,$relays,$code,$targets"; cat'
    env = {name: f"my {name}" for name in names}
    spec = AgentSettings(command=["sh", "-c", show], via=["env"], env=env)
    transport = (await via_agent("far", spec, launch)).transport(1, lambda data: None)
    await transport.start()
    assert await transport.receive() == ",".join(env.values()).encode() + b"\n"
    await transport.stop()


async def test_a_link_that_fails_is_reported_once(tmp_path: Path, launch: AgentLaunch) -> None:
    prefix = tmp_path / "prefix"
    prefix.write_text(
        f'#!/bin/sh\nmkdir {tmp_path}/used 2>/dev/null || {{ echo gone >&2; exit 1; }}\nexec "$@"\n'
    )
    prefix.chmod(0o755)
    spec = AgentSettings(command=["cat"], via=[str(prefix)], env={"TMPDIR": str(tmp_path)})
    far = await via_agent("far", spec, launch)
    transport = far.transport(1, lambda data: None)
    await transport.start()
    assert _relay_pipes(tmp_path) == {f"{far.tools.directory}/{name}" for name in ("new", "end")}
    reports: list[str] = []
    reported = anyio.Event()

    def report(reason: str) -> None:
        reports.append(reason)
        reported.set()

    own = OwnServer(schema.McpServerStdio("neovim", "here", [], [_SOCKET]), [])
    async with anyio.create_task_group() as group:
        server = far.tools.server(own, Tasks(group, lambda what, error: None), report).server
        far.tools.server(own, Tasks(group, lambda what, error: None), report)
        await reported.wait()
        await transport.stop()
    assert isinstance(server, schema.McpServerStdio)
    assert server.env == [schema.EnvVariable("ACP_NVIM_SOCKET", far.tools.directory)]
    assert reports == [f"{prefix} failed: gone"]
    assert not _relay_pipes(tmp_path)


def _relay_pipes(parent: Path) -> set[str]:
    return {str(path) for path in parent.glob("acp-nvim.*/*")}
