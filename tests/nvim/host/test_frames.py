"""Frames: what goes wrong with one is told, and is not the end of them; when the next one comes."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from acp_nvim.agent.settings import Settings
from acp_nvim.nvim import pace
from acp_nvim.nvim.bridge import Bridge
from acp_nvim.nvim.flow import Flow
from acp_nvim.nvim.frames import Collect, Frames
from acp_nvim.nvim.notices import LimitReports
from acp_nvim.nvim.pace import FLOOD, Pace
from acp_nvim.nvim.screen import Screen
from acp_nvim.protocol import schema
from acp_nvim.render.document import ENTRY
from acp_nvim.session.calls import call_updates
from acp_nvim.session.session import Session, Unobserved
from tests.support.waiting import PATIENCE_S

SAID = ("event", "state")


class Neovim:
    """Takes frames."""

    def __init__(self, us: int = 10) -> None:
        self.us = us
        self.busy = False
        """Whether frames wait for their answer."""
        self.frames: list[list[Any]] = []
        self.came = asyncio.Event()
        self.loop = asyncio.get_running_loop()

    def call(self, module: str, function: str, ops: list[Any]) -> asyncio.Future[Any]:
        assert (module, function) == ("acp.frame", "apply")
        self.frames.append(ops)
        self.came.set()
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.answer = answer
        if not self.busy:
            answer.set_result({"us": self.us, "errors": []})
        return answer


class Waking(Unobserved):
    """Wakes the frames when text streams."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace

    def streamed(self) -> None:
        self._pace.wake()


class Shown:
    """A session on a screen, and the frames of it."""

    def __init__(self, neovim: Neovim) -> None:
        self.pace = Pace(neovim.loop.time)
        screen = Screen(Settings, self.pace.wake)
        self.flow = Flow(screen, self.pace, Settings, LimitReports(screen).tell)
        self.session = Session(1, "agent", "/", observer=Waking(self.pace))
        screen.add(self.session)
        self._frames = frames(neovim, self.pace, screen.collect, drained=self.flow.drained)
        self.run = self._frames.run


async def at_once() -> None:
    """Nothing has to be on disk."""


def frames(neovim: Neovim, pace: Pace, collect: Collect, **options: Any) -> Frames:
    """Frames that go to this Neovim."""
    options = {"drained": lambda: None, "failed": lambda _: None, "kept": at_once, **options}
    return Frames(cast("Bridge", neovim), pace, collect, **options)


def unseen() -> tuple[Screen, Session]:
    """A session on a screen whose frames a test collects by itself."""
    screen, session = Screen(Settings, lambda urgent=False: None), Session(1, "a", "/")
    screen.add(session)
    return screen, session


async def test_a_frame_that_cannot_be_made_is_not_the_last_one() -> None:
    neovim, told = Neovim(), asyncio.Event()
    problems: list[str] = []
    ready = False

    def collect(budget: int) -> tuple[list[list[Any]], bool]:
        if not ready:
            raise KeyError("line")
        return [["echo", "info", "hello"]], False

    def failed(problem: str) -> None:
        problems.append(problem)
        told.set()

    pace = Pace(neovim.loop.time)
    task = asyncio.create_task(frames(neovim, pace, collect, failed=failed).run())
    pace.wake()
    await asyncio.wait_for(told.wait(), PATIENCE_S)
    ready = True
    pace.wake()
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    task.cancel()
    assert problems == ["frame: KeyError: 'line'"]
    assert neovim.frames == [[["echo", "info", "hello"]]]


async def test_a_flood_does_not_wait_for_the_end_of_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By what stands before each read; the pause here would never end by itself."""
    monkeypatch.setattr(pace, "GAP_S", 3600.0)
    monkeypatch.setattr(pace, "QUICK", 0)
    neovim = Neovim()
    shown = Shown(neovim)
    task = asyncio.create_task(shown.run())
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    neovim.came.clear()
    shown.session.transcript.stream("agent", "x" * FLOOD, None)
    shown.session.observer.streamed()
    await shown.flow.room()
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    task.cancel()


async def test_what_begins_is_told_when_the_prompt_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """...as soon as it is; else a moment later."""
    monkeypatch.setattr(pace, "GAP_S", -1.0)  # any pause is a rest
    monkeypatch.setattr(pace, "HOLD_S", 3600.0)
    neovim, loop = Neovim(), asyncio.get_running_loop()
    sent = False
    told: list[bool] = []

    def collect(budget: int) -> tuple[list[list[Any]], bool]:
        told.append(sent)
        return [["text"]], False

    def send_after(turns: int) -> None:
        nonlocal sent
        if turns:
            loop.call_soon(send_after, turns - 1)
        else:
            sent = True
            paced.release()

    paced = Pace(loop.time)
    task = asyncio.create_task(frames(neovim, paced, collect).run())
    paced.hold()
    paced.hold()
    paced.wake(urgent=True)
    send_after(20)
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    assert told == [True]
    neovim.came.clear()
    monkeypatch.setattr(pace, "HOLD_S", 0.001)
    paced.hold()
    paced.wake()
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    task.cancel()


async def test_a_frame_that_took_long_for_once_does_not_hold_up_the_next() -> None:
    """The system had better things to do than Neovim: a pause in proportion would last 20 s."""
    neovim = Neovim(us=10_000_000)
    pace = Pace(neovim.loop.time)
    task = asyncio.create_task(frames(neovim, pace, lambda _: ([["text"]], True)).run())
    pace.wake()
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    neovim.came.clear()
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    task.cancel()


async def test_many_tool_calls_do_not_wait_for_the_end_of_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are no text, and Neovim has as much to do with them; nor is a pulse lost that comes
    while a frame is on its way.
    """
    monkeypatch.setattr(pace, "GAP_S", 3600.0)
    monkeypatch.setattr(pace, "QUICK", 0)
    neovim = Neovim()
    shown = Shown(neovim)
    task = asyncio.create_task(shown.run())
    for neovim.busy in (False, True, False):
        await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
        neovim.came.clear()
        for number in range(FLOOD // ENTRY + 1):
            update = schema.ToolCallUpdate(f"c{number}", status="completed")
            call_updates.upsert(shown.session, update)
        await shown.flow.room()
        if not neovim.answer.done():
            neovim.answer.set_result({"us": 10, "errors": []})
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    task.cancel()


def test_a_session_has_its_state_from_its_first_frame_on() -> None:
    """Also while the text that came first fills many frames: nobody meets half a session."""
    screen, session = unseen()
    session.transcript.stream("agent", "words \n" * 10_000, None)
    session.change("title")
    ops, more = screen.collect(100)
    assert more
    told = {op[1][2] for op in ops if op[0] == "state"}
    assert {"status", "queue", "permissions", "terminals"} <= told


def test_who_hears_of_a_turns_end_finds_the_state_of_it() -> None:
    """Also where the text of the next turn waits, and more of the state has changed with that."""
    screen, session = unseen()
    screen.collect(1000)
    for turn, waits in (("first", ""), ("second", "more words\n" * 1000)):
        session.transcript.stream("agent", f"{turn}\n", None)
        call_updates.upsert(session, schema.ToolCallUpdate(turn, title="edit", status="completed"))
        session.transcript.stream("agent", "done\n", None)
        session.review_edits([{"path": turn}])
        session.event("AcpTurnEnd")
        session.transcript.stream("agent", waits, None)
        session.change("title")
    told: list[str] = []
    more = True
    while more:
        ops, more = screen.collect(ENTRY)
        told += [op[1] if op[0] == "event" else op[1][2] for op in ops if op[0] in SAID]
        told += [f"call {op[2][1]}" for op in ops if op[0] == "calls"]
        if "AcpTurnEnd" in told:
            assert "edits" in told[: told.index("AcpTurnEnd")]
    assert told.count("AcpTurnEnd") == 2
    assert {"call first", "call second", "title"} <= set(told)


def test_a_tool_call_is_told_of_when_its_row_is_there() -> None:
    """Not with the frame that ends right before it: state and event would be ahead of the chat."""
    screen, session = unseen()
    screen.collect(1000)
    for number in range(9):
        update = schema.ToolCallUpdate(f"c{number}", title=f"call {number}", status="completed")
        call_updates.upsert(session, update)
    shown: list[str] = []
    told: list[str] = []
    heard: list[str] = []
    more = True
    while more:
        ops, more = screen.collect(ENTRY)
        shown += [line for op in ops if op[0] == "chat" for line in op[4] if "call" in line]
        told += [id for op in ops if op[0] == "calls" for id in op[2][1::6]]
        heard += [id for op in ops if op[0] == "happened" for id in op[2][1][::2]]
        assert len(told) <= len(shown)
        assert len(heard) <= len(shown)
    assert told == heard == [f"c{number}" for number in range(9)]
