"""A session: transcript, tool calls, questions, options and queue. Pure state; nothing here waits.

Ring 1 feeds it (`updates.apply`, `begin_turn`, `ask`, …). The editor ring is told at once that
something changed (`SessionObserver`) and reads what: `state.take_changes`, `transcript.dirty`,
`changes.take_events`. Everything happens in wire order.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, Protocol, TypeVar

from acp_nvim import wording
from acp_nvim.protocol import schema
from acp_nvim.session import lists, snapshot, turn_end
from acp_nvim.session.changes import Changes, Event
from acp_nvim.session.entries import (
    Entry,
    Heading,
    Line,
    Message,
    Part,
    PlanDocument,
    PlanEntry,
    Question,
    Subagent,
    ToolEntry,
)
from acp_nvim.session.prompts import Prompt, shown
from acp_nvim.session.questions.decisions import Decision, Decisions, Outcome
from acp_nvim.session.terminals import Terminals
from acp_nvim.session.tool_calls import FINISHED, ToolCall, ToolCalls, is_plain
from acp_nvim.session.tool_use import ToolUse
from acp_nvim.session.transcript import Transcript

T = TypeVar("T")

CallUpdate = schema.ToolCall | schema.ToolCallUpdate
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
    _announced: tuple[Prompt, Message] | None = None
    _said = 0
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

    # -- what changed -----------------------------------------------------------------------------

    def review_edits(self, edits: list[dict[str, Any]], *, silent: bool = False) -> None:
        """What is pending of it, as `state().edits` has it; ``silent``: nobody is told."""
        if edits != self.edits:
            self.edits = edits
            if not silent:
                self.change("edits")

    def offer_tools(self, names: Sequence[str], writing: Collection[str]) -> None:
        """The agent may use these of the editor's own tools; `writing` are those that change
        files.
        """
        self.tools = self.tools or ToolUse()
        self.tools.offer(names, writing)
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
        self.changes.events.append(
            Event(name, {"session": self.n, **snapshot.compact(**data)}, self.transcript.written)
        )
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

    def say(self, parts: Sequence[Part]) -> Message:
        """Put the user's words into the transcript."""
        message = Message("user", parts=list(parts), closed=True, sent=time.time())
        self.transcript.add(message)
        self.transcript.written += sum(len(part) if isinstance(part, str) else 1 for part in parts)
        return message

    def announce(self, prompt: Prompt) -> None:
        """Show a prompt that goes next, while its agent may still have to start; not when others
        wait.
        """
        if self.held or self.queue != [prompt] or prompt.given or not prompt.text.strip():
            return
        words = shown(prompt.text)
        message = Message("user", parts=[words], sent=time.time())
        self.transcript.add(message)
        self.transcript.written += len(words)
        self._announced = prompt, message
        self.observer.changed(self)

    def retract(self) -> None:
        """The announced prompt is not sent now, or never."""
        if self._announced is not None:
            self._announced = None
            self.notice("info", wording.PROMPT_KEPT)

    def begin_turn(self, prompt: Prompt, agent_title: str, message_id: str | None = None) -> None:
        """The prompt goes to the agent now, or was inserted there under this id."""
        if self.own_turn:
            self.own_turn = False
            self.observer.own_turn(self)
            self.event("AcpTurnEnd", stop_reason="end_turn")
        self.insert(prompt, message_id)
        self.transcript.add(Heading(agent_title))
        self.plan_entry, self.turn_usage, self.suggestions = None, None, ()
        self._said = len(self.transcript.entries)
        self.turn += 1
        self.in_turn = True
        self.status, self.stop_reason, self.error = "running", None, None
        self.change("status", "stop_reason", "error", "turn_usage", "suggestions")
        self.event("AcpTurnStart")
        self.observer.changed(self)

    def retries(self, why: str | None) -> None:
        """The agent tries something again; None: it goes on."""
        if self.retrying != why:
            self.retrying = why
            self.change("retrying")

    def insert(self, prompt: Prompt, message_id: str | None = None) -> None:
        """Show a prompt where it stands among the messages, unless the agent has told of it by its
        id already.
        """
        if message_id is not None and self.transcript.named("user", message_id) is not None:
            return
        parts: list[Part] = [
            b.text if isinstance(b, schema.TextContent) else b for b in prompt.blocks
        ]
        seen = [shown(part) if isinstance(part, str) else part for part in parts]
        self.prompted = self._say_rest(prompt, seen or [shown(prompt.text)])
        self.prompted.count_as(prompt.number)
        self.echo = "".join(part for part in parts if isinstance(part, str))
        if message_id is not None:
            self.name_prompt(message_id)

    def name_prompt(self, message_id: str) -> None:
        """The agent knows the user's words of this turn under that id; what it has told of them
        under it before is not shown twice.
        """
        message, self.prompted, self.echo = self.prompted, None, ""
        if message is None:
            return
        told = self.transcript.named("user", message_id)
        if told is not None and told is not message:
            self.transcript.rewrite("user", message_id, [])
        self.transcript.name(message, message_id)
        self.own_words.add(message_id)

    def settle(self) -> None:
        """Bring the status up to date: it is running while anything goes on."""
        works = self.in_turn or self.at_work or bool(self.background)
        status: Status = "running" if works else "idle"
        if self.status in ("idle", "running") and self.status != status:
            self.status = status
            self.change("status")

    def _say_rest(self, prompt: Prompt, parts: list[Part]) -> Message:
        """Show the rest of a prompt that was announced: its attachments, late text."""
        announced, self._announced = self._announced, None
        if announced is None or announced[0] is not prompt:
            return self.say(parts)
        message = announced[1]
        said = message.text()
        words = next((p for p in parts if isinstance(p, str) and p.startswith(said)), "")
        rest = [words[len(said) :] if part is words else part for part in parts]
        rest = [part for part in rest if part]
        if self.transcript.last is not message:
            return self.say(rest) if rest else message
        for part in rest:
            self.transcript.stream("user", part, None)
        return message

    def end_turn(
        self,
        stop_reason: str | None,
        error: str | None = None,
        details: Sequence[str] = (),
        told: str | None = None,
        usage: schema.Usage | None = None,
    ) -> None:
        """The turn is over: the agent answered, or never will. `told` is the error for state and
        event where that is more than `error`, `usage` the tokens of the turn.
        """
        came = self.transcript.entries[self._said :]
        line = turn_end.line(stop_reason, error, details, came if self.in_turn else None)
        self.retries(None)
        self.echo, self.prompted = "", None
        self.in_turn = False
        if self.own_turn:
            self.own_turn = False
            self.observer.own_turn(self)
        self._close_left(stop_reason, failed=error is not None)
        self.stop_reason, self.error = stop_reason, told or error
        if self.status in ("running", "cancelling"):
            self.status = "idle"
            self.settle()
        self.transcript.complete()
        if line is not None:
            self.notice(line.level, line.title, line.details)
        self.turn_usage = usage
        self.spent += usage.total_tokens if usage is not None else 0
        self.change("status", "stop_reason", "error", "turn_usage")
        tokens = snapshot.turn_usage(usage)
        self.event("AcpTurnEnd", stop_reason=stop_reason, error=self.error, usage=tokens)

    def _close_left(self, stop_reason: str | None, *, failed: bool) -> None:
        """Assume the end of open calls; what goes on in the background does not end so."""
        if stop_reason == "cancelled" or self.status == "cancelling":
            self.close_calls("cancelled")
        elif failed:
            self.close_calls("failed")
        elif not self.background:
            refused, rest = turn_end.left_open(self.tool_calls.open(), self.entries)
            self._close(refused, "cancelled")
            self._close(rest, "completed" if stop_reason == "end_turn" else "cancelled")
            for call in rest:
                call.assume()

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

    def upsert_call(self, update: CallUpdate) -> ToolCall:
        """Apply a message about a tool call and show it."""
        self.upsert_calls((update,))
        call = self.tool_calls.get(update.tool_call_id)
        assert call is not None
        return call

    def upsert_calls(self, updates: Iterable[CallUpdate]) -> list[str]:
        """Apply a run of messages and show their calls. Returns the ids of updates to calls that
        nobody had told of.

        After an error the rest is left in the iterator; the calls before it are told.
        """
        known, entries = self.tool_calls.by_id, self.entries
        add, dirty, unsaved = self.transcript.add, self.transcript.dirty, self.transcript.unsaved
        numbers, silent = self.changes.calls, self.silent
        mark = self.transcript.written
        statuses: list[str] | None = None
        plain: dict[ToolCall, None] = {}
        unknown: list[str] = []
        last: ToolCall | None = None
        locations: Sequence[schema.ToolCallLocation]
        try:
            for update in updates:
                call = known.get(update.tool_call_id)
                anew = update.__class__ is schema.ToolCall
                if call is None or (anew and call.status in FINISHED):
                    if call is None and update.__class__ is schema.ToolCallUpdate:
                        unknown.append(update.tool_call_id)
                    call = self.tool_calls.add(update)
                    entry = entries[call] = ToolEntry(call)
                    add(entry)
                    before, locations = "pending", ()
                else:
                    entry = entries[call]
                    dirty[entry] = unsaved[entry] = None
                    before, locations = call.status, call.locations
                    self.tool_calls.merge(call, update)
                numbers.setdefault(call.index, mark)
                status = call.status
                if entry.told != status:
                    entry.told = status
                    if not silent:
                        if statuses is None:
                            statuses = self.changes.statuses(self.n, mark)
                        statuses += (call.id, status)
                if is_plain(call) and not update.meta and not entry.terminals:
                    plain[call] = None
                else:
                    self._beside(entry, update, () if before in FINISHED else locations)
                    statuses = None
                last = call
        finally:
            if last is not None:
                self.observer.plain_calls(self, plain)
                self._called(last)
        return unknown

    def show_call(self, call: ToolCall) -> None:
        """More is known of a call: draw it, and what is asked about it."""
        entry = self.entries[call]
        self._redraw(entry)
        if entry.asks is not None:
            self.root.change(entry.asks.listed)

    def close_calls(self, status: str, most: int | None = None) -> bool:
        """Close what the agent left open, as the spec asks when a turn is cancelled (v1/prompt-
        turn), or so many of it; False when nothing is open.
        """
        calls = self.tool_calls.open()[:most]
        self._close(calls, status)
        return bool(calls)

    def _close(self, calls: Iterable[ToolCall], status: Any) -> None:
        self.upsert_calls([schema.ToolCallUpdate(call.id, status=status) for call in calls])

    def _beside(
        self, entry: ToolEntry, update: CallUpdate, before: Sequence[schema.ToolCallLocation]
    ) -> None:
        """Apply what a message says of terminals and files. Locations are told in the agent's
        order, each once while the call runs; the last one is followed.
        """
        call = entry.call
        self.terminals.apply(entry, update)
        if entry.terminals and call.finished:
            self.terminals.close(entry)
        for at in (update.locations or ())[: lists.ITEMS]:
            if at not in before[: lists.ITEMS]:
                self.event("AcpLocation", path=at.path, line=at.line or None)
        self.observer.tool_call(self, call)

    def _called(self, call: ToolCall) -> None:
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
        decision.drawn_by(lambda: self._redraw(entry))
        if decision.outcome is not None:
            return
        decision.waiters.append(lambda outcome: self._decided(decision, entry, outcome))
        self._tell_asked(decision)
        if decision.listed == "elicitations":
            self.event("AcpElicitation", id=decision.id, mode=decision.kind)
        elif decision.listed == "permissions":
            self._tell_permission(decision)

    def _tell_permission(self, decision: Decision) -> None:
        self.event(
            "AcpPermission",
            id=decision.id,
            tool_call=decision.tool_call_id,
            title=decision.title,
            options=snapshot.options(decision),
        )

    def _tell_asked(self, decision: Decision) -> None:
        """Mark the lists of pending decisions as changed, or the count of those that wait
        behind.
        """
        if not decision.behind:
            self.change(decision.listed)
        if decision.behind or self.decisions.waiting:
            self.root.change("more")

    def _redraw(self, entry: Entry) -> None:
        self.transcript.touch(entry)
        self.observer.changed(self)

    def _decided(self, decision: Decision, entry: ToolEntry | Question, outcome: Outcome) -> None:
        self.transcript.touch(entry)
        self._tell_asked(decision)
        if decision.listed == "permissions":
            option = outcome.option.id if outcome.option else None
            self.event("AcpPermissionDone", id=decision.id, outcome=outcome.kind, option=option)
