"""Large numbers of questions, calls and options: their cost is counted, not timed (`python -m
bench.load` measures time).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import anyio
import anyio.lowlevel
import msgspec
import pytest

from acp_nvim.agent.serving import client as clients
from acp_nvim.agent.serving.client import Client
from acp_nvim.agent.serving.elicitations import Elicitations
from acp_nvim.agent.serving.file_requests import FileRequests
from acp_nvim.agent.serving.protocol_warnings import ProtocolWarnings
from acp_nvim.agent.serving.session_router import SessionRouter
from acp_nvim.agent.serving.terminals import AgentTerminals
from acp_nvim.agent.settings import Settings
from acp_nvim.agent.wire.calls import IncomingCall
from acp_nvim.agent.wire.endpoint import AT_ONCE as EVENTS_HANDLED
from acp_nvim.files.changes.turns import Attribution, Turn, Turns
from acp_nvim.host.unscoped_questions import UnscopedQuestions
from acp_nvim.nvim.screen import Screen
from acp_nvim.protocol import schema
from acp_nvim.protocol.updates import SessionUpdate
from acp_nvim.render.calls.tools import Style, draw
from acp_nvim.render.cards import card
from acp_nvim.session import lists, options, updates
from acp_nvim.session.calls import call_updates
from acp_nvim.session.calls.named_files import MAX_NAMED, named_files
from acp_nvim.session.changes import EVENTS_AT_ONCE
from acp_nvim.session.questions.decisions import (
    CANCELLED,
    MAX_CARDS,
    MAX_LISTED,
    Decision,
    Outcome,
)
from acp_nvim.session.session import Session
from bench.agents import load as agent
from tests.support.memory_endpoint import MemoryEndpoint, Running
from tests.support.waiting import eventually

Op = list[Any]


WORDS = {
    "calls": ("AcpToolCall", 1),
    "asked": ("AcpPermission", 4),
    "done": ("AcpPermissionDone", 3),
}
"""Event of each word of `happened`, and the number of values that follow it."""


class AskingSession:
    """Session whose agent asks; it records the answers and has the frames for Neovim."""

    def __init__(self) -> None:
        self.session = Session(1, "x", "/work")
        self.session.id, self.session.status = "s", "running"
        terminals = cast("AgentTerminals", SimpleNamespace(handlers={}))
        files = cast("FileRequests", SimpleNamespace(read=None, write=None))
        warnings = ProtocolWarnings()
        router = SessionRouter(Settings, warnings)
        self.client = Client("x", Settings, router, files, terminals, warnings)
        router.adopt("s", self.session)
        self.screen = Screen(Settings, lambda urgent=False: None)
        self.screen.add(self.session)
        self.answers: list[Any] = []
        self.calls: list[IncomingCall] = []
        self.drain()

    def ask(self, n: int, offered: int = 4) -> None:
        message = msgspec.json.decode(agent.ask("s", n, offered))
        params = msgspec.Raw(msgspec.json.encode(message["params"]))
        call = IncomingCall(n, message["method"], lambda _, result: self.answers.append(result))
        self.calls.append(call)
        assert self.client.on_request(message["method"], params, call) is None

    def frames(self) -> Iterator[list[Op]]:
        """Yield frames until there is nothing left to draw."""
        while True:
            ops, more = self.screen.collect(64_000)
            if ops:
                yield ops
            if not ops and not more:
                return

    def drain(self) -> list[Op]:
        return [op for ops in self.frames() for op in ops]


def named_ops(ops: list[Op], name: str) -> list[Op]:
    return [op for op in ops if op[0] == name]


def events(ops: list[Op]) -> list[str]:
    """Return the events in operations `event` and `happened`, in order."""
    names = []
    for op in ops:
        if op[0] == "event":
            names.append(op[1])
        elif op[0] == "events":
            values = iter(op[2])
            for word in values:
                name, size = WORDS[word]
                names.append(name)
                deque(islice(values, size), 0)
    return names


def state(ops: list[Op], name: str) -> list[Any]:
    return [op[2] for op in ops if op[0] == "state" and op[1][2:] == [name]]


def test_the_cost_of_another_question_does_not_grow_with_their_number() -> None:
    asking = AskingSession()
    sizes = []
    for n in range(2000):
        asking.ask(n)
        if n % 500 == 499:
            sizes.append(len(msgspec.json.encode(asking.drain(), enc_hook=str)))
    assert max(sizes[1:]) < 1.2 * min(sizes[1:])
    before = asking.drain()
    assert before == []
    asking.ask(2000)
    ops = asking.drain()
    assert state(ops, "more") == [{"permissions": 2001 - MAX_LISTED, "tool_calls": 1800}]
    assert named_ops(ops, "cards_more") == [["cards_more", 1, 2001 - MAX_CARDS]]
    assert not named_ops(ops, "cards")
    assert events(ops) == ["AcpToolCall", "AcpPermission"]
    assert len(msgspec.json.encode(ops, enc_hook=str)) < 2000


def test_the_oldest_questions_have_cards_and_the_next_moves_up() -> None:
    asking = AskingSession()
    for n in range(MAX_LISTED + 2):
        asking.ask(n)
    ops = asking.drain()
    first, *others = asking.session.decisions
    assert len(named_ops(ops, "cards")[-1][2]) == MAX_CARDS
    assert len(state(ops, "permissions")[-1]) == MAX_LISTED
    assert [it.lacks_card for it in others] == [False] * (MAX_CARDS - 1) + [True] * (
        MAX_LISTED + 2 - MAX_CARDS
    )
    first.resolve(Outcome("selected", first.first("allow_once")))
    ops = asking.drain()
    (permissions,) = state(ops, "permissions")
    assert [permissions[0]["id"], permissions[-1]["id"]] == [others[0].id, others[-2].id]
    assert named_ops(ops, "cards")[-1][3] == MAX_LISTED + 1 - MAX_CARDS
    rows = [line for op in named_ops(ops, "chat") for line in op[4]]
    assert any("wants to" in row for row in rows), "the card of the one that moved up"
    assert asking.answers[0].outcome.option_id == "o0"


def test_two_hundred_questions_and_their_cancel_are_few_operations() -> None:
    asking = AskingSession()
    for n in range(200):
        asking.ask(n)
    frames = list(asking.frames())
    assert len(frames) <= 2
    ops = [op for frame in frames for op in frame]
    assert len(ops) <= 16
    assert events(ops) == ["AcpToolCall", "AcpPermission"] * 200, "each call before its question"
    values = [value for op in named_ops(ops, "events") for value in op[2]]
    assert values[3::7] == [decision.id for decision in asking.session.decisions]
    assert all(len(op[3]) == 1 for op in named_ops(ops, "events")), (
        "the same options stand there once"
    )
    lines = [line for op in named_ops(ops, "chat") for line in op[4]]
    assert sum("wants to" in line for line in lines) == MAX_CARDS
    assert sum("permission needed" in line for line in lines) == 200 - MAX_CARDS
    assert asking.session.decisions.cancel_all("cancel")
    call_updates.close_open(asking.session, "cancelled")
    frames = list(asking.frames())
    assert len(frames) <= 2
    ops = [op for frame in frames for op in frame]
    assert len(ops) <= 16 + 3 * MAX_CARDS
    assert events(ops) == ["AcpPermissionDone"] * 200 + ["AcpToolCall"]
    assert state(ops, "permissions")[-1] == []


def test_opening_the_cards_requests_those_of_all_listed_questions() -> None:
    asking = AskingSession()
    for n in range(MAX_LISTED + 3):
        asking.ask(n)
    asking.drain()
    decisions = asking.session.decisions
    assert decisions.show_listed()
    assert not decisions.show_listed(), "there is nothing to add"
    assert decisions.front == list(decisions)[:MAX_LISTED]
    decisions.front[0].resolve(Outcome("selected", None))
    assert decisions.front == list(decisions)[:MAX_LISTED], "the next one moves up"
    decisions.cancel_all("cancel")
    for n in range(MAX_CARDS + 1):
        asking.ask(100 + n)
    assert [it.lacks_card for it in decisions] == [False] * MAX_CARDS + [True]


def test_a_question_that_is_moved_to_the_front_is_listed_there() -> None:
    asking = AskingSession()
    for n in range(MAX_LISTED + 10):
        asking.ask(n)
    asking.drain()
    decisions = asking.session.decisions
    first, *_, last = decisions
    assert decisions.show(last)
    assert decisions.listed == [*list(decisions)[: MAX_LISTED - 1], last]
    assert decisions.unlisted == {"permissions": 10}
    first.resolve(CANCELLED)
    assert len(decisions.front) == MAX_CARDS, "nobody moves up while so many are there"
    assert decisions.unlisted == {"permissions": 9}


def test_a_hidden_question_that_its_agent_withdraws_leaves_the_list() -> None:
    asking = AskingSession()
    for n in range(MAX_CARDS + 3):
        asking.ask(n)
    asking.drain()
    asking.calls[-1].cancel("cancelled by the agent")
    ops = asking.drain()
    assert len(state(ops, "permissions")[-1]) == MAX_CARDS + 2
    assert named_ops(ops, "cards")[-1][3] == 2
    assert len(asking.answers) == 1


def test_questions_without_a_session_are_listed_beyond_their_cards() -> None:
    ops: list[Op] = []
    listed: list[Any] = []
    questions = UnscopedQuestions(lambda *op: ops.append(list(op)), lambda _, it: listed.append(it))
    asking = [Decision(f"d{n}", "elicitation", "Name?", kind="form") for n in range(MAX_CARDS + 2)]
    for decision in asking:
        questions.ask(decision)
    assert len(listed[-1]) == MAX_CARDS + 2
    assert (len(named_ops(ops, "cards")[-1][2]), named_ops(ops, "cards")[-1][3]) == (MAX_CARDS, 2)
    questions.show_listed()
    assert (len(named_ops(ops, "cards")[-1][2]), named_ops(ops, "cards")[-1][3]) == (
        MAX_CARDS + 2,
        0,
    )
    asking[-1].resolve(CANCELLED)
    assert len(listed[-1]) == MAX_CARDS + 1
    more = [Decision(f"m{n}", "elicitation", "Name?", kind="form") for n in range(600)]
    for decision in more:
        questions.ask(decision)
    assert len(questions.decisions) == 500
    assert sum(decision.outcome == CANCELLED for decision in more) == 600 - 500 + MAX_CARDS + 1
    assert [op[1] for op in named_ops(ops, "event")].count("AcpNotice") == 1
    page = schema.ElicitationUrlMode(
        message="", url="https://x.y", elicitation_id="e", request_id="r"
    )
    elicitations = Elicitations(lambda: "A", ask_unscoped=questions.ask)
    assert elicitations.create(None, page, Mock()).outcome == CANCELLED
    assert not elicitations._opened, "a page that was never offered is never completed"


def test_a_cancel_answers_each_of_many_questions_once_and_before_anything_else() -> None:
    asking = AskingSession()
    for n in range(3000):
        asking.ask(n)
    decisions = list(asking.session.decisions)
    steps = asking.session.decisions.cancelling("cancel")
    next(steps)
    assert 0 < len(asking.answers) <= 1000
    assert not asking.session.decisions, "none is listed any more"
    for _ in range(2):
        next(steps)
    assert len(asking.answers) == 3000
    assert not decisions[0].resolve(Outcome("accept")), "the user comes too late"
    for _ in steps:
        pass
    assert len(asking.answers) == 3000
    assert {type(it.outcome) for it in asking.answers} == {schema.CancelledPermissionOutcome}
    assert not asking.session.decisions
    assert asking.session.decisions.unlisted == {}
    assert all(decision.lacks_card for decision in decisions[MAX_CARDS:]), (
        "nobody moved up for that"
    )


def test_questions_end_with_the_connection() -> None:
    asking = AskingSession()
    for n in range(MAX_LISTED + 5):
        asking.ask(n)
    for call in asking.calls:
        call.abandon("gone")
    assert not asking.session.decisions


def test_events_are_sent_in_portions() -> None:
    asking = AskingSession()
    for n in range(3 * EVENTS_AT_ONCE):
        asking.ask(n)
    counts = [events(ops).count("AcpPermission") for ops in asking.frames()]
    assert sum(counts) == 3 * EVENTS_AT_ONCE
    assert max(counts) <= EVENTS_AT_ONCE


def test_questions_over_the_limit_are_cancelled_with_one_notice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clients, "MAX_QUESTIONS", 10)
    asking = AskingSession()
    for n in range(15):
        asking.ask(n)
    assert len(asking.session.decisions) == 10
    assert len(asking.answers) == 5
    notices = [op for op in named_ops(asking.drain(), "event") if op[1] == "AcpNotice"]
    assert len(notices) == 1


def test_of_many_options_the_first_are_shown_and_one_of_each_kind_is_kept() -> None:
    asking = AskingSession()
    message = msgspec.json.decode(agent.ask("s", 1, 5000))
    for number, option in enumerate(message["params"]["options"]):
        option["kind"] = "reject_once" if number == 4999 else "allow_once"
    params = msgspec.Raw(msgspec.json.encode(message["params"]))
    asking.client.on_request(message["method"], params, IncomingCall(1, message["method"]))
    (decision,) = asking.session.decisions
    assert len(decision.options) <= lists.LISTED
    assert (found := decision.first("reject_once")) is not None
    assert found.id == "o4999"
    rows = [text for text, _, _ in card(decision)]
    assert len(rows) < 60
    assert "more" in rows[-1]
    (permission,) = state(asking.drain(), "permissions")[-1]
    assert len(permission["options"]) + permission["more_options"] == len(decision.options)


LISTED: dict[str, SessionUpdate] = {
    "plan": schema.Plan([schema.PlanEntry(f"Step {n}", "medium", "pending") for n in range(5000)]),
    "commands": schema.AvailableCommandsUpdate(
        [schema.AvailableCommand(f"c{n}", "does it") for n in range(5000)]
    ),
    "options": schema.ConfigOptionUpdate(
        [
            schema.SessionConfigBoolean(f"o{n}", f"Option {n}", current_value=True)
            for n in range(5000)
        ]
    ),
}


@pytest.mark.parametrize("name", LISTED)
def test_long_lists_are_cut_with_one_notice(name: str) -> None:
    asking = AskingSession()
    for _ in range(3):
        updates.apply(asking.session, LISTED[name])
    ops = asking.drain()
    assert [len(value) for value in state(ops, name)] == [lists.LISTED]
    assert state(ops, "more")[-1] == {name: 4000}
    notices = [op[2]["title"] for op in named_ops(ops, "event") if op[1] == "AcpNotice"]
    assert notices == [f"{name}: showing the first 1,000 of 5,000"]
    updates.apply(asking.session, schema.Plan([]))
    updates.apply(asking.session, schema.AvailableCommandsUpdate([]))
    updates.apply(asking.session, schema.ConfigOptionUpdate([]))
    assert state(asking.drain(), "more")[-1] is None


def test_chat_and_plan_window_count_the_rest_of_a_long_plan() -> None:
    asking = AskingSession()
    updates.apply(asking.session, LISTED["plan"])
    ops = asking.drain()
    lines = [line for op in named_ops(ops, "chat") for line in op[4]]
    assert lists.more(4000) in lines
    assert named_ops(ops, "plan")[-1][2][-1] == lists.more(4000)


def test_modes_and_values_are_cut() -> None:
    asking = AskingSession()
    modes = [schema.SessionMode(f"m{n}", f"Mode {n}") for n in range(3000)]
    values: list[Any] = [schema.SessionConfigSelectOption(f"v{n}", "V") for n in range(3000)]
    answer = schema.NewSessionResponse(
        "s",
        modes=schema.SessionModeState("m0", modes),
        config_options=[schema.SessionConfigSelect("o", "O", current_value="v0", options=values)],
    )
    options.apply_result(asking.session, answer)
    ops = asking.drain()
    assert len(state(ops, "modes")[-1]["available"]) == lists.LISTED
    assert len(state(ops, "options")[-1][0]["options"]) == lists.LISTED
    assert state(ops, "more")[-1] == {"modes": 2000, "options.o": 2000}


def test_a_call_with_many_parts_is_drawn_in_part() -> None:
    asking = AskingSession()
    content: list[Any] = [schema.Content(schema.TextContent(f"line {n}")) for n in range(5000)]
    locations = [schema.ToolCallLocation(f"/work/f{n}", line=n) for n in range(5000)]
    call = call_updates.upsert(
        asking.session, schema.ToolCall("c", "it", content=content, locations=locations)
    )
    rows = [text for text, _, _ in draw(asking.session.entries[call], Style())]
    assert len(rows) < 2 * lists.ITEMS + 10
    assert [row.strip() for row in rows].count(lists.more(5000 - lists.ITEMS)) == 2
    ops = asking.drain()
    assert len(named_ops(ops, "calls")[-1][2][5]) == lists.ITEMS
    assert len([op for op in named_ops(ops, "event") if op[1] == "AcpLocation"]) == lists.ITEMS
    assert len(named_files(call, "/work")) <= MAX_NAMED


def test_the_oldest_calls_leave_the_state() -> None:
    asking = AskingSession()
    firsts = []
    for n in range(1000):
        call_updates.upsert(asking.session, schema.ToolCall(f"c{n}", "it", status="completed"))
        if n % 100 == 99:
            (op,) = named_ops(asking.drain(), "calls")
            firsts.append(op[3])
    assert firsts[-1] == 800
    assert all(100 * n - first <= 300 for n, first in enumerate(firsts, 1))
    assert asking.session.tool_calls.open_calls() == []


def test_a_call_that_continues_is_open_again() -> None:
    session = AskingSession().session
    for status in ("completed", "in_progress"):
        call_updates.upsert(session, schema.ToolCallUpdate("c", status=status))
        assert len(session.tool_calls.open_calls()) == (status == "in_progress")


def test_turns_leave_no_objects_behind() -> None:
    authors = Attribution(cast("Turns", SimpleNamespace()), list)
    for _ in range(100):
        turn = Turn(Session(1, "x", "/work"))
        authors.enter(turn)
        turn.over.set()
    assert len(authors._starting) == 1


async def test_other_tasks_run_while_a_large_message_is_handled() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.lowlevel.checkpoint()
            ticks += 1

    async with Running(MemoryEndpoint()) as wire, anyio.create_task_group() as group:
        group.start_soon(tick)

        def heard() -> bool:
            return len(wire.handler.heard) >= 10 * EVENTS_HANDLED

        wire.handler.on_notification = lambda method, params: wire.handler.heard.append(ticks)  # type: ignore[method-assign]
        wire.put(*({"method": "a"} for _ in range(10 * EVENTS_HANDLED)))
        await eventually(heard)
        group.cancel_scope.cancel()
        assert len(set(wire.handler.heard)) >= 10


def test_the_benchmarks_agent_speaks_the_protocol(tmp_path: Path) -> None:
    """Its messages are read without warnings, so the benchmark measures the usual path."""
    for kind in sorted(agent.TURNS):
        asking = AskingSession()
        warnings = asking.client.warnings
        for line in agent.TURNS[kind]("s", 3).splitlines():
            message = msgspec.json.decode(line)
            params = msgspec.Raw(msgspec.json.encode(message["params"]))
            if "id" in message:
                call = IncomingCall(message["id"], message["method"])
                asking.client.on_request(message["method"], params, call)
            else:
                asking.client.on_notification(message["method"], params)
        assert warnings.lines() == [], kind


def test_changes_to_several_calls_in_a_row_are_one_operation() -> None:
    asking = AskingSession()
    for n in range(50):
        call_updates.upsert(asking.session, schema.ToolCall(f"c{n}", "it"))
    asking.drain()
    call_updates.close_open(asking.session, "cancelled")
    assert [op[2:4] for op in named_ops(asking.drain(), "chat")] == [[0, 50]]
