"""The sessions of one connection by the agent's ids, and the updates that belong to each
(v1/session-setup, v1/prompt-turn).
"""

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
from acp_nvim.render.text import one_line, size
from acp_nvim.session import subagents
from acp_nvim.session.calls import call_updates
from acp_nvim.session.calls.tool_calls import fit
from acp_nvim.session.session import Session
from acp_nvim.session.updates import apply, joined, said

_read_update = codec.reader("session/update", "client")
_session_id: Final = attrgetter("session_id")
_update: Final = attrgetter("update")

PAST = (
    *(schema.UserMessageChunk, schema.AgentMessageChunk, schema.AgentThoughtChunk),
    *(schema.ToolCall, schema.ToolCallUpdate, schema.Plan),
    *(schema.CompactionUpdate, schema.CompactionSummaryChunk),
    *(updates.MessageChunk, updates.MessageContent, updates.MessageKept),
    *(updates.CallPatch, updates.CallContent, updates.TerminalState, updates.TerminalBytes),
    *(schema.PlanUpdate, schema.PlanRemoved),
)
"""Updates that tell a session's history; all others tell how it is now."""

_CALLS: Final = frozenset({schema.ToolCall, schema.ToolCallUpdate, updates.CallPatch})

ReportLimit = Callable[[str, str, Session | None], None]
"""Takes a report of an exceeded option `limits.*`: its last name, a text, the session."""


class Mute:
    """State of a session whose replay is dropped: the chat shows it already."""

    def __init__(self) -> None:
        self.dropped = 0
        """Number of updates dropped so far, subagents' included."""
        self._is_answered = False
        """Whether the agent has answered the request that opens the session."""
        self._works = False
        """Whether the agent says that it works on."""

    def answered(self, result: Any, error: Exception | None) -> None:
        """Note the answer to the request that opens the session."""
        self._is_answered = error is None

    def drops(self, update: Any, *, is_child: bool) -> bool:
        """Return whether an update is dropped. An agent may replay late, after its answer; from one
        that says that it works, updates after the answer are new.
        """
        if update.__class__ is updates.Work and not is_child:
            self._works = update.works or bool(update.background)
        if not isinstance(update, PAST) or (self._is_answered and self._works):
            return False
        self.dropped += 1
        return True


class SessionRouter:
    """Applies each `session/update` to the session it names. One that is not as it should be is
    counted, and takes no other with it.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        warnings: ProtocolWarnings,
        translate: Callable[[msgspec.Raw], list[msgspec.Raw]] = lambda _: [],
        new_child: Callable[[Session, str], Session] | None = None,
        report_limit: ReportLimit = lambda limit, text, session: None,
    ) -> None:
        """No session yet. ``translate`` returns the updates of version 1 that an unreadable one
        stands for (`dialect.py`); ``new_child`` finds or makes the session of a subagent.
        """
        self.sessions: dict[str, Session] = {}
        self._warnings = warnings
        self.pending_updates = PendingUpdates()
        """Updates for sessions whose `session/new` is not answered yet."""
        self._nameless: list[Session] = []
        self._muted: dict[str, Mute] = {}
        """By the id of the session."""
        self._gone: set[str] = set()
        self._translate = translate
        self._new_child = new_child
        self._report_limit = report_limit
        self._cut: set[tuple[int, int]] = set()
        """Tool calls whose cut has been told, by session and position."""
        self._settings = settings
        self._heard: dict[int, int] = {}
        """How often something has come for a session, by the number of the one above all."""

    # -- sessions ---------------------------------------------------------------------------------

    def adopt(self, session_id: str, session: Session) -> None:
        """Route this id to a session from now on, and apply the updates that came before."""
        self.sessions[session_id] = session
        self._gone.discard(session_id)
        for update in self.pending_updates.take(session_id):
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

    def asks_early(self, session_id: str) -> Session | None:
        """Return the session of a request under an unknown id, where only one session waits for its
        id.
        """
        if len(self._nameless) != 1 or session_id in self._gone:
            return None
        self.adopt(session_id, self._nameless[0])
        return self._nameless[0]

    def forget(self, session: Session) -> None:
        """Stop routing to a session."""
        for session_id in [key for key, value in self.sessions.items() if value is session]:
            del self.sessions[session_id]
            self._gone.add(session_id)
        for child in session.children.values():
            self.forget(child)

    def said(self, session_id: str) -> str:
        """Return the text of the agent in the running turn of a session."""
        session = self.sessions.get(session_id)
        return said(session) if session is not None else ""

    def tells_the_past(self, session_id: str) -> bool:
        """Whether updates of a replay came for a session that is not known yet."""
        return any(isinstance(update, PAST) for update in self.pending_updates.get(session_id))

    def mute(self, session_id: str) -> Mute:
        """Drop the replay of a session and its subagents: messages, tool calls, plans."""
        mute = self._muted[session_id] = Mute()
        return mute

    def unmute(self, session_id: str) -> None:
        """Apply all updates again."""
        self._muted.pop(session_id, None)

    def hears(self, session: Session) -> None:
        """Something has come for a session."""
        n = session.root.n
        self._heard[n] = self._heard.get(n, 0) + 1

    def heard(self, session: Session) -> int:
        """Return how often something has come for a session or its subagents."""
        return self._heard.get(session.n, 0)

    # -- updates ----------------------------------------------------------------------------------

    def update(self, params: msgspec.Raw) -> None:
        """Apply one update, however it looks."""
        try:
            message = _read_update(params)
        except (msgspec.DecodeError, RecursionError):
            message = self._read_otherwise(params)
        if message is not None:
            self.updated((message,), len(params))

    def updated(self, messages: Sequence[schema.SessionNotification], size: int) -> None:
        """Apply updates that came together in `size` bytes, in their order. An error in one of them
        is counted, and is none of the others' business.
        """
        for session_id, run in groupby(messages, _session_id):
            session = self.sessions.get(session_id)
            if session is None:
                self._stray(session_id, map(_update, run))
                continue
            self.hears(session)
            if session.retrying is not None:
                run = _heard(session, run)
            if self._muted:
                self._apply_all(session, self._audible(session, run), size)
            else:
                self._apply_all(session, map(_update, run), size)

    def _apply_all(self, session: Session, updates: Iterable[Any], size: int) -> None:
        """Apply updates: the agent's text as one, tool calls in one go where none can exceed a
        limit: text is never longer than its JSON.
        """
        updates = list(updates)
        if session.status != "idle" and (text := joined(updates)) is not None:
            self._apply_each(session, (text,))
            return
        fits = size <= self._settings().limits.tool_output_bytes
        if fits and _CALLS.issuperset(map(type, updates)):
            self._apply_calls(session, iter(updates))
            return
        for calls, run in groupby(updates, _is_call):
            if calls and fits:
                self._apply_calls(session, run)
            else:
                self._apply_each(session, run)

    def _apply_calls(self, session: Session, updates: Iterator[Any]) -> None:
        left = True
        while left:
            try:
                for unknown in call_updates.upsert_all(session, updates):
                    self._note_unknown(unknown)
                left = False
            except Exception as error:
                self._warnings.failed(error)

    def _apply_each(self, session: Session, updates: Iterable[Any]) -> None:
        for update in updates:
            try:
                if update.__class__ is schema.AgentMessageChunk and session.status != "idle":
                    apply(session, update)
                else:
                    self._note(session, update)
                    self._apply(session, update)
            except Exception as error:
                self._warnings.failed(error)

    def _read_otherwise(self, params: msgspec.Raw) -> Any:
        """Read an update that does not match the schema; None where it is translated or dropped."""
        stands_for = self._translate(params)
        for translated in stands_for:
            self.update(translated)
        return None if stands_for else decoded("session/update", params, self._warnings)

    def _stray(self, session_id: str, updates: Iterable[Any]) -> None:
        """Keep updates for a session whose `session/new` is not answered yet."""
        if session_id in self._gone:
            return
        for update in updates:
            self._warnings.count("update for a session not known yet", session_id[-8:])
            size = len(msgspec.json.encode(update))
            self.pending_updates.add(session_id, update, size)

    def _apply(self, session: Session, update: Any) -> None:
        """Apply an update; a child that it tells of is routed from then on (v1/subagents)."""
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
        if subagents.is_taken(session, update.session_id, known):
            self._warnings.count("subagent with the id of another session", update.session_id)
            return
        apply(session, update)
        child = new_child(session, update.session_id)
        if known is not child:
            self.adopt(update.session_id, child)
        child.follow()

    def _apply_call(self, session: Session, update: Any) -> None:
        """Apply an update of a tool call, cut to the limit; that is reported once for each call."""
        limit = self._settings().limits.tool_output_bytes
        update, brought = fit(update, limit)
        apply(session, update)
        call = session.tool_calls.get(update.tool_call_id)
        if brought and call is not None and (session.n, call.index) not in self._cut:
            self._cut.add((session.n, call.index))
            title = one_line(call.title or call.id, 60)
            text = wording.OUTPUT_CUT.format(call=title, size=size(brought), limit=size(limit))
            self._report_limit("tool_output_bytes", text, session)

    def _audible(
        self, session: Session, messages: Iterable[schema.SessionNotification]
    ) -> Iterator[Any]:
        """Return the updates that are not dropped. A replay includes the session's subagents."""
        is_child = session.root is not session
        for message in messages:
            mute = self._muted.get(message.session_id) or self._muted.get(session.root.id)
            if mute is None or not mute.drops(message.update, is_child=is_child):
                yield message.update

    def _note(self, session: Session, update: Any) -> None:
        """Count updates that the protocol does not allow here, and that do no harm."""
        kind = update.__class__
        if kind is schema.ToolCallUpdate and session.tool_calls.get(update.tool_call_id) is None:
            self._note_unknown(update.tool_call_id)
        elif kind is schema.UnknownUpdate:
            self._warnings.count("unknown update", update.session_update)
        elif kind is schema.AgentMessageChunk and session.root is session:
            self._warnings.count("update outside of a turn", "agent_message_chunk")

    def _note_unknown(self, tool_call_id: str) -> None:
        self._warnings.count("tool_call_update for an unknown id", tool_call_id)


def decoded(method: str, params: msgspec.Raw, warnings: ProtocolWarnings) -> Any:
    """Return the params of a notification, None where they cannot be read; deviations are
    counted.
    """
    notes: list[str] = []
    try:
        return codec.decode_params(method, params, "client", notes)
    except RemoteProtocolError as error:
        warnings.count("bad params", f"{method}: {error}")
        return None
    finally:
        for note in notes:
            warnings.count("forgiven", f"{method}: {note}")


def _heard(
    session: Session, run: Iterable[schema.SessionNotification]
) -> Iterator[schema.SessionNotification]:
    """An agent that tried something again goes on: with anything but a word about that."""
    told = list(run)
    if not all(isinstance(it.update, schema.Notice | schema.UsageUpdate) for it in told):
        session.retries(None)
    return iter(told)


def _is_call(update: Any) -> bool:
    return update.__class__ in _CALLS
