"""Negotiation of the protocol version with an agent (v1/initialization).

It may require several starts. An agent of version 1 that was asked for version 2 has read no
capabilities (v2/migration), and some agents want the version as a string.
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
    """Detector of agents that want the version as a string.

    Such agents refuse a numeric version and are asked again (`protocol/dialects/requests.py`).
    """

    def __init__(self) -> None:
        self._is_wanted = False

    def dialect(self) -> Dialect:
        """Return the dialect for the agent's next process."""
        return Dialect(string_version=self._is_wanted, branch_of=git_branch)

    async def initialize(
        self,
        agent: Agent,
        capabilities: schema.ClientCapabilities,
        version: int,
        translation: object,
    ) -> None:
        """Negotiate the version. Retry with a string if the agent may have refused the number.

        Raise the errors of `Agent.initialize`. After two refusals, raise the first one, which is
        about the standard request.
        """
        try:
            await agent.initialize(capabilities, version)
        except RequestError as error:
            from acp_nvim.protocol.dialects.requests import wants_string_version

            if (
                not isinstance(translation, Dialect)
                or translation.wants_string_version
                or not wants_string_version(error)
            ):
                raise
            translation.use_string_version()
            try:
                await agent.initialize(capabilities, version)
            except RequestError:
                raise error from None

    def detect_in_last_words(self, words: Sequence[str]) -> bool:
        """Return whether to start the agent again and send the version as a string.

        The agent has ended without an answer. A string may help if its last words mention the
        version, or if there are none. It is tried only once.
        """
        from acp_nvim.protocol.dialects.requests import mentions_version_type

        before, text = self._is_wanted, "\n".join(words)
        self._is_wanted = not text or mentions_version_type(text)
        return self._is_wanted and not before

    def detect_in_error(self, words: str) -> bool:
        """Store and return whether an agent's refusal of version 2 demands a string.

        Other errors allow no other version (v2/migration).
        """
        from acp_nvim.protocol.dialects.requests import demands_string_version

        self._is_wanted = demands_string_version(words)
        return self._is_wanted


class Negotiation:
    """Negotiator of one connection's protocol version and dialect."""

    def __init__(self, warnings: ProtocolWarnings) -> None:
        self.translation: Dialect | Version2 = Dialect()
        """The agent's dialect, learned from its messages."""
        self.again: int | None = None
        """Version for another start of the agent, or None."""
        self._warnings = warnings
        self._asked: set[int] = set()
        """Versions requested from the agent so far."""
        self._version = 1
        """Version currently requested from the agent."""
        self._strings = StringVersion()
        self._last_words: Sequence[str] | None = None
        """Last words of the agent if it ended after a request with a numeric version."""

    def begin(self, version: int) -> None:
        """Prepare for a start of the agent in this version."""
        self._version, self.again = version, None
        self._asked.add(version)
        is_newer = version == 2
        self.translation = _version_2(self._warnings.count) if is_newer else self._strings.dialect()

    async def agree(self, agent: Agent, capabilities: schema.ClientCapabilities) -> None:
        """Agree on a version, or set `again` to the version for another start.

        Raise the errors of `Agent.initialize`.
        """
        try:
            await self._strings.initialize(agent, capabilities, self._version, self.translation)
        except OtherVersion as error:
            if not self._may_ask_in(error.theirs):
                raise
            self.again = 1 if error.theirs == 1 else 2
        except RequestError as error:
            self._on_refusal(error)
        if not isinstance(self.translation, Dialect) and self.translation.has_old_shape:
            if not self._may_ask_in(1):  # it claims 2 but does not speak it
                raise OtherVersion(2)
            self._warnings.count("version", wording.WHY_VERSION_REPEATED)
            self.again = 1
        if self._last_words is not None:
            self._warnings.count("version", wording.WHY_ENDED_AT_NUMBER)
            self._last_words = None

    def _on_refusal(self, error: RequestError) -> None:
        """Handle a refusal, which may list supported versions or demand a string."""
        if self._version == 2 and self._strings.detect_in_error(f"{error} {error.data}"):
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
        """Return whether to request a version that the agent supports.

        Each version is requested only once.
        """
        return version in VERSIONS and version not in self._asked

    def on_end_without_answer(self, last_words: Sequence[str]) -> None:
        """Handle an agent that ended before its answer. Such an agent may want a string version."""
        if self.again is not None:
            return
        if self._version == 2:
            wants_string = self._strings.detect_in_error("\n".join(last_words))
        else:
            wants_string = self._strings.detect_in_last_words(last_words)
        if wants_string:
            self.again, self._last_words = 1, list(last_words)

    def failure_reason(self, reason: str) -> str:
        """Return why negotiation failed, with a note if the agent was started twice."""
        return reason if self._last_words is None else reason + wording.PART_STARTED_TWICE

    def last_words(self, newest: Sequence[str]) -> list[str]:
        """Return the agent's last words. `newest` are the last words since its latest start."""
        first = self._last_words
        if first is None or list(first) == list(newest):
            return list(newest)
        return [
            *(wording.PART_FIRST_START.format(line=line) for line in first),
            *(wording.PART_SECOND_START.format(line=line) for line in newest),
        ]

    def read(self, method: str, params: msgspec.Raw, notes: list[str]) -> Any:
        """Return the params of a request, decoded in the agent's current version."""
        return self.translation.params(method, params, notes)

    def translate_unreadable(self, params: msgspec.Raw) -> list[msgspec.Raw]:
        """Return the standard updates for an unreadable update, if the dialect has any."""
        translation = self.translation
        return translation.translate_unreadable(params) if isinstance(translation, Dialect) else []


def _version_2(count: Callable[[str, str], None]) -> Version2:
    """Return a translation for version 2. The import is late, because few agents use version 2."""
    from acp_nvim.protocol.v2.translation import Version2

    return Version2(count)
