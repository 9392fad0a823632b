"""The port between an endpoint and what an agent speaks: other descriptions of the protocol
(`dialects.Dialect`), another version of it (`v2.translation.Version2`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from msgspec import Raw, Struct

from acp_nvim.protocol.jsonrpc import Event, Id, Response

Params = Struct | dict[str, Any]


class Translation(Protocol):
    """Stands where messages enter and leave a connection. Above it there is one protocol: the
    types of `schema`, and what `updates` adds.
    """

    @property
    def active(self) -> bool:
        """Whether `events` has to see what comes."""

    @property
    def name(self) -> str:
        """What the agent speaks, for people."""

    @property
    def starts_servers(self) -> bool:
        """Whether the agent starts MCP servers; known after `initialize`."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The agent's capabilities as it named them in the answer to `initialize`."""

    @property
    def takes_more(self) -> bool:
        """Whether the agent takes a prompt while it works on another one."""

    def leaves(self, method: str, params: Params) -> tuple[str, Params]:
        """Return a message of ours as this agent reads it."""

    def sent(self, request_id: Id, method: str, params: Params) -> None:
        """Remember a request of ours, as it was before `leaves`."""

    def asks(self, method: str) -> bool:
        """Whether this agent takes a notification of ours only as a request."""

    def response(self, response: Response, said: Callable[[str], str]) -> list[Event]:
        """Return what an answer stands for: updates that belong before it, then the answer;
        nothing while it is too early for it. `said` returns the agent's text in the running turn
        of a session.
        """

    def events(self, events: Iterable[Event]) -> list[Event]:
        """Return what messages stand for."""

    def params(self, method: str, raw: Raw, notes: list[str]) -> Any:
        """Return the params of a request of the agent; what was forgiven goes to `notes`. Raises
        `DecodeError`.
        """
