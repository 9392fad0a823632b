"""Agents that read the protocol's version into a string refuse ours, which is a number: they are
asked once more with a string (`protocol/dialect_requests.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from acp_nvim.agent.agent import Agent
from acp_nvim.agent.git_branch import git_branch
from acp_nvim.protocol import schema
from acp_nvim.protocol.dialects import Dialect
from acp_nvim.protocol.errors import RequestError


class StringVersion:
    """What is known of one agent: whether it wants a string."""

    def __init__(self) -> None:
        """It gets a number first."""
        self._wanted = False

    def dialect(self) -> Dialect:
        """Return what its next process is spoken to in."""
        return Dialect(in_words=self._wanted, branch_of=git_branch)

    async def initialize(
        self, agent: Agent, capabilities: schema.ClientCapabilities, version: int, speaks: object
    ) -> None:
        """Ask for the version; once more with a string, where the agent may have refused the
        number. ``speaks`` is its translation. Raises as `Agent.initialize` does; of two refusals
        the first, which is about what the protocol says.
        """
        try:
            await agent.initialize(capabilities, version)
        except RequestError as error:
            from acp_nvim.protocol.dialect_requests import wants_words

            if not isinstance(speaks, Dialect) or speaks.in_words or not wants_words(error):
                raise
            speaks.speak_in_words()
            try:
                await agent.initialize(capabilities, version)
            except RequestError:
                raise error from None

    def may_be_meant(self, words: Sequence[str]) -> bool:
        """Whether an agent that has ended without an answer is started again and asked with a
        string: once, and where its last words are about that, or there are none.
        """
        from acp_nvim.protocol.dialect_requests import tells_of_version

        before, text = self._wanted, "\n".join(words)
        self._wanted = not text or tells_of_version(text)
        return self._wanted and not before
