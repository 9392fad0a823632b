"""The lessons: the tutor's answers to prompts."""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
from typing import TYPE_CHECKING, Final

from acp_nvim.protocol import schema as s
from acp_nvim.protocol.errors import RequestError
from acp_nvim.tutor import tour, tour_words, words
from acp_nvim.tutor.edits import WAVES, proposal
from acp_nvim.tutor.keys import filled
from acp_nvim.tutor.texts import from_disk, unsaved
from acp_nvim.tutor.turn import Refused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from acp_nvim.tutor.turn import Turn

TITLE_LENGTH: Final = 40
STEP: Final = 0.1  # seconds between two lines of /slow
SHELL_SIGNS: Final = re.compile(r"[|&;<>$`*?~(]")


async def teach(turn: Turn) -> str:
    """Answer the prompt; the stop reason."""
    session = turn.session
    session.turns += 1
    turn.update(session.count(turn.text))
    first = session.turns == 1
    if first:
        turn.update(s.SessionInfoUpdate(title(turn.text)))
    command, argument = slash(turn.text)
    if command:
        await LESSONS.get(command, unknown)(turn, argument)
    elif first:
        await tour.start(turn)
    elif not await tour.goes_on(turn):
        await answer(turn)
    tour.wait(turn)
    return "end_turn"


def slash(text: str) -> tuple[str, str]:
    """The slash command of a prompt and what follows it; two empty strings when there is none."""
    match = re.match(r"/(\w+)\s*(.*)", text, re.DOTALL)
    return (match[1], match[2].strip()) if match else ("", "")


def title(text: str) -> str:
    """A title for a session that starts with this prompt."""
    line = " ".join(text.split())
    if not line or slash(line)[0] == "tour":
        return "A tour with the tutor"
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"


async def keys(turn: Turn, _argument: str) -> None:
    """The five keys."""
    await turn.say(filled(turn.session, words.KEYS))


async def read(turn: Turn, argument: str) -> None:
    """Quote a file as the editor has it."""
    path = turn.file(argument)
    if path is None:
        await turn.say(words.NO_FILE)
        return
    await turn.think(words.THOUGHT_READ.format(name=path.name))
    await quote(turn, path)


async def quote(turn: Turn, path: Path) -> str | None:
    """Read a file and quote a line, best one that is not saved; None when it can't be read."""
    try:
        text = await turn.read(path)
    except RequestError as error:
        await turn.say(words.UNREADABLE.format(name=path.name, why=error.message))
        return None
    try:
        saved = await asyncio.to_thread(from_disk, path)
    except RequestError:
        saved = ""  # it is nowhere but in the editor
    fresh = unsaved(text, saved)
    if fresh is not None:
        number, line = fresh
        await turn.say(words.UNSAVED.format(name=path.name, number=number, line=line))
    else:
        lines = text.split("\n")
        number = next((n for n, line in enumerate(lines, 1) if line.strip()), 1)
        line = lines[number - 1]
        await turn.say(words.SAVED.format(name=path.name, number=number, line=line))
    return text


async def edit(turn: Turn, argument: str) -> None:
    """Propose a change in a file."""
    path = turn.file(argument)
    if path is None:
        await turn.say(words.NO_FILE)
        return
    await turn.think(words.THOUGHT_EDIT.format(name=path.name))
    try:
        text = await turn.read(path)
    except RequestError as error:
        await turn.say(words.UNREADABLE.format(name=path.name, why=error.message))
        return
    await propose(turn, path, text)


async def propose(turn: Turn, path: Path, text: str) -> None:
    """Say what should change and why, then ask, then write."""
    if turn.session.mode == "explain":
        await turn.say(words.EXPLAIN_ONLY)
        return
    found = proposal(path, text)
    if found is None:
        await turn.say(words.NOTHING_TO_EDIT.format(name=path.name))
        return
    await turn.say(found.why)
    if turn.session.mode == "ask" and "edit" not in turn.session.always:
        await turn.say(filled(turn.session, words.ASKING))
    try:
        await turn.write(path, text, found.text, found.title)
    except Refused as no:
        await turn.say(f"{no} {words.UNCHANGED}")
        return
    await turn.say(filled(turn.session, words.WRITTEN, name=path.name))
    if found.sample and WAVES in found.text:
        await turn.say(filled(turn.session, tour_words.REVIEW, name=path.name))


async def plan(turn: Turn, _argument: str) -> None:
    """A plan that is worked off before the user's eyes."""
    steps = list(words.PLAN)
    await turn.say(words.PLAN_INTRO)
    turn.begin_message()
    for done, step in enumerate(steps):
        turn.plan(steps, done)
        if done:
            turn.chunk(f"\n{done + 1}. {step}")
        else:
            await turn.say(f"1. {step}")
        await turn.pause()
    turn.plan(steps, len(steps))
    await turn.say(words.PLAN_DONE)


async def slow(turn: Turn, argument: str) -> None:
    """An answer that takes long: for trying a cancel."""
    seconds = float(argument) if re.fullmatch(r"\d+(\.\d+)?", argument) else 30.0
    await turn.say(filled(turn.session, words.SLOW, seconds=f"{seconds:g}"))
    turn.chunk("\n")
    for number in range(int(seconds / STEP)):
        turn.chunk(f"\n{number + 1}. {words.SLOW_LINES[number % len(words.SLOW_LINES)]}")
        await turn.pause(STEP)
    await turn.say(words.SLOW_DONE)


async def shell(turn: Turn, argument: str) -> None:
    """Run a command in a terminal of the editor."""
    if not turn.has_terminal:
        await turn.say(words.NO_TERMINAL)
        return
    if turn.session.mode == "explain":
        await turn.say(words.EXPLAIN_ONLY)
        return
    try:
        command = _command(argument)
    except ValueError as error:
        await turn.say(words.BAD_COMMAND.format(why=error))
        return
    await turn.say(words.SHELL)
    try:
        output, code = await turn.run(
            command[0], command[1:], argument or "python --version", ask=True
        )
    except Refused as no:
        await turn.say(str(no))
        return
    await turn.say(words.RAN.format(code=code, output=output.strip("\n")))


def _command(line: str) -> list[str]:
    """A program and its arguments; what only a shell understands is given to one.

    Raises ValueError for a quote that is not closed.
    """
    words = shlex.split(line)
    if SHELL_SIGNS.search(line):
        return ["sh", "-c", line]
    return words or [sys.executable, "--version"]


async def form(turn: Turn, _argument: str) -> None:
    """Ask with a form, where the client has forms."""
    can = s.given(turn.client.elicitation)
    if can is None or s.given(can.form) is None:
        await turn.say(words.NO_FORMS)
        return
    editors = [s.EnumOption(name, name) for name in ("Vim", "Emacs", "ed")]
    fields: dict[str, s.ElicitationPropertySchema] = {
        "name": s.StringPropertySchema("Your name", min_length=1),
        "before": s.StringPropertySchema("What you used before", one_of=editors, default="Vim"),
        "years": s.IntegerPropertySchema("For how many years", minimum=0, maximum=60),
    }
    asked = s.ElicitationSchema("object", "About you", fields, ["name"])
    answers = await turn.form(words.FORM, asked)
    if answers is None:
        await turn.say(words.FORM_DECLINED)
        return
    given = "\n".join(f"- **{name}**: {value}" for name, value in answers.items())
    await turn.say(words.FORM_DONE.format(answers=given))


async def help_(turn: Turn, _argument: str) -> None:
    """List what the tutor knows."""
    await turn.say(words.HELP)


async def unknown(turn: Turn, _argument: str) -> None:
    """Answer a slash command that does not exist."""
    await turn.say(words.UNKNOWN.format(command=turn.text.split()[0]))
    await turn.say(words.HELP)


async def answer(turn: Turn) -> None:
    """Answer a prompt in plain words: with a lesson or a topic that it names, else honestly."""
    text = turn.text.lower()
    for lesson, pattern in ASKED_FOR.items():
        if re.search(pattern, text):
            await LESSONS[lesson](turn, "")
            return
    found = [body for pattern, body in words.TOPICS.items() if re.search(pattern, text)]
    await turn.think(words.THOUGHT_ANSWER)
    await turn.say(filled(turn.session, found[0]) if found else words.NO_MODEL)


LESSONS: Final[Mapping[str, Callable[[Turn, str], Awaitable[None]]]] = {
    "tour": tour.start,
    "skip": tour.skip,
    "keys": keys,
    "read": read,
    "edit": edit,
    "check": tour.check,
    "plan": plan,
    "slow": slow,
    "shell": shell,
    "form": form,
    "help": help_,
}

# Plain words that ask for a lesson; the first that fits.
ASKED_FOR: Final = {
    "edit": r"\b(fix|edit|change|refactor|rewrite|improve)\b",
    "read": r"\b(read|look at|quote|summar\w+)\b",
    "tour": r"\b(tour|hello|hi|start)\b",
    "keys": r"\b(keys?|mappings?|shortcuts?)\b",
    "shell": r"\b(run|terminal|shell|command line)\b",
    "help": r"\bhelp\b",
}
