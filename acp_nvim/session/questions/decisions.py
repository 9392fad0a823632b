"""Questions to the user, each resolved exactly once.

Ring 1 awaits a `Decision`; a key, a command, a rule, a cancel or the end of the agent resolves it.
It knows nothing of how it is drawn or who waits.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from acp_nvim.session.questions.effects import Effect

KINDS = ("allow_once", "allow_always", "reject_once", "reject_always")

CHOICE: Final = "choice"
"""Kind of an option that answers a question: neither a bare yes nor a rule takes it."""

AT_ONCE: Final = 1000
IN_STATE: Final = 50
"""How many pending decisions of a session are listed in the snapshot."""
CARDS: Final = 5
"""How many of them have cards, as many as fit on most screens; a user who goes to the cards gets
those of all that are listed. The rest waits behind.
"""

Listed = Literal["permissions", "elicitations", "questions"]
Subject = Literal["permission", "access", "command", "elicitation", "consent"]
"""The subject of a question: a permission of an agent; access to a file or a command, which rules
leave to the user; an elicitation; or a consent about a project's own files, which no agent waits
for.
"""


class Option(Struct, frozen=True):
    """One answer on offer; `kind` is a hint, `id` goes back to the agent."""

    id: str
    name: str
    kind: str


class Outcome(Struct, frozen=True):
    """How a decision ended: `selected` with the option; `accept` with form values; `decline`;
    `cancelled`.
    """

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
    """A pending or decided question.

    `id` is ours and unique in the host; `tool_call_id` is the agent's. `details` are lines about
    the consequences (command, path, reason); `request` is the agent's own request, for drawing it
    in full.
    """

    id: str
    subject: Subject
    title: str
    kind: str | None = None
    tool_call_id: str | None = None
    options: Sequence[Option] = ()
    details: Sequence[str] = ()
    problems: list[str] = field(default_factory=list)
    """Why its patches do not apply, a line for each file."""
    effects: Sequence[Effect] = ()
    """What language servers say of the texts that it would write."""
    request: Any = None
    outcome: Outcome | None = None
    by: str = ""
    asker: Any = None
    """The child session that asks, in its parent's list (`session/subagents.py`)."""
    agent: str = ""
    """Who asks, for people."""
    guarded: Mapping[str, str] = field(default_factory=dict)
    """Files that it names, absolute, which are always asked about, with the reason: `outside`,
    `secret` or `executed`.
    """
    question: bool = False
    """It is a question with choices: its options are the answers."""
    completed: bool = False
    """The address that the user agreed to open is done with (v1/elicitation#url-mode)."""
    behind: bool = False
    """It has no card yet, since many wait before it."""
    about: Any = None
    """The tool call as its card shows it (`renewal.py`); None if that never changes."""
    known: bool = False
    """Neovim knows its id."""
    record: Any = None
    """The tool call as it was when the question was answered."""
    covers: Sequence[Any] = ()
    """The open tool calls that it may allow, as its card shows them, if it says nothing of what it
    allows (`covered.py`).
    """
    waiters: list[Callable[[Outcome], None]] = field(default_factory=list)
    _judge: Callable[[], None] = lambda: None
    _covered: Callable[[], Sequence[Any]] = tuple
    _redraw: Callable[[], None] = lambda: None
    _reply: Callable[[Outcome], None] | None = None

    def judged_by(self, judge: Callable[[], None]) -> None:
        """Take the function that applies the user's rules to the question."""
        self._judge = judge

    def judge(self) -> None:
        """Look at what it may allow and apply the user's rules, which may resolve it."""
        self.look()
        self._judge()

    def covers_by(self, covered: Callable[[], Sequence[Any]]) -> None:
        """Take the function that returns the open tool calls that it may allow."""
        self._covered = covered

    def covered_now(self) -> Sequence[Any]:
        """Return the open tool calls that it may allow now."""
        return self._covered()

    def look(self) -> None:
        """Take over the open tool calls that it may allow now."""
        self.covers = self._covered()

    @property
    def strictest_kind(self) -> str | None:
        """Its kind, or that of a command that it may allow."""
        executes = any(call.kind == "execute" for call in self.covers)
        return "execute" if executes else self.kind

    def drawn_by(self, redraw: Callable[[], None]) -> None:
        """Take the function that draws the place where the question is shown."""
        self._redraw = redraw

    def redraw(self) -> None:
        """Draw that place again."""
        self._redraw()

    def reply_with(self, reply: Callable[[Outcome], None]) -> None:
        """Take the function that answers the request, before all who wait are told."""
        self._reply = reply

    def resolve(self, outcome: Outcome, by: str = "user") -> bool:
        """Set the outcome and tell the waiters; False when it was resolved before."""
        if not self.settle(outcome, by):
            return False
        self.tell()
        return True

    def settle(self, outcome: Outcome, by: str) -> bool:
        """Set the outcome and answer the agent; `tell` follows. False when it was resolved
        before.
        """
        if self.outcome is not None:
            return False
        self.outcome, self.by = outcome, by
        reply, self._reply = self._reply, None
        if reply is not None:
            reply(outcome)
        return True

    def tell(self) -> None:
        """Tell the waiters the outcome."""
        assert self.outcome is not None
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            waiter(self.outcome)

    @property
    def refused(self) -> bool:
        """Whether the answer was no, or none."""
        option = self.outcome and self.outcome.option
        return self.outcome is not None and (option is None or option.kind.startswith("reject"))

    @property
    def answer(self) -> str:
        """The outcome in a few words; empty while it is open."""
        if self.outcome is None:
            return ""
        words = self.outcome.option.name if self.outcome.option else _ANSWERS[self.outcome.kind]
        words += ", completed" if self.completed else ""
        return words if self.by in ("user", "cancel") else f"{words} ({self.by})"

    @property
    def listed(self) -> Listed:
        """The list of the snapshot that it stands in while it is pending."""
        if self.subject == "elicitation":
            return "elicitations"
        return "questions" if self.subject == "consent" else "permissions"

    def option(self, option_id: str) -> Option | None:
        return next((option for option in self.options if option.id == option_id), None)

    def first(self, kind: str) -> Option | None:
        """Return the first option of that kind, in the agent's order."""
        return next((option for option in self.options if option.kind == kind), None)


class Decisions:
    """The pending decisions of one session, oldest first: those in front, and those behind."""

    def __init__(self) -> None:
        """Start with none."""
        self._pending: dict[str, Decision] = {}
        self._front: dict[str, Decision] = {}
        self._behind: deque[Decision] = deque()
        """In order; ones that were resolved meanwhile are skipped."""
        self._counts: Counter[Listed] = Counter()
        """How many are pending, by their list."""
        self._room = CARDS
        """How many may stand in front."""

    def __iter__(self) -> Iterator[Decision]:
        """Iterate over a copy, so that resolving while iterating is safe."""
        return iter(list(self._pending.values()))

    def __len__(self) -> int:
        """Return the number that is pending."""
        return len(self._pending)

    @property
    def front(self) -> list[Decision]:
        """The oldest ones, which have cards."""
        return list(self._front.values())

    @property
    def behind(self) -> int:
        """How many have no card yet."""
        return len(self._pending) - len(self._front)

    @property
    def listed(self) -> list[Decision]:
        """The oldest ones, which are in the snapshot, and all that have cards."""
        found: list[Decision] = []
        cards, others = len(self._front), max(IN_STATE - len(self._front), 0)
        for decision in self._pending.values():
            if not cards and not others:
                break
            if not decision.behind:
                cards -= 1
            elif others:
                others -= 1
            else:
                continue
            found.append(decision)
        return found

    @property
    def unlisted(self) -> dict[str, int]:
        """How many others there are, by their list."""
        left = self._counts - Counter(decision.listed for decision in self.listed)
        return {name: left[name] for name in left}

    def add(self, decision: Decision) -> None:
        """Make it pending until it is resolved; one that a rule has resolved is not."""
        if decision.outcome is not None:
            return
        if not self._pending:
            self._room = CARDS
        self._pending[decision.id] = decision
        self._counts[decision.listed] += 1
        decision.behind = len(self._front) >= self._room
        if decision.behind:
            self._behind.append(decision)
        else:
            self._front[decision.id] = decision
        decision.waiters.append(lambda _: self._drop(decision))

    def _drop(self, decision: Decision) -> None:
        if self._pending.pop(decision.id, None) is None:
            return  # all were taken out at once
        self._counts[decision.listed] -= 1
        if not decision.behind:
            del self._front[decision.id]
            self._move_up()

    def _move_up(self) -> None:
        while self._behind and len(self._front) < self._room:
            self.bring(self._behind.popleft())

    def bring_listed(self) -> bool:
        """Bring all that are listed to the front, until none is pending: the user looks at the
        cards. False where none came.
        """
        before = len(self._front)
        self._room = IN_STATE
        self._move_up()
        return len(self._front) > before

    def bring(self, decision: Decision) -> bool:
        """Bring one from behind to the front, where it gets its card; False for any other."""
        if not decision.behind or decision.outcome is not None:
            return False
        decision.behind = False
        self._front[decision.id] = decision
        decision.look()
        decision.redraw()
        return True

    def renew(self, decision: Decision, new_id: str) -> None:
        """Give a pending one a new id; it is the newest then."""
        for held in (self._pending, self._front):
            if held.pop(decision.id, None) is not None:
                held[new_id] = decision
        decision.id, decision.known = new_id, False

    def get(self, decision_id: str) -> Decision | None:
        """Return a pending one by our id."""
        return self._pending.get(decision_id)

    def cancel_all(self, by: str) -> bool:
        """Resolve every pending one as cancelled; False when there was none."""
        there = bool(self._pending)
        for _ in self.cancelling(by):
            pass
        return there

    def cancelling(self, by: str) -> Iterator[None]:
        """Do the same in steps of `AT_ONCE`: first answer all, then tell all waiters. None is
        pending any more when this returns.
        """
        pending = list(self._pending.values())
        self._pending.clear()
        self._front.clear()
        self._behind.clear()
        self._counts.clear()
        return _cancelled(pending, by)


def _cancelled(decisions: Sequence[Decision], by: str) -> Iterator[None]:
    steps = range(0, len(decisions), AT_ONCE)
    for first in steps:
        for decision in decisions[first : first + AT_ONCE]:
            decision.settle(CANCELLED, by)
        yield
    for first in steps:
        for decision in decisions[first : first + AT_ONCE]:
            decision.tell()
        yield
