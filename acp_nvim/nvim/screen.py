"""View of all sessions: their documents, and the frame operations that update Neovim."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from acp_nvim.agent.notify import notify
from acp_nvim.agent.serving.proposed_edits import has_edits
from acp_nvim.agent.settings import Settings
from acp_nvim.nvim.plain import legible, plain
from acp_nvim.render import cards
from acp_nvim.render.batch import Op
from acp_nvim.render.calls.tools import Style, call_of_question, float_rows
from acp_nvim.render.document import ENTRY_COST, Document
from acp_nvim.render.entry_rows import plan_rows
from acp_nvim.render.rows import decor
from acp_nvim.render.text import remote_path
from acp_nvim.session import snapshot
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.output.terminal import Terminal
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.session import Session
from acp_nvim.session.state import ALL, take_calls, take_changes
from acp_nvim.session.transcript.entries import Past

if TYPE_CHECKING:
    from acp_nvim.nvim.event_batch import EventBatch

CARD_KEYS = frozenset({"permissions", "elicitations", "questions"})
"""Keys of the state that are drawn as cards."""

WRITE_KINDS = ("edit", "delete", "move")
"""Kinds of tool calls whose titles add nothing to their diffs."""

BATCHED_EVENTS = ("AcpToolCall", "AcpPermission", "AcpPermissionDone")
"""Events that are combined into one operation (`event_batch.EventBatch`)."""

NEW_CHILDREN = 10
"""Maximum number of subagents whose chats are created in one frame.

Each costs Neovim some milliseconds.
"""

EVENT_OPERATIONS = ("event", "events")
"""Operations that run the user's handlers. They are last in a frame, after its other changes."""


class Wake(Protocol):
    """Request for a frame (`Pace.wake`)."""

    def __call__(self, urgent: bool = False) -> None:
        """Request a frame. `urgent` changes are shown at once."""


class Screen:
    """Collector of frame operations: chats first, then state, then pushed ones, then events."""

    def __init__(self, settings: Callable[[], Settings], wake: Wake) -> None:
        self.on_edits_shown: list[Callable[[Session, Decision], None]] = []
        """Observers called when the card of a permission with edits is drawn."""
        self.sessions: dict[int, Session] = {}
        self.documents: dict[int, Document] = {}
        self._settings = settings
        self._wake = wake
        self._status: dict[int, tuple[str, int]] = {}
        """Status and number of decisions of each session in the last frame, by number."""
        self._known: set[int] = set()
        """Numbers of the sessions that a frame has contained."""
        self._first: list[Op] = []
        """Operations that create or reset chats."""
        self._state: list[Op] = []
        """Operations that set values outside of the sessions."""
        self._pushed: list[Op] = []
        """Operations queued by `push`."""

    # -- changes ----------------------------------------------------------------------------------

    def add(self, session: Session, past: Past | None = None) -> None:
        """Add a session. `past` is the text that its chat already contains."""
        chat = self._settings().chat
        style = Style(chat.tool_lines, session.cwd)
        self.sessions[session.n] = session
        self.documents[session.n] = document = Document(session.n, style, chat.thoughts)
        if past is not None:
            session.transcript.entries.append(past)
            document.adopt(past)
        if session.root is session:
            self._first.append(["session", session.n])
        self._wake()

    def terminal(self, n: int, id: str) -> Terminal | None:
        """Return a terminal of a session or of one of its subagents."""
        session = self.sessions.get(n)
        return None if session is None else session.terminals.get(id)

    def is_urgent(self, session: Session) -> bool:
        """Return whether a turn or a question has begun or ended since the last frame."""
        known = self._status.get(session.n)
        return known is None or known[0] != session.status or known[1] != len(session.decisions)

    def state(self, path: list[str | int], value: Any) -> None:
        """Set a value of the snapshot outside of the sessions."""
        self._state.append(["state", path, plain(value)])
        self._wake()

    def push(self, *op: Any) -> None:
        """Queue an operation that no other method queues, and request an urgent frame."""
        self._pushed.append(list(op))
        self._wake(urgent=True)

    def event(self, name: str, **data: Any) -> None:
        """Queue a `User` event that belongs to no session."""
        self.push("event", name, plain(data))

    def on_options_changed(self) -> None:
        """Redraw the chats whose appearance depends on options that have changed."""
        chat = self._settings().chat
        for n, document in self.documents.items():
            style = Style(chat.tool_lines, self.sessions[n].cwd)
            if document.restyle(style, chat.thoughts):
                self.redraw(n)

    def redraw(self, n: int) -> None:
        """Draw a chat again from its first row."""
        if n in self.documents:
            self._first += self.documents[n].redraw(self.sessions[n].transcript)
            self._wake()

    # -- frames -----------------------------------------------------------------------------------

    def collect(self, budget: int) -> tuple[list[Op], bool]:
        """Return the next frame, and whether there are changes that did not fit."""
        ops, self._first = self._first, []
        tail: list[Op] = []
        has_more, new_children = False, 0
        for n, session in self.sessions.items():
            transcript, document = session.transcript, self.documents[n]
            redraws = transcript.must_redraw
            if not transcript.dirty and not redraws and not session.changes.is_pending:
                continue  # most sessions have no changes
            if session.root is not session and n not in self._known:
                new_children += 1
                if new_children > NEW_CHILDREN:
                    has_more = True
                    continue
                ops.append(["session", n])
            self._status[n] = _status(session)
            if transcript.dirty or redraws:
                drawn, budget = document.draw(transcript, budget)
                ops += drawn
                has_more = has_more or bool(transcript.dirty)
            if session.changes.is_pending:
                # A change may follow directly after the drawn text, so the last position is
                # excluded.
                drawn_before = document.drawn - 1 if transcript.dirty else transcript.written
                events = self._events(session, drawn_before)
                has_more = has_more or session.changes.is_waiting(drawn_before)
                tail += self._state_changes(session, drawn_before) + events
        ops += self._state + [op for op in tail if op[0] not in EVENT_OPERATIONS] + self._pushed
        ops += [op for op in tail if op[0] in EVENT_OPERATIONS]
        self._state, self._pushed = [], []
        return ops, has_more

    def _state_changes(self, session: Session, drawn: int) -> list[Op]:
        """Return the changes to a session's state whose text in the chat has been drawn.

        The first frame of a session has its whole state, even if its text is not drawn yet.
        """
        if session.n not in self._known:
            self._known.add(session.n)
            drawn = ALL
        changes = take_changes(session, drawn)
        ops = [["state", ["sessions", session.n, *p], plain(value)] for p, value in changes]
        ops += self._views(session, {str(path[0]) for path, _ in changes})
        first, calls = take_calls(session, drawn) if session.changes.calls else (0, [])
        if calls:
            ops.append(["calls", session.n, _calls(calls), first])
        return ops

    def _events(self, session: Session, drawn: int) -> list[Op]:
        """Return the events whose text has been drawn.

        Consecutive events of tool calls and permissions are one operation. If the agent was at
        several locations, only the last one is followed.
        """
        ops: list[Op] = []
        place: list[Op] = []
        batch: EventBatch | None = None
        for event in session.changes.take_events(drawn):
            data = event.data
            if event.name in BATCHED_EVENTS and "subagent" not in data:
                if batch is None:
                    from acp_nvim.nvim.event_batch import EventBatch  # not for the first prompt

                    batch = EventBatch(session.n)
                    ops.append(batch.op)
                batch.add(event)
                continue
            batch = None
            remote = remote_path(data["path"]) if event.name == "AcpLocation" else None
            if remote is not None:
                data = {**data, "path": remote}
            elif event.name == "AcpLocation":
                place = [["location", session.n, data["path"], data.get("line"), session.roots]]
            ops.append(["event", event.name, plain(data)])
        return ops + place

    def _views(self, session: Session, changed: set[str]) -> list[Op]:
        """Return operations that update the windows for parts of the state."""
        ops: list[Op] = []
        if changed & CARD_KEYS and session.root is session:
            front = [self._card(session, decision) for decision in session.decisions.front]
            ops.append(["cards", session.n, front, session.decisions.count_without_card])
        elif "more" in changed and session.root is session:
            ops.append(["cards_more", session.n, session.decisions.count_without_card])
        if "plan" in changed:
            rows = plan_rows(session.plan, hidden_count=session.left_out_counts.get("plan", 0))
            ops.append(["plan", session.n, [text for text, _, _ in rows], decor(rows)[0]])
        return ops

    def _card(self, session: Session, decision: Decision) -> dict[str, Any]:
        has_diffs = has_edits(session, decision)
        if has_diffs:
            notify(self.on_edits_shown, session, decision)
        entry = call_of_question(decision, session)
        cwd = (decision.asker or session).cwd
        rows = float_rows(entry, decision, cwd)
        has_more = decision.kind not in WRITE_KINDS or cards.has_more(decision, entry, cwd)
        return {
            "id": decision.id,
            "subject": decision.subject,
            "title": cards.title_text(decision, entry, cwd),
            "diffs": has_diffs,
            "more": has_more,
            "head": len(rows) - cards.count_option_rows(decision),
            "lead": cards.count_action_rows(decision),
            "title_rows": cards.count_title_rows(decision, entry, cwd),
            "lines": [text for text, _, _ in rows],
            "spans": decor(rows)[0],
            "options": snapshot.options(decision.options),
        }

    # -- undrawn text -----------------------------------------------------------------------------

    @property
    def turn_runs(self) -> bool:
        """Return whether a turn is running in any session."""
        return any(session.status == "running" for session in self.sessions.values())

    @property
    def undrawn(self) -> int:
        """Return the number of characters not yet drawn.

        Each further changed entry counts as `ENTRY_COST`.
        """
        return sum(
            s.transcript.written
            - self.documents[n].drawn
            + ENTRY_COST * (len(s.transcript.dirty) - 1)
            for n, s in self.sessions.items()
            if s.transcript.dirty
        )


def _calls(calls: Iterable[tuple[int, ToolCall]]) -> list[Any]:
    """Return position, id, title, kind, status and locations of each call in one flat list.

    These are the values of `snapshot.tool_call`, without a table for each call.
    """
    flat: list[Any] = []
    for position, call in calls:
        flat += (
            position,
            legible(call.id),
            legible(call.title or call.name or ""),
            call.kind,
            call.status,
            plain(snapshot.locations(call)) if call.locations else False,
        )
    return flat


def _status(session: Session) -> tuple[str, int]:
    return session.status, len(session.decisions)
