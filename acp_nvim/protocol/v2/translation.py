"""Translation between version 2 of the protocol and the types of `schema` and `updates`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct

from acp_nvim.protocol import codec, errors, updates
from acp_nvim.protocol import schema as v1
from acp_nvim.protocol.errors import DecodeError
from acp_nvim.protocol.jsonrpc import Event, Id, Notification, PromptInsertion, Response, Updates
from acp_nvim.protocol.unions import read_untagged
from acp_nvim.protocol.v2 import incoming, methods, outgoing
from acp_nvim.protocol.v2 import schema as s
from acp_nvim.protocol.v2.turns import END_TURN, Turns

Params = Struct | dict[str, Any]


@cache
def _reader() -> msgspec.json.Decoder[s.UpdateSessionNotification]:
    """Return the decoder, built on first use, because agents of version 1 do not need it."""
    return msgspec.json.Decoder(s.UpdateSessionNotification, dec_hook=read_untagged)


_MESSAGES: Final = (updates.MessageChunk, updates.MessageContent, updates.MessageUnchanged)
_OPENING: Final = frozenset({"session/new", "session/resume", "session/fork"})


class Version2:
    """Translator of a connection whose `initialize` requests version 2.

    `count` is called with the kind and the text of each deviation.
    """

    active = True
    name = "acp"
    can_add_prompts = True

    def __init__(self, count: Callable[[str, str], None]) -> None:
        self._count = count
        self.starts_servers = False
        self.capabilities: dict[str, Any] = {}
        self.has_old_shape = False
        """Whether the agent answered `initialize` in the shape of version 1."""
        self._asked: dict[Id, tuple[str, str]] = {}
        """Sent requests: the method of version 1, and the session."""
        self._turns: dict[str, Turns] = {}
        self._read = _reader().decode

    # -- outgoing ---------------------------------------------------------------------------------

    def translate_outgoing(self, method: str, params: Params) -> tuple[str, Params]:
        return outgoing.translate_outgoing(method, params)

    def on_sent(self, request_id: Id, method: str, params: Params) -> None:
        """Remember the request until its answer."""
        session_id = str(getattr(params, "session_id", None) or "")
        self._asked[request_id] = method, session_id
        if method == "session/prompt":
            self._turns.setdefault(session_id, Turns()).on_sent(request_id)

    def is_request_only(self, method: str) -> bool:
        """Return False, because version 2 has the same notifications."""
        return False

    # -- incoming ---------------------------------------------------------------------------------

    def response(self, response: Response, turn_text: Callable[[str], str]) -> list[Event]:
        """Return the answer unchanged, because `events` has already translated it."""
        return [response]

    def _answer(self, response: Response) -> list[Event]:
        """Translate an answer to version 1.

        The answer to a prompt only reports its insertion. The answer of version 1 follows at the
        end of the turn.
        """
        method, session_id = self._asked.pop(response.id)
        response = Response(response.id, method, response.result, response.error)
        if response.result is None:
            self._turns.get(session_id, Turns()).on_refused(response.id)
            return [response]
        try:
            return self._result(response, session_id)
        except DecodeError as error:
            return [_error_response(response, errors.INTERNAL_ERROR, str(error))]

    def _result(self, response: Response, session_id: str) -> list[Event]:
        assert response.result is not None
        if response.method == "initialize":
            return [self._initialize_response(response)]
        wire = outgoing.method_name(response.method)
        wanted = methods.result_of(wire)
        if wanted is None:
            return [response]
        notes: list[str] = []
        result = codec.decode(wanted, response.result, notes, "result")
        for note in notes:
            self._count("forgiven", f"{wire}: {note}")
        if response.method == "session/prompt":
            return self._insert_prompts(response.id, session_id, result.message_id)
        answer = Response(response.id, response.method, _raw(incoming.result(result)), None)
        if wire not in _OPENING or not result.available_commands:
            return [answer]
        update = v1.AvailableCommandsUpdate(incoming.commands(result.available_commands))
        opened = getattr(result, "session_id", session_id)
        return [answer, _updates([updates.Notification(opened, update)], 0)]

    def _initialize_response(self, response: Response) -> Response:
        """Decode the answer according to its shape: some agents repeat any requested version."""
        assert response.result is not None
        value = msgspec.json.decode(response.result)
        if not isinstance(value, dict) or value.get("protocolVersion") != 2:
            return response
        self.has_old_shape = "info" not in value and (
            "agentCapabilities" in value or "agentInfo" in value or "capabilities" not in value
        )
        if self.has_old_shape:
            return response
        named = value.get("capabilities")
        self.capabilities = named if isinstance(named, dict) else {}
        notes: list[str] = []
        if "info" not in value:  # as in drafts of version 2
            value["info"] = {"name": "", "version": ""}
            notes.append("result.info: missing")
        result = codec.decode(s.InitializeResponse, _raw(value), notes, "result")
        for note in notes:
            self._count("forgiven", f"initialize: {note}")
        for method in result.auth_methods or ():
            if isinstance(method, s.UnknownAuthMethod):
                label = method.raw.get("name") or method.raw.get("methodId")
                self._count("unknown login", f"{label}: type {method.type}")
        session = (result.capabilities or s.AgentCapabilities()).session or s.SessionCapabilities()
        self.starts_servers = bool(session.mcp and session.mcp.stdio)
        return Response(response.id, response.method, _raw(incoming.result(result)), None)

    def _insert_prompts(self, id: Id, session_id: str, message_id: str) -> list[Event]:
        taken = PromptInsertion(id, message_id)
        ended = self._turns.setdefault(session_id, Turns()).on_inserted(id, message_id)
        return [taken] if ended is None else [taken, _prompt_response(id, ended)]

    def events(self, events: Iterable[Event]) -> list[Event]:
        """Return translated events.

        Consecutive updates are joined, and the end of a turn follows the state that ends it.
        """
        translated: list[Event] = []
        run: list[Any] = []
        size = 0
        for event in events:
            if type(event) is Notification and event.method == "session/update":
                update = self._update(event.params)
                if update is None:
                    continue
                run.append(update)
                size += len(event.params)
                over = self._ends(update)
                if not over:
                    continue
            elif type(event) is Response:
                over = self._answer(event)  # depends on the states before it
            else:
                over = [event]
            if run:
                translated.append(_updates(run, size))
                run, size = [], 0
            translated += over
        return [*translated, _updates(run, size)] if run else translated

    def _update(self, params: Raw) -> updates.Notification | None:
        try:
            notification = self._read(params)
            return updates.Notification(
                notification.session_id, incoming.update(notification.update)
            )
        except (msgspec.DecodeError, RecursionError):
            return self._read_tolerantly(params)

    def _read_tolerantly(self, params: Raw) -> updates.Notification | None:
        """Read an update that does not match the schema, or return None."""
        notes: list[str] = []
        try:
            notification = codec.decode(s.UpdateSessionNotification, params, notes, "params")
            translated = updates.Notification(
                notification.session_id, incoming.update(notification.update)
            )
        except (DecodeError, msgspec.ValidationError) as error:
            self._count("bad params", f"session/update: {error}")
            return None
        for note in notes:
            self._count("forgiven", f"session/update: {note}")
        return translated

    def _ends(self, notification: updates.Notification) -> list[Event]:
        """Return the answers to the prompts whose turn an update ends."""
        update = notification.update
        turns = self._turns.get(notification.session_id)
        if type(update) is updates.Work:
            turns = turns or self._turns.setdefault(notification.session_id, Turns())
            return [_prompt_response(id, update) for id in turns.apply_state(update)]
        if turns is not None and isinstance(update, _MESSAGES) and update.role == "user":
            turns.add_message(update.message_id)
        return []

    def params(self, method: str, raw: Raw, notes: list[str]) -> Any:
        """Return the params of a request from the agent. Raise `DecodeError`.

        Version 2 has no requests for the client's files and terminals.
        """
        wanted = methods.params_type(method)
        if wanted is None:
            raise DecodeError(f"method not found: {method}", errors.METHOD_NOT_FOUND)
        request = codec.decode(wanted, raw, notes, "params")
        return (
            incoming.permission(request)
            if isinstance(request, s.RequestPermissionRequest)
            else request
        )


def _updates(run: list[Any], size: int) -> Updates:
    return Updates(run, size)


def _prompt_response(id: Id, work: updates.Work) -> Response:
    """Return the answer to a prompt whose turn is over, as in version 1."""
    response = Response(id, "session/prompt", None, None)
    if work.stop_reason == "error" or work.error is not None:
        code = errors.INTERNAL_ERROR if work.code is None else work.code
        return _error_response(response, code, work.error or "the agent gives no reason", work.data)
    ended = v1.PromptResponse(work.stop_reason or END_TURN, work.usage or UNSET)
    return Response(id, "session/prompt", _raw(ended), None)


def _error_response(response: Response, code: int, message: str, data: Any = UNSET) -> Response:
    return Response(response.id, response.method, None, v1.Error(code, message, data))


def _raw(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))
