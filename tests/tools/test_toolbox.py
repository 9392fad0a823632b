"""Calls of tools end within limits of time and size, and are counted."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from msgspec import Struct

from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.session.calls.tool_use import ToolUse
from acp_nvim.session.session import Session
from acp_nvim.tools.server.tool import Call, Tool, ToolError, ToolResult
from acp_nvim.tools.server.toolbox import (
    MAX_RUNNING,
    TEXT_CHARACTERS,
    Outcome,
    Toolbox,
    UnknownTool,
)
from tests.support.served_tools import ECHO, Waits


class Nothing(Struct, frozen=True):
    """No arguments."""


def gives(result: Any) -> Tool[Any]:
    """Return a tool that returns or raises this."""

    async def run(call: Call, given: Nothing) -> ToolResult:
        if isinstance(result, Exception):
            raise result
        return result  # type: ignore[no-any-return]

    return Tool("give", "Give", "Gives.", Nothing, run)


def a_session() -> Session:
    session = Session(1, "agent", "/")
    session.tools = ToolUse()
    return session


async def call_tool(tool: Tool[Any], faults: list[str] | None = None, **given: Any) -> Outcome:
    def fault(name: str, error: Exception) -> None:
        assert faults is not None, error
        faults.append(f"{name}: {error}")

    box = Toolbox([tool], fault)
    return await box.call(a_session(), tool.name, json.dumps(given).encode())


def failure(why: str) -> Outcome:
    return Outcome(ToolResult(why), has_failed=True)


def no_fault(name: str, error: Exception) -> None:
    raise AssertionError(f"{name}: {error}")


async def test_a_tool_returns_its_result() -> None:
    outcome = await call_tool(ECHO, text="a", times=2)
    assert outcome == Outcome(ToolResult("aa", {"said": "a"}))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ToolError("no server\nfor this\x1b file"), "no server for this\\x1b file"),
        (Refusal("outside", "/etc", "outside of the session"), "/etc: outside of the session"),
    ],
)
async def test_a_failure_is_reported_in_one_line(error: Exception, said: str) -> None:
    assert await call_tool(gives(error)) == failure(said)


async def test_wrong_arguments_are_reported_to_the_agent() -> None:
    assert await call_tool(ECHO, times=2) == failure("text: missing")


async def test_an_internal_error_is_reported_to_agent_and_user() -> None:
    faults: list[str] = []
    outcome = await call_tool(gives(KeyError("x")), faults)
    assert outcome == failure("internal error: KeyError: 'x'")
    assert faults == ["give: 'x'"]


async def test_a_result_outside_of_json_is_an_internal_error() -> None:
    faults: list[str] = []
    outcome = await call_tool(gives(ToolResult("a", {"a": object()})), faults)
    assert outcome.has_failed
    assert len(faults) == 1


async def test_a_tool_that_takes_too_long_is_named() -> None:
    wait = Waits(timeout_s=0.01)
    assert await call_tool(wait.tool, text="") == failure("wait took more than 0.01 s")
    assert wait.ended.is_set()


async def test_control_characters_are_removed() -> None:
    outcome = await call_tool(gives(ToolResult("a\x1b[1m\tb\r\n\x00c\x9b\ud800")))
    assert outcome.result.text == "a[1m\tb\nc\ufffd"


async def test_a_long_result_is_cut_with_a_note() -> None:
    long = "x" * (TEXT_CHARACTERS + 5)
    result = (await call_tool(gives(ToolResult(long, {"text": long})))).result
    assert result.text.endswith("x\n… 5 more characters are left out; ask for a part")
    assert len(result.text) < len(long) + 60
    assert result.structured is None


async def test_an_unknown_tool_is_not_found() -> None:
    box = Toolbox([ECHO], no_fault)
    for name, enabled in (("echoo", True), ("echo", False), ("echo", ["other"])):
        with pytest.raises(UnknownTool):
            await box.call(a_session(), name, None, enabled=enabled)


def test_an_option_selects_the_listed_tools() -> None:
    wait = Waits().tool
    box = Toolbox([ECHO, wait], no_fault)
    assert [it.name for it in box.list_tools(True)] == ["echo", "wait"]
    assert [it.name for it in box.list_tools(["wait", "nothing"])] == ["wait"]
    assert box.list_tools(False) == box.list_tools([]) == []
    box.drop("echo")
    box.add(gives(ToolResult("")))
    assert [it.name for it in box.list_tools(True)] == ["wait", "give"]


async def test_calls_are_counted() -> None:
    times = iter([0.0, 0.0124, 1.0, 1.002])
    box = Toolbox([ECHO], no_fault, lambda: next(times))
    session = a_session()
    await box.call(session, "echo", b'{"text": "a"}')
    await box.call(session, "echo", b'{"text": "error"}')
    assert session.tools == ToolUse(calls=2, failed=1, slowest_ms=12)
    assert "tools" in session.changes.names


async def test_a_cancel_ends_only_the_calls_of_its_session() -> None:
    mine, others = Waits(), Waits()
    box = Toolbox([mine.tool], no_fault)
    box.add(Tool("other", "Other", "Waits.", mine.tool.arguments, others.tool.run, timeout_s=None))
    session, other = a_session(), Session(2, "agent", "/")
    calls = [
        asyncio.create_task(box.call(session, "wait", b'{"text": ""}')),
        asyncio.create_task(box.call(other, "other", b'{"text": ""}')),
    ]
    await mine.began.wait()
    await others.began.wait()
    box.cancel(session)
    assert await calls[0] == failure("cancelled by the user")
    assert mine.ended.is_set()
    assert not others.ended.is_set()
    calls[1].cancel()
    with pytest.raises(asyncio.CancelledError):
        await calls[1]
    assert others.ended.is_set()
    assert session.tools == ToolUse(calls=1, failed=1, slowest_ms=session.tools.slowest_ms)  # type: ignore[union-attr]


async def test_the_number_of_concurrent_calls_is_limited() -> None:
    wait = Waits()
    box = Toolbox([wait.tool, ECHO], no_fault)
    session = a_session()
    calls = [
        asyncio.create_task(box.call(session, "wait", b'{"text": ""}')) for _ in range(MAX_RUNNING)
    ]
    await wait.began.wait()
    outcome = await box.call(session, "echo", b'{"text": ""}')
    assert outcome == failure("64 calls are running; wait for one of them to end")
    box.cancel(session)
    assert {(await call).result.text for call in calls} == {"cancelled by the user"}
    assert (await box.call(session, "echo", b'{"text": "a"}')).result.text == "a"
