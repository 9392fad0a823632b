"""What the chat shows of terminals: those we started, and those that agents tell of."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.session.entries import ToolEntry
from acp_nvim.session.updates import apply
from tests.support.served import Served

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


# -- what is shown


async def test_what_runs_where_and_with_what_is_shown(served: Served) -> None:
    await served.run("echo hi; exit 2", cwd="/", env={"API_TOKEN": "s3cret", "X": "1"})
    assert served.rows() == [
        *("$ echo hi; exit 2", "in /", "with API_TOKEN=**** (6 characters)", "with X=1"),
        *("hi", "↳ exit code 2"),
    ]
    assert [t.snapshot() for t in served.session.terminals] == [
        {
            "id": next(iter(served.session.terminals)).id,
            "command": "echo hi; exit 2",
            "running": False,
            "exit_code": 2,
            "signal": None,
        }
    ]


async def test_a_terminal_is_shown_in_the_tool_call_that_embeds_it(served: Served) -> None:
    id = await served.create("seq 20")
    await served.ask("wait_for_exit", terminal_id=id)
    content: list[Any] = [schema.Terminal(id)]
    apply(served.session, schema.ToolCall("c1", "Count", kind="execute", content=content))
    assert served.rows() == [
        *("○ execute · Count · pending", "  $ seq 20", "  … 12 earlier lines"),
        *(f"  {number}" for number in range(13, 21)),
    ]


async def test_output_marks_what_shows_it_as_changed(served: Served) -> None:
    id = await served.create("read x; echo more")
    apply(served.session, schema.ToolCall("c1", "Read", content=[schema.Terminal(id)]))
    served.session.transcript.dirty.clear()
    served.changes = 0
    served.terminals.write(id, b"\r")
    await served.ask("wait_for_exit", terminal_id=id)
    (entry,) = served.session.transcript.dirty
    assert isinstance(entry, ToolEntry)
    assert served.changes > 0


# -- what agents tell of their own terminals


def told(served: Served, id: str, **meta: Any) -> None:
    apply(served.session, schema.ToolCallUpdate(id, meta=meta))


def told_call(served: Served, id: str, command: Any, **meta: Any) -> None:
    content: list[Any] = [schema.Terminal(id)]
    update = schema.ToolCall(
        id, "Title", raw_input={"command": command}, content=content, meta=meta
    )
    apply(served.session, update)


async def test_an_unknown_terminal_is_no_error_and_gets_its_output(served: Served) -> None:
    told_call(served, "c1", ["bash", "-lc", "make"])
    assert served.rows()[1:] == ["  [terminal c1]"]
    told(served, "c1", terminal_info={"terminal_id": "c1", "cwd": "/src"})
    told(served, "c1", terminal_output={"terminal_id": "c1", "data": "one\n\x1b[31mtw"})
    assert served.rows()[1:] == ["  $ make", "  in /src", "  one", "  tw"]
    told(served, "c1", terminal_output_delta={"data": "o\n"})
    told(served, "c1", terminal_exit={"terminal_id": "c1", "exit_code": 3, "signal": None})
    assert served.rows()[-2:] == ["  two", "  ↳ exit code 3"]
    (terminal,) = served.session.terminals
    assert terminal.replay.text() == "one\r\n\x1b[31mtwo\r\n"
    assert (terminal.running, terminal.exit_code) == (False, 3)


async def test_all_in_one_update(served: Served) -> None:
    meta = {
        "terminal_exit": {"terminal_id": "t", "exit_code": None, "signal": "SIGKILL"},
        "terminal_output": {"terminal_id": "t", "data": "hi"},
        "terminal_info": {"terminal_id": "t"},
    }
    told_call(served, "t", "sleep 9", **meta)
    assert served.rows()[1:] == ["  $ sleep 9", "  hi", "  ↳ SIGKILL"]


async def test_output_without_an_embedded_terminal_is_shown_too(served: Served) -> None:
    apply(served.session, schema.ToolCall("c1", "ls", kind="search"))
    told(served, "c1", terminal_output_delta={"data": "a\nb\n"})
    assert served.rows()[1:] == ["  $ ls", "  a", "  b"]
    text = schema.Content(schema.TextContent("a\nb"))
    apply(served.session, schema.ToolCallUpdate("c1", status="completed", content=[text]))
    assert served.rows()[1:] == ["  a", "  b"], "the agent's own content says the same"
    (terminal,) = served.session.terminals
    assert not terminal.running, "its tool call is over"


async def test_how_it_ended_may_be_told_after_the_tool_call(served: Served) -> None:
    told_call(served, "c1", "x", terminal_info={"terminal_id": "c1"})
    apply(served.session, schema.ToolCallUpdate("c1", status="completed"))
    (terminal,) = served.session.terminals
    assert (terminal.running, terminal.ended) == (False, "")
    told(served, "c1", terminal_exit={"terminal_id": "c1", "exit_code": 0})
    told(served, "c1", terminal_exit={"terminal_id": "c1", "exit_code": 1})
    assert terminal.ended == "exit code 0"


async def test_our_own_terminals_are_not_the_agents_to_tell_of(served: Served) -> None:
    id = await served.create("echo mine")
    await served.ask("wait_for_exit", terminal_id=id)
    told_call(served, "c1", "x", terminal_output={"terminal_id": id, "data": "forged"})
    (terminal,) = served.session.terminals
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
async def test_nonsense_in_meta_does_no_harm(served: Served, meta: dict[str, Any]) -> None:
    apply(served.session, schema.ToolCall("c1", "Title", meta=meta))
    assert served.rows()[0] == "○ other · Title · pending"


async def test_the_same_id_again_is_a_new_run(served: Served) -> None:
    told_call(served, "c1", "x", terminal_info={"terminal_id": "c1"})
    told(served, "c1", terminal_exit={"terminal_id": "c1", "exit_code": 1})
    (terminal,) = served.session.terminals
    assert not terminal.running
    told_call(served, "c1", "x", terminal_info={"terminal_id": "c1"})
    assert terminal.snapshot() | {"id": "", "command": ""} == {
        "id": "",
        "command": "",
        "running": True,
        "exit_code": None,
        "signal": None,
    }
