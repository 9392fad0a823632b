"""Tour of ten steps, each with one action by the user. The next prompt begins the next step."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from acp_nvim.protocol.errors import RequestError
from acp_nvim.tutor import tour_words as words
from acp_nvim.tutor.edits import BUG, FIXED, WAVES, proposal
from acp_nvim.tutor.keys import with_keys
from acp_nvim.tutor.turn import RefusedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from acp_nvim.tutor.session import Session
    from acp_nvim.tutor.turn import Turn

TALK_S: Final = 60
BUSY_S: Final = 8
QUEUED_S: Final = 1.0
"""Time in seconds. A prompt that follows a turn sooner than this was queued during the turn."""
NAME: Final = "till.py"

Outcome: TypeAlias = Literal["wait", "next", "again"]
"""Outcome of a step: wait for the user, begin the next step, or repeat this step."""


@dataclass(frozen=True)
class Step:
    """Step of the tour. A step without a title belongs to the one before it."""

    title: str
    begin: Callable[[Turn], Awaitable[Outcome]]
    is_done: Callable[[str], bool] | None = None
    """Whether the text of the sample shows that the step is done."""


async def start(turn: Turn, _argument: str = "") -> None:
    """Begin the tour, or resume it."""
    session = turn.session
    if not _sample(turn).is_file():
        await turn.say(words.NO_SAMPLE)
        return
    if _current_step(session) is None:
        session.step = 0
    await turn.say(words.BACK if session.step else words.WELCOME)
    await _run_steps(turn)


async def skip(turn: Turn, _argument: str = "") -> None:
    """Begin the next step."""
    if turn.session.step is None:
        await start(turn)
    else:
        await _next_step(turn)


async def advance(turn: Turn) -> bool:
    """Continue the tour after a prompt in plain words. Return False if there is no tour."""
    session, step = turn.session, _current_step(turn.session)
    if step is None or not _sample(turn).is_file():
        return False
    if session.is_step_unfinished:
        await _run_steps(turn)
    elif step.is_done is None or step.is_done(await _sample_text(turn)):
        await _next_step(turn)
    else:
        await turn.say(words.NOT_YET)
        await step.begin(turn)
    return True


def _sample(turn: Turn) -> Path:
    return turn.session.cwd / NAME


def _current_step(session: Session) -> Step | None:
    return None if session.step is None or session.step >= len(STEPS) else STEPS[session.step]


async def _next_step(turn: Turn) -> None:
    session = turn.session
    assert session.step is not None
    session.step += 1
    await _run_steps(turn)


async def _run_steps(turn: Turn) -> None:
    """Run steps until one waits for the user."""
    session = turn.session
    while (step := _current_step(session)) is not None:
        assert session.step is not None
        if step.title:
            await turn.say(_heading(session.step))
        session.is_step_unfinished = True  # even after a cancel
        outcome = await step.begin(turn)
        session.is_step_unfinished = outcome == "again"
        if outcome != "next":
            return
        session.step += 1
    await turn.say(with_keys(session, words.END))


def _heading(number: int) -> str:
    titled = [at for at, step in enumerate(STEPS) if step.title]
    return f"**{titled.index(number) + 1} of {len(titled)} · {STEPS[number].title}**"


async def _sample_text(turn: Turn) -> str:
    try:
        return await turn.read(_sample(turn))
    except RequestError:
        return ""


# -- the steps ------------------------------------------------------------------------------------


def _text_step(text: str) -> Callable[[Turn], Awaitable[Outcome]]:
    async def begin(turn: Turn) -> Outcome:
        await turn.say(with_keys(turn.session, text, name=NAME))
        return "wait"

    return begin


async def _read(turn: Turn) -> Outcome:
    await _sample_text(turn)
    await turn.say(words.READ.format(name=NAME))
    return "wait"


async def _allow(turn: Turn) -> Outcome:
    """Propose the fix."""
    if turn.session.mode == "explain":
        await turn.say(words.NO_MODE)
        return "again"
    path, text = _sample(turn), await _sample_text(turn)
    decision = proposal(path, text)
    if decision is None or BUG not in text:
        await turn.say(words.FIXED.format(name=NAME))
        turn.session.step = FOLLOW - 1  # nothing to review or undo
        return "next"
    await turn.say(with_keys(turn.session, words.ALLOW))
    try:
        await turn.write(path, text, decision.text, decision.title)
    except RefusedError as refusal:
        await turn.say(words.REFUSED.format(why=refusal))
        return "again"
    if await turn.live(path) != decision.text:
        await turn.say(words.AMENDED)
    return "next"


async def _read_two_files(turn: Turn) -> Outcome:
    """Read two files, so that a window that follows the agent moves."""
    for path in (turn.session.cwd / "README.md", _sample(turn)):
        if path.is_file():
            await turn.read(path)
            await turn.pause(0.6)
    await turn.say(with_keys(turn.session, words.FOLLOWED))
    return "next"


async def _stop(turn: Turn) -> Outcome:
    """Talk until the user cancels the turn."""
    session = turn.session
    await turn.say(with_keys(session, words.STOP))
    try:
        await turn.stream_lines(TALK_S * 2, 0.5)
    except asyncio.CancelledError:
        session.step, session.is_step_unfinished = QUEUE, False
        turn.chunk(f"\n\n{_heading(QUEUE)}\n\n{words.QUEUE}")
        raise
    return "next"


async def _busy(turn: Turn) -> Outcome:
    """Work for a while, so that the next prompt waits in the queue."""
    await turn.say(words.BUSY)
    await turn.stream_lines(BUSY_S, 1.0)
    return "wait"


async def _wait(turn: Turn) -> Outcome:
    if turn.began_at - turn.session.turn_ended_at < QUEUED_S:
        await turn.say(words.WAITED)
    return "next"


STEPS: Final = (
    Step("Talk", _text_step(words.TALK)),
    Step("Read", _read),
    Step("Allow", _allow),
    Step("Review", _text_step(words.REVIEW), lambda text: FIXED in text and WAVES not in text),
    Step("Undo", _text_step(words.UNDO), lambda text: WAVES in text),
    Step("Follow", _text_step(words.FOLLOW)),
    Step("", _read_two_files),
    Step("Stop", _stop),
    Step("Queue", _text_step(words.QUEUE)),
    Step("", _busy),
    Step("", _wait),
    Step("Checkpoints", _text_step(words.CHECKPOINTS)),
    Step("Sessions", _text_step(words.SESSIONS)),
)
FOLLOW, QUEUE = (
    next(at for at, step in enumerate(STEPS) if step.title == title)
    for title in ("Follow", "Queue")
)
