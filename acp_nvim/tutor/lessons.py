"""Lessons: the tutor's answers to prompts."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from acp_nvim.protocol import schema as s
from acp_nvim.protocol.errors import RequestError
from acp_nvim.tutor import tour, words
from acp_nvim.tutor.edits import proposal
from acp_nvim.tutor.keys import with_keys
from acp_nvim.tutor.texts import first_change
from acp_nvim.tutor.turn import RefusedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from acp_nvim.tutor.turn import Turn

TITLE_LENGTH: Final = 40
IN_PLACE: Final = "Make this change in place, in "
"""Beginning of the task that `:Acp edit` sends after the instruction."""
LINE_S: Final = 0.1  # seconds between two lines of /slow


async def teach(turn: Turn) -> str:
    """Answer the prompt of a turn and return the stop reason."""
    session = turn.session
    session.turns += 1
    turn.update(session.count(turn.text))
    if session.turns == 1:
        turn.update(s.SessionInfoUpdate(title(turn.text)))
    command, argument = slash_command(turn.text)
    if command:
        await LESSONS.get(command, answer_unknown)(turn, argument)
    elif IN_PLACE in turn.text:
        await edit(turn, "")
    elif session.turns == 1:
        await tour.start(turn)
    elif not await tour.advance(turn):
        await answer(turn)
    return "end_turn"


def slash_command(text: str) -> tuple[str, str]:
    """Return the slash command of a prompt and its argument, or two empty strings."""
    match = re.match(r"/(\w+)\s*(.*)", text, re.DOTALL)
    return (match[1], match[2].strip()) if match else ("", "")


def title(text: str) -> str:
    """Return the title of a session that starts with a prompt."""
    line = " ".join(text.split()).removeprefix("/tour").strip() or "A tour with the tutor"
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"


async def _read(turn: Turn, argument: str, thought: str) -> tuple[Path, str] | None:
    """Return the path and text of a prompt's file. If there is none, tell the user why."""
    path = turn.file(argument)
    if path is None:
        await turn.say(words.NO_FILE)
        return None
    await turn.think(thought.format(name=path.name))
    try:
        return path, await turn.read(path)
    except RequestError as error:
        await turn.say(words.UNREADABLE.format(name=path.name, why=error.message))
        return None


async def read(turn: Turn, argument: str) -> None:
    """Quote a line of a file: the first unsaved one, or else the first that is not blank."""
    if (content := await _read(turn, argument, words.THOUGHT_READ)) is None:
        return
    path, text = content
    try:
        saved = await asyncio.to_thread(path.read_text, encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        saved = ""  # the file exists in the editor only
    quote, line = words.UNSAVED, first_change(saved, text)
    if line is None:
        quote, line = words.SAVED, first_change("", text) or (1, "")
    await turn.say(quote.format(name=path.name, number=line[0], line=line[1]))


async def edit(turn: Turn, argument: str) -> None:
    """Propose a change to a file: give the reason, ask, write."""
    if (content := await _read(turn, argument, words.THOUGHT_EDIT)) is None:
        return
    path, text = content
    if turn.session.mode == "explain":
        await turn.say(words.EXPLAIN_ONLY)
        return
    change = proposal(path, text)
    if change is None:
        await turn.say(words.NOTHING_TO_EDIT.format(name=path.name))
        return
    await turn.say(change.reason)
    if turn.session.mode == "ask" and not turn.session.always_answer:
        await turn.say(with_keys(turn.session, words.ASKING))
    try:
        await turn.write(path, text, change.text, change.title)
    except RefusedError as refusal:
        await turn.say(f"{refusal} {words.UNCHANGED}")
        return
    await turn.say(with_keys(turn.session, words.WRITTEN, name=path.name))


async def plan(turn: Turn, _argument: str) -> None:
    """Show a plan and work through it."""
    await turn.say(words.PLAN_INTRO)
    turn.chunk("\n")
    for done, step in enumerate(words.PLAN):
        turn.plan(words.PLAN, done)
        turn.chunk(f"\n{done + 1}. {step}")
        await turn.pause()
    turn.plan(words.PLAN, len(words.PLAN))
    await turn.say(words.PLAN_DONE)


async def slow(turn: Turn, argument: str) -> None:
    """Give a long answer that the user can cancel."""
    seconds = float(argument) if re.fullmatch(r"\d+(\.\d+)?", argument) else 30.0
    await turn.say(with_keys(turn.session, words.SLOW, seconds=f"{seconds:g}"))
    await turn.stream_lines(int(seconds / LINE_S), LINE_S)
    await turn.say(words.SLOW_DONE)


async def show_help(turn: Turn, _argument: str) -> None:
    await turn.say(with_keys(turn.session, words.HELP))


async def answer_unknown(turn: Turn, _argument: str) -> None:
    """Answer an unknown slash command."""
    await turn.say(words.UNKNOWN.format(command=turn.text.split()[0]))
    await show_help(turn, "")


async def answer(turn: Turn) -> None:
    """Answer a prompt that has no slash command with the first lesson that matches it."""
    text = turn.text.lower()
    for lesson, pattern in PLAIN_WORDS.items():
        if re.search(pattern, text):
            await LESSONS[lesson](turn, "")
            return
    await turn.say(words.NO_MODEL)


LESSONS: Final[Mapping[str, Callable[[Turn, str], Awaitable[None]]]] = {
    "tour": tour.start,
    "skip": tour.skip,
    "read": read,
    "edit": edit,
    "plan": plan,
    "slow": slow,
    "help": show_help,
}

PLAIN_WORDS: Final = {
    "edit": r"\b(fix|edit|change|refactor|rewrite|improve)\b",
    "read": r"\b(read|look at|quote|summar\w+)\b",
    "tour": r"\b(tour|hello|hi|start)\b",
    "plan": r"\bplans?\b",
    "help": r"\b(help|keys?|mappings?|shortcuts?|cancel|allow|review)\b",
}
