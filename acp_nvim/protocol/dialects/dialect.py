"""Support for agents that follow other descriptions of ACP.

A `Dialect` translates the messages of a connection. For an agent that follows the protocol, it only
checks the answers to a few requests. It translates updates once a message shows another dialect:
the answer to `initialize`, or an unreadable update. It translates outgoing messages for agents that
want the version as a string and refuse the number. `frames` translates incoming messages, and
`requests` translates outgoing ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from acp_nvim.protocol import codec, errors, schema
from acp_nvim.protocol.dialects import frames
from acp_nvim.protocol.jsonrpc import Event, Id, Notification, Response

Params = Struct | dict[str, Any]

STRING_VERSION: Final = "string protocolVersion"

_OPENING: Final = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
_EXAMINED: Final = _OPENING | {"initialize", "session/prompt"}


class Dialect:
    """Dialect of one agent, detected from its messages. Implements `translation.Translation`.

    While `active`, updates are translated.
    """

    can_add_prompts = False

    def __init__(
        self,
        *,
        string_version: bool = False,
        branch_of: Callable[[str], str | None] = lambda cwd: None,
    ) -> None:
        """`string_version`: the agent wants the version as a string.

        `branch_of` returns the git branch of a folder, which is sent to such agents.
        """
        self.active = string_version
        self.starts_servers = not string_version
        self.wants_string_version = string_version
        self._branch_of = branch_of
        self._commands: frozenset[str] = frozenset()
        """Slash commands that the agent has listed."""
        self.traits: dict[str, None] = {}
        self._prompts: dict[Id, str] = {}
        """Session ids of open prompt requests."""
        self._progress = frames.Progress()
        self.capabilities: dict[str, Any] = {}
        """The agent's capabilities as it sent them."""

    def __repr__(self) -> str:
        return f"<Dialect {self.name}>"

    @property
    def name(self) -> str:
        """Return `acp`, with the deviations seen so far: `acp with models`."""
        return f"acp with {', '.join(self.traits)}" if self.traits else "acp"

    # -- outgoing ---------------------------------------------------------------------------------

    def use_string_version(self) -> None:
        """Translate outgoing messages from now on, because the agent refused a numeric version."""
        self.wants_string_version, self.starts_servers, self.active = True, False, True

    def translate_outgoing(self, method: str, params: Params) -> tuple[str, Params]:
        """Return an outgoing message, translated if the agent wants versions as strings."""
        return method, self._with_string_versions(
            method, params
        ) if self.wants_string_version else params

    def _with_string_versions(self, method: str, params: Params) -> Params:
        from acp_nvim.protocol.dialects import requests

        match params:
            case schema.InitializeRequest():
                return requests.initialize(params)
            case schema.PromptRequest():
                return requests.prompt(params, self._commands)
            case Struct() if method in _OPENING:
                return requests.opening(params, self._branch_of(str(getattr(params, "cwd", ""))))
            case _:
                return params

    def on_sent(self, request_id: Id, method: str, params: Params) -> None:
        """Remember the session of a prompt until the prompt is answered."""
        if method == "session/prompt":
            session_id = getattr(params, "session_id", None)
            self._prompts[request_id] = str(session_id or "")
            self._progress.plans.pop(str(session_id or ""), None)

    def is_request_only(self, method: str) -> bool:
        """Return whether this agent accepts this notification only as a request."""
        wants_words = self.wants_string_version or STRING_VERSION in self.traits
        return method == "session/cancel" and wants_words

    # -- incoming ---------------------------------------------------------------------------------

    def response(self, response: Response, turn_text: Callable[[str], str]) -> list[Event]:
        """Return the updates that precede an answer, then the v1 answer.

        `turn_text` returns the agent's text in the running turn of a session, by id. The text
        beside a stop reason may repeat the text of the turn.
        """
        session_id = self._prompts.pop(response.id, "")
        method = response.method
        if method not in _EXAMINED or response.result is None:
            return [response]
        result = _object(response.result)
        if result is None:
            return [response]
        if method == "session/prompt":
            return self._end_turn(response, result, session_id, turn_text)
        is_opening = method in _OPENING
        changed, traits = (frames.answer_to_new if is_opening else frames.answer_to_initialize)(
            result
        )
        if not is_opening:
            self.capabilities = frames.named_capabilities(changed)
            if frames.is_flat(traits):
                self.wants_string_version = True
            self.starts_servers = not self.wants_string_version or frames.takes_servers(changed)
        if not traits:
            return [response]
        self._add_traits(traits)
        self.active = self.active or not is_opening
        return [Response(response.id, method, _raw(changed), None)]

    def params(self, method: str, raw: Raw, notes: list[str]) -> Any:
        """Return the params of a request from the agent. Raise `DecodeError`."""
        return codec.decode_params(method, raw, "client", notes)

    def events(self, events: Iterable[Event]) -> list[Event]:
        """Return the events with translated updates. Only called while `active`."""
        return [translated for event in events for translated in self._event(event)]

    def translate_unreadable(self, params: Raw) -> list[Raw]:
        """Return the v1 updates for an unreadable update, or none if it is simply invalid."""
        translated = self._updates(params)
        if translated is None:
            return []
        self.active = True
        return translated

    def _event(self, event: Event) -> list[Event]:
        if type(event) is not Notification or event.method != "session/update":
            return [event]
        translated = self._updates(event.params)
        return (
            [event]
            if translated is None
            else [Notification(event.method, params) for params in translated]
        )

    def _updates(self, params: Raw) -> list[Raw] | None:
        message = _object(params)
        if message is None:
            return None
        session_id, update = frames.session_and_update(message)
        self._commands = frames.commands(update) or self._commands
        translated, trait = frames.update(update, session_id, self._progress)
        if translated is None:
            return None
        self.traits.setdefault(trait)
        return [_raw({"sessionId": session_id, "update": update}) for update in translated]

    # -- answers ----------------------------------------------------------------------------------

    def _add_traits(self, traits: Iterable[str]) -> None:
        self.traits |= dict.fromkeys(traits)

    def _end_turn(
        self,
        response: Response,
        result: dict[str, Any],
        session_id: str,
        turn_text: Callable[[str], str],
    ) -> list[Event]:
        """Return the events that end a turn.

        They are updates with text that only the answer has, then the stop reason or the error.
        """
        end = frames.answer_to_prompt(result)
        if not end.traits:
            return [response]
        self._add_traits(end.traits)
        updates = end.updates if end.adds_to(turn_text(session_id)) else []
        apart = {"messageId": self._progress.next_message()} if updates else {}
        before: list[Event] = [
            Notification(
                "session/update", _raw({"sessionId": session_id, "update": {**update, **apart}})
            )
            for update in updates
        ]
        if end.error is not None:
            error = schema.Error(errors.INTERNAL_ERROR, end.error)
            return [*before, Response(response.id, response.method, None, error)]
        return [*before, Response(response.id, response.method, _raw(end.result), None)]


def _object(raw: Raw) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _raw(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))
