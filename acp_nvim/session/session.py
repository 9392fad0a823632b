"""Session: transcript, tool calls, questions, options and queue. Pure state without waiting.

Turns are in `turns`, the application of messages is in `updates` and `call_updates`. A
`SessionObserver` is called at once for each change, in wire order. The changes are then read by
`state.take_changes`, `transcript.dirty` and `changes.take_events`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

from msgspec import UNSET, Struct, field

from acp_nvim import wording
from acp_nvim.protocol import schema
from acp_nvim.session import ids, lists
from acp_nvim.session.calls.tool_calls import ToolCall, ToolCalls
from acp_nvim.session.calls.tool_use import Offered, ToolUse
from acp_nvim.session.changes import Changes, Event
from acp_nvim.session.cursors import Cursors
from acp_nvim.session.output.terminals import Terminals
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.questions.decisions import MAX_LISTED, Decision, Decisions, Outcome
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
    """Observer of sessions and their work, called at once, in wire order."""

    def on_change(self, session: Session) -> None:
        """Handle changes to state, events or the transcript."""

    def on_own_turn(self, session: Session) -> None:
        """Handle the start or end of a turn without a user prompt."""

    def on_stream(self) -> None:
        """Handle text or tool calls in any session.

        Called for each chunk, so it must cost almost nothing.
        """

    def on_tool_call(self, session: Session, call: ToolCall) -> None:
        """Handle a tool call that was announced or changed."""

    def on_plain_calls(self, session: Session, calls: Iterable[ToolCall]) -> None:
        """Handle the calls that name no file, together at the end of a run of messages."""

    def on_command(self, session: Session, line: str, directory: str) -> None:
        """Handle a command that a terminal runs."""

    def on_work_at(self, session: Session, path: str) -> None:
        """Handle a read of a file, or a change to it, by one of the editor's tools."""


class NoObserver:
    """Observer of sessions that are not shown."""

    def on_change(self, session: Session) -> None: ...

    def on_own_turn(self, session: Session) -> None: ...

    def on_stream(self) -> None: ...

    def on_tool_call(self, session: Session, call: ToolCall) -> None: ...

    def on_plain_calls(self, session: Session, calls: Iterable[ToolCall]) -> None: ...

    def on_command(self, session: Session, line: str, directory: str) -> None: ...

    def on_work_at(self, session: Session, path: str) -> None: ...


class ReportedSessions(Struct):
    """Child sessions that the agent reported by id, and messages between sessions by id."""

    links: dict[str, Subagent] = field(default_factory=dict)
    messages: dict[str, SessionMessage] = field(default_factory=dict)


class Session:
    """Session with one agent. `n` is its number in the host, `id` its id at the agent.

    The modules of this package and the code that opens the session set its values. They call
    `change` after they set a value that is shown.
    """

    id = ""
    """Agent's id. It is empty until the agent has created the session."""
    opening_id = ""
    """Agent's id of the stored session that is being opened here."""
    status: Status = "starting"
    _last_status: Status = "starting"
    """Status that began at `since`."""
    title: str | None = None
    topic = ""
    """First prompt, which stands in for a title."""
    preset: str | None = None
    """Name of the session's preset (option `presets`)."""
    worktree: Mapping[str, str] | None = None
    """Path and branch of the session's git worktree, if there is one (`:Acp new!`)."""
    purpose: Literal["edit"] | None = None
    """Task for which the session was created without a chat window.

    The session is closed when the task is done.
    """
    shares_files = True
    """Whether the agent's files are on this machine."""
    trust: Literal["edits", "all"] | None = None
    """Permissions that are allowed without asking (`:Acp trust`)."""
    project_rules: Callable[[], Sequence[Any]] = tuple
    """Function that returns the rules that the user has stored for the project."""
    stop_reason: str | None = None
    error: str | None = None
    successor: int | None = None
    """Number of the session that gets prompts written for this one after it was closed."""
    is_given_up = False
    """Whether the user has chosen another agent since the session failed."""
    turn = 0
    """Number of the last turn that began, from 1."""
    own_cancels = 0
    """Number of turns that the user has cancelled, excluding turns of the parent session."""
    held = False
    """Whether the queue is waiting for the user."""
    replaying = False
    """Whether the agent replays history, which fires no events."""
    plan: Sequence[schema.PlanEntry] = ()
    plan_entry: PlanEntry | None = None
    modes: schema.SessionModeState | None = None
    mode: str | None = None
    models: schema.SessionModelState | None = None
    options: Sequence[schema.SessionConfigOption] = ()
    options_set = options_answered = 0
    """Number of option changes sent, and the number of the latest one answered."""
    commands: Sequence[schema.AvailableCommand] = ()
    suggestions: Sequence[str] = ()
    usage: schema.UsageUpdate | None = None
    turn_usage: schema.Usage | None = None
    """Tokens of the last ended turn, if the agent reports them."""
    retrying: str | None = None
    """Reason for the agent's retry, until it continues."""
    spent = 0
    """Tokens of all turns, if the agent reports them."""
    user: str | None = None
    """Name of the author of prompts, if it is not the user, such as the parent of a subagent."""
    tools: ToolUse | None = None
    """Use of the editor's own tools, if they are offered."""
    echo = ""
    """Part of the running prompt that the agent may still echo."""
    in_turn = False
    """Whether a user prompt is being answered."""
    own_turn = False
    """Whether the agent is working without a user prompt."""
    at_work = False
    """Whether the agent reports that it is working, in any turn."""
    background = 0
    """Number of background tasks that the agent reports."""
    prompt_message: Message | None = None
    """User's message of the running turn, until the agent sends the id of the message."""
    announced: tuple[Prompt, Message] | None = None
    """Next prompt, which is already shown, and its message."""
    edits: Sequence[Mapping[str, Any]] = ()
    """Pending edits, in the form of `state()`."""
    checkpoints: Sequence[Mapping[str, Any]] = ()
    """Checkpoints, in the form of `state()`."""
    entries_before = 0
    """Number of transcript entries when the turn began."""

    def __init__(
        self,
        n: int,
        agent: str,
        cwd: str,
        directories: Sequence[str] = (),
        observer: SessionObserver | None = None,
    ) -> None:
        """Create a session that does not exist at the agent yet."""
        self.n = n
        self.agent = agent
        self.cwd = cwd
        self.directories = list(directories)
        self.since = int(time.time())
        """Time at which the status began, in seconds since 1970."""

        # Changes
        self.observer = observer or NoObserver()
        self.changes = Changes()
        """Changes not yet sent to the editor."""
        self.left_out_counts: dict[str, int] = {}
        """Number of entries left out of each list, by the list's name in the state."""

        # Prompts
        self.queue: list[Prompt] = []
        self.at_agent: list[Prompt] = []
        """Prompts that the agent has received but not inserted yet."""
        self.prompt_ids: set[str] = set()
        """Ids of messages that are prompts from here. The chat shows the user's own text."""

        # Reports from the agent
        self.transcript = Transcript()
        self.cursors = Cursors()
        """Positions at which the agent can fork the session."""
        self.tool_calls = ToolCalls()
        self.entries: dict[ToolCall, ToolEntry] = {}
        """Tool calls in the transcript."""
        self.terminals = Terminals(
            cwd, self.transcript, self._terminal_output, self._terminal_status
        )
        self.decisions = Decisions()
        self.plans: dict[str, PlanDocument | Sequence[schema.PlanEntry]] = {}
        """Plans by id ("" for the plan without one): documents, and lists of entries."""
        self.dependent_options: set[str] = set()
        """Config options whose values have changed together with another option."""

        # Related sessions
        self.root: Session = self
        """The session that the user talks to. For a subagent, it is the topmost one."""
        self.children: dict[str, Session] = {}
        self.reported = ReportedSessions()

    @property
    def key(self) -> str:
        """Return a key that is unique across agents, since two agents may use the same id."""
        return str(self.n)

    @property
    def roots(self) -> list[str]:
        """Return the directories of the session: `cwd` and `additionalDirectories`."""
        return [self.cwd, *self.directories]

    @property
    def is_running(self) -> bool:
        """Return whether a turn is running or being cancelled."""
        return self.status in ("running", "cancelling")

    @property
    def is_cancelling(self) -> bool:
        """Return whether a turn is being cancelled."""
        return self.root.status == "cancelling"

    @property
    def cancels(self) -> int:
        """Return how often the user has cancelled a turn of the session."""
        return self.root.own_cancels

    @property
    def has_ended(self) -> bool:
        """Return whether the session has ended, so that the next prompt opens a new one."""
        return self.status == "closed" or (self.status == "failed" and self.is_given_up)

    @property
    def is_over(self) -> bool:
        """Return whether the session is closed or could not be opened."""
        return self.status in ("closed", "failed")

    @property
    def is_silent(self) -> bool:
        """Return whether events are suppressed."""
        return self.replaying

    # -- ids from before a reopen -----------------------------------------------------------------

    def mark_ids(self) -> None:
        """Note the known ids when the session is reopened.

        Ids are unique in a session (v2/prompt-lifecycle#message-ids), but some agents restart them
        with each process. After a reopen, ids that the agent has not reused by the next prompt are
        treated as new, so that replies are not appended to an old message.
        """
        self.transcript.mark_ids()
        self.tool_calls.mark_ids()

    def keep_ids(self) -> None:
        """Keep the ids of all messages and calls valid, because the agent still uses them."""
        self.transcript.keep_ids()
        self.tool_calls.keep_ids()

    def forget_ids(self) -> None:
        """Forget the marked ids that the agent has not reused. Called before each prompt."""
        for role, message_id in self.transcript.forget_ids():
            if role == "user":
                self.prompt_ids.discard(message_id)
        self.tool_calls.forget_ids()

    # -- changes ----------------------------------------------------------------------------------

    def set_edits(self, edits: list[dict[str, Any]], *, silent: bool = False) -> None:
        """Set the pending edits for `state().edits`. `silent` suppresses the notification."""
        if edits != list(self.edits):
            self.edits = edits
            if not silent:
                self.change("edits")

    def set_worktree(self, worktree: Mapping[str, str] | None) -> None:
        """Set path and branch of the session's git worktree, or None when it is removed."""
        self.worktree = worktree
        self.change("worktree")

    def set_project_rules(self, rules: Callable[[], Sequence[Any]]) -> None:
        """Set the function that returns the rules that the user has stored for the project."""
        self.project_rules = rules

    def offer_tools(self, offered: Callable[[], Offered]) -> None:
        """Offer the agent these tools of the editor."""
        self.tools = self.tools or ToolUse()
        self.tools.offer(offered)
        self.change("tools")

    def withdraw_tools(self) -> None:
        """Stop offering the editor's tools."""
        self.tools = None
        self.change("tools")

    def keep_open(self) -> None:
        """Clear the purpose, so that the session remains open for the user."""
        self.purpose = None
        self.change("purpose")

    def set_checkpoints(self, listed: list[dict[str, Any]]) -> None:
        """Set the checkpoints for `state().checkpoints`."""
        self.checkpoints = listed
        self.change("checkpoints")

    def change(self, *names: str) -> None:
        """Mark the state with these names as changed."""
        if "status" in names and self.status != self._last_status:
            self._last_status, self.since = self.status, int(time.time())
        self.changes.change(names, self.transcript.written)
        self.observer.on_change(self)

    def limit_list(self, name: str, items: Sequence[T]) -> tuple[T, ...]:
        """Return the first entries of a list of the state.

        `more` has the number left out. The user gets a notice the first time.
        """
        left_out, before = max(len(items) - lists.LISTED, 0), self.left_out_counts.get(name, 0)
        if left_out != before:
            self.left_out_counts[name] = left_out
            self.change("more")
        if left_out and not before:
            title = wording.CUT_LIST.format(what=name, shown=lists.LISTED, all=len(items))
            self.notice("warning", title)
            self.event("AcpNotice", severity="warning", title=title)
        return tuple(items[: lists.LISTED])

    def event(self, name: str, **data: Any) -> None:
        """Queue a `User` event, to fire when the text before it is drawn. Ignore it in a replay."""
        if self.is_silent:
            return
        present = {key: v for key, v in data.items() if v is not None and v is not UNSET}
        data = {"session": self.n, **present}
        self.changes.events.append(Event(name, data, self.transcript.written))
        self.observer.on_change(self)

    def clear(self) -> None:
        """Drop the data that a closed session does not need. Preserve its chat and edits."""
        self.modes = self.mode = self.models = self.usage = self.tools = None
        self.plan, self.commands, self.options, self.echo = (), (), (), ""
        self.plans.clear()
        self.left_out_counts.clear()
        self.change(
            "status", "modes", "usage", "plan", "commands", "options", "more", "tool_calls", "tools"
        )

    # -- turns ------------------------------------------------------------------------------------

    def set_retry(self, why: str | None) -> None:
        """Set the reason for the agent's retry, or None when it continues."""
        if self.retrying != why:
            self.retrying = why
            self.change("retrying")

    def notice(
        self, level: Literal["info", "warning", "error"], title: str, details: Sequence[str] = ()
    ) -> None:
        """Add a line to the chat. While a message is streaming, the line waits for its end."""
        line = Line(level, title, tuple(details))
        if self.status == "running":
            self.transcript.hold(line)
        else:
            self.transcript.add(line)
        self.observer.on_change(self)

    # -- tool calls -------------------------------------------------------------------------------

    def on_call(self, call: ToolCall) -> None:
        """Handle the end of a run of messages. `call` was the last one to change."""
        self.observer.on_stream()

    # -- decisions --------------------------------------------------------------------------------

    def follow(self) -> None:
        """Do nothing. A child takes title and status from its parent (`session/subagents.py`)."""

    def _terminal_output(self) -> None:
        self.observer.on_change(self)

    def _terminal_status(self) -> None:
        self.change("terminals")
        if len(self.terminals) > lists.NEWEST:
            self.change("more")

    def ask(self, decision: Decision, call: ToolCall | None = None) -> None:
        """Make a decision pending and show its card, under its tool call if it has one.

        Queue its event. A decision that a rule has already resolved only appears in the chat.
        """
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
        decision.set_redraw(lambda: self.redraw(entry))
        if decision.outcome is not None:
            _store_answered_call(decision, entry)
            return
        decision.waiters.append(lambda outcome: self._on_decided(decision, entry, outcome))
        self._change_pending(decision)
        if decision.listed == "elicitations":
            self.event("AcpElicitation", id=decision.id, mode=decision.kind)
        elif decision.listed == "permissions":
            self._queue_permission_event(decision)

    def renew(self, decision: Decision) -> None:
        """Ask a pending permission again, because its tool call has changed.

        Apply the rules first, which may resolve it. If Neovim knows its id, report that id as
        cancelled and use a new one.
        """
        decision.judge()
        if decision.outcome is not None:
            return
        if decision.is_published:
            self.event("AcpPermissionDone", id=decision.id, outcome="cancelled")
            self.decisions.renew(decision, ids.new("d"))
            self._queue_permission_event(decision)
        self._change_pending(decision)

    def _queue_permission_event(self, decision: Decision) -> None:
        self.event(
            "AcpPermission",
            id=decision.id,
            tool_call=decision.tool_call_id,
            title=decision.title,
            options=decision.options,
        )

    def _change_pending(self, decision: Decision) -> None:
        """Mark the list of pending decisions, or the count of the unlisted ones, as changed."""
        pending = len(self.decisions)
        is_listed = not decision.lacks_card or decision.outcome is not None or pending <= MAX_LISTED
        if not decision.lacks_card and pending < MAX_LISTED:
            self.root.change(decision.listed)
        elif is_listed:
            self.root.change(decision.listed, "more")
        else:
            self.root.change("more")

    def redraw(self, entry: Entry) -> None:
        """Mark an entry for redraw."""
        self.transcript.touch(entry)
        self.observer.on_change(self)

    def _on_decided(
        self, decision: Decision, entry: ToolEntry | Question, outcome: Outcome
    ) -> None:
        self.transcript.touch(entry)
        _store_answered_call(decision, entry)
        self._change_pending(decision)
        if decision.listed == "permissions":
            option = outcome.option.id if outcome.option else None
            self.event("AcpPermissionDone", id=decision.id, outcome=outcome.kind, option=option)


def _store_answered_call(decision: Decision, entry: ToolEntry | Question) -> None:
    """Copy the tool call into the decision, if an option was chosen."""
    is_chosen = decision.outcome is not None and decision.outcome.option is not None
    if is_chosen and isinstance(entry, ToolEntry):
        decision.record = entry.call.copy()
