"""Port between an endpoint and the agent's dialect or version.

`dialects.Dialect` implements it for other descriptions of the protocol, and
`v2.translation.Version2` for version 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from msgspec import Raw, Struct

from acp_nvim.protocol.jsonrpc import Event, Id, Response

Params = Struct | dict[str, Any]


class Translation(Protocol):
    """Translator of all messages of a connection.

    The code above it uses one protocol: the types of `schema` and of `updates`.
    """

    @property
    def active(self) -> bool:
        """Return whether `events` must process incoming messages."""

    @property
    def name(self) -> str:
        """Return the name of the agent's dialect, for display."""

    @property
    def starts_servers(self) -> bool:
        """Return whether the agent starts MCP servers. Known after `initialize`."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """Return the agent's capabilities as sent in the answer to `initialize`."""

    @property
    def can_add_prompts(self) -> bool:
        """Return whether the agent accepts a prompt during a turn."""

    def translate_outgoing(self, method: str, params: Params) -> tuple[str, Params]:
        """Return an outgoing message in the form that this agent reads."""

    def on_sent(self, request_id: Id, method: str, params: Params) -> None:
        """Store a sent request, in its form before `translate_outgoing`."""

    def is_request_only(self, method: str) -> bool:
        """Return whether this agent accepts this notification only as a request."""

    def response(self, response: Response, turn_text: Callable[[str], str]) -> list[Event]:
        """Return the events of an answer: updates that precede it, then the answer.

        The list is empty while the answer is held. `turn_text` returns the agent's text in the
        running turn of a session.
        """

    def events(self, events: Iterable[Event]) -> list[Event]:
        """Return the translated events."""

    def params(self, method: str, raw: Raw, notes: list[str]) -> Any:
        """Return the params of a request from the agent. Add deviations to `notes`.

        Raise `DecodeError`.
        """
