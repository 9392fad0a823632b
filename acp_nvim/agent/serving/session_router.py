"""Dispatch of session updates by session id (v1/session-setup, v1/prompt-turn)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import msgspec

from acp_nvim import wording
from acp_nvim.agent.serving.pending_updates import PendingUpdates
from acp_nvim.agent.serving.protocol_warnings import ProtocolWarnings
from acp_nvim.agent.settings import Settings
from acp_nvim.agent.wire.calls import OnResponse
from acp_nvim.protocol import codec, schema, updates
from acp_nvim.protocol.errors import RemoteProtocolError
from acp_nvim.render.text import format_size, one_line
from acp_nvim.session import subagents
from acp_nvim.session.calls import call_updates
from acp_nvim.session.calls.tool_calls import limit_update
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.messages import join_chunks, turn_text
from acp_nvim.session.updates import apply

_read_update = codec.reader("session/update", "client")
_session_id: Final = attrgetter("session_id")
_update: Final = attrgetter("update")

HISTORY_UPDATES = (
    *(schema.UserMessageChunk, schema.AgentMessageChunk, schema.AgentThoughtChunk),
    *(schema.ToolCall, schema.ToolCallUpdate, schema.Plan),
    *(schema.CompactionUpdate, schema.CompactionSummaryChunk),
    *(updates.MessageChunk, updates.MessageContent, updates.MessageUnchanged),
    *(updates.CallPatch, updates.CallContent, updates.TerminalState, updates.TerminalBytes),
    *(schema.PlanUpdate, schema.PlanRemoved),
)
"""Updates that describe a session's history. All others describe its current state."""

_CALLS: Final = frozenset({schema.ToolCall, schema.ToolCallUpdate, updates.CallPatch})

ReportLimit = Callable[[str, str, Session | None], None]
"""Function called if an option `limits.*` is exceeded.

It receives the last part of the option's name, a message and the session.
"""


class Mute:
    """State of a session whose replay is dropped because the chat already shows it."""

    def __init__(self) -> None:
        self.dropped = 0
        """Number of updates dropped so far, including updates of subagents."""
        self._is_answered = False
        """Whether the agent has answered the request that opens the session."""
        self._is_working = False
        """Whether the agent has reported that it is working."""

    def on_answer(self, result: Any, error: Exception | None) -> None:
        """Record the answer to the request that opens the session."""
        self._is_answered = error is None

    def drop(self, update: Any, *, is_child: bool) -> bool:
        """Return whether to drop an update.

        An agent may continue the replay after its answer. Once the agent reports that it is
        working, updates after the answer are new.
        """
        if update.__class__ is updates.Work and not is_child:
            self._is_working = update.is_working or bool(update.background)
        if not isinstance(update, HISTORY_UPDATES) or (self._is_answered and self._is_working):
            return False
        self.dropped += 1
        return True


class SessionRouter:
    """Router of `session/update` notifications to their sessions.

    A malformed update is counted and does not affect the others.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        warnings: ProtocolWarnings,
        translate: Callable[[msgspec.Raw], list[msgspec.Raw]] = lambda _: [],
        new_child: Callable[[Session, str], Session] | None = None,
        report_limit: ReportLimit = lambda limit, text, session: None,
    ) -> None:
        """`new_child` finds or creates the session of a subagent.

        `translate` returns the version 1 updates for an unreadable one (`dialect.py`).
        """
        self.sessions: dict[str, Session] = {}
        self._warnings = warnings
        self.pending_updates = PendingUpdates()
        """Updates for sessions whose `session/new` has not been answered."""
        self._waiting_for_id: list[Session] = []
        """Sessions whose agent has not sent their id yet."""
        self._muted: dict[str, Mute] = {}
        """Muted sessions by id."""
        self._forgotten: set[str] = set()
        """Ids of closed sessions, whose late updates are ignored."""
        self._translate = translate
        self._new_child = new_child
        self._report_limit = report_limit
        self._reported_cuts: set[tuple[int, int]] = set()
        """Tool calls whose truncation has been reported, by session and position."""
        self._settings = settings
        self._received: dict[int, int] = {}
        """Number of messages received for a session and its subagents, by the session's number."""

    # -- sessions ---------------------------------------------------------------------------------

    def adopt(self, session_id: str, session: Session) -> None:
        """Route an id to a session from now on. Apply the updates that arrived earlier."""
        self.sessions[session_id] = session
        self._forgotten.discard(session_id)
        for update in self.pending_updates.pop(session_id):
            self._apply(session, update)

    @contextmanager
    def route_when_named(self, session: Session) -> Iterator[OnResponse]:
        """Route messages to a session as soon as its `session/new` is answered, in wire order.

        Requests that name the id before the answer arrives are served too.
        """
        named: list[str] = []

        def answered(result: Any, error: Exception | None) -> None:
            if error is None and session in self._waiting_for_id:  # else the opening has ended
                named.append(result.session_id)
                self.adopt(result.session_id, session)

        self._waiting_for_id.append(session)
        try:
            yield answered
        finally:
            self._waiting_for_id.remove(session)
            for key in [id for id, known in self.sessions.items() if known is session]:
                if key not in named:
                    del self.sessions[key]

    def adopt_early(self, session_id: str) -> Session | None:
        """Assign an unknown id to the session without an id, and return that session.

        Return None unless exactly one session has no id.
        """
        if len(self._waiting_for_id) != 1 or session_id in self._forgotten:
            return None
        self.adopt(session_id, self._waiting_for_id[0])
        return self._waiting_for_id[0]

    def forget(self, session: Session) -> None:
        for session_id in [key for key, value in self.sessions.items() if value is session]:
            del self.sessions[session_id]
            self._forgotten.add(session_id)
        for child in session.children.values():
            self.forget(child)

    def turn_text(self, session_id: str) -> str:
        """Return the agent's text in the running turn of a session."""
        session = self.sessions.get(session_id)
        return turn_text(session) if session is not None else ""

    def has_replay(self, session_id: str) -> bool:
        """Return whether history updates have arrived for a session that is not known yet."""
        return any(
            isinstance(update, HISTORY_UPDATES) for update in self.pending_updates.get(session_id)
        )

    def mute(self, session_id: str) -> Mute:
        """Drop the replay of a session and its subagents: messages, tool calls, plans."""
        mute = self._muted[session_id] = Mute()
        return mute

    def unmute(self, session_id: str) -> None:
        """Apply all updates of a session from now on."""
        self._muted.pop(session_id, None)

    def count_message(self, session: Session) -> None:
        """Count a message for `received_count`."""
        n = session.root.n
        self._received[n] = self._received.get(n, 0) + 1

    def received_count(self, session: Session) -> int:
        """Return the number of messages received for a session and its subagents."""
        return self._received.get(session.n, 0)

    # -- updates ----------------------------------------------------------------------------------

    def update(self, params: msgspec.Raw) -> None:
        """Apply one update, in any dialect."""
        try:
            message = _read_update(params)
        except (msgspec.DecodeError, RecursionError):
            message = self._read_leniently(params)
        if message is not None:
            self.on_updates((message,), len(params))

    def on_updates(self, messages: Sequence[schema.SessionNotification], size: int) -> None:
        """Apply updates that arrived together in `size` bytes, in order.

        An error in one is counted and does not affect the others.
        """
        for session_id, run in groupby(messages, _session_id):
            session = self.sessions.get(session_id)
            if session is None:
                self._store_early_updates(session_id, map(_update, run))
                continue
            self.count_message(session)
            if session.retrying is not None:
                run = _clear_retry(session, run)
            if self._muted:
                self._apply_all(session, self._unmuted_updates(session, run), size)
            else:
                self._apply_all(session, map(_update, run), size)

    def _apply_all(self, session: Session, updates: Iterable[Any], size: int) -> None:
        """Apply updates. Join the agent's text, and apply tool calls within limits in one pass.

        `size` is an upper bound for the text, because text is never longer than its JSON.
        """
        updates = list(updates)
        if session.status != "idle" and (text := join_chunks(updates)) is not None:
            self._apply_each(session, (text,))
            return
        fits_limit = size <= self._settings().limits.tool_output_bytes
        if fits_limit and _CALLS.issuperset(map(type, updates)):
            self._apply_calls(session, iter(updates))
            return
        for calls, run in groupby(updates, _is_call):
            if calls and fits_limit:
                self._apply_calls(session, run)
            else:
                self._apply_each(session, run)

    def _apply_calls(self, session: Session, updates: Iterator[Any]) -> None:
        has_more = True
        while has_more:
            try:
                for unknown in call_updates.upsert_all(session, updates):
                    self._note_unknown(unknown)
                has_more = False
            except Exception as error:
                self._warnings.on_error(error)

    def _apply_each(self, session: Session, updates: Iterable[Any]) -> None:
        for update in updates:
            try:
                if update.__class__ is schema.AgentMessageChunk and session.status != "idle":
                    apply(session, update)
                else:
                    self._note(session, update)
                    self._apply(session, update)
            except Exception as error:
                self._warnings.on_error(error)

    def _read_leniently(self, params: msgspec.Raw) -> Any:
        """Read an update that does not match the schema.

        Return None if the update was translated or dropped.
        """
        equivalents = self._translate(params)
        for translated in equivalents:
            self.update(translated)
        return None if equivalents else decode_params("session/update", params, self._warnings)

    def _store_early_updates(self, session_id: str, updates: Iterable[Any]) -> None:
        """Store updates for a session whose `session/new` has not been answered."""
        if session_id in self._forgotten:
            return
        for update in updates:
            self._warnings.count("update for a session not known yet", session_id[-8:])
            size = len(msgspec.json.encode(update))
            self.pending_updates.add(session_id, update, size)

    def _apply(self, session: Session, update: Any) -> None:
        """Apply an update. Start routing to a new child session (v1/subagents)."""
        if _is_call(update):
            self._apply_call(session, update)
            return
        if isinstance(update, schema.SubagentUpdate) and self._new_child is not None:
            self._apply_subagent(session, update, self._new_child)
        else:
            apply(session, update)

    def _apply_subagent(
        self,
        session: Session,
        update: schema.SubagentUpdate,
        new_child: Callable[[Session, str], Session],
    ) -> None:
        known = self.sessions.get(update.session_id)
        if subagents.is_id_of_another(session, update.session_id, known):
            self._warnings.count("subagent with the id of another session", update.session_id)
            return
        apply(session, update)
        child = new_child(session, update.session_id)
        if known is not child:
            self.adopt(update.session_id, child)
        child.follow()

    def _apply_call(self, session: Session, update: Any) -> None:
        """Apply an update of a tool call, cut to the limit. Report a cut once for each call."""
        limit = self._settings().limits.tool_output_bytes
        update, received_bytes = limit_update(update, limit)
        apply(session, update)
        call = session.tool_calls.get(update.tool_call_id)
        if (
            received_bytes
            and call is not None
            and (session.n, call.index) not in self._reported_cuts
        ):
            self._reported_cuts.add((session.n, call.index))
            title = one_line(call.title or call.id, 60)
            text = wording.OUTPUT_CUT.format(
                call=title, size=format_size(received_bytes), limit=format_size(limit)
            )
            self._report_limit("tool_output_bytes", text, session)

    def _unmuted_updates(
        self, session: Session, messages: Iterable[schema.SessionNotification]
    ) -> Iterator[Any]:
        """Yield the updates that are not dropped. Muting a session also mutes its subagents."""
        is_child = session.root is not session
        for message in messages:
            mute = self._muted.get(message.session_id) or self._muted.get(session.root.id)
            if mute is None or not mute.drop(message.update, is_child=is_child):
                yield message.update

    def _note(self, session: Session, update: Any) -> None:
        """Count a harmless update that the protocol does not allow here."""
        kind = update.__class__
        if kind is schema.ToolCallUpdate and session.tool_calls.get(update.tool_call_id) is None:
            self._note_unknown(update.tool_call_id)
        elif kind is schema.UnknownUpdate:
            self._warnings.count("unknown update", update.session_update)
        elif kind is schema.AgentMessageChunk and session.root is session:
            self._warnings.count("update outside of a turn", "agent_message_chunk")

    def _note_unknown(self, tool_call_id: str) -> None:
        self._warnings.count("tool_call_update for an unknown id", tool_call_id)


def decode_params(method: str, params: msgspec.Raw, warnings: ProtocolWarnings) -> Any:
    """Return the params of a notification, or None if they are unreadable. Count deviations."""
    notes: list[str] = []
    try:
        return codec.decode_params(method, params, "client", notes)
    except RemoteProtocolError as error:
        warnings.count("bad params", f"{method}: {error}")
        return None
    finally:
        for note in notes:
            warnings.count("forgiven", f"{method}: {note}")


def _clear_retry(
    session: Session, run: Iterable[schema.SessionNotification]
) -> Iterator[schema.SessionNotification]:
    """Clear the session's retry message if the agent sends more than notices and usage."""
    received = list(run)
    if not all(
        isinstance(notification.update, schema.Notice | schema.UsageUpdate)
        for notification in received
    ):
        session.set_retry(None)
    return iter(received)


def _is_call(update: Any) -> bool:
    return update.__class__ in _CALLS
