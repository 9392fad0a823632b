"""The user's tools in a toolbox: their schemas, their results, and the end of their calls."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.calls.tool_use import ToolUse
from acp_nvim.session.session import Session
from acp_nvim.tools.server.tool import ToolError, ToolResult
from acp_nvim.tools.server.toolbox import Outcome, Toolbox, UnknownTool
from acp_nvim.tools.server.user_tools import Answer, UserTool, UserTools, input_schema, result

SAID = Answer("said")


class Runs:
    """Runner of tools.

    It records calls, and returns or raises `answer`, or hangs if that is None.
    """

    def __init__(self, answer: Answer | Exception | None = SAID) -> None:
        self.answer = answer
        self.calls: list[tuple[str, str]] = []

    async def run(self, session: Session, name: str, arguments: str) -> Answer:
        self.calls.append((name, arguments))
        if self.answer is None:
            await anyio.sleep_forever()
        if isinstance(self.answer, Exception):
            raise self.answer
        assert self.answer is not None
        return self.answer


class Permits:
    """User who answers questions with `why_not`. The questions are recorded."""

    def __init__(self, why_not: str = "") -> None:
        self.why_not = why_not
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    @asynccontextmanager
    async def ask_to_call(
        self,
        session: Session,
        name: str,
        arguments: Mapping[str, Any],
        shown: ToolCall | None = None,
        *,
        executes: bool = False,
    ) -> AsyncIterator[str]:
        assert (shown, executes) == (None, False)
        self.asked.append((name, arguments))
        yield self.why_not


class Users:
    """The tools of a user in a toolbox."""

    def __init__(self, runs: Runs | None = None, why_not: str = "") -> None:
        def fault(name: str, error: Exception) -> None:
            raise AssertionError(f"{name}: {error}")

        self.box = Toolbox([], fault)
        self.runs, self.permits = runs or Runs(), Permits(why_not)
        self.changes = 0
        self.tools = UserTools(self.box, self.runs, lambda: self.permits, self._changed, run_s=0.05)

    def _changed(self) -> None:
        self.changes += 1

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in self.box.list_tools(enabled=True)]

    async def call(self, name: str = "mine", **given: Any) -> Outcome:
        session = Session(1, "agent", "/")
        session.tools = ToolUse()
        return await self.box.call(session, name, json.dumps(given).encode())


def mine(name: str = "mine", **fields: Any) -> UserTool:
    return UserTool(name, "Helps.", **fields)


def failed(why: str) -> Outcome:
    return Outcome(ToolResult(why), has_failed=True)


def test_changes_to_tools_are_reported_once() -> None:
    users = Users()
    users.tools.replace([mine("a"), mine("b")])
    users.tools.replace([mine("a"), mine("b")])
    assert (users.names, users.changes) == (["a", "b"], 1)
    users.tools.replace([mine("b", write=True)])
    assert (users.names, users.changes) == (["b"], 2)
    users.tools.replace([])
    assert (users.names, users.changes) == ([], 3)


async def test_a_removed_tool_cannot_be_called() -> None:
    users = Users()
    users.tools.replace([mine()])
    users.tools.replace([])
    with pytest.raises(UnknownTool):
        await users.call()


async def test_arguments_are_passed_unchanged() -> None:
    users = Users()
    users.tools.replace([mine()])
    given: dict[str, Any] = {"a": [None, 2**80], "b": {"c": None}}
    assert await users.call(**given) == Outcome(ToolResult("said"))
    [(name, arguments)] = users.runs.calls
    assert (name, json.loads(arguments)) == ("mine", given)
    assert not users.permits.asked


TICKET = {
    "properties": {
        "id": {"type": "integer"},
        "tags": {"type": "array"},
        "price": {"type": "number"},
        "open": {"type": "boolean"},
        "any": {},
        "two": {"type": ["string", "null"]},
    },
    "required": ["id"],
}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "id: missing"),
        ({"id": "7"}, "id: expected integer"),
        ({"id": True}, "id: expected integer"),
        ({"id": 7.5, "tags": {}}, "id: expected integer; tags: expected array"),
        ({"id": 7, "open": 1, "price": True}, "open: expected boolean; price: expected number"),
        ({"id": None}, "id: expected integer"),
    ],
)
async def test_arguments_that_its_schema_refuses_never_reach_the_tool(
    given: dict[str, Any], said: str
) -> None:
    users = Users()
    users.tools.replace([mine(schema=json.dumps(TICKET), write=True)])
    assert await users.call(**given) == failed(said)
    assert not users.runs.calls
    assert not users.permits.asked


@pytest.mark.parametrize(
    "given",
    [
        {"id": 7},
        {"id": 7.0, "price": 1, "open": False, "tags": []},
        {"id": 2**80, "any": {}, "two": None, "price": None, "more": 1},
    ],
)
async def test_arguments_that_its_schema_accepts_reach_the_tool(given: dict[str, Any]) -> None:
    users = Users()
    users.tools.replace([mine(schema=json.dumps(TICKET))])
    assert await users.call(**given) == Outcome(ToolResult("said"))


async def test_a_hanging_tool_is_stopped() -> None:
    users = Users(Runs(None))
    users.tools.replace([mine()])
    assert await users.call() == failed("mine took more than 0.05 s")


async def test_a_failing_tool_gives_a_reason() -> None:
    users = Users(Runs(ToolError("no ticket")))
    users.tools.replace([mine()])
    assert await users.call() == failed("no ticket")


async def test_a_writing_tool_asks_first() -> None:
    users = Users(why_not="the user refused")
    users.tools.replace([mine(write=True)])
    assert await users.call(to="shop") == failed("the user refused")
    assert users.permits.asked == [("mine", {"to": "shop"})]
    assert not users.runs.calls
    users.permits.why_not = ""
    assert await users.call() == Outcome(ToolResult("said"))


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("{}", {"type": "object"}),
        ("[]", {"type": "object"}),
        ('{"properties":[],"required":[]}', {"properties": {}, "required": []}),
        ('{"properties":{"a":[]}}', {"properties": {"a": {}}}),
        (
            '{"properties":{"a":{"type":"array","items":[],"default":[]}}}',
            {"properties": {"a": {"type": "array", "items": {}, "default": []}}},
        ),
        ('{"anyOf":[{"properties":[]},[]]}', {"anyOf": [{"properties": {}}, {}]}),
        ('{"additionalProperties":false}', {"additionalProperties": False}),
    ],
)
def test_an_empty_lua_table_becomes_the_right_json(told: str, shown: dict[str, Any]) -> None:
    assert input_schema(told) == {"type": "object", **shown}


@pytest.mark.parametrize(
    ("value", "text", "data"),
    [
        ('{"a":"b\\/c"}', '{"a":"b/c"}', {"a": "b/c"}),
        ("[1,null]", "[1,null]", {"result": [1, None]}),
        ('["\udcff"]', '["?"]', {"result": ["?"]}),
    ],
)
def test_a_table_is_text_and_data(value: str, text: str, data: dict[str, Any]) -> None:
    assert result(Answer(json=value)) == ToolResult(text, data)


@pytest.mark.parametrize("levels", [101, 300, 600, 990])
async def test_a_deeply_nested_table_is_not_an_internal_error(levels: int) -> None:
    users = Users(Runs(Answer(json="[" * levels + "]" * levels)))
    users.tools.replace([mine()])
    outcome = await users.call()
    assert outcome.has_failed
    assert outcome.result.text.startswith("the result cannot be sent: ")


@pytest.mark.parametrize("levels", [100, 300])
async def test_deeply_nested_arguments_are_not_an_internal_error(levels: int) -> None:
    users = Users()
    users.tools.replace([mine(write=True)])
    deep: Any = 1
    for _ in range(levels):
        deep = {"a": deep}
    assert await users.call(a=deep) == failed("arguments: nested deeper than 100 levels")
    assert not users.permits.asked


def test_ordinary_depth_is_accepted() -> None:
    text = "[" * 100 + "]" * 100
    assert result(Answer(json=text)).text == text
