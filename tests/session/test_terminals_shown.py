"""Terminals in the chat: those of the client, and those that agents report."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.session.transcript.entries import ToolEntry
from acp_nvim.session.updates import apply
from tests.support.terminal_agent import TerminalAgent

# -- display


async def test_command_directory_and_environment_are_shown(agent: TerminalAgent) -> None:
    await agent.run("echo hi; exit 2", cwd="/", env={"API_TOKEN": "s3cret", "X": "1"})
    assert agent.rows() == [
        *("$ echo hi; exit 2", "in /", "with API_TOKEN=**** (6 characters)", "with X=1"),
        *("hi", "✗ exit code 2"),
    ]
    assert [t.snapshot() for t in agent.session.terminals] == [
        {
            "id": next(iter(agent.session.terminals)).id,
            "command": "echo hi; exit 2",
            "running": False,
            "exit_code": 2,
            "signal": None,
        }
    ]


async def test_a_terminal_is_shown_in_the_tool_call_that_embeds_it(agent: TerminalAgent) -> None:
    id = await agent.create("seq 20")
    await agent.ask("wait_for_exit", terminal_id=id)
    content: list[Any] = [schema.Terminal(id)]
    apply(agent.session, schema.ToolCall("c1", "Count", kind="execute", content=content))
    assert agent.rows() == [
        *("○ seq 20 (Count)", "  $ seq 20", "  … 12 earlier lines"),
        *(f"  {number}" for number in range(13, 21)),
    ]


async def test_output_marks_its_entry_as_changed(agent: TerminalAgent) -> None:
    id = await agent.create("read x; echo more")
    apply(agent.session, schema.ToolCall("c1", "Read", content=[schema.Terminal(id)]))
    agent.session.transcript.dirty.clear()
    agent.changes = 0
    agent.terminals.write(id, b"\r")
    await agent.ask("wait_for_exit", terminal_id=id)
    (entry,) = agent.session.transcript.dirty
    assert isinstance(entry, ToolEntry)
    assert agent.changes > 0


# -- terminals of agents


def report_terminal(agent: TerminalAgent, id: str, **meta: Any) -> None:
    apply(agent.session, schema.ToolCallUpdate(id, meta=meta))


def report_call(agent: TerminalAgent, id: str, command: Any, **meta: Any) -> None:
    content: list[Any] = [schema.Terminal(id)]
    update = schema.ToolCall(
        id, "Title", raw_input={"command": command}, content=content, meta=meta
    )
    apply(agent.session, update)


async def test_an_unknown_terminal_is_not_an_error_and_gets_its_output(
    agent: TerminalAgent,
) -> None:
    report_call(agent, "c1", ["bash", "-lc", "make"])
    assert agent.rows()[1:] == ["  [terminal c1]"]
    report_terminal(agent, "c1", terminal_info={"terminal_id": "c1", "cwd": "/src"})
    report_terminal(agent, "c1", terminal_output={"terminal_id": "c1", "data": "one\n\x1b[31mtw"})
    assert agent.rows()[1:] == ["  $ make", "  in /src", "  one", "  tw"]
    report_terminal(agent, "c1", terminal_output_delta={"data": "o\n"})
    report_terminal(
        agent, "c1", terminal_exit={"terminal_id": "c1", "exit_code": 3, "signal": None}
    )
    assert agent.rows()[-2:] == ["  two", "  ✗ exit code 3"]
    (terminal,) = agent.session.terminals
    assert terminal.replay.text() == "one\r\n\x1b[31mtwo\r\n"
    assert (terminal.running, terminal.exit_code) == (False, 3)


async def test_a_whole_terminal_in_one_update_is_shown(agent: TerminalAgent) -> None:
    meta = {
        "terminal_exit": {"terminal_id": "t", "exit_code": None, "signal": "SIGKILL"},
        "terminal_output": {"terminal_id": "t", "data": "hi"},
        "terminal_info": {"terminal_id": "t"},
    }
    report_call(agent, "t", "sleep 9", **meta)
    assert agent.rows()[1:] == ["  $ sleep 9", "  hi", "  ✗ SIGKILL"]


async def test_output_without_an_embedded_terminal_is_shown_too(agent: TerminalAgent) -> None:
    apply(agent.session, schema.ToolCall("c1", "ls", kind="search"))
    report_terminal(agent, "c1", terminal_output_delta={"data": "a\nb\n"})
    assert agent.rows()[1:] == ["  $ ls", "  a", "  b"]
    text = schema.Content(schema.TextContent("a\nb"))
    apply(agent.session, schema.ToolCallUpdate("c1", status="completed", content=[text]))
    assert agent.rows()[1:] == ["  a", "  b"], "the agent's own content says the same"
    (terminal,) = agent.session.terminals
    assert not terminal.running, "its tool call is over"


async def test_the_exit_may_be_reported_after_the_tool_call(agent: TerminalAgent) -> None:
    report_call(agent, "c1", "x", terminal_info={"terminal_id": "c1"})
    apply(agent.session, schema.ToolCallUpdate("c1", status="completed"))
    (terminal,) = agent.session.terminals
    assert (terminal.running, terminal.ended) == (False, "")
    report_terminal(agent, "c1", terminal_exit={"terminal_id": "c1", "exit_code": 0})
    report_terminal(agent, "c1", terminal_exit={"terminal_id": "c1", "exit_code": 1})
    assert terminal.ended == "exit code 0"


async def test_agents_cannot_change_terminals_of_the_client(agent: TerminalAgent) -> None:
    id = await agent.create("echo mine")
    await agent.ask("wait_for_exit", terminal_id=id)
    report_call(agent, "c1", "x", terminal_output={"terminal_id": id, "data": "forged"})
    (terminal,) = agent.session.terminals
    assert terminal.lines() == ["mine"]


@pytest.mark.parametrize(
    "meta",
    [
        {"terminal_output": None},
        {"terminal_output": "text"},
        {"terminal_output": {"terminal_id": 3, "data": 4}},
        {"terminal_exit": {"terminal_id": None, "exit_code": "x", "signal": 9}},
        {"terminal_info": {"terminal_id": "t", "cwd": 5}},
        {"terminal_info": []},
    ],
)
async def test_invalid_meta_is_ignored(agent: TerminalAgent, meta: dict[str, Any]) -> None:
    apply(agent.session, schema.ToolCall("c1", "Title", meta=meta))
    assert agent.rows()[0] == "○ Title"


async def test_the_same_id_again_is_a_new_run(agent: TerminalAgent) -> None:
    report_call(agent, "c1", "x", terminal_info={"terminal_id": "c1"})
    report_terminal(agent, "c1", terminal_exit={"terminal_id": "c1", "exit_code": 1})
    (terminal,) = agent.session.terminals
    assert not terminal.running
    report_call(agent, "c1", "x", terminal_info={"terminal_id": "c1"})
    assert terminal.snapshot() | {"id": "", "command": ""} == {
        "id": "",
        "command": "",
        "running": True,
        "exit_code": None,
        "signal": None,
    }
