"""`terminal/*` for an agent (v1/terminals), with real commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec import UNSET

from acp_nvim.agent.serving.commands import command_of
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import RequestError
from acp_nvim.session.calls import call_updates
from acp_nvim.session.questions.decisions import Outcome
from acp_nvim.session.questions.questions import permission_decision
from acp_nvim.session.session import Session
from acp_nvim.tasks import true_within
from tests.support.processes import marked
from tests.support.terminal_agent import TerminalAgent
from tests.support.waiting import PATIENCE_S


def refused(error: pytest.ExceptionInfo[RequestError]) -> tuple[int, str]:
    return error.value.code, error.value.data["reason"]


# -- commands


@pytest.mark.parametrize("script", ["printf 'a b'", "X=1; echo $X && pwd | cat", "echo hi; exit 3"])
async def test_a_command_without_arguments_runs_in_the_shell(
    agent: TerminalAgent, script: str
) -> None:
    output = await agent.run(script)
    assert output.output == {"p": "a b", "X": f"1\n{agent.cwd}\n", "e": "hi\n"}[script[0]]
    assert output.exit_status == schema.TerminalExitStatus(3 if "exit" in script else 0, None)


async def test_a_command_with_arguments_runs_without_a_shell(agent: TerminalAgent) -> None:
    output = await agent.run("printf", "%s|", "$HOME", "a b", ";", "*")
    assert output.output == "$HOME|a b|;|*|"


async def test_the_name_of_a_program_may_have_blanks(agent: TerminalAgent) -> None:
    program = agent.cwd / "my tool"
    program.write_text("#!/bin/sh\necho $0 $#\n")
    program.chmod(0o755)
    assert (await agent.run(str(program))).output == f"{program} 0\n"
    assert (await agent.run("./my tool")).output.endswith("my tool 0\n")


@pytest.mark.parametrize(
    ("shell", "used"),
    [
        ("/bin/bash", "/bin/bash"),
        ("/usr/bin/fish", "/bin/sh"),
        ("/no/such/zsh", "/bin/sh"),
        ("", "/bin/sh"),
    ],
)
def test_the_users_shell_runs_lines_if_it_is_compatible(
    tmp_path: Path, shell: str, used: str
) -> None:
    request = schema.CreateTerminalRequest("s1", "echo $0; true")
    command = command_of(request, {"PATH": os.environ["PATH"], "SHELL": shell}, str(tmp_path))
    assert list(command.argv) == [used, "-c", "echo $0; true"]
    assert command.line == command.judged.line == "echo $0; true"
    assert command.judged.argv is None


async def test_the_environment_is_the_agents_with_additions(agent: TerminalAgent) -> None:
    agent.env |= {"COLUMNS": "20", "TERM": "dumb", "A": "1", "B": "1"}
    output = await agent.run("env", env={"B": "2", "C": "x=y z"})
    found = dict(line.split("=", 1) for line in output.output.splitlines())
    assert {key: found.get(key) for key in ("A", "B", "C")} == {"A": "1", "B": "2", "C": "x=y z"}
    assert found["PAGER"] == found["GIT_PAGER"] == "cat"
    assert found["TERM"] == "xterm-256color"
    assert "COLUMNS" not in found
    assert "TERM=dumb" in (await agent.run("env", env={"TERM": "dumb"})).output


async def test_the_directory_is_the_sessions_or_the_given_one(agent: TerminalAgent) -> None:
    assert (await agent.run("pwd")).output == f"{agent.cwd}\n"
    assert (await agent.run("pwd", cwd="/")).output == "/\n"


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"command": "no-such-program"}, (-32002, "missing")),
        ({"command": "no such", "args": ["x"]}, (-32002, "missing")),
        ({"command": ""}, (-32002, "missing")),
        ({"command": "ls", "cwd": "relative"}, (-32602, "relative")),
        ({"command": "ls", "cwd": "/no/such/place"}, (-32002, "missing")),
        ({"command": "ls", "cwd": "/" + "n" * 300}, (-32002, "missing")),
    ],
)
async def test_a_command_that_cannot_run_is_refused(
    agent: TerminalAgent, params: dict[str, Any], reason: tuple[int, str]
) -> None:
    with pytest.raises(RequestError) as error:
        await agent.ask("create", **params)
    assert refused(error) == reason
    assert len(agent.session.terminals) == 0


# -- output


async def test_create_returns_at_once_and_output_grows(agent: TerminalAgent) -> None:
    id = await agent.create("echo one; read x; echo two")
    terminal = agent.session.terminals.get(id)
    assert terminal is not None
    assert await true_within(lambda: bool(terminal.output.text()), PATIENCE_S)
    output = await agent.ask("output", terminal_id=id)
    assert (output.output, output.truncated, output.exit_status) == ("one\n", False, UNSET)
    agent.terminals.write(id, b"\r")
    await agent.ask("wait_for_exit", terminal_id=id)
    output = await agent.ask("output", terminal_id=id)
    assert output.output.endswith("two\n")
    assert output.exit_status == schema.TerminalExitStatus(0, None)


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4, 7, 100, 10_000])
async def test_the_limit_keeps_the_end_in_whole_characters(
    agent: TerminalAgent, limit: int
) -> None:
    text = "aé€🙂" * 500
    output = await agent.run(
        sys.executable, "-c", f"print({text!r}, end='')", output_byte_limit=limit
    )
    assert text.endswith(output.output)
    assert limit - 4 < len(output.output.encode()) <= limit or output.output == text
    assert output.truncated == (output.output != text)


async def test_the_option_limits_the_output_that_an_agent_requests(tmp_path: Path) -> None:
    agent = TerminalAgent(tmp_path, terminal={"output_limit": 10})
    for limit in (UNSET, None, 1 << 40):
        output = await agent.run("printf 0123456789abc", output_byte_limit=limit)
        assert (output.output, output.truncated) == ("3456789abc", True)
    await agent.close()


async def test_only_the_display_has_colours(agent: TerminalAgent) -> None:
    script = r"printf '\033[31mred\033[0m\n\033]0;title\007é\377\n\033]52;c;aGk=\007end\n'"
    assert (await agent.run(script)).output == "red\né\ufffd\nend\n"
    (terminal,) = agent.session.terminals
    assert terminal.replay.text() == "\x1b[31mred\x1b[0m\r\né\ufffd\r\nend\r\n"
    assert terminal.lines() == ["red", "é\ufffd", "end"]


# -- the end


async def test_any_number_of_requests_may_wait_for_the_exit(agent: TerminalAgent) -> None:
    id = await agent.create("read x; exit 4")
    ends: list[Any] = []

    async def wait() -> None:
        ends.append(await agent.ask("wait_for_exit", terminal_id=id))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(wait)
        assert (await agent.run("echo other")).output == "other\n"
        assert ends == []
        agent.terminals.write(id, b"\r")
    assert ends == [schema.WaitForTerminalExitResponse(4, None)] * 3


async def test_kill_keeps_the_id(agent: TerminalAgent) -> None:
    id = await agent.create("echo up; sleep 600")
    await agent.ask("kill", terminal_id=id)
    assert marked(agent.mark) == []
    end = await agent.ask("wait_for_exit", terminal_id=id)
    assert (end.exit_code, end.signal) == (None, "SIGTERM")
    output = await agent.ask("output", terminal_id=id)
    assert output.exit_status == schema.TerminalExitStatus(None, "SIGTERM")
    assert await agent.ask("kill", terminal_id=id) == schema.KillTerminalResponse()


async def test_release_ends_the_command_and_keeps_the_display(agent: TerminalAgent) -> None:
    id = await agent.create("echo up; sleep 600")
    terminal = agent.session.terminals.get(id)
    assert terminal is not None
    assert await true_within(lambda: terminal.lines() == ["up"], PATIENCE_S)
    waiting: list[Any] = []

    async def wait() -> None:
        waiting.append(await agent.ask("wait_for_exit", terminal_id=id))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.lowlevel.checkpoint()
        await agent.ask("release", terminal_id=id)
    assert waiting == [schema.WaitForTerminalExitResponse(None, "SIGTERM")]
    assert marked(agent.mark) == []
    for method in ("output", "wait_for_exit", "kill", "release"):
        with pytest.raises(RequestError) as error:
            await agent.ask(method, terminal_id=id)
        assert error.value.code == -32002
        assert error.value.data["terminalId"] == id
    assert agent.rows() == ["$ echo up; sleep 600", "up", "✗ SIGTERM"]


async def test_background_processes_end_with_the_release(agent: TerminalAgent) -> None:
    id = await agent.create("trap '' HUP; sleep 600 & echo up")
    await agent.ask("wait_for_exit", terminal_id=id)
    assert marked(agent.mark) != []
    await agent.ask("release", terminal_id=id)
    assert marked(agent.mark) == []


async def test_ids_belong_to_one_session(agent: TerminalAgent) -> None:
    id = await agent.create("echo hi")
    other = Session(2, "agent", str(agent.cwd))
    for session, name in ((other, id), (agent.session, "term-999999"), (agent.session, "")):
        with pytest.raises(RequestError) as error:
            await agent.ask("output", session, terminal_id=name)
        assert error.value.code == -32002


async def test_the_end_of_a_session_ends_its_terminals(agent: TerminalAgent) -> None:
    other = Session(2, "agent", str(agent.cwd))
    await agent.create("sleep", "600")
    kept = await agent.ask("create", other, command="sleep", args=["601"])
    agent.terminals.forget(agent.session)

    def left() -> list[str]:
        return [Path(process.command).name for process in marked(agent.mark)]

    assert await true_within(lambda: left() == ["sleep 601"], PATIENCE_S)
    await agent.terminals.close()
    assert marked(agent.mark) == []
    assert other.terminals.get(kept.terminal_id)


# -- rules


def rule(action: str, **more: Any) -> dict[str, Any]:
    return {"permission": {"rules": [{"action": action, **more}]}, "timeouts": {"kill_s": 0.3}}


@pytest.mark.parametrize(
    ("command", "args"),
    [("rm -rf x", []), ("rm", ["-rf", "x"]), ("/bin/bash", ["-lc", "rm -rf x"])],
)
async def test_a_rule_denies_before_anything_runs(
    tmp_path: Path, command: str, args: list[str]
) -> None:
    (tmp_path / "x").mkdir()
    agent = TerminalAgent(tmp_path, **rule("deny", command="rm *"))
    with pytest.raises(RequestError) as error:
        await agent.create(command, *args)
    assert refused(error) == (-32602, "denied")
    assert "rm -rf x" in error.value.message
    assert (tmp_path / "x").exists()
    assert len(agent.session.decisions) == 0
    assert (await agent.run("echo fine")).output == "fine\n"
    await agent.close()


async def test_a_rule_of_another_kind_does_not_matter(tmp_path: Path) -> None:
    agent = TerminalAgent(tmp_path, **rule("deny", kind="edit"))
    assert (await agent.run("echo fine")).output == "fine\n"
    await agent.close()


@pytest.mark.parametrize("answer", ["allow_once", "allow_always", "reject_once", None])
async def test_a_rule_asks_and_shows_the_whole_command(tmp_path: Path, answer: str | None) -> None:
    agent = TerminalAgent(tmp_path, **rule("ask", kind="execute"))
    outcomes: list[str] = []

    async def create() -> None:
        try:
            await agent.create("echo hi; true", cwd="/", env={"API_KEY": "k", "X": "1"})
            outcomes.append("ran")
        except RequestError as error:
            outcomes.append(error.data["reason"])

    async with anyio.create_task_group() as group:
        group.start_soon(create)
        assert await true_within(lambda: len(agent.session.decisions) == 1, PATIENCE_S)
        (decision,) = agent.session.decisions
        assert (decision.subject, decision.kind) == ("command", "execute")
        assert "echo hi; true" in decision.title
        assert list(decision.details) == ["in /", "with API_KEY=**** (1 character)", "with X=1"]
        assert len(agent.session.terminals) == 0
        option = decision.first(answer) if answer else None
        decision.resolve(Outcome("selected", option) if option else Outcome("cancelled"))
    allowed = answer in ("allow_once", "allow_always")
    assert outcomes == ["ran" if allowed else "denied"]
    if answer == "allow_always":
        again = await agent.run("echo hi; true", cwd="/", env={"API_KEY": "k", "X": "1"})
        assert again.output == "hi\n"
    await agent.close()


@pytest.mark.parametrize("is_over", [False, True])
async def test_an_allowed_command_does_not_start_after_a_cancel(
    tmp_path: Path, is_over: bool
) -> None:
    agent = TerminalAgent(tmp_path, **rule("ask", kind="execute"))

    async def answer() -> None:
        assert await true_within(lambda: len(agent.session.decisions) == 1, PATIENCE_S)
        (decision,) = agent.session.decisions
        decision.resolve(Outcome("selected", decision.first("allow_once")))
        agent.session.own_cancels += 1
        agent.session.status = "idle" if is_over else "cancelling"

    async with anyio.create_task_group() as group:
        group.start_soon(answer)
        with pytest.raises(RequestError, match="the turn was cancelled"):
            await agent.create("echo hi")
    assert len(agent.session.terminals) == 0


async def test_a_permitted_command_does_not_ask_again(tmp_path: Path) -> None:
    agent = TerminalAgent(tmp_path, **rule("ask"))
    option = schema.PermissionOption("yes", "Yes", "allow_once")
    call = schema.ToolCallUpdate("c1", title="Say hi", raw_input={"command": "echo hi; true"})
    entry = agent.session.entries[call_updates.upsert(agent.session, call)]
    asked = schema.PermissionToolCall("c1", title="Say hi")
    request = schema.RequestPermissionRequest("s1", asked, [option])
    decision = permission_decision("d", entry.call, request)
    agent.session.ask(decision, entry.call)
    decision.resolve(Outcome("selected", decision.options[0]))
    assert (await agent.run("echo hi; true")).output == "hi\n"
    async with anyio.create_task_group() as group:
        group.start_soon(agent.create, "echo hi; true")
        assert await true_within(lambda: len(agent.session.decisions) == 1, PATIENCE_S), (
            "once is once"
        )
        for pending in agent.session.decisions:
            pending.resolve(Outcome("selected", pending.options[0]))
    await agent.close()


async def test_terminals_can_be_turned_off(tmp_path: Path) -> None:
    agent = TerminalAgent(tmp_path, terminal={"enabled": False})
    with pytest.raises(RequestError) as error:
        await agent.create("echo hi")
    assert refused(error) == (-32602, "denied")
    await agent.close()
