"""The state of a session: transcript, tool calls, turn, queue, options, decisions. Pure state;
nothing here waits.

Ring 1 changes it (`apply`, `begin_turn`, `ask`, …), the editor ring reads the changes
(`take_changes`, `transcript.dirty`, `take_events`). Everything happens in wire order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from acp_nvim.protocol import schema
from acp_nvim.session import lists, options, snapshot
from acp_nvim.session.calls import Calls
from acp_nvim.session.changes import Event
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
from acp_nvim.session.tool_calls import ToolCall

Status = Literal["starting", "idle", "running", "cancelling", "closed", "failed"]


class Session(Calls):
    """One conversation with one agent; `n` is our number, `id` the agent's."""

    def __init__(self, n: int, agent: str, cwd: str, directories: Sequence[str] = ()) -> None:
        """A session that does not exist at the agent yet."""
        super().__init__(n, cwd)
        self.agent = agent
        self.cwd = cwd
        self.directories = list(directories)
        self.id = ""
        """The agent's id; empty until the session exists there."""
        self.brings = ""
        """The agent's id of the stored session that is being opened here."""
        self.status: Status = "starting"
        self.title: str | None = None
        self.stop_reason: str | None = None
        self.error: str | None = None
        self.heir: int | None = None
        """Our number of the session that takes over prompts written for this closed one."""
        self.turn = 0
        """Number of the last turn that began, from 1."""
        self.queue: list[Prompt] = []
        self._announced: tuple[Prompt, Message] | None = None
        self.held = False
        self.plan: Sequence[schema.PlanEntry] = ()
        self.modes: schema.SessionModeState | None = None
        self.mode: str | None = None
        self.models: schema.SessionModelState | None = None
        self.options: Sequence[schema.SessionConfigOption] = ()
        self.options_set = self.options_answered = 0
        """How many times options were set, and the number of the last answered time."""
        self.commands: Sequence[schema.AvailableCommand] = ()
        self.usage: schema.UsageUpdate | None = None
        self.edits: list[dict[str, Any]] = []
        self.checkpoints: list[dict[str, Any]] = []
        self.decisions = Decisions()
        self.cut: dict[str, int] = {}
        """How many entries of each list were left out, by the list's name in the state."""
        self.links: dict[str, Subagent] = {}
        """Child sessions that this session's agent reported, by the agent's id."""
        self.children: dict[str, Session] = {}
        self.root: Session = self
        """The session that the user talks to: itself, or the topmost parent of a subagent."""
        self.plan_entry: PlanEntry | None = None
        self.plans: dict[str, PlanDocument | None] = {}
        """Plans with an id (rfds/plan-operations); None for the one that is `plan`."""
        self.user: str | None = None
        """Name of the prompting side where that is not the user: a parent session."""
        self.echo = ""
        self.terminals.watch(self._terminal_output, self._terminal_status)

    @property
    def key(self) -> str:
        """Identifies the session across agents, whose ids may be the same."""
        return str(self.n)

    @property
    def roots(self) -> list[str]:
        """Directories that belong to the session: `cwd` and `additionalDirectories`."""
        return [self.cwd, *self.directories]

    @property
    def subagents(self) -> list[dict[str, Any]]:
        """Its children as `state()` shows them."""
        return [snapshot.subagent(link) for link in self.links.values()]

    # -- what changed -----------------------------------------------------------------------------

    def take_changes(self) -> list[tuple[list[str | int], Any]]:
        """Return the changes as `(path below the session, value)`; None stands for absent. Single
        tool calls come from `take_calls`.
        """
        changes: list[tuple[list[str | int], Any]] = []
        shown = self._in_state()
        if shown and shown.start != self.cut.get("tool_calls", 0):
            self.cut["tool_calls"] = shown.start
            self._changes.names.add("more")
        names = self._changes.take_names()
        if "tool_calls" in names:
            names.remove("tool_calls")
            changes.append((["tool_calls"], []))
            self._changes.calls = set(shown)
        changes += [([name], self._value(name)) for name in names]
        return changes

    def take_calls(self) -> tuple[int, list[tuple[int, ToolCall]]]:
        """Return how many of the oldest tool calls are no longer in the state, and those in it that
        changed, with their positions from 1.
        """
        shown = self._in_state()
        changed = sorted(index for index in self._changes.calls if index in shown)
        self._changes.calls.clear()
        return shown.start, [(index + 1, self.tool_calls.at(index)) for index in changed]

    def _in_state(self) -> range:
        """The positions of the tool calls that are in the state, from 0: none of a closed session,
        else the newest ones.
        """
        count = len(self.tool_calls)
        return range(count if self.status == "closed" else lists.dropped(count), count)

    @property
    def calls_changed(self) -> bool:
        """Whether `take_calls` has anything to tell."""
        return bool(self._changes.calls)

    def take_events(self, drawn: int) -> list[Event]:
        """Return the events whose text is drawn, in order, at most one frame's worth."""
        return self._changes.take_events(drawn)

    @property
    def pending_changes(self) -> bool:
        """Whether state or events wait to be told."""
        changes = self._changes
        return bool(changes.names or changes.calls or changes.events)

    def _value(self, name: str) -> Any:
        match name:
            case "id":
                return self.id or None
            case "queue":
                return [prompt.label for prompt in self.queue]
            case "plan":
                return snapshot.plan(self.plan)
            case "modes":
                return snapshot.modes(options.modes(self))
            case "options":
                return options.on_wire(options.available(self))
            case "commands":
                return snapshot.commands(self.commands)
            case "terminals":
                return [terminal.snapshot() for terminal in self.terminals.newest(lists.NEWEST)]
            case "usage" | "more":
                return snapshot.usage(self.usage) if name == "usage" else self._more()
            case "permissions" | "elicitations" | "questions":
                return self._pending(name)
            case _:
                return getattr(self, name)

    def _more(self) -> dict[str, int] | None:
        """How many of a list are not shown, by its name."""
        waiting = self.decisions.waiting if self.root is self else {}
        terminals = max(len(self.terminals) - lists.NEWEST, 0)
        left = {**self.cut, **waiting, "terminals": terminals}
        return {name: count for name, count in left.items() if count} or None

    def _pending(self, name: str) -> list[dict[str, Any]]:
        shown = snapshot.elicitation if name == "elicitations" else snapshot.permission
        return [shown(decision) for decision in self.decisions.front if decision.listed == name]

    def let_go(self) -> None:
        """The session is closed: drop its state except the chat and open decisions."""
        self.modes = self.mode = self.models = self.usage = None
        self.plan, self.commands, self.options, self.echo = (), (), (), ""
        self.plans.clear()
        self.cut.clear()
        self.change("status", "modes", "usage", "plan", "commands", "options", "more", "tool_calls")

    # -- turns ------------------------------------------------------------------------------------

    def say(self, parts: Sequence[Part]) -> Message:
        """Put the user's words into the transcript."""
        message = Message("user", parts=list(parts), closed=True)
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
        message = Message("user", parts=[words])
        self.transcript.add(message)
        self.transcript.written += len(words)
        self._announced = prompt, message
        self.on_change()

    def retract(self) -> None:
        """The announced prompt is not sent now, or never."""
        if self._announced is not None:
            self._announced = None
            self.notice("info", "not sent: the prompt waits in the queue")

    def begin_turn(self, prompt: Prompt, agent_title: str) -> None:
        """The prompt goes to the agent now."""
        parts: list[Part] = [
            b.text if isinstance(b, schema.TextContent) else b for b in prompt.blocks
        ]
        seen = [shown(part) if isinstance(part, str) else part for part in parts]
        self._say_rest(prompt, seen or [shown(prompt.text)])
        self.transcript.add(Heading(agent_title))
        self.plan_entry = None
        self.turn += 1
        self.echo = "".join(part for part in parts if isinstance(part, str))
        self.status, self.stop_reason, self.error = "running", None, None
        self.change("status", "stop_reason", "error")
        self.event("AcpTurnStart")
        self.on_change()

    def _say_rest(self, prompt: Prompt, parts: list[Part]) -> None:
        """Show the rest of a prompt that was announced: its attachments, late text."""
        announced, self._announced = self._announced, None
        if announced is None or announced[0] is not prompt:
            self.say(parts)
            return
        message = announced[1]
        said = message.text()
        words = next((p for p in parts if isinstance(p, str) and p.startswith(said)), "")
        rest = [words[len(said) :] if part is words else part for part in parts]
        rest = [part for part in rest if part]
        if self.transcript.last is not message:
            if rest:
                self.say(rest)
            return
        for part in rest:
            self.transcript.stream("user", part, None)

    def end_turn(
        self,
        stop_reason: str | None,
        error: str | None = None,
        details: Sequence[str] = (),
        told: str | None = None,
    ) -> None:
        """The turn is over: the agent answered, or never will. `told` is the error for state and
        event where that is more than `error`.
        """
        self.echo = ""
        if stop_reason == "cancelled" or self.status == "cancelling":
            self.close_calls("cancelled")
        elif error is not None:
            self.close_calls("failed")
        else:
            self._close_refused()
        self.stop_reason, self.error = stop_reason, told or error
        if self.status in ("running", "cancelling"):
            self.status = "idle"
        self.transcript.release()
        self._tell_end(stop_reason, error, details)
        self.change("status", "stop_reason", "error")
        self.event("AcpTurnEnd", stop_reason=stop_reason, error=self.error)

    def _tell_end(self, stop_reason: str | None, error: str | None, details: Sequence[str]) -> None:
        if error is not None:
            self.notice("error", error, details)
        elif stop_reason in _ENDS:
            self.notice(*_ENDS[stop_reason])
        elif stop_reason != "end_turn":
            self.notice("warning", f"the turn ended: {stop_reason}")

    def _close_refused(self) -> None:
        """Close calls whose permission was refused: some agents end the turn without another word
        about them.
        """
        refused = [call for call in self.tool_calls.open() if self._was_refused(call)]
        self._close(refused, "cancelled")

    def _was_refused(self, call: ToolCall) -> bool:
        asked = self.entries[call].decisions
        return call.status == "pending" and bool(asked) and asked[-1].refused

    def notice(
        self, level: Literal["info", "warning", "error"], title: str, details: Sequence[str] = ()
    ) -> None:
        """Put a line of ours into the margin of the chat, without tearing text that streams."""
        line = Line(level, title, tuple(details))
        if self.status == "running":
            self.transcript.hold(line)
        else:
            self.transcript.add(line)
        self.on_change()

    # -- decisions --------------------------------------------------------------------------------

    def follow(self) -> None:
        """Overridden by a child, which takes title and status from its parent
        (`session/subagents.py`).
        """

    def _terminal_output(self) -> None:
        self.on_change()

    def _terminal_status(self) -> None:
        self.change("terminals")
        if len(self.terminals) > lists.NEWEST:
            self.change("more")

    def ask(self, decision: Decision, call: ToolCall | None = None) -> None:
        """Make a decision pending and show its card, under its tool call where it has one."""
        self.decisions.add(decision)
        entry: ToolEntry | Question
        if call is not None:
            entry = self.entries[call]
            entry.decisions.append(decision)
            self.transcript.touch(entry)
        else:
            entry = Question(decision)
            self.transcript.add(entry)
        decision.redraw = lambda: self._redraw(entry)
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
        self.on_change()

    def _decided(self, decision: Decision, entry: ToolEntry | Question, outcome: Outcome) -> None:
        self.transcript.touch(entry)
        self._tell_asked(decision)
        if decision.listed == "permissions":
            option = outcome.option.id if outcome.option else None
            self.event("AcpPermissionDone", id=decision.id, outcome=outcome.kind, option=option)


_ENDS: dict[str | None, tuple[Literal["info", "warning", "error"], str]] = {
    "cancelled": ("warning", "cancelled"),
    "refusal": (
        "warning",
        "the agent refused; this prompt and all after it are no longer in its context",
    ),
    "max_tokens": ("warning", "stopped at the token limit (max_tokens)"),
    "max_turn_requests": (
        "warning",
        "stopped at the limit of model requests in one turn (max_turn_requests)",
    ),
}
