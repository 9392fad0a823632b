"""Questions to the user, each resolved exactly once.

Ring 1 awaits a `Decision`. A key, a command, a rule, a cancel or the end of the agent resolves it.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from acp_nvim.session.questions.effects import Effect

KINDS = ("allow_once", "allow_always", "reject_once", "reject_always")

CHOICE: Final = "choice"
"""Kind of an option that answers a question. Neither a bare yes nor a rule chooses it."""

CANCEL_STEP: Final = 1000
MAX_LISTED: Final = 50
"""Number of pending decisions of a session listed in the snapshot."""
MAX_CARDS: Final = 5
"""Number of decisions with cards. Most screens have room for this many.

When the user moves to the cards, all listed decisions get cards.
"""

Listed = Literal["permissions", "elicitations", "questions"]
Subject = Literal["permission", "access", "command", "elicitation", "consent"]
"""Subject of a question.

`access` is about a file and `command` about a command that no rule covers. `consent` is about files
of the project, and no agent waits for it.
"""


class Option(Struct, frozen=True):
    """Possible answer. `kind` is a hint, `id` is sent to the agent."""

    id: str
    name: str
    kind: str


class Outcome(Struct, frozen=True):
    """Outcome of a decision. `selected` has an option, `accept` has values in `content`."""

    kind: Literal["selected", "accept", "decline", "cancelled"]
    option: Option | None = None
    content: Mapping[str, Any] | None = None


CANCELLED = Outcome("cancelled")

_ANSWERS: Final = {
    "selected": "answered",
    "accept": "accepted",
    "decline": "declined",
    "cancelled": "cancelled",
}


class Decision(Struct, eq=False):
    """Pending or resolved question.

    `id` is unique in the host. `tool_call_id` is the agent's id of the tool call. `details` are
    lines about the consequences (command, path, reason). `request` is the agent's request, to draw
    it in full.
    """

    id: str
    subject: Subject
    title: str
    kind: str | None = None
    tool_call_id: str | None = None
    options: Sequence[Option] = ()
    details: Sequence[str] = ()
    problems: list[str] = field(default_factory=list)
    """Reasons that patches of the request do not apply, one line for each file."""
    effects: Sequence[Effect] = ()
    """Diagnostics of language servers for the proposed texts."""
    request: Any = None
    since: int = field(default_factory=lambda: int(time.time()))
    """Time at which the question was asked, in seconds since 1970."""
    outcome: Outcome | None = None
    by: str = ""
    asker: Any = None
    """The child session that asks, in the list of its root session (`session/subagents.py`)."""
    agent: str = ""
    """Display name of the asking agent."""
    guarded: Mapping[str, str] = field(default_factory=dict)
    """Absolute paths of named files that always require a question, with the reason.

    A reason is `outside`, `secret` or `executed`.
    """
    has_choices: bool = False
    """Whether the options are the answers to a question with choices."""
    reason: str = ""
    """Reason that the user gave with the answer."""
    completed: bool = False
    """Whether the user has finished at the opened address (v1/elicitation#url-mode)."""
    lacks_card: bool = False
    """Whether the question has no card yet, because many are pending before it."""
    shown_call: Any = None
    """Tool call as shown by the card (`renewal.py`), or None if that never changes."""
    is_published: bool = False
    """Whether Neovim knows the id."""
    record: Any = None
    """Copy of the tool call from the moment of the answer."""
    covers: Sequence[Any] = ()
    """Open tool calls that the question may allow, as the card shows them (`covered.py`).

    Empty if the request itself shows the action.
    """
    waiters: list[Callable[[Outcome], None]] = field(default_factory=list)
    _judge: Callable[[], None] = lambda: None
    _covered: Callable[[], Sequence[Any]] = tuple
    _redraw: Callable[[], None] = lambda: None
    _reply: Callable[[Outcome], None] | None = None

    def set_judge(self, judge: Callable[[], None]) -> None:
        """Set the function that applies the user's rules to the question."""
        self._judge = judge

    def judge(self) -> None:
        """Update the covered calls and apply the user's rules, which may resolve it."""
        self.update_covered()
        self._judge()

    def set_covered(self, covered: Callable[[], Sequence[Any]]) -> None:
        """Set the function that returns the open tool calls that the question may allow."""
        self._covered = covered

    def covered_now(self) -> Sequence[Any]:
        """Return the open tool calls that the question may allow now."""
        return self._covered()

    def update_covered(self) -> None:
        """Update the open tool calls that the question may allow."""
        self.covers = self._covered()

    @property
    def strictest_kind(self) -> str | None:
        """Return the kind of the question, or that of a command that the question may allow."""
        executes = any(call.kind == "execute" for call in self.covers)
        return "execute" if executes else self.kind

    def set_redraw(self, redraw: Callable[[], None]) -> None:
        """Set the function that redraws the question."""
        self._redraw = redraw

    def redraw(self) -> None:
        """Redraw the question."""
        self._redraw()

    def reply_with(self, reply: Callable[[Outcome], None]) -> None:
        """Set the function that answers the request. It is called before the waiters."""
        self._reply = reply

    def set_reason(self, reason: str) -> None:
        """Set the reason for the answer that follows."""
        self.reason = reason

    def resolve(self, outcome: Outcome, by: str = "user") -> bool:
        """Set the outcome and call the waiters. Return False if it was resolved before."""
        if not self.settle(outcome, by):
            return False
        self.call_waiters()
        return True

    def settle(self, outcome: Outcome, by: str) -> bool:
        """Set the outcome and answer the agent. Return False if it was resolved before.

        `call_waiters` must follow.
        """
        if self.outcome is not None:
            return False
        self.outcome, self.by = outcome, by
        reply, self._reply = self._reply, None
        if reply is not None:
            reply(outcome)
        return True

    def call_waiters(self) -> None:
        """Call the waiters with the outcome."""
        assert self.outcome is not None
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            waiter(self.outcome)

    @property
    def is_refused(self) -> bool:
        """Return whether the user refused or did not choose."""
        option = self.outcome and self.outcome.option
        return self.outcome is not None and (option is None or option.kind.startswith("reject"))

    @property
    def answer(self) -> str:
        """Return the outcome in a few words, or an empty string while it is open."""
        if self.outcome is None:
            return ""
        words = self.outcome.option.name if self.outcome.option else _ANSWERS[self.outcome.kind]
        words += ", completed" if self.completed else ""
        return words if self.by in ("user", "cancel") else f"{words} ({self.by})"

    @property
    def listed(self) -> Listed:
        """Return the name of the snapshot's list that has the decision while it is pending."""
        if self.subject == "elicitation":
            return "elicitations"
        return "questions" if self.subject == "consent" else "permissions"

    def option(self, option_id: str) -> Option | None:
        return next((option for option in self.options if option.id == option_id), None)

    def first(self, kind: str) -> Option | None:
        """Return the first option of that kind, in the agent's order."""
        return next((option for option in self.options if option.kind == kind), None)


class Decisions:
    """Pending decisions of one session, oldest first. Only the oldest have cards."""

    def __init__(self) -> None:
        self._pending: dict[str, Decision] = {}
        self._front: dict[str, Decision] = {}
        """Decisions with cards."""
        self._without_card: deque[Decision] = deque()
        """Decisions without cards, in order. Resolved ones are skipped."""
        self._counts: Counter[Listed] = Counter()
        """Number of pending decisions, by their list."""
        self._room = MAX_CARDS
        """Maximum number of cards."""

    def __iter__(self) -> Iterator[Decision]:
        """Iterate over a copy, because resolving changes the collection."""
        return iter(list(self._pending.values()))

    def __len__(self) -> int:
        return len(self._pending)

    @property
    def front(self) -> list[Decision]:
        """Return the oldest decisions, which have cards."""
        return list(self._front.values())

    @property
    def count_without_card(self) -> int:
        """Return the number of decisions without cards."""
        return len(self._pending) - len(self._front)

    @property
    def listed(self) -> list[Decision]:
        """Return the decisions in the snapshot: the oldest ones, and all with cards."""
        listed: list[Decision] = []
        cards, others = len(self._front), max(MAX_LISTED - len(self._front), 0)
        for decision in self._pending.values():
            if not cards and not others:
                break
            if not decision.lacks_card:
                cards -= 1
            elif others:
                others -= 1
            else:
                continue
            listed.append(decision)
        return listed

    @property
    def unlisted(self) -> dict[str, int]:
        """Return the number of decisions that are not in the snapshot, by their list."""
        left = self._counts - Counter(decision.listed for decision in self.listed)
        return {name: left[name] for name in left}

    def add(self, decision: Decision) -> None:
        """Make a decision pending, unless a rule has resolved it."""
        if decision.outcome is not None:
            return
        if not self._pending:
            self._room = MAX_CARDS
        self._pending[decision.id] = decision
        self._counts[decision.listed] += 1
        decision.lacks_card = len(self._front) >= self._room
        if decision.lacks_card:
            self._without_card.append(decision)
        else:
            self._front[decision.id] = decision
        decision.waiters.append(lambda _: self._drop(decision))

    def _drop(self, decision: Decision) -> None:
        if self._pending.pop(decision.id, None) is None:
            return  # all were removed at once
        self._counts[decision.listed] -= 1
        if not decision.lacks_card:
            del self._front[decision.id]
            self._move_up()

    def _move_up(self) -> None:
        while self._without_card and len(self._front) < self._room:
            self.show(self._without_card.popleft())

    def show_listed(self) -> bool:
        """Give cards to all listed decisions, when the user moves to the cards.

        Return False if there are no new cards.
        """
        before = len(self._front)
        self._room = MAX_LISTED
        self._move_up()
        return len(self._front) > before

    def show(self, decision: Decision) -> bool:
        """Give a card to a decision without one. Return False for any other decision."""
        if not decision.lacks_card or decision.outcome is not None:
            return False
        decision.lacks_card = False
        self._front[decision.id] = decision
        decision.update_covered()
        decision.redraw()
        return True

    def renew(self, decision: Decision, new_id: str) -> None:
        """Give a pending decision a new id and make it the newest."""
        for decisions in (self._pending, self._front):
            if decisions.pop(decision.id, None) is not None:
                decisions[new_id] = decision
        decision.id, decision.is_published = new_id, False

    def get(self, decision_id: str) -> Decision | None:
        """Return a pending decision by its id."""
        return self._pending.get(decision_id)

    def cancel_all(self, by: str) -> bool:
        """Resolve all pending decisions as cancelled. Return False if there were none."""
        had_any = bool(self._pending)
        for _ in self.cancelling(by):
            pass
        return had_any

    def cancelling(self, by: str) -> Iterator[None]:
        """Cancel all decisions in steps of `CANCEL_STEP`: first answer all, then call all waiters.

        From the first step on, no decision is pending.
        """
        pending = list(self._pending.values())
        self._pending.clear()
        self._front.clear()
        self._without_card.clear()
        self._counts.clear()
        return _cancel_in_steps(pending, by)


def _cancel_in_steps(decisions: Sequence[Decision], by: str) -> Iterator[None]:
    steps = range(0, len(decisions), CANCEL_STEP)
    for first in steps:
        for decision in decisions[first : first + CANCEL_STEP]:
            decision.settle(CANCELLED, by)
        yield
    for first in steps:
        for decision in decisions[first : first + CANCEL_STEP]:
            decision.call_waiters()
        yield
