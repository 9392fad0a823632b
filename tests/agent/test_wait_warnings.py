"""Silence of an agent: reported once, never too early, and never while the agent waits for the
client.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import anyio
import pytest

from acp_nvim.agent.prompts.rate_limits import format_duration
from acp_nvim.agent.prompts.wait_warnings import watch_silence
from acp_nvim.session import turns
from acp_nvim.session.output.terminal import Launch
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.questions.decisions import CANCELLED, Decision
from acp_nvim.session.session import Session

SILENT_S = 0.02


def working() -> Session:
    session = Session(1, "agent", "/w")
    turns.begin(session, Prompt("go"), "Agent")
    return session


class Watch:
    """Counter of reports of silence. `looks` is the number of reads of the activity."""

    def __init__(self, session: Session, heard: Callable[[], object] = lambda: 0) -> None:
        self.told = anyio.Event()
        self.times = 0
        self.looks = 0
        self._session, self._heard = session, heard

    async def run(self) -> None:
        await watch_silence(self._session, self.hear, lambda: SILENT_S, self.report)

    def hear(self) -> object:
        self.looks += 1
        if self.looks > 20:
            turns.end(self._session, "end_turn")
        return self._heard()

    def report(self, seconds: float) -> None:
        assert seconds == SILENT_S
        self.times += 1


async def test_silence_is_reported_once() -> None:
    watch = Watch(working())
    await watch.run()
    assert watch.times == 1


async def test_an_active_agent_is_not_silent() -> None:
    numbers = count()
    watch = Watch(working(), lambda: next(numbers))
    await watch.run()
    assert watch.times == 0


async def test_silence_is_reported_again_after_activity() -> None:
    words = iter([0] * 8 + [1] * 100)
    watch = Watch(working(), lambda: next(words))
    await watch.run()
    assert watch.times == 2


async def test_time_of_an_open_question_does_not_count() -> None:
    session = working()
    decision = Decision("d1", "permission", "Edit?")
    session.ask(decision)
    watch = Watch(session)
    await watch.run()
    assert watch.times == 0
    turns.begin(session, Prompt("go"), "Agent")
    decision.resolve(CANCELLED)
    watch = Watch(session)
    await watch.run()
    assert watch.times == 1


async def test_time_of_a_running_command_does_not_count() -> None:
    session = working()
    terminal = session.terminals.new("t1", Launch("make"), 100, is_hosted=True)
    session.terminals.add(terminal)
    watch = Watch(session)
    await watch.run()
    assert (terminal.running, watch.times) == (True, 0)


async def test_silence_is_not_reported_without_a_turn_or_a_limit() -> None:
    told: list[float] = []
    session = working()
    await watch_silence(session, lambda: 0, lambda: 0.0, told.append)
    turns.end(session, "end_turn")
    await watch_silence(session, lambda: 0, lambda: SILENT_S, told.append)
    assert told == []


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"),
        (30, "30 s"),
        (119.5, "2 min"),
        (150, "3 min"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
    ],
)
def test_a_wait_is_shown_in_plain_words(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words
