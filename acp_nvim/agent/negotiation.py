"""Which version of the protocol is spoken with an agent (v1/initialization).

To find that out it may have to be started more than once: one that was asked for the newer version
has read no capabilities if it speaks the older one only (v2/migration), and some agents want the
version as a string.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from acp_nvim import wording
from acp_nvim.agent.agent import VERSIONS, Agent, OtherVersion, supported_versions
from acp_nvim.agent.git_branch import git_branch
from acp_nvim.agent.serving.protocol_warnings import ProtocolWarnings
from acp_nvim.protocol import schema
from acp_nvim.protocol.dialects.dialect import Dialect
from acp_nvim.protocol.errors import RequestError

if TYPE_CHECKING:
    from acp_nvim.protocol.v2.translation import Version2


class StringVersion:
    """Whether an agent wants the version as a string: one that reads it into a string refuses ours,
    which is a number, and is asked once more (`protocol/dialects/requests.py`).
    """

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
            from acp_nvim.protocol.dialects.requests import wants_words

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
        from acp_nvim.protocol.dialects.requests import tells_of_version

        before, text = self._wanted, "\n".join(words)
        self._wanted = not text or tells_of_version(text)
        return self._wanted and not before

    def is_meant(self, words: str) -> bool:
        """Whether an agent that was asked for version 2 says that it wants a string: else its error
        allows no other version (v2/migration).
        """
        from acp_nvim.protocol.dialects.requests import tells_of_type

        self._wanted = tells_of_type(words)
        return self._wanted


class Negotiation:
    """Of one connection."""

    def __init__(self, warnings: ProtocolWarnings) -> None:
        """Nothing was asked yet."""
        self.translation: Dialect | Version2 = Dialect()
        """What the agent speaks, learned from its messages."""
        self.again: int | None = None
        """The version in which it has to be started again."""
        self._warnings = warnings
        self._asked: set[int] = set()
        """The versions that the agent was asked for."""
        self._version = 1
        """The version that the agent is asked for."""
        self._strings = StringVersion()
        self._first: Sequence[str] | None = None
        """The last words of the agent when it ended at a version that is a number."""

    def begin(self, version: int) -> None:
        """The agent is started, to be asked for this version."""
        self._version, self.again = version, None
        self._asked.add(version)
        newer = version == 2
        self.translation = _version_2(self._warnings.count) if newer else self._strings.dialect()

    async def agree(self, agent: Agent, capabilities: schema.ClientCapabilities) -> None:
        """Agree on a version, or learn in which one the agent has to be started `again`. Raises as
        `Agent.initialize` does.
        """
        try:
            await self._strings.initialize(agent, capabilities, self._version, self.translation)
        except OtherVersion as error:
            if not self._may_ask_in(error.theirs):
                raise
            self.again = 1 if error.theirs == 1 else 2
        except RequestError as error:
            self._refused(error)
        if not isinstance(self.translation, Dialect) and self.translation.old_shape:
            if not self._may_ask_in(1):  # it says 2, and does not speak it
                raise OtherVersion(2)
            self._warnings.count("version", wording.WHY_VERSION_REPEATED)
            self.again = 1
        if self._first is not None:
            self._warnings.count("version", wording.WHY_ENDED_AT_NUMBER)
            self._first = None

    def _refused(self, error: RequestError) -> None:
        """The agent answers with an error: it may name its versions, or want a string."""
        if self._version == 2 and self._strings.is_meant(f"{error} {error.data}"):
            self.again = 1
            return
        supported = supported_versions(error)
        if supported is None:
            raise error
        other = 1 if self._version == 2 else 2
        if other not in supported or not self._may_ask_in(other):
            theirs = ", ".join(map(str, supported)) or "no version"
            raise OtherVersion(theirs) from error
        self.again = other

    def _may_ask_in(self, version: object) -> bool:
        """Whether the agent may be asked in a version that it names: once in each."""
        return version in VERSIONS and version not in self._asked

    def ended_unanswered(self, last_words: Sequence[str]) -> None:
        """The agent has ended by itself before it answered: it may want the version as a string."""
        if self.again is not None:
            return
        strings, newer = self._strings, self._version == 2
        if strings.is_meant("\n".join(last_words)) if newer else strings.may_be_meant(last_words):
            self.again, self._first = 1, list(last_words)

    def failed(self, reason: str) -> str:
        """Return why there is no agreement, with how often the agent was started for that."""
        return reason if self._first is None else reason + wording.PART_STARTED_TWICE

    def last_words(self, newest: Sequence[str]) -> list[str]:
        """Return the last words of the agent, ``newest`` being those of this start of it."""
        first = self._first
        if first is None or list(first) == list(newest):
            return list(newest)
        return [
            *(wording.PART_FIRST_START.format(line=line) for line in first),
            *(wording.PART_SECOND_START.format(line=line) for line in newest),
        ]

    def read(self, method: str, params: msgspec.Raw, notes: list[str]) -> Any:
        """Return the params of a request, in the version that the agent speaks now."""
        return self.translation.params(method, params, notes)

    def odd(self, params: msgspec.Raw) -> list[msgspec.Raw]:
        """Return the updates that an unreadable one stands for, in some dialects."""
        translation = self.translation
        return translation.odd(params) if isinstance(translation, Dialect) else []


def _version_2(count: Callable[[str, str], None]) -> Version2:
    """Loaded for the agents that it is configured for alone."""
    from acp_nvim.protocol.v2.translation import Version2

    return Version2(count)
