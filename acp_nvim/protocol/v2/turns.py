"""End of the turn of a prompt in version 2 (v2/prompt-lifecycle).

The answer to `session/prompt` only confirms the insertion of the message. The turn ends with a
later state, so the answer of version 1 is created then.
"""

from __future__ import annotations

from msgspec import Struct

from acp_nvim.protocol.jsonrpc import Id
from acp_nvim.protocol.updates import Work

END_TURN = "end_turn"


class Prompt(Struct, eq=False):
    """Sent prompt. `message_id` is set once the agent has inserted the prompt."""

    id: Id
    was_idle: bool
    """Whether the session was idle when the prompt was sent."""
    message_id: str | None = None
    has_worked: bool = False
    """Whether the agent has reported work since the prompt was sent."""
    ended: Work | None = None
    """Last end of work that the agent has reported since the prompt was sent."""
    before: frozenset[str] = frozenset()
    """Ids of the user messages that were known when `ended` was set."""


class Turns:
    """Prompts of a session whose turns have not ended."""

    def __init__(self) -> None:
        self._is_working = False
        self._prompts: list[Prompt] = []
        self._messages: set[str] = set()
        """User messages received since the oldest prompt was sent."""

    def on_sent(self, id: Id) -> None:
        """Add a prompt that is being sent."""
        if not self._prompts:
            self._messages.clear()
        self._prompts.append(Prompt(id, was_idle=not self._is_working))

    def add_message(self, message_id: str) -> None:
        """Record a user message that the agent has sent."""
        if self._prompts:
            self._messages.add(message_id)

    def on_inserted(self, id: Id, message_id: str) -> Work | None:
        """Record the insertion of a prompt.

        Return the state that has already ended its turn if the agent answered late, otherwise None.
        """
        prompt = self._find(id)
        if prompt is None:
            return None
        prompt.message_id = message_id
        began = message_id in prompt.before or (
            message_id not in self._messages and prompt.was_idle and prompt.has_worked
        )
        if prompt.ended is None or not began or self._is_working:
            prompt.has_worked = self._is_working
            return None
        self._prompts.remove(prompt)
        return prompt.ended

    def on_refused(self, id: Id) -> None:
        """Remove a prompt that the agent refused."""
        self._prompts = [prompt for prompt in self._prompts if prompt.id != id]

    def apply_state(self, work: Work) -> list[Id]:
        """Apply a state. Return the ids of the prompts whose turns it ends.

        An idle state without a reason may be a repetition, so it only ends turns with reported
        work.
        """
        self._is_working = work.is_working
        if work.is_working:
            for prompt in self._prompts:
                prompt.has_worked = True
            return []
        over = [prompt for prompt in self._prompts if _is_end(prompt, work)]
        for prompt in self._prompts:
            prompt.ended, prompt.before = work, frozenset(self._messages)
        self._prompts = [prompt for prompt in self._prompts if prompt not in over]
        return [prompt.id for prompt in over]

    def _find(self, id: Id) -> Prompt | None:
        return next((prompt for prompt in self._prompts if prompt.id == id), None)


def _is_end(prompt: Prompt, work: Work) -> bool:
    return prompt.message_id is not None and (prompt.has_worked or work.stop_reason is not None)
