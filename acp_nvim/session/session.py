"""A session: transcript, tool calls, questions, options and queue. Pure state; nothing here waits.

Its turns are in `turns`; what messages do to it is in `updates` and `call_updates`. The
editor ring is told at once that something changed (`SessionObserver`) and reads what:
`state.take_changes`, `transcript.dirty`, `changes.take_events`. Everything happens in wire order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Protocol, TypeVar

from msgspec import UNSET

from acp_nvim import wording
from acp_nvim.protocol import schema
from acp_nvim.session import ids, lists
from acp_nvim.session.calls.tool_calls import ToolCall, ToolCalls
from acp_nvim.session.calls.tool_use import Offered, ToolUse
from acp_nvim.session.changes import Changes, Event
from acp_nvim.session.output.terminals import Terminals
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.questions.decisions import IN_STATE, Decision, Decisions, Outcome
from acp_nvim.session.transcript.entries import (
    Entry,
    Line,
    Message,
    PlanDocument,
    PlanEntry,
    Question,
    SessionMessage,
    Subagent,
    ToolEntry,
)
from acp_nvim.session.transcript.transcript import Transcript

T = TypeVar("T")

Status = Literal["starting", "idle", "running", "cancelling", "closed", "failed"]


class SessionObserver(Protocol):
    """Whoever shows sessions and follows their work; told at once, in wire order."""

    def changed(self, session: Session) -> None:
        """State, events or the transcript have changed."""

    def own_turn(self, session: Session) -> None:
        """The agent has begun to work by itself, or does so no longer."""

    def streamed(self) -> None:
        """Text or tool calls came, in some session. Called for each chunk: it has to cost next to
        nothing.
        """

    def tool_call(self, session: Session, call: ToolCall) -> None:
        """A tool call was announced or changed..."""

    def plain_calls(self, session: Session, calls: Iterable[ToolCall]) -> None:
        """...those that name no file together, at the end of a run of messages."""

    def command(self, session: Session, line: str, directory: str) -> None:
        """A terminal runs this command."""

    def works_at(self, session: Session, path: str) -> None:
        """One of the editor's tools works at this file."""


class Unobserved:
    """The observer of sessions that nobody looks at."""

    def changed(self, session: Session) -> None:
        """Nobody hears it."""

    def own_turn(self, session: Session) -> None:
        """Nobody hears it."""

    def streamed(self) -> None:
        """Nobody hears it."""

    def tool_call(self, session: Session, call: ToolCall) -> None:
        """Nobody hears it."""

    def plain_calls(self, session: Session, calls: Iterable[ToolCall]) -> None:
        """Nobody hears it."""

    def command(self, session: Session, line: str, directory: str) -> None:
        """Nobody hears it."""

    def works_at(self, session: Session, path: str) -> None:
        """Nobody hears it."""


class Session:
    """One conversation with one agent; `n` is our number, `id` the agent's.

    Its values are set by the modules of this package and by whoever opens the session. Whoever sets
    one that is shown says so by `change`.
    """

    id = ""
    """The agent's id; empty until the session exists there."""
    brings = ""
    """The agent's id of the stored session that is being opened here."""
    status: Status = "starting"
    title: str | None = None
    stop_reason: str | None = None
    error: str | None = None
    heir: int | None = None
    """Our number of the session that gets prompts written for this one after it was closed."""
    turn = 0
    """Number of the last turn that began, from 1."""
    held = False
    """The queue waits for the user."""
    replaying = False
    """The agent replays the past: nothing of it is an event now."""
    plan: Sequence[schema.PlanEntry] = ()
    plan_entry: PlanEntry | None = None
    modes: schema.SessionModeState | None = None
    mode: str | None = None
    models: schema.SessionModelState | None = None
    options: Sequence[schema.SessionConfigOption] = ()
    options_set = options_answered = 0
    """How often an option was set, and which of these times is the newest that was answered."""
    commands: Sequence[schema.AvailableCommand] = ()
    suggestions: Sequence[str] = ()
    usage: schema.UsageUpdate | None = None
    turn_usage: schema.Usage | None = None
    """Tokens of the last turn that has ended, where its agent tells them."""
    retrying: str | None = None
    """Why the agent tries again, until it goes on."""
    spent = 0
    """Tokens of all turns, where the agent counts those."""
    user: str | None = None
    """Who speaks as the user here, where that is not the user."""
    tools: ToolUse | None = None
    """The use of the editor's own tools, where they are offered."""
    echo = ""
    """The rest of the running prompt that the agent may echo."""
    in_turn = False
    """A prompt of the user is being answered."""
    own_turn = False
    """The agent works by itself, without a prompt of the user."""
    at_work = False
    """The agent says that it works, in whatever turn."""
    background = 0
    """How much goes on beside that, as the agent says."""
    prompted: Message | None = None
    """The user's words in the running turn, as long as the agent has named no id of theirs."""
    announced: tuple[Prompt, Message] | None = None
    """A prompt that goes next and is shown already, and where."""
    entries_before = 0
    """How many entries the transcript had when the turn began."""

    def __init__(
        self,
        n: int,
        agent: str,
        cwd: str,
        directories: Sequence[str] = (),
        observer: SessionObserver | None = None,
    ) -> None:
        """A session that does not exist at the agent yet."""
        self.n = n
        self.agent = agent
        self.cwd = cwd
        self.directories = list(directories)
        self.observer = observer or Unobserved()
        self.changes = Changes()
        """Changes that the editor has not been told yet."""
        self.queue: list[Prompt] = []
        self.at_agent: list[Prompt] = []
        """Prompts that wait at the agent, which has not inserted them yet."""
        self.transcript = Transcript()
        self.tool_calls = ToolCalls()
        self.entries: dict[ToolCall, ToolEntry] = {}
        """Tool calls in the transcript."""
        self.terminals = Terminals(
            cwd, self.transcript, self._terminal_output, self._terminal_status
        )
        self.decisions = Decisions()
        self.plans: dict[str, PlanDocument | Sequence[schema.PlanEntry]] = {}
        """Plans by id (rfds/plan-operations): documents, and lists of entries. The one that has no
        id is under the empty one.
        """
        self.edits: list[dict[str, Any]] = []
        self.checkpoints: list[dict[str, Any]] = []
        self.follows: set[str] = set()
        """Config options whose values have changed with another one."""
        self.cut: dict[str, int] = {}
        """How many entries of each list were left out, by the list's name in the state."""
        self.own_words: set[str] = set()
        """Ids of messages that are prompts of ours: the chat shows what the user wrote."""
        self.links: dict[str, Subagent] = {}
        """Child sessions that this session's agent reported, by the agent's id."""
        self.letters: dict[str, SessionMessage] = {}
        """Messages between sessions, by id."""
        self.children: dict[str, Session] = {}
        self.root: Session = self
        """The session that the user talks to; of a subagent the one above all."""

    @property
    def key(self) -> str:
        """Identifies the session across agents, whose ids may be the same."""
        return str(self.n)

    @property
    def roots(self) -> list[str]:
        """Directories that belong to the session: `cwd` and `additionalDirectories`."""
        return [self.cwd, *self.directories]

    @property
    def is_running(self) -> bool:
        """Whether a turn runs, or is being cancelled."""
        return self.status in ("running", "cancelling")

    @property
    def is_over(self) -> bool:
        """Whether it is closed, or could not be opened."""
        return self.status in ("closed", "failed")

    @property
    def silent(self) -> bool:
        """Whether what happens is no event."""
        return self.replaying

    # -- ids from before it was opened again ------------------------------------------------------

    def mark_ids(self) -> None:
        """It is opened again. Ids are unique in a session (v2/prompt-lifecycle#message-ids), but
        some agents count them in each process from the first one on. So those under which nothing
        is told until the user goes on name something new then: else it would be told at its old
        place, where nobody sees it.
        """
        self.transcript.mark_names()
        self.tool_calls.mark_ids()

    def keep_ids(self) -> None:
        """The agent tells of the past by its ids: it knows them."""
        self.transcript.keep_names()
        self.tool_calls.keep_ids()

    def forget_ids(self) -> None:
        """The user goes on: the next prompt takes its place."""
        for role, message_id in self.transcript.forget_names():
            if role == "user":
                self.own_words.discard(message_id)
        self.tool_calls.forget_ids()

    # -- what changed -----------------------------------------------------------------------------

    def review_edits(self, edits: list[dict[str, Any]], *, silent: bool = False) -> None:
        """What is pending of it, as `state().edits` has it; ``silent``: nobody is told."""
        if edits != self.edits:
            self.edits = edits
            if not silent:
                self.change("edits")

    def offer_tools(self, offered: Callable[[], Offered]) -> None:
        """The agent may use these of the editor's own tools."""
        self.tools = self.tools or ToolUse()
        self.tools.offer(offered)
        self.change("tools")

    def withdraw_tools(self) -> None:
        """The agent is not offered the editor's own tools any more."""
        self.tools = None
        self.change("tools")

    def keep_checkpoints(self, listed: list[dict[str, Any]]) -> None:
        """Its checkpoints, as `state().checkpoints` has them."""
        self.checkpoints = listed
        self.change("checkpoints")

    def change(self, *names: str) -> None:
        """Note that state of these names is to be told anew."""
        self.changes.change(names, self.transcript.written)
        self.observer.changed(self)

    def bounded(self, name: str, items: Sequence[T], most: int = lists.LISTED) -> tuple[T, ...]:
        """Return the first entries of a list of the state. How many are left out stands in `more`;
        the user gets a notice the first time.
        """
        left, before = max(len(items) - most, 0), self.cut.get(name, 0)
        if left != before:
            self.cut[name] = left
            self.change("more")
        if left and not before:
            title = wording.CUT_LIST.format(what=name, shown=most, all=len(items))
            self.notice("warning", title)
            self.event("AcpNotice", severity="warning", title=title)
        return tuple(items[:most])

    def event(self, name: str, **data: Any) -> None:
        """Queue a `User` event behind the text that came before it; none of a replay."""
        if self.silent:
            return
        there = {key: it for key, it in data.items() if it is not None and it is not UNSET}
        told = {"session": self.n, **there}
        self.changes.events.append(Event(name, told, self.transcript.written))
        self.observer.changed(self)

    def let_go(self) -> None:
        """Drop what a closed session needs no more: its chat and pending edits stay."""
        self.modes = self.mode = self.models = self.usage = self.tools = None
        self.plan, self.commands, self.options, self.echo = (), (), (), ""
        self.plans.clear()
        self.cut.clear()
        self.change(
            "status", "modes", "usage", "plan", "commands", "options", "more", "tool_calls", "tools"
        )

    # -- turns ------------------------------------------------------------------------------------

    def retries(self, why: str | None) -> None:
        """The agent tries something again; None: it goes on."""
        if self.retrying != why:
            self.retrying = why
            self.change("retrying")

    def notice(
        self, level: Literal["info", "warning", "error"], title: str, details: Sequence[str] = ()
    ) -> None:
        """Put a line of ours into the margin of the chat, without tearing text that streams."""
        line = Line(level, title, tuple(details))
        if self.status == "running":
            self.transcript.hold(line)
        else:
            self.transcript.add(line)
        self.observer.changed(self)

    # -- tool calls -------------------------------------------------------------------------------

    def called(self, call: ToolCall) -> None:
        """A run of messages is applied; this call was the last one."""
        self.observer.streamed()

    # -- decisions --------------------------------------------------------------------------------

    def follow(self) -> None:
        """Overridden by a child, which takes title and status from its parent
        (`session/subagents.py`).
        """

    def _terminal_output(self) -> None:
        self.observer.changed(self)

    def _terminal_status(self) -> None:
        self.change("terminals")
        if len(self.terminals) > lists.NEWEST:
            self.change("more")

    def ask(self, decision: Decision, call: ToolCall | None = None) -> None:
        """Make a decision pending and show its card, under its tool call where it has one."""
        decision.agent = decision.agent or self.transcript.speaker or self.agent.capitalize()
        self.decisions.add(decision)
        entry: ToolEntry | Question
        if call is not None:
            entry = self.entries[call]
            entry.decisions.append(decision)
            self.transcript.touch(entry)
        else:
            entry = Question(decision)
            self.transcript.add(entry)
        decision.drawn_by(lambda: self.redraw(entry))
        if decision.outcome is not None:
            _keep_record(decision, entry)
            return
        decision.waiters.append(lambda outcome: self._decided(decision, entry, outcome))
        self._tell_asked(decision)
        if decision.listed == "elicitations":
            self.event("AcpElicitation", id=decision.id, mode=decision.kind)
        elif decision.listed == "permissions":
            self._tell_permission(decision)

    def renew(self, decision: Decision) -> None:
        """Make a pending permission a new question: its tool call has changed."""
        decision.judge()
        if decision.outcome is not None:
            return
        if decision.known:
            self.event("AcpPermissionDone", id=decision.id, outcome="cancelled")
            self.decisions.renew(decision, ids.new("d"))
            self._tell_permission(decision)
        self._tell_asked(decision)

    def _tell_permission(self, decision: Decision) -> None:
        self.event(
            "AcpPermission",
            id=decision.id,
            tool_call=decision.tool_call_id,
            title=decision.title,
            options=decision.options,
        )

    def _tell_asked(self, decision: Decision) -> None:
        """Mark the list of pending decisions that one came to or has left as changed, or the count
        of those that wait behind.
        """
        pending = len(self.decisions)
        listed = not decision.behind or decision.outcome is not None or pending <= IN_STATE
        if not decision.behind and pending < IN_STATE:
            self.root.change(decision.listed)
        elif listed:
            self.root.change(decision.listed, "more")
        else:
            self.root.change("more")

    def redraw(self, entry: Entry) -> None:
        """More is known of an entry."""
        self.transcript.touch(entry)
        self.observer.changed(self)

    def _decided(self, decision: Decision, entry: ToolEntry | Question, outcome: Outcome) -> None:
        self.transcript.touch(entry)
        _keep_record(decision, entry)
        self._tell_asked(decision)
        if decision.listed == "permissions":
            option = outcome.option.id if outcome.option else None
            self.event("AcpPermissionDone", id=decision.id, outcome=outcome.kind, option=option)


def _keep_record(decision: Decision, entry: ToolEntry | Question) -> None:
    """Keep the tool call as it was when its question was answered."""
    chosen = decision.outcome is not None and decision.outcome.option is not None
    if chosen and isinstance(entry, ToolEntry):
        decision.record = entry.call.copied()
