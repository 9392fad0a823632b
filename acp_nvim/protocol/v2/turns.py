"""When the turn of a prompt is over in version 2 (v2/prompt-lifecycle).

The answer to `session/prompt` says that the message was inserted. Its turn ends with the state that
ends the work after that: so answers are held until then. Pure rules, for one session.
"""

from __future__ import annotations

from msgspec import Struct

from acp_nvim.protocol.jsonrpc import Id
from acp_nvim.protocol.updates import Work

END_TURN = "end_turn"


class Prompt(Struct, eq=False):
    """A prompt that was sent; `message_id` once it is inserted."""

    id: Id
    rested: bool
    """Whether the session was idle when it was sent."""
    message_id: str | None = None
    ran: bool = False
    """Whether work was reported since it was sent."""
    ended: Work | None = None
    """The last end of work since it was sent."""
    before: frozenset[str] = frozenset()
    """The user's messages that had been told at that end."""


class Turns:
    """The prompts of a session that are not over."""

    def __init__(self) -> None:
        """Idle, as far as anybody knows."""
        self._works = False
        self._prompts: list[Prompt] = []
        self._told: set[str] = set()
        """Messages of the user that were told since the oldest prompt was sent."""

    def sent(self, id: Id) -> None:
        """A prompt leaves."""
        if not self._prompts:
            self._told.clear()
        self._prompts.append(Prompt(id, rested=not self._works))

    def message(self, message_id: str) -> None:
        """The agent tells of a message of the user."""
        if self._prompts:
            self._told.add(message_id)

    def inserted(self, id: Id, message_id: str) -> Work | None:
        """The agent answers a prompt. Returns the state that has ended its turn, where an agent
        answers late; else the answer is held.
        """
        prompt = self._find(id)
        if prompt is None:
            return None
        prompt.message_id = message_id
        began = message_id in prompt.before or (
            message_id not in self._told and prompt.rested and prompt.ran
        )
        if prompt.ended is None or not began or self._works:
            prompt.ran = self._works
            return None
        self._prompts.remove(prompt)
        return prompt.ended

    def refused(self, id: Id) -> None:
        """The agent answers a prompt with an error."""
        self._prompts = [prompt for prompt in self._prompts if prompt.id != id]

    def state(self, work: Work) -> list[Id]:
        """The agent tells what it does. Returns the prompts whose turn this ends.

        An idle without a reason may repeat what was said before: it ends only work that was
        reported.
        """
        self._works = work.works
        if work.works:
            for prompt in self._prompts:
                prompt.ran = True
            return []
        over = [prompt for prompt in self._prompts if _ends(prompt, work)]
        for prompt in self._prompts:
            prompt.ended, prompt.before = work, frozenset(self._told)
        self._prompts = [prompt for prompt in self._prompts if prompt not in over]
        return [prompt.id for prompt in over]

    def _find(self, id: Id) -> Prompt | None:
        return next((prompt for prompt in self._prompts if prompt.id == id), None)


def _ends(prompt: Prompt, work: Work) -> bool:
    return prompt.message_id is not None and (prompt.ran or work.stop_reason is not None)
