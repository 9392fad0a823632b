"""Numbers of prompts in a transcript from another process or from a replay.

Checkpoints refer to prompts by these numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from acp_nvim.session.transcript.entries import Entry, Message

MIN_DISTINCTIVE: Final = 20
"""Minimum length, in characters, of a label that may occur anywhere in a prompt.

Some agents insert text before it.
"""

Run = Sequence[Message]
"""Messages of one prompt. An agent may replay each of its blocks as a message."""


def prompts_in(entries: Iterable[Entry]) -> list[Run]:
    """Return the user's prompts in a transcript, oldest first."""
    runs: list[list[Message]] = []
    before: Entry | None = None
    for entry in entries:
        if _is_prompt(entry):
            assert isinstance(entry, Message)
            if _continues_prompt(before, entry):
                runs[-1].append(entry)
            else:
                runs.append([entry])
        before = entry
    return list(runs)


def _is_prompt(entry: Entry | None) -> bool:
    return isinstance(entry, Message) and entry.role == "user" and entry.author is None


def _continues_prompt(before: Entry | None, entry: Message) -> bool:
    """Return whether a message belongs to the prompt of the entry before it.

    It does only if the agent has replayed both.
    """
    if not isinstance(before, Message) or not _is_prompt(before):
        return False
    return before.sent is None and entry.sent is None and entry.prompt is None


def recognize_numbers(prompts: Sequence[Run], labels: Mapping[int, str]) -> list[int | None]:
    """Return the number of each prompt: its own, or the number in its label, or None.

    The search goes from newest to oldest. If a prompt was sent twice, the later one is found first.
    """
    numbers: list[int | None] = []
    below = max(labels, default=0) + 1
    for run in reversed(prompts):
        number = run[0].prompt
        if number is None:
            text = _plain("".join(message.text() for message in run))
            fitting = (n for n in labels if n < below and _begins(text, labels[n]))
            number = max(fitting, default=None)
        below = number or below
        numbers.append(number)
    return numbers[::-1]


def fill_gaps(numbers: Sequence[int | None]) -> list[int | None]:
    """Number the remaining prompts if a number is free between their neighbours."""
    filled, last = list(numbers), 0
    for at, number in enumerate(filled):
        if number is None:
            later = next((n for n in filled[at + 1 :] if n is not None), None)
            filled[at] = last + 1 if later is None or last + 1 < later else None
        last = filled[at] or last
    return filled


def _begins(text: str, label: str) -> bool:
    """Return whether a label is the beginning of a prompt."""
    begun = _plain(label.removesuffix("…"))
    return bool(begun) and (
        text.startswith(begun) or (len(begun) >= MIN_DISTINCTIVE and begun in text)
    )


def _plain(text: str) -> str:
    return " ".join(text.split())
