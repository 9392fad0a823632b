"""What an agent tells again of a session whose chat shows it already, where it names things by ids.

A plain `session/resume` replays nothing (v2/session-setup#resuming-sessions). Some agents replay
all the same, and tell each thing from its beginning on. So what they tell of things that are known
here is compared with what is known: what is equal is dropped, what goes beyond it is news. An
agent that works on meanwhile tells of something else, which is news at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import UNSET, structs

from acp_nvim.protocol import schema, updates
from acp_nvim.session.entries import (
    Compaction,
    Entry,
    Message,
    Part,
    Past,
    PlanDocument,
    Role,
    ToolEntry,
)
from acp_nvim.session.retold_calls import ToldCall, ToldTerminal
from acp_nvim.session.retold_messages import Comparison, Guess, Known
from acp_nvim.session.session import Session
from acp_nvim.session.upserts import part

News = Sequence[Any]
Told = Sequence[Any] | None
"""What is new of an update that may tell the past; None where all of it is."""


class Retelling:
    """Of one session, from the request that opens it again to the end of what is told then."""

    def __init__(self, session: Session, *, tells: bool = False) -> None:
        """What is known now may be told again. `tells`: the agent was asked to replay."""
        self.heard = 0
        """How many updates told of the past, or may have done so."""
        self._session = session
        self._tells = tells
        """Whether the agent tells the past. It begins with the first thing that is known, or with
        words of the user: anything else is its work, which goes on.
        """
        entries = session.transcript.entries
        self._unseen = any(isinstance(entry, Past) for entry in entries)
        """Whether the chat shows more than is known here: lines of an earlier process."""
        self._known = Known(session.transcript)
        self._first = next((entry for entry in entries if _is_agents(entry)), None)
        self._entries = {call.id: entry for call, entry in session.entries.items()}
        self._plans = dict(session.plans)
        self._terminals = {one.id: one for one in session.terminals if not one.ours}
        self._compactions = {it.id: it for it in entries if isinstance(it, Compaction)}
        self._compared: dict[Message | Compaction, Comparison] = {}
        self._guesses: dict[tuple[Role, str], Guess] = {}
        """By id; the empty one is that of a message without an id."""
        self._calls: dict[str, ToldCall] = {}
        self._told_plans: dict[str, Any] = {}
        self._told_terminals: dict[str, ToldTerminal] = {}

    def news(self, update: Any) -> News:
        """Return what an update tells that is new."""
        tell = _TOLD.get(update.__class__)
        if tell is None:
            return (update,)
        earlier = self._without_id_before(update)
        found = tell(self, update)
        self.heard += found is not None
        return (*earlier, *((update,) if found is None else found))

    def end(self) -> News:
        """Nothing more is told again. Returns what is new of all that was held back."""
        found = [it for key in list(self._guesses) for it in self._settle(key)]
        for id in self._calls:
            found += self._call_news(id)
        for terminal in self._told_terminals.values():
            found += terminal.news()
        return found + [it for id, it in self._told_plans.items() if self._is_new_plan(id, it)]

    def _is_past(self, entry: Entry | None) -> bool:
        """Whether an update about something that is known tells the past."""
        if entry is not None and (entry is self._first or _is_users(entry)):
            self._tells = True
        return self._tells

    # -- messages ---------------------------------------------------------------------------------

    def _chunk(self, update: updates.MessageChunk) -> Told:
        said = part(update.content)
        message = self._known.named(update.role, update.message_id)
        if message is None:
            return self._guess(update, update.role, update.message_id, [said])
        if not self._is_past(message):
            return None
        return (*self._is_told(message), *self._compare(message, update, said))

    def _content(self, update: updates.MessageContent) -> Told:
        said = [part(block) for block in update.content]
        message = self._known.named(update.role, update.message_id)
        if message is None:
            return self._guess(update, update.role, update.message_id, said)
        if not self._is_past(message):
            return None
        return (*self._is_told(message), *self._compare_all(message, update, said))

    def _kept(self, update: updates.MessageKept) -> Told:
        message = self._known.named(update.role, update.message_id)
        return None if message is None or not self._is_past(message) else ()

    def _older_chunk(self, update: Any) -> Told:
        return self._guess(update, _ROLES[update.__class__], "", [part(update.content)])

    def _compare(self, entry: Message | Compaction, update: Any, said: Part) -> News:
        """More of what is known."""
        comparison = self._comparison(entry)
        if comparison.over:
            return (update,)
        more = comparison.take(said)
        if more == "":
            return ()
        comparison.exceed()
        if more is not None:
            return (_with(update, more),)
        told = comparison.told()
        if comparison.sure and isinstance(update, updates.MessageChunk):
            return (_whole(update, [*told, said]),)
        return (*(_with(update, one) for one in told), update)

    def _compare_all(
        self, message: Message, update: updates.MessageContent, said: Sequence[Part]
    ) -> News:
        """All of a known message. A part of what is known is its past."""
        before = self._compared.pop(message, None)
        comparison = self._comparison(message)
        if (before is None or not before.over) and all(comparison.take(it) == "" for it in said):
            return ()
        comparison.exceed()
        return (update,)

    def _comparison(self, entry: Message | Compaction) -> Comparison:
        found = self._compared.get(entry)
        if found is None:
            known = entry.summary if isinstance(entry, Compaction) else entry.parts
            found = self._compared[entry] = Comparison(known)
        return found

    def _is_told(self, message: Message) -> News:
        """A message is told under its own id. Returns what was taken for it."""
        self._known.tell(message)
        wrong = [guess for guess in self._guesses.values() if guess.message is message]
        return [it for guess in wrong for it in guess.give_up()]

    # -- messages under other ids -----------------------------------------------------------------

    def _guess(self, update: Any, role: Role, id: str, said: Sequence[Part]) -> Told:
        """A message that is not known; under another id, perhaps."""
        if self._unseen and (role == "user" or self._tells):
            self._tells = True
            return ()
        guess = self._guesses.get((role, id)) or Guess(self._known, role)
        if guess.over or not (self._tells or role == "user"):
            return None
        self._guesses[role, id] = guess
        whole = isinstance(update, updates.MessageContent)
        more = guess.content(update, said) if whole else guess.chunk(update, said[0])
        if more:
            self._settle((role, id))
            return tuple(updates.MessageChunk(role, id, _block(one)) for one in more)
        return self._released((role, id), guess)

    def _released(self, key: tuple[Role, str], guess: Guess) -> News:
        """What is none of the known messages."""
        if guess.message is not None:
            self._tells = self._tells or key[0] == "user"
            return ()
        return guess.give_up()

    def _settle(self, key: tuple[Role, str]) -> News:
        """No more is told of a message that may be known."""
        guess = self._guesses.pop(key)
        message = guess.message
        if message is None or not guess.comparison.complete:
            return guess.held
        role, id = key
        if id:
            self._session.transcript.name(message, id)
            self._known.name(message, id)
            self._compared[message] = guess.comparison
            if role == "user":
                self._session.own_words.add(id)
        return ()

    def _without_id_before(self, update: Any) -> News:
        """A message without an id goes on until something else is told."""
        role = _ROLES.get(update.__class__)
        ended = [key for key in self._guesses if not key[1] and key[0] != role]
        return [it for key in ended for it in self._settle(key)]

    # -- tool calls -------------------------------------------------------------------------------

    def _call(self, update: schema.ToolCallUpdate) -> Told:
        told = self._told_call(update.tool_call_id)
        if told is None:
            return self._unknown()
        if told.patch(update):
            return self._call_news(update.tool_call_id)
        return ()

    def _call_item(self, update: updates.CallContent) -> Told:
        told = self._told_call(update.tool_call_id)
        if told is None:
            return self._unknown()
        told.item(update.content)
        return ()

    def _told_call(self, id: str) -> ToldCall | None:
        entry = self._entries.get(id)
        if entry is None or not self._is_past(entry):
            return None
        return self._calls.setdefault(id, ToldCall())

    def _call_news(self, id: str) -> News:
        return self._calls[id].news(self._entries[id].call)

    def _unknown(self) -> Told:
        """Something that is not known here; the lines of an earlier process may show it."""
        return () if self._unseen and self._tells else None

    # -- terminals, plans, compactions ------------------------------------------------------------

    def _terminal(self, update: updates.TerminalState) -> Told:
        """A state may be told twice; a terminal that is told of without its output begins anew."""
        id = update.terminal_id
        known = self._terminals.get(id)
        if known is None or not self._tells:
            return self._unknown() if known is None else None
        if update.output is not UNSET:
            self._told_terminals.pop(id, None)
        elif update.command is not UNSET:
            self._told_terminals.setdefault(id, ToldTerminal(known))
        if update.exit is None and not known.running:
            return (structs.replace(update, exit=UNSET),)
        return (update,)

    def _terminal_bytes(self, update: updates.TerminalBytes) -> Told:
        told = self._told_terminals.get(update.terminal_id)
        if told is None:
            return None if update.terminal_id in self._terminals else self._unknown()
        told.feed(update.data)
        return ()

    def _plan(self, update: schema.PlanUpdate | schema.PlanRemoved) -> Told:
        """Of a plan only the last state counts."""
        id = _plan_id(update)
        if not self._tells or id not in self._plans:
            return self._unknown()
        self._told_plans[id] = update
        return ()

    def _is_new_plan(self, id: str, update: schema.PlanUpdate | schema.PlanRemoved) -> bool:
        known = self._plans[id]
        plan = None if isinstance(update, schema.PlanRemoved) else update.plan
        match known, plan:
            case PlanDocument(), schema.PlanMarkdown() | schema.PlanFile():
                told = (getattr(plan, "content", None), getattr(plan, "uri", None))
                return (known.text, known.uri) != told
            case Sequence(), schema.PlanItems():
                return list(known) != list(plan.entries)
        return True

    def _compaction(self, update: schema.CompactionUpdate) -> Told:
        return None if update.compaction_id in self._compactions else self._unknown()

    def _compaction_chunk(self, update: schema.CompactionSummaryChunk) -> Told:
        entry = self._compactions.get(update.compaction_id)
        if entry is None or not self._tells:
            return self._unknown()
        return self._compare(entry, update, part(update.content))


_ROLES: Final[dict[type, Role]] = {
    schema.UserMessageChunk: "user",
    schema.AgentMessageChunk: "agent",
    schema.AgentThoughtChunk: "thought",
}
_TOLD: Final[dict[type, Callable[[Retelling, Any], Told]]] = {
    **dict.fromkeys(_ROLES, Retelling._older_chunk),
    updates.MessageChunk: Retelling._chunk,
    updates.MessageContent: Retelling._content,
    updates.MessageKept: Retelling._kept,
    updates.CallPatch: Retelling._call,
    updates.CallContent: Retelling._call_item,
    updates.TerminalState: Retelling._terminal,
    updates.TerminalBytes: Retelling._terminal_bytes,
    schema.PlanUpdate: Retelling._plan,
    schema.PlanRemoved: Retelling._plan,
    schema.CompactionUpdate: Retelling._compaction,
    schema.CompactionSummaryChunk: Retelling._compaction_chunk,
}


def _is_users(entry: Entry) -> bool:
    return isinstance(entry, Message) and entry.role == "user"


def _is_agents(entry: Entry) -> bool:
    """Whether an agent names it by an id."""
    if isinstance(entry, Message):
        return entry.role != "user" and entry.message_id is not None
    return isinstance(entry, ToolEntry | PlanDocument)


def _block(one: Part) -> Any:
    return schema.TextContent(one) if isinstance(one, str) else one


def _with(update: Any, one: Part) -> Any:
    return structs.replace(update, content=_block(one))


def _whole(update: updates.MessageChunk, parts: Sequence[Part]) -> updates.MessageContent:
    content = [_block(one) for one in parts]
    return updates.MessageContent(update.role, update.message_id, content)


def _plan_id(update: schema.PlanUpdate | schema.PlanRemoved) -> str:
    told: Any = update if isinstance(update, schema.PlanRemoved) else update.plan
    return str(getattr(told, "plan_id", ""))
