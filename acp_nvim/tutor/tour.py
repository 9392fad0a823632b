"""The tour: one step at a time, each with one action of the user's, which the tutor then sees.

A step goes on by the next prompt, by the answer to a question, by what becomes of the file on disk,
or by the session's mode. Nothing waits in a turn but a question: where the file or the mode is
waited for the turn is over, and the tutor speaks again when it has seen it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from acp_nvim.protocol.errors import RequestError
from acp_nvim.tutor import tour_words as words
from acp_nvim.tutor.editor_tools import NoTools, ToolFailed
from acp_nvim.tutor.edits import DEAR, FIXED, LEFT, WAVES, proposal, spoiled, with_farewell
from acp_nvim.tutor.keys import filled
from acp_nvim.tutor.texts import from_disk
from acp_nvim.tutor.turn import Refused
from acp_nvim.tutor.words import SLOW_LINES, UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from acp_nvim.tutor.session import Session
    from acp_nvim.tutor.turn import Turn

LOOK_S: Final = 0.3
"""Between two looks at the file or the mode, in seconds."""
LONGEST_S: Final = 900
"""After so many seconds nobody waits any more; the next prompt goes on."""
TALK_S: Final = 60
BUSY_S: Final = 8
QUEUED_S: Final = 1.0
"""A prompt that comes so soon after the end of a turn has waited in the queue."""
NAME: Final = "till.py"
OLD, RENAMED = "receipt", "render_receipt"
"""What the tour renames, and how."""


@dataclass(frozen=True)
class Step:
    """`begin` says what to do; `seen` tells from text and mode that it is done, without one the
    next prompt goes on.
    """

    title: str
    begin: Callable[[Turn], Awaitable[bool | None]]
    """Returns whether the step is over at once; None to begin it again with the next prompt."""
    seen: Callable[[str, str], bool] | None = None


def sample(turn: Turn) -> Path | None:
    """The file of the tour, None where the sample is not there."""
    path = turn.session.cwd / NAME
    return path if path.is_file() else None


async def start(turn: Turn, argument: str = "") -> None:
    """Begin the tour, or go on where it was; `2` is its second part."""
    session = turn.session
    if sample(turn) is None:
        await turn.say(words.NO_SAMPLE)
        return
    if argument in ("1", "2"):
        session.tour = (int(argument), 0)
    elif session.tour is None and LEFT in await _live(turn):
        session.tour, session.returned = (2, BACK_AGAIN), True
        await run(turn)
        return
    part, number = session.tour or (1, 0)
    if number >= len(PARTS[part]):
        part, number = 1, 0
    session.tour = (part, number)
    if number:
        await turn.say(words.BACK)
    elif part == 1:
        await turn.say(words.WELCOME)
    await run(turn)


async def skip(turn: Turn, _argument: str = "") -> None:
    """The next step, whatever this one waits for."""
    if turn.session.tour is None:
        await start(turn)
    else:
        await forward(turn)


async def goes_on(turn: Turn) -> bool:
    """Whether a prompt in plain words belongs to the tour, and goes on with it."""
    session, step = turn.session, current(turn.session)
    if step is None or sample(turn) is None:
        return False
    if session.unfinished:
        await run(turn)
        return True
    if step.seen is None or step.seen(await _live(turn), session.mode):
        await forward(turn)
        return True
    return False


def current(session: Session) -> Step | None:
    """The step that waits for the user."""
    if session.tour is None:
        return None
    part, number = session.tour
    return PARTS[part][number] if number < len(PARTS[part]) else None


async def forward(turn: Turn) -> None:
    """Go on with the next step."""
    session = turn.session
    assert session.tour is not None
    session.tour = (session.tour[0], session.tour[1] + 1)
    await run(turn)


async def run(turn: Turn) -> None:
    """Do the present step, and those after it until one waits for the user."""
    session = turn.session
    while (step := current(session)) is not None:
        assert session.tour is not None
        if step.title:
            await turn.say(heading(*session.tour))
        session.unfinished = True  # should it be cancelled
        over = await step.begin(turn)
        session.unfinished = over is None
        if not over:
            wait(turn)
            return
        session.tour = (session.tour[0], session.tour[1] + 1)
    if session.tour is not None:
        await turn.say(filled(session, words.END if session.tour[0] == 1 else words.END_TWO))


def heading(part: int, number: int) -> str:
    """The title of a step, with its number among those that have one."""
    titled = [at for at, step in enumerate(PARTS[part]) if step.title]
    return f"**{titled.index(number) + 1} of {len(titled)} · {PARTS[part][number].title}**"


def wait(turn: Turn) -> None:
    """Look after the turn whether the user has done what the step is about."""
    session, step = turn.session, current(turn.session)
    if session.watch is None and step is not None and step.seen and not session.unfinished:
        session.watch = asyncio.create_task(_watch(turn, step.seen))


async def _watch(turn: Turn, seen: Callable[[str, str], bool]) -> None:
    """Look at file and mode, after the turn, and go on when the user has done it."""
    session, path = turn.session, sample(turn)
    end = time.monotonic() + LONGEST_S
    while path is not None and time.monotonic() < end:
        await asyncio.sleep(LOOK_S)
        try:
            text = from_disk(path)
        except RequestError:
            continue  # it is being saved, or gone
        if seen(text, session.mode):
            session.watch, session.speaker = None, asyncio.current_task()
            turn.begin_message()
            try:
                await forward(turn)
            finally:
                session.speaker = None
            return


async def _live(turn: Turn) -> str:
    path = sample(turn)
    assert path is not None
    try:
        return await turn.read(path)
    except RequestError:
        return ""


# ---- the first part


def _says(text: str) -> Callable[[Turn], Awaitable[bool]]:
    async def begin(turn: Turn) -> bool:
        await turn.say(filled(turn.session, text, name=NAME))
        return False

    return begin


async def _read(turn: Turn) -> bool:
    await _live(turn)
    await turn.say(filled(turn.session, words.READ, name=NAME))
    return False


async def _propose(turn: Turn, text: str = "") -> bool | None:
    """Propose an edit, with these words or its reason: whether there is one and it was made; None
    when the user refused.
    """
    path = sample(turn)
    assert path is not None
    before = await turn.read(path)
    found = proposal(path, before)
    if found is None or not found.sample:
        return False
    await turn.say(filled(turn.session, text, name=NAME) if text else found.why)
    try:
        await turn.write(path, before, found.text, found.title)
    except Refused as no:
        await turn.say(words.REFUSED.format(why=no))
        return None
    if await turn.live(path) != found.text:
        await turn.say(words.AMENDED)
    return True


async def _allow(turn: Turn) -> bool | None:
    session = turn.session
    if session.mode == "explain":
        await turn.say(words.NO_MODE)
        return None
    if FIXED in await _live(turn):
        await turn.say(filled(turn.session, words.FIXED, name=NAME))
        session.tour = (1, FOLLOW - 1)  # it is over
        return True
    return await _propose(turn, words.ALLOW)


async def _look_around(turn: Turn) -> bool:
    """Read two files, for a window that follows."""
    for name in ("README.md", NAME):
        path = turn.session.cwd / name
        if path.is_file():
            await turn.read(path)
            await turn.pause(0.6)
    await turn.say(filled(turn.session, words.FOLLOWED, name=NAME))
    return True


async def _stop(turn: Turn) -> bool:
    """Talk until the user stops it."""
    session = turn.session
    await turn.say(filled(session, words.STOP))
    try:
        turn.chunk("\n")
        for number in range(TALK_S * 2):
            turn.chunk(f"\n{number + 1}. {SLOW_LINES[number % len(SLOW_LINES)]}")
            await turn.pause(0.5)
    except asyncio.CancelledError:
        session.tour, session.unfinished = (1, QUEUE), False
        turn.tell(f"{heading(1, QUEUE)}\n\n{words.QUEUE}")
        raise
    return True


async def _busy(turn: Turn) -> bool:
    """Work for a while, so that the next prompt waits."""
    await turn.say(words.BUSY)
    turn.chunk("\n")
    for number in range(BUSY_S):
        turn.chunk(f"\n{number + 1}. {SLOW_LINES[number % len(SLOW_LINES)]}")
        await turn.pause(1.0)
    return False


async def _waited(turn: Turn) -> bool:
    if turn.began - turn.session.ended < QUEUED_S:
        await turn.say(words.WAITED)
    return True


# ---- the second part


async def _plan(turn: Turn) -> bool:
    turn.plan(list(words.PLAN_STEPS), 1)
    turn.begin_message()
    await turn.say(words.PLAN)
    return False


async def _run(turn: Turn) -> bool:
    if not turn.has_terminal:
        await turn.say(words.NO_TERMINAL)
        return False
    await turn.say(filled(turn.session, words.RUN, name=NAME))
    try:
        await turn.run(sys.executable, [NAME], f"python {NAME}", ask=True)
    except Refused as no:
        await turn.say(f"{no} Send anything to go on.")
        return False
    await turn.say(words.RAN)
    return False


async def _comment(turn: Turn) -> bool:
    if not await _propose(turn):
        await turn.say(filled(turn.session, words.COMMENT_DONE, name=NAME))
    else:
        await turn.say(filled(turn.session, words.COMMENT, name=NAME))
    return False


async def _ask_servers(turn: Turn) -> bool | None:
    """Ask the editor what its language servers say of the file, as it is now."""
    arguments = {"path": NAME, "severity": "error", "wait_ms": 3000}
    said = await _by_tool(turn, "nvim_diagnostics", arguments)
    if said is None:
        turn.session.tour = (2, BLAME - 1)  # there is no renaming without them either
        return True
    found = [line for line in said.split("\n") if line.startswith(f"{NAME}:")]
    if not found:
        await turn.say(filled(turn.session, words.NO_MISTAKE, name=NAME))
        return None
    await turn.say(words.MISTAKE.format(said=found[0]))
    return True


async def _rename(turn: Turn) -> bool:
    """Have the language server rename a function, wherever it is used."""
    lines = (await _live(turn)).split("\n")
    line = next((at for at, it in enumerate(lines, 1) if it.startswith(f"def {OLD}(")), 0)
    if not line:
        return True
    await turn.say(filled(turn.session, words.RENAME, names=f"{OLD} to {RENAMED}"))
    arguments = {"path": NAME, "line": line, "symbol": OLD, "new_name": RENAMED}
    if await _by_tool(turn, "nvim_rename", arguments) is None:
        return True
    await turn.say(filled(turn.session, words.HAS_RENAMED, name=NAME))
    return False


async def _by_tool(turn: Turn, tool: str, arguments: dict[str, Any]) -> str | None:
    """What a tool of the editor says; None where it could not, which is said."""
    try:
        return await turn.call_tool(tool, arguments)
    except NoTools as error:
        await turn.say(words.NO_TOOLS.format(why=error))
    except ToolFailed as error:
        await turn.say(words.TOOL_FAILED.format(why=error))
    return None


async def _blame(turn: Turn) -> bool:
    text = words.BLAME if turn.session.blames else words.BLAME_OFF
    await turn.say(filled(turn.session, text, name=NAME))
    return False


async def _rewind(turn: Turn) -> bool | None:
    """Change something for the user to take back; the session that branches off then goes on."""
    before = await _live(turn)
    if turn.session.turns == 1 and DEAR not in before:
        await turn.say(words.REWOUND)
        return True
    after = spoiled(before)
    if after is None:
        await turn.say(words.REWIND if DEAR in before else words.NO_REWIND)
        return False
    return await _changed(turn, before, after, "Raise the price of honey", words.REWIND)


async def _leave(turn: Turn) -> bool | None:
    """Leave a change for the user to come back to."""
    before = await _live(turn)
    after = with_farewell(before)
    if after is None:
        await turn.say(filled(turn.session, words.LEAVE, name=NAME))
        return False
    return await _changed(turn, before, after, "Say goodbye", words.LEAVE)


async def _changed(turn: Turn, before: str, after: str, title: str, text: str) -> bool | None:
    """Make a change of the sample and say this; None when the user refused."""
    path = sample(turn)
    assert path is not None
    try:
        await turn.write(path, before, after, title)
    except Refused as no:
        await turn.say(words.REFUSED.format(why=no))
        return None
    await turn.say(filled(turn.session, text, name=NAME))
    return False


async def _back_again(turn: Turn) -> bool:
    """The user has left and come back, or has not."""
    session = turn.session
    await turn.say(filled(session, words.RETURNED if session.returned else words.STAYED, name=NAME))
    return not session.returned


def _finish(text: str) -> Callable[[Turn], Awaitable[bool]]:
    """A step that shows the plan done as well."""

    async def begin(turn: Turn) -> bool:
        turn.plan(list(words.PLAN_STEPS), len(words.PLAN_STEPS))
        turn.begin_message()
        await turn.say(text)
        return False

    return begin


PARTS: Final = {
    1: (
        Step("Talk", _says(words.TALK)),
        Step("Read", _read),
        Step("Allow", _allow),
        Step("Review", _says(words.REVIEW), lambda text, _: FIXED in text and WAVES not in text),
        Step("Undo", _says(words.UNDO), lambda text, _: WAVES in text),
        Step("Follow", _says(words.FOLLOW)),
        Step("", _look_around),
        Step("Stop", _stop),
        Step("Queue", _says(words.QUEUE)),
        Step("", _busy),
        Step("", _waited),
    ),
    2: (
        Step("Plan", _plan),
        Step("Terminals", _run),
        Step("Modes", _says(words.MODES), lambda _, mode: mode == "trust"),
        Step("Comments", _comment),
        Step("Language servers", _says(words.MISSPELL)),
        Step("", _ask_servers),
        Step("Rename", _rename),
        Step("Blame", _blame),
        Step("Checkpoints", _says(words.CHECKPOINTS)),
        Step("Rewind", _rewind),
        Step("Sessions", _finish(words.SESSIONS)),
        Step("History", _says(words.HISTORY)),
        Step("Come back", _leave),
        Step("", _back_again),
    ),
}


def _at(part: int, title: str) -> int:
    return next(at for at, step in enumerate(PARTS[part]) if step.title == title)


FOLLOW, QUEUE, BLAME = _at(1, "Follow"), _at(1, "Queue"), _at(2, "Blame")
BACK_AGAIN = _at(2, "Come back") + 1


async def check(turn: Turn, _argument: str = "") -> None:
    """Say what the user made of the two changes in the sample, and the key for what is left."""
    path = sample(turn)
    if path is None:
        await turn.say(words.NOT_THE_SAMPLE)
        return
    try:
        text = await turn.read(path)
    except RequestError as error:
        await turn.say(UNREADABLE.format(name=NAME, why=error.message))
        return
    repair, waves = words.REPAIR[FIXED in text], words.WAVES[WAVES in text]
    await turn.say(filled(turn.session, f"`{NAME}` {repair}, and {waves}"))
