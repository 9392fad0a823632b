"""Transcript of a session: its entries in wire order.

Entries are only appended, so the order on the screen is the order on the wire. A message may be
rewritten in place, under its id. Only a replay that failed is removed again.
"""

from __future__ import annotations

from collections.abc import Iterable

from acp_nvim.session.transcript.entries import (
    Entry,
    Heading,
    Line,
    Message,
    Part,
    Past,
    Role,
    length,
)


class Transcript:
    """Entries in wire order, and the ones that changed since they were last drawn."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.dirty: dict[Entry, None] = {}
        self.unsaved: dict[Entry, None] = {}
        """Entries that changed since the history stored them."""
        self.written = 0
        """Number of characters ever added, for back-pressure and for the places of events."""
        self.dropped_text = 0
        """Number of characters in `written` that are in dropped entries."""
        self.must_redraw = False
        """Whether drawn entries were dropped."""
        self.speaker: str | None = None
        """Agent's name, for the heading between the user's and the agent's text."""
        self._needs_heading = False
        """Whether the agent's next text needs a heading.

        It needs one after a user message, even with notices in between, and in a turn that the
        agent itself began.
        """
        self._held: list[Line] = []
        self._named: dict[tuple[Role, str], Message] = {}
        """Messages with an id from the agent."""
        self._earlier: set[tuple[Role, str]] = set()
        """Ids of messages from before the session was reopened, if not used since then."""
        self._dropped: set[Entry] = set()

    @property
    def last(self) -> Entry | None:
        """Return the newest entry."""
        return self.entries[-1] if self.entries else None

    def add(self, entry: Entry) -> None:
        """Complete the last message and append an entry.

        Held notices, and a heading if it is due, precede the entry.
        """
        last = self.entries[-1] if self.entries else None
        if last.__class__ is Message:
            last.closed = True
            self.touch(last)
        if self._held:
            self.release()
        if self._needs_heading and _is_from_agent(entry):
            self._needs_heading = False
            if self.speaker is not None:
                self._append(Heading(self.speaker))
        self._append(entry)

    def _append(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.touch(entry)
        if entry.__class__ is Message and entry.role == "user":
            self._needs_heading = True
        elif entry.__class__ is Heading:
            self._needs_heading = False

    def expect_agent(self) -> None:
        """Put a heading before the agent's next text, in a turn without a user prompt.

        If a prompt precedes that text after all, there is no heading.
        """
        self._needs_heading = bool(self.entries)

    def hold(self, line: Line) -> None:
        """Append a notice without splitting the agent's message.

        While its text streams, the notice waits for the next entry or for `release`.
        """
        last = self.last
        if isinstance(last, Message) and last.role != "user" and not last.closed:
            self._held.append(line)
        else:
            self.add(line)

    def complete(self) -> None:
        """Complete the last message at the end of the turn. Later text begins a new message."""
        last = self.last
        if isinstance(last, Message) and not last.closed:
            last.closed = True
            self.dirty[last] = None
        self.release()

    def release(self) -> None:
        """Append the notices held back during the agent's message."""
        entries, self._held = self._held, []
        for line in entries:
            self._append(line)

    def append_all(self, entries: Iterable[Entry]) -> None:
        """Append entries of another session's transcript, unchanged."""
        for entry in entries:
            self._append(entry)
            if isinstance(entry, Message):
                self.written += length(entry.parts)

    def drop(self) -> bool:
        """Drop the entries of a replay. Return whether there were any.

        Notices and prompts sent from here are preserved. All message ids are forgotten, and the
        chat is drawn again.
        """
        dropped = [entry for entry in self.entries if not _is_from_here(entry)]
        if not dropped:
            return False
        self._dropped.update(dropped)
        self.entries[:] = filter(_is_from_here, self.entries)
        for changed in (self.dirty, self.unsaved):
            for entry in self._dropped.intersection(changed):
                del changed[entry]
        self._named.clear()
        self._earlier.clear()
        self._needs_heading = False
        left = sum(length(entry.parts) for entry in self.entries if isinstance(entry, Message))
        self.dropped_text, self.must_redraw = self.written - left, True
        return True

    def touch(self, entry: Entry) -> None:
        """Mark an entry as changed, unless it was dropped."""
        if entry in self._dropped:
            return
        self.dirty[entry] = None
        self.unsaved[entry] = None

    def set_prompt_number(self, message: Message, prompt: int | None) -> None:
        """Set the number of the user's prompt for a message. The chat does not show it."""
        message.count_as(prompt)
        self.unsaved[message] = None

    def stream(self, role: Role, part: Part, message_id: str | None) -> Message:
        """Append a part to the message that it continues, or to a new one.

        A chunk continues the newest entry while role and `messageId` stay the same (v1/prompt-turn:
        a change of `messageId` starts a new message, its absence concatenates). A complete message
        is continued only by chunks with its id.
        """
        message = self.entries[-1] if self.entries else None
        if (
            message.__class__ is not Message
            or message.role != role
            or message.message_id != message_id
            or (message.closed and message_id is None)
        ):
            message = Message(role, message_id)
            self.add(message)
        message.parts.append(part)
        self.dirty[message] = None
        self.unsaved[message] = None
        self.written += len(part) if part.__class__ is str else 1
        return message

    # -- messages by id (v2/prompt-lifecycle) -----------------------------------------------------

    def message_of(self, role: Role, message_id: str) -> Message | None:
        return self._named.get((role, message_id))

    def set_message_id(self, message: Message, message_id: str) -> None:
        """Set the agent's id for a message sent from here."""
        message.message_id = message_id
        self._earlier.discard((message.role, message_id))
        self._named[message.role, message_id] = message
        self.unsaved[message] = None

    def mark_ids(self) -> None:
        """Note the known ids when the session is reopened."""
        self._earlier = set(self._named)

    def keep_ids(self) -> None:
        """Keep the ids of all messages valid, because the agent still uses them."""
        self._earlier = set()

    def forget_ids(self) -> list[tuple[Role, str]]:
        """Forget the earlier ids that have not been used since the reopening. Return them."""
        forgotten, self._earlier = list(self._earlier), set()
        for key in forgotten:
            del self._named[key]
        return forgotten

    def chunk(self, role: Role, message_id: str, part: Part) -> Message:
        """Append a part to the message with that id, anywhere in the transcript."""
        message = self._message(role, message_id)
        message.parts.append(part)
        self.touch(message)
        self.written += len(part) if part.__class__ is str else 1
        return message

    def rewrite(self, role: Role, message_id: str, parts: list[Part]) -> Message:
        """Replace all parts of the message with that id."""
        message = self._message(role, message_id)
        if parts == message.parts:
            return message
        message.replace(parts)
        self.touch(message)
        self.written += length(parts)
        return message

    def _message(self, role: Role, message_id: str) -> Message:
        if self._earlier:
            self._earlier.discard((role, message_id))
        message = self._named.get((role, message_id))
        if message is None:
            message = self._named[role, message_id] = Message(role, message_id)
            self.add(message)
        return message


def _is_from_here(entry: Entry) -> bool:
    """Return whether an entry is a notice or a user prompt, not part of a replay."""
    return isinstance(entry, Line | Past) or (isinstance(entry, Message) and entry.sent is not None)


def _is_from_agent(entry: Entry) -> bool:
    """Return whether an entry is from the agent. In a replay, the first one follows a heading."""
    if isinstance(entry, Message):
        return entry.role != "user"
    return not isinstance(entry, (Heading, Line))
