"""What an agent asks of us: its requests, each answered exactly once, and its updates.

`request` runs up to its first wait in wire order, so that a card stands where the agent asked for
it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import anyio
import msgspec
from msgspec import UNSET

from acp_nvim.agent.early import Early
from acp_nvim.agent.elicitations import Elicitations, response
from acp_nvim.agent.extensions import Extensions, session_of
from acp_nvim.agent.oddities import Oddities
from acp_nvim.agent.servers import FileServer, Handler, TerminalServer
from acp_nvim.agent.settings import Settings
from acp_nvim.agent.wire.calls import OnResponse
from acp_nvim.agent.wire.endpoint import IncomingCall
from acp_nvim.protocol import codec, schema
from acp_nvim.protocol.errors import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RemoteProtocolError,
    RequestError,
)
from acp_nvim.protocol.jsonrpc import Violation
from acp_nvim.render.text import one_line, size
from acp_nvim.session import ids
from acp_nvim.session.asking import rules
from acp_nvim.session.asking.decisions import CANCELLED, Decision, Outcome
from acp_nvim.session.asking.questions import permission_decision, rule_case
from acp_nvim.session.limits import fit
from acp_nvim.session.session import Session
from acp_nvim.session.updates import apply, said

_read_update = codec.reader("session/update", "client")

PAST = (
    *(schema.UserMessageChunk, schema.AgentMessageChunk, schema.AgentThoughtChunk),
    *(schema.ToolCall, schema.ToolCallUpdate, schema.Plan),
    *(schema.CompactionUpdate, schema.CompactionSummaryChunk),
)
"""Updates that tell a session's history; all others tell how it is now."""

_CALLS = (schema.ToolCall, schema.ToolCallUpdate)

OnBreach = Callable[[str, str, Session | None], None]
"""Told of what went over an option `limits.*`: the option's last name, what, and whose it was."""


async def wait(decision: Decision) -> Outcome:
    """Wait until the decision is resolved, by whomever; a wait that is cancelled resolves it as
    cancelled.
    """
    done = anyio.Event()
    if decision.outcome is None:
        decision.waiters.append(lambda _: done.set())
        try:
            await done.wait()
        finally:
            decision.resolve(CANCELLED, "connection")
    assert decision.outcome is not None
    return decision.outcome


def _take_back(decision: Decision) -> None:
    """The agent's `$/cancel_request`: the question is answered all the same, as cancelled."""
    decision.resolve(CANCELLED, "agent")


def decision_id() -> str:
    """Return a new id of ours, unique in the host."""
    return ids.new("d")


class Client:
    """The handler of one connection's endpoint."""

    def __init__(
        self,
        name: str,
        settings: Callable[[], Settings],
        files: FileServer,
        terminals: TerminalServer,
        oddities: Oddities,
    ) -> None:
        """`name` is the agent's in the configuration."""
        self.name = name
        self.sessions: dict[str, Session] = {}
        self.oddities = oddities
        self.early = Early()
        """What came for sessions whose `session/new` has not answered yet."""
        self._nameless: list[Session] = []
        self.muted: dict[str, int] = {}
        """Session ids whose replay is not applied, and how much of it has come."""
        self._gone: set[str] = set()
        self.translate: Callable[[msgspec.Raw], list[msgspec.Raw]] = lambda _: []
        """What an update that cannot be read stands for in v1 (`protocol/dialects.py`)."""
        self.extensions = Extensions()
        """Handlers of the user, for what the protocol does not know."""
        self.new_child: Callable[[Session, str], Session] | None = None
        """Makes the session of a child that a session has told of, or finds it."""
        self.on_breach: OnBreach = lambda limit, text, session: None
        self._cut: set[tuple[int, int]] = set()
        """Tool calls whose cut has been told, by session and position."""
        self.elicitations = Elicitations(name)
        self.on_auth_status: Callable[[schema.AuthStatusUpdateNotification], None] = lambda _: None
        self._settings = settings
        self._files = files
        self._terminals = terminals

    # -- sessions ---------------------------------------------------------------------------------

    def adopt(self, session_id: str, session: Session) -> None:
        """Route this id to a session from now on, and apply what came for it before."""
        self.sessions[session_id] = session
        self._gone.discard(session_id)
        for update in self.early.take(session_id):
            self._apply(session, update)

    @contextmanager
    def naming(self, session: Session) -> Iterator[OnResponse]:
        """Around the `session/new` of a session: its id is routed from the answer on, in wire
        order. One that asks for something under its id before that is served as well.
        """
        named: list[str] = []

        def answered(result: Any, error: Exception | None) -> None:
            if error is None and session in self._nameless:  # else nobody waits for it any more
                named.append(result.session_id)
                self.adopt(result.session_id, session)

        self._nameless.append(session)
        try:
            yield answered
        finally:
            self._nameless.remove(session)
            for key in [it for it, value in self.sessions.items() if value is session]:
                if key not in named:
                    del self.sessions[key]

    def forget(self, session: Session) -> None:
        """Stop routing to a session; what it runs in terminals is ended."""
        self._terminals.forget(session)
        for session_id in [key for key, value in self.sessions.items() if value is session]:
            del self.sessions[session_id]
            self._gone.add(session_id)
        for child in session.children.values():
            self.forget(child)

    def said(self, session_id: str) -> str:
        """What the agent has said in the running turn of a session."""
        session = self.sessions.get(session_id)
        return said(session) if session is not None else ""

    def tells_the_past(self, session_id: str) -> bool:
        """Whether the agent has told what was said in a session that is not known yet."""
        return any(isinstance(update, PAST) for update in self.early.get(session_id))

    def mute(self, session_id: str) -> None:
        """Do not apply what tells of the past: messages, tool calls, plan."""
        self.muted[session_id] = 0

    def unmute(self, session_id: str) -> None:
        """Apply everything again."""
        self.muted.pop(session_id, None)

    # -- notifications ----------------------------------------------------------------------------

    def notification(self, method: str, params: msgspec.Raw) -> None:
        """Apply a notification; unknown ones are ignored (v1/extensibility)."""
        if method == "session/update":
            self._update(params)
            return
        if method == "auth/status_update":
            status = self._decode(method, params)
            if status is not None:
                self.on_auth_status(status)
            return
        if method == "elicitation/complete":
            done = self._decode(method, params)
            if done is not None and not self.elicitations.complete(done):
                self.oddities.count("elicitation/complete ignored", done.elicitation_id)
            return
        if self.extensions.knows(method):
            self.extensions.told(method, params, self.name, self._number(params))
        elif not method.startswith("_") and not method.startswith("$/"):
            self.oddities.count("unknown notification", method)

    def _decode(self, method: str, params: msgspec.Raw) -> Any:
        notes: list[str] = []
        try:
            return codec.decode_params(method, params, "client", notes)
        except RemoteProtocolError as error:
            self.oddities.count("bad params", f"{method}: {error}")
            return None
        finally:
            for note in notes:
                self.oddities.count("forgiven", f"{method}: {note}")

    def _update(self, params: msgspec.Raw) -> None:
        try:
            message = _read_update(params)
        except (msgspec.DecodeError, RecursionError):
            message = self._read_otherwise(params)
            if message is None:
                return
        self.updated(message, len(params))

    def updated(self, message: schema.SessionNotification, size: int) -> None:
        """Apply an update that came in `size` bytes at most."""
        session = self.sessions.get(message.session_id)
        if session is None:
            self._stray(message)
            return
        if self.muted and self._is_muted(session, message):
            return
        update = message.update
        kind = update.__class__
        if kind is schema.AgentMessageChunk and session.status != "idle":
            apply(session, update)
        elif kind in _CALLS and size <= self._settings().limits.tool_output_bytes:
            # JSON is never shorter than what it says: nothing is to be cut.
            if kind is schema.ToolCallUpdate:
                self._note(session, update)
            apply(session, update)
        else:
            self._note(session, update)
            self._apply(session, update)

    def _read_otherwise(self, params: msgspec.Raw) -> Any:
        """An update that is not as it should be; None when that is all there is to do with it."""
        stands_for = self.translate(params)
        for translated in stands_for:
            self._update(translated)
        return None if stands_for else self._decode("session/update", params)

    def _stray(self, message: schema.SessionNotification) -> None:
        """Keep what came for a session whose `session/new` has not answered yet."""
        if message.session_id not in self._gone:
            self.oddities.count("update for a session not known yet", message.session_id[-8:])
            size = len(msgspec.json.encode(message))
            self.early.add(message.session_id, message.update, size)

    def _apply(self, session: Session, update: Any) -> None:
        """Apply an update; a child that it tells of is routed from then on (v1/subagents)."""
        if isinstance(update, _CALLS):
            self._apply_call(session, update)
            return
        apply(session, update)
        if isinstance(update, schema.SubagentUpdate) and self.new_child is not None:
            child = self.new_child(session, update.session_id)
            if self.sessions.get(update.session_id) is not child:
                self.adopt(update.session_id, child)
            child.follow()

    def _apply_call(self, session: Session, update: Any) -> None:
        """What a tool call brings beyond the limit is left out; that is told once a call."""
        limit = self._settings().limits.tool_output_bytes
        update, brought = fit(update, limit)
        apply(session, update)
        call = session.tool_calls.get(update.tool_call_id)
        if brought and call is not None and (session.n, call.index) not in self._cut:
            self._cut.add((session.n, call.index))
            title = one_line(call.title or call.id, 60)
            text = f"the output of {title} was cut: {size(brought)}, more than {size(limit)}"
            self.on_breach("tool_output_bytes", text, session)

    def _is_muted(self, session: Session, message: schema.SessionNotification) -> bool:
        """What a session's subagents did is told again with it."""
        known = message.session_id in self.muted
        told = message.session_id if known else session.root.id
        if told not in self.muted or not isinstance(message.update, PAST):
            return False
        self.muted[told] += 1
        return True

    def _note(self, session: Session, update: Any) -> None:
        """Count what the protocol does not foresee but we survive."""
        kind = update.__class__
        if kind is schema.ToolCallUpdate and session.tool_calls.get(update.tool_call_id) is None:
            self.oddities.count("tool_call_update for an unknown id", update.tool_call_id)
        elif kind is schema.UnknownUpdate:
            self.oddities.count("unknown update", update.session_update)
        elif kind is schema.AgentMessageChunk and session.root is session:
            self.oddities.count("update outside of a turn", "agent_message_chunk")

    def violation(self, violation: Violation) -> None:
        """Count a line that is no proper message; the endpoint has answered it where an answer is
        due.
        """
        self.oddities.count(violation.kind, violation.detail)
        if violation.kind in ("json", "utf8"):
            self.oddities.keep(violation.raw)
        if violation.kind == "oversize":
            sessions = sorted(self.sessions.values(), key=lambda one: one.status != "running")
            text = f"{self.name} sent {violation.detail}: it was skipped"
            self.on_breach("message_bytes", text, sessions[0] if sessions else None)

    def failed(self, error: BaseException) -> None:
        """Count a fault of our own while answering."""
        self.oddities.count("internal error", f"{type(error).__name__}: {error}")

    # -- requests ---------------------------------------------------------------------------------

    def request(self, method: str, params: msgspec.Raw, call: IncomingCall) -> Awaitable[Any]:
        """Start answering a request; what is returned is awaited in a task of its own."""
        handler = self._handlers().get(method)
        if handler is None and self.extensions.knows(method):
            return self.extensions.asked(method, params, self.name, self._number(params), call)
        if handler is None:
            self.oddities.count("unknown request", method)
            raise RequestError(METHOD_NOT_FOUND, f"method not found: {method}")
        notes: list[str] = []
        try:
            decoded = codec.decode_params(method, params, "client", notes)
        except RemoteProtocolError as error:
            self.oddities.count("bad params", f"{method}: {error}")
            raise RequestError(INVALID_PARAMS, str(error)) from error
        for note in notes:
            self.oddities.count("forgiven", f"{method}: {note}")
        return handler(self._addressed(decoded), decoded, call)

    def _handlers(self) -> Mapping[str, Handler]:
        return {
            **self._terminals.handlers,
            "session/request_permission": self._permission,
            "elicitation/create": self._elicitation,
            "fs/read_text_file": lambda session, params, _: self._files.read(session.root, params),
            "fs/write_text_file": lambda session, params, _: self._files.write(
                session.root, params
            ),
        }

    def _addressed(self, params: Any) -> Any:
        """The session of a request; None where an elicitation is about a request of ours."""
        if isinstance(params, schema.CreateElicitationRequest) and params.session_id is UNSET:
            return None
        return self._session(params.session_id)

    def _number(self, params: msgspec.Raw) -> int | None:
        """Our number of the session that an extension's params name."""
        session = self.sessions.get(session_of(params) or "")
        return session.n if session else None

    def _session(self, session_id: str) -> Session:
        session = self.sessions.get(session_id)
        if session is None and len(self._nameless) == 1 and session_id not in self._gone:
            session = self._nameless[0]
            self.adopt(session_id, session)
        if session is None:
            raise RequestError(
                INVALID_PARAMS, f"unknown session: {session_id}", {"sessionId": session_id}
            )
        return session

    def _permission(
        self, session: Session, params: schema.RequestPermissionRequest, call: IncomingCall
    ) -> Awaitable[Any]:
        """v1/tool-calls#requesting-permission: rules first, then the user."""
        tool_call = session.upsert_call(params.tool_call, announces=False)
        decision = permission_decision(decision_id(), tool_call, params)
        action = rules.decide(
            self._settings().permission.rules, rule_case(tool_call, self.name, session.cwd)
        )
        if session.root.status == "cancelling":
            decision.resolve(CANCELLED, "cancel")
        elif action in ("allow", "deny"):
            option = decision.first("allow_once" if action == "allow" else "reject_once")
            if option is not None:
                decision.resolve(Outcome("selected", option), "rule")
        session.ask(decision, tool_call)
        call.on_cancel = partial(_take_back, decision)
        return self._answer(decision)

    def _elicitation(
        self, session: Session | None, params: schema.ElicitationRequest, call: IncomingCall
    ) -> Awaitable[Any]:
        """v1/elicitation: the user fills in, agrees or declines."""
        return self._answer_elicitation(self.elicitations.create(session, params, call))

    async def _answer_elicitation(self, decision: Decision) -> Any:
        return response(await wait(decision))

    async def _answer(self, decision: Decision) -> schema.RequestPermissionResponse:
        outcome = await wait(decision)
        if outcome.option is None:
            return schema.RequestPermissionResponse(schema.CancelledPermissionOutcome())
        return schema.RequestPermissionResponse(
            schema.SelectedPermissionOutcome(option_id=outcome.option.id)
        )
