"""Numbers for the prompts in a transcript that another process has begun, or that an agent has
replayed: checkpoints go by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from acp_nvim.session.transcript.entries import Entry, Message

TELLING: Final = 20
"""Characters of a label from which on it may stand anywhere in a prompt: some agents put text of
their own in front.
"""

Run = Sequence[Message]
"""The messages of one prompt: an agent may replay each of its blocks by itself."""


def prompts_in(entries: Iterable[Entry]) -> list[Run]:
    """Return the user's prompts in a transcript, oldest first."""
    runs: list[list[Message]] = []
    before: Entry | None = None
    for entry in entries:
        if _is_prompt(entry):
            assert isinstance(entry, Message)
            if _goes_on(before, entry):
                runs[-1].append(entry)
            else:
                runs.append([entry])
        before = entry
    return list(runs)


def _is_prompt(entry: Entry | None) -> bool:
    return isinstance(entry, Message) and entry.role == "user" and entry.author is None


def _goes_on(before: Entry | None, entry: Message) -> bool:
    """Whether a message belongs to the prompt before it: none of the two was sent from here."""
    if not isinstance(before, Message) or not _is_prompt(before):
        return False
    return before.sent is None and entry.sent is None and entry.prompt is None


def recognized(prompts: Sequence[Run], labels: Mapping[int, str]) -> list[int | None]:
    """Return the number of each prompt: its own, or that of the beginning (``labels``) which it
    has; else None. From the newest to the oldest, so that of a prompt that was sent twice the later
    one is found first.
    """
    found: list[int | None] = []
    below = max(labels, default=0) + 1
    for run in reversed(prompts):
        number = run[0].prompt
        if number is None:
            text = _plain("".join(message.text() for message in run))
            fitting = (n for n in labels if n < below and _begins(text, labels[n]))
            number = max(fitting, default=None)
        below = number or below
        found.append(number)
    return found[::-1]


def counted(numbers: Sequence[int | None]) -> list[int | None]:
    """Count on where a prompt has no number and one is left between those around it."""
    found, last = list(numbers), 0
    for at, number in enumerate(found):
        if number is None:
            later = next((it for it in found[at + 1 :] if it is not None), None)
            found[at] = last + 1 if later is None or last + 1 < later else None
        last = found[at] or last
    return found


def _begins(text: str, label: str) -> bool:
    """Whether a label is how a prompt begins."""
    begun = _plain(label.removesuffix("…"))
    return bool(begun) and (text.startswith(begun) or (len(begun) >= TELLING and begun in text))


def _plain(text: str) -> str:
    return " ".join(text.split())
