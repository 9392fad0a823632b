"""Compares messages that an agent tells again with those that a chat shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from acp_nvim.session.entries import Message, Part, Role, add_part
from acp_nvim.session.transcript import Transcript

SURE: Final = 16
"""So many characters are not equal by chance."""
AHEAD: Final = 20
"""So many messages are looked at for one that is told under another id."""


class Comparison:
    """How far known content was told again, part by part. White space before it does not count."""

    def __init__(self, known: Sequence[Part]) -> None:
        self._known = joined(known)
        self._index = self._offset = self._told = 0
        self.over = False
        """Whether more was told than is known: all that follows is news."""

    @property
    def complete(self) -> bool:
        """Whether all was told."""
        return self._index == len(self._known)

    @property
    def sure(self) -> bool:
        """Whether what was told is equal by more than chance."""
        return self._told >= SURE

    def take(self, part: Part) -> Part | None:
        """Take what is told next. Returns what goes beyond the known, empty where nothing does, or
        None where it differs.
        """
        if isinstance(part, str) and not self._told:
            part = part.lstrip()
        if part == "" or self.complete:
            return part
        known = self._known[self._index]
        if not isinstance(known, str) or not isinstance(part, str):
            return self._block(known == part and not self._offset)
        left = len(known) - self._offset
        if not known.startswith(part[:left], self._offset):
            self._told += _common(known[self._offset :], part)
            return None
        more = part[left:]
        if len(part) < left:
            self._offset += len(part)
        else:
            self._index, self._offset = self._index + 1, 0
        self._told += len(part) - len(more)
        return more if not more or self.complete else None

    def exceed(self) -> None:
        """More was told than is known."""
        self.over = True

    def _block(self, equal: bool) -> Part | None:
        if not equal:
            return None
        self._index, self._told = self._index + 1, self._told + SURE
        return ""

    def told(self) -> list[Part]:
        """What was told of the known."""
        found = self._known[: self._index]
        if self._offset:
            known = self._known[self._index]
            assert isinstance(known, str), "blocks are told as a whole"
            found.append(known[: self._offset])
        return found


class Known:
    """The messages of a chat, and which of them were told again."""

    def __init__(self, transcript: Transcript) -> None:
        self._named = transcript.names()
        self._all = [entry for entry in transcript.entries if isinstance(entry, Message)]
        self._places = {message: place for place, message in enumerate(self._all)}
        self._claimed: set[Message] = set()
        """Those that are told, or may be."""
        self._next = 0
        """The place after the last one that was told."""

    def named(self, role: Role, message_id: str) -> Message | None:
        """The message of that id."""
        return self._named.get((role, message_id))

    def name(self, message: Message, message_id: str) -> None:
        """A message has this id, too."""
        self._named[message.role, message_id] = message

    def claim(self, message: Message) -> None:
        """It may be what is told now, and nothing else is it."""
        self._claimed.add(message)

    def disclaim(self, message: Message) -> None:
        """It was something else."""
        self._claimed.discard(message)

    def tell(self, message: Message) -> None:
        """It was told: what is told from now on comes after it."""
        self._claimed.add(message)
        self._next = max(self._next, self._places.get(message, -1) + 1)

    def candidates(self, role: Role) -> Iterator[Message]:
        """Yield messages of a role that may be told now, in the order of the chat."""
        coming = (self._all[place] for place in range(self._next, len(self._all)))
        found = (it for it in coming if it.role == role and it not in self._claimed)
        return found if role == "user" else islice(found, AHEAD)


class Guess:
    """A message whose id is not known, if it has one: perhaps a known one that has another."""

    def __init__(self, known: Known, role: Role) -> None:
        self.held: list[Any] = []
        """What was told of it, while some known message begins so."""
        self.message: Message | None = None
        """The first known message that begins so."""
        self.comparison = Comparison(())
        self.over = False
        """Whether it is none of the known messages."""
        self._known, self._role = known, role
        self._parts: list[Part] = []

    def chunk(self, update: Any, part: Part) -> list[Part]:
        """Take more of it. Returns what goes beyond the message that it is for sure."""
        self.held.append(update)
        self._parts.append(part)
        more = None if self.message is None else self._compare([part])
        return self.find() if more is None else more

    def content(self, update: Any, parts: Sequence[Part]) -> list[Part]:
        """Take all of it; the same is returned."""
        self.held, self._parts = [update], list(parts)
        return self.find()

    def find(self) -> list[Part]:
        """Look for the next message that begins so; none has to be."""
        if self.message is not None:
            self._known.disclaim(self.message)
        for message in self._known.candidates(self._role):
            self.message = message
            self.comparison = Comparison(_words(self._role, message.parts))
            more = self._compare(self._parts)
            if more is not None:
                self._known.claim(message)
                return more
        self.message = None
        return []

    def give_up(self) -> list[Any]:
        """It is none of the known messages. Returns what was held."""
        held, self.held = self.held, []
        self.message, self.over = None, True
        return held

    def _compare(self, parts: Sequence[Part]) -> list[Part] | None:
        """Return what of these parts goes beyond the message, None where it is another one."""
        found: list[Part] = []
        for part in _words(self._role, parts):
            rest = self.comparison.take(part)
            if rest is None or not (self.comparison.sure or _is_blank(rest)):
                return None
            if rest != "" and self.comparison.sure:
                add_part(found, rest)
        if self.comparison.complete and self.message is not None:
            self._known.tell(self.message)
        return found


def _words(role: Role, parts: Sequence[Part]) -> Sequence[Part]:
    """What is compared of the user's messages is their text: agents tell attachments otherwise."""
    return [one for one in parts if isinstance(one, str)] if role == "user" else parts


def _is_blank(part: Part) -> bool:
    return isinstance(part, str) and not part.strip()


def joined(parts: Sequence[Part]) -> list[Part]:
    """Return parts with each run of text in one, without white space before it all."""
    found: list[Part] = []
    for one in parts:
        text = one.lstrip() if isinstance(one, str) and not found else one
        if text != "":
            add_part(found, text)
    return found


def _common(first: str, second: str) -> int:
    """Return how many characters two texts begin with."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(second)))
