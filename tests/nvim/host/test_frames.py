"""Frames: their errors, their pace, and the order of text, state and events in them."""

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
from acp_nvim.render.document import ENTRY_COST
from acp_nvim.session.calls import call_updates
from acp_nvim.session.session import NoObserver, Session
from tests.support.waiting import PATIENCE_S

ANNOUNCING = ("event", "state")


class RecordingNeovim:
    """Neovim that records frames."""

    def __init__(self, us: int = 10) -> None:
        self.us = us
        self.busy = False
        """If set, frames wait for their answer."""
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


class WakingObserver(NoObserver):
    """Observer that wakes the frames when text streams."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace

    def on_stream(self) -> None:
        self._pace.wake()


class ScreenedSession:
    """Session on a screen, with its frames."""

    def __init__(self, neovim: RecordingNeovim) -> None:
        self.pace = Pace(neovim.loop.time)
        screen = Screen(Settings, self.pace.wake)
        self.flow = Flow(screen, self.pace, Settings, LimitReports(screen).report)
        self.session = Session(1, "agent", "/", observer=WakingObserver(self.pace))
        screen.add(self.session)
        self._frames = frames(neovim, self.pace, screen.collect, on_collected=self.flow.on_frame)
        self.run = self._frames.run


async def saved() -> None:
    """Do nothing: no state has to be on disk."""


def frames(neovim: RecordingNeovim, pace: Pace, collect: Collect, **options: Any) -> Frames:
    """Return frames that go to this Neovim."""
    defaults = {"on_collected": lambda: None, "on_error": lambda _: None}
    return Frames(cast("Bridge", neovim), pace, collect, **defaults | options)


def session_on_screen() -> tuple[Screen, Session]:
    """Return a screen and a session on it, whose frames the test collects."""
    screen, session = Screen(Settings, lambda urgent=False: None), Session(1, "a", "/")
    screen.add(session)
    return screen, session


async def test_an_error_in_a_frame_does_not_stop_later_frames() -> None:
    neovim, announced = RecordingNeovim(), asyncio.Event()
    problems: list[str] = []
    ready = False

    def collect(budget: int) -> tuple[list[list[Any]], bool]:
        if not ready:
            raise KeyError("line")
        return [["echo", "info", "hello"]], False

    def failed(problem: str) -> None:
        problems.append(problem)
        announced.set()

    pace = Pace(neovim.loop.time)
    task = asyncio.create_task(frames(neovim, pace, collect, on_error=failed).run(saved))
    pace.wake()
    await asyncio.wait_for(announced.wait(), PATIENCE_S)
    ready = True
    pace.wake()
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    task.cancel()
    assert problems == ["frame: KeyError: 'line'"]
    assert neovim.frames == [[["echo", "info", "hello"]]]


async def test_a_flood_does_not_wait_for_the_end_of_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The text read so far starts the next frame; the pause in this test never ends."""
    monkeypatch.setattr(pace, "GAP_S", 3600.0)
    monkeypatch.setattr(pace, "QUICK_FRAMES", 0)
    neovim = RecordingNeovim()
    shown = ScreenedSession(neovim)
    task = asyncio.create_task(shown.run(saved))
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    neovim.came.clear()
    shown.session.transcript.stream("agent", "x" * FLOOD, None)
    shown.session.observer.on_stream()
    await shown.flow.room()
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    task.cancel()


async def test_a_new_turn_is_drawn_as_soon_as_its_prompt_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise it is drawn a moment later."""
    monkeypatch.setattr(pace, "GAP_S", -1.0)  # any pause counts as a rest
    monkeypatch.setattr(pace, "HOLD_S", 3600.0)
    neovim, loop = RecordingNeovim(), asyncio.get_running_loop()
    sent = False
    announced: list[bool] = []

    def collect(budget: int) -> tuple[list[list[Any]], bool]:
        announced.append(sent)
        return [["chat"]], False

    def send_after(turns: int) -> None:
        nonlocal sent
        if turns:
            loop.call_soon(send_after, turns - 1)
        else:
            sent = True
            paced.release()

    paced = Pace(loop.time)
    task = asyncio.create_task(frames(neovim, paced, collect).run(saved))
    paced.hold()
    paced.hold()
    paced.wake(urgent=True)
    send_after(20)
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    assert announced == [True]
    neovim.came.clear()
    monkeypatch.setattr(pace, "HOLD_S", 0.001)
    paced.hold()
    paced.wake()
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    task.cancel()


async def test_a_single_slow_frame_does_not_delay_the_next() -> None:
    """The system was busy with something else; a proportional pause would last 20 s."""
    neovim = RecordingNeovim(us=10_000_000)
    pace = Pace(neovim.loop.time)
    task = asyncio.create_task(frames(neovim, pace, lambda _: ([["chat"]], True)).run(saved))
    pace.wake()
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    neovim.came.clear()
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    task.cancel()


async def test_many_tool_calls_do_not_wait_for_the_end_of_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They have no text but are as much work for Neovim. A wake-up during a frame is not lost."""
    monkeypatch.setattr(pace, "GAP_S", 3600.0)
    monkeypatch.setattr(pace, "QUICK_FRAMES", 0)
    neovim = RecordingNeovim()
    shown = ScreenedSession(neovim)
    task = asyncio.create_task(shown.run(saved))
    for neovim.busy in (False, True, False):
        await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
        neovim.came.clear()
        for number in range(FLOOD // ENTRY_COST + 1):
            update = schema.ToolCallUpdate(f"c{number}", status="completed")
            call_updates.upsert(shown.session, update)
        await shown.flow.room()
        if not neovim.answer.done():
            neovim.answer.set_result({"us": 10, "errors": []})
    await asyncio.wait_for(neovim.came.wait(), PATIENCE_S)
    task.cancel()


def test_the_first_frame_of_a_session_has_its_whole_state() -> None:
    """The text that came first fills many frames."""
    screen, session = session_on_screen()
    session.transcript.stream("agent", "words \n" * 10_000, None)
    session.change("title")
    ops, more = screen.collect(100)
    assert more
    announced = {op[1][2] for op in ops if op[0] == "state"}
    assert {"status", "queue", "permissions", "terminals"} <= announced


def test_the_state_of_a_turns_end_precedes_its_event() -> None:
    """The text of the next turn waits, and more of the state has changed with it."""
    screen, session = session_on_screen()
    screen.collect(1000)
    for turn, waits in (("first", ""), ("second", "more words\n" * 1000)):
        session.transcript.stream("agent", f"{turn}\n", None)
        call_updates.upsert(session, schema.ToolCallUpdate(turn, title="edit", status="completed"))
        session.transcript.stream("agent", "done\n", None)
        session.set_edits([{"path": turn}])
        session.event("AcpTurnEnd")
        session.transcript.stream("agent", waits, None)
        session.change("title")
    announced: list[str] = []
    more = True
    while more:
        ops, more = screen.collect(ENTRY_COST)
        announced += [op[1] if op[0] == "event" else op[1][2] for op in ops if op[0] in ANNOUNCING]
        announced += [f"call {op[2][1]}" for op in ops if op[0] == "calls"]
        if "AcpTurnEnd" in announced:
            assert "edits" in announced[: announced.index("AcpTurnEnd")]
    assert announced.count("AcpTurnEnd") == 2
    assert {"call first", "call second", "title"} <= set(announced)


def test_a_tool_call_is_announced_with_its_row() -> None:
    """If the frame ends just before the row, state and event must wait for the next."""
    screen, session = session_on_screen()
    screen.collect(1000)
    for number in range(9):
        update = schema.ToolCallUpdate(f"c{number}", title=f"call {number}", status="completed")
        call_updates.upsert(session, update)
    shown: list[str] = []
    announced: list[str] = []
    happened: list[str] = []
    more = True
    while more:
        ops, more = screen.collect(ENTRY_COST)
        shown += [line for op in ops if op[0] == "chat" for line in op[4] if "call" in line]
        announced += [id for op in ops if op[0] == "calls" for id in op[2][1::6]]
        happened += [id for op in ops if op[0] == "events" for id in op[2][1][::2]]
        assert len(announced) <= len(shown)
        assert len(happened) <= len(shown)
    assert announced == happened == [f"c{number}" for number in range(9)]
