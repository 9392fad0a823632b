"""Tool calls of a session: one record per id, created and changed by three kinds of message.

Agents announce calls with `tool_call` and change them with `tool_call_update`. Some name them first
in a permission request, so each of the three creates a call with an unknown id. If a `tool_call`
reuses the id of a finished call, it begins a new one. Arrays are replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from acp_nvim.protocol import schema
from acp_nvim.protocol.updates import CallPatch, FileChanges

AnyUpdate = TypeVar("AnyUpdate", schema.ToolCall, schema.ToolCallUpdate)

FINISHED = ("completed", "failed", "cancelled")


class ToolCall(Struct, eq=False):
    """State of a tool call (v1/tool-calls)."""

    id: str
    title: str = ""
    name: str | None = None
    kind: str = "other"
    status: str = "pending"
    content: Sequence[Any] = ()
    locations: Sequence[schema.ToolCallLocation] = ()
    raw_input: Any = None
    raw_output: Any = None
    meta: dict[str, Any] | None = None
    index: int = 0
    """Position among the session's tool calls, from 0."""
    own: str = ""
    """Title that the chat shows for a call to one of the editor's own tools."""
    user_tool: str = ""
    """Name of the user's own tool that the call runs. Only the editor sets the name."""
    shown_by: ToolCall | None = None
    """Call of an editor's tool that the chat shows in place of this one. It has the question."""
    streamed: int = 0
    """Bytes of text received in chunks since the content was replaced."""
    cancellable: bool = False
    """Whether the agent can end the call on request."""
    old_texts: dict[str, str] | None = None
    """Previous texts of files whose diffs have no old text."""
    assumed: bool = False
    """Whether the end of the turn set the status, because the agent did not report an end."""
    ended_in: int | None = None
    """Number of the turn in which the agent finished the call."""
    was_asked_first: bool = False
    """Whether a permission request was the first message about the call."""

    @property
    def is_finished(self) -> bool:
        """Return whether the agent, or the end of the turn, closed the call."""
        return self.status in FINISHED

    def set_old_text(self, path: str, text: str) -> None:
        """Set the previous text of a file whose diff has no old text."""
        self.old_texts = {**(self.old_texts or {}), path: text}
        self.content = with_old_texts(self.content, self.old_texts)

    def mark_assumed(self) -> None:
        """Mark the status as assumed until the agent reports one."""
        self.assumed = True

    def set_shown_title(self, words: str) -> None:
        """Show these words instead of the title."""
        self.own = words

    def show_instead(self, own_call: ToolCall) -> None:
        """Show a call of an editor's tool instead of this one."""
        self.shown_by = own_call

    def call_user_tool(self, name: str) -> None:
        """Record that the call runs a tool that the user has defined."""
        self.user_tool = name

    def record_end(self, turn: int) -> None:
        """Record the turn in which the status changed."""
        self.ended_in = turn if self.is_finished else None

    def merge(self, update: schema.ToolCall | schema.ToolCallUpdate) -> None:
        """Apply the present fields. Absent and null ones leave the value unchanged (v1)."""
        # One by one: a loop over names costs more than the rest of an update.
        if (title := update.title) is not UNSET and title is not None:
            self.title = title
        if (name := update.name) is not UNSET and name is not None:
            self.name = name
        if (kind := update.kind) is not UNSET and kind is not None:
            self.kind = kind
        if (status := update.status) is not UNSET and status is not None:
            self.status = status
            self.assumed = False
        if (content := update.content) is not UNSET and content is not None:
            self.content = with_old_texts(content, self.old_texts) if self.old_texts else content
            self.streamed = 0
        if (locations := update.locations) is not UNSET and locations is not None:
            self.locations = locations
        if (raw_input := update.raw_input) is not UNSET and raw_input is not None:
            self.raw_input = raw_input
        if (raw_output := update.raw_output) is not UNSET and raw_output is not None:
            self.raw_output = raw_output
        if update.meta:
            meta = {**(self.meta or {}), **update.meta}
            self.meta = {key: value for key, value in meta.items() if value is not None}

    def copy(self) -> ToolCall:
        """Return a copy of the call that later updates do not change."""
        return msgspec.structs.replace(self, content=tuple(self.content))

    def set_cancellable(self, offered: bool | UnsetType) -> None:
        """Set whether the agent can end the call on request. UNSET leaves the value unchanged."""
        if offered is not UNSET:
            self.cancellable = offered

    def extend(self, item: Any, size: int) -> None:
        """Append an item of `size` bytes to the content."""
        if not isinstance(self.content, list) or not self.streamed:
            self.content = list(self.content)
        self.content.append(item)
        self.streamed += max(size, 1)


def diffs_without_old_text(call: ToolCall) -> list[schema.Diff]:
    diffs = (item for item in call.content if item.__class__ is schema.Diff)
    return [diff for diff in diffs if not isinstance(diff.old_text, str)]


def with_old_texts(content: Sequence[Any], old_texts: Mapping[str, str]) -> list[Any]:
    """Return content with the known old texts added to the diffs that lack them."""
    return [
        msgspec.structs.replace(item, old_text=old_texts[item.path])
        if item.__class__ is schema.Diff
        and not isinstance(item.old_text, str)
        and item.path in old_texts
        else item
        for item in content
    ]


def is_plain(call: ToolCall) -> bool:
    """Return whether a call has only text, and no file, command, diff or terminal."""
    if call.locations or call.raw_input:
        return False
    for item in call.content:  # noqa: SIM110 - called for each message
        if item.__class__ is not schema.Content:
            return False
    return True


def _ended_earlier(call: ToolCall, turn: int) -> bool:
    return call.is_finished and call.ended_in is not None and call.ended_in < turn


def _contradicts(call: ToolCall, update: schema.ToolCallUpdate) -> bool:
    """Return whether an update contradicts a finished call.

    A call whose end is only assumed may continue.
    """
    status, raw_input = update.status, update.raw_input
    return (
        (isinstance(update.title, str) and update.title != call.title)
        or (isinstance(update.kind, str) and update.kind != call.kind)
        or (isinstance(status, str) and status not in FINISHED and not call.assumed)
        or (raw_input not in (UNSET, None) and raw_input != call.raw_input)
    )


def first_call(update: schema.ToolCall, index: int) -> ToolCall:
    """Return a call from its first message. The result equals a `merge` into a blank call."""
    raw_input, raw_output = update.raw_input, update.raw_output
    return ToolCall(
        update.tool_call_id,
        update.title,
        update.name or None,
        update.kind or "other",
        update.status or "pending",
        update.content or (),
        update.locations or (),
        None if raw_input is UNSET else raw_input,
        None if raw_output is UNSET else raw_output,
        update.meta or None,
        index,
    )


class ToolCalls:
    """All tool calls of a session in the order of their first messages."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all calls."""
        self._calls: list[ToolCall] = []
        self._open: dict[int, ToolCall] = {}
        """Open calls by index, except those in `_only_asked`."""
        self._only_asked: dict[int, ToolCall] = {}
        """Open calls that only a permission request names, without an action."""
        self.by_id: dict[str, ToolCall] = {}
        """Newest call of each id."""
        self._earlier: list[ToolCall] = []
        """Calls from before the session was reopened."""
        self._reopened_at = 0
        """Number of calls when the session was last reopened."""
        self.finished_earlier: set[ToolCall] = set()
        """Earlier calls that had finished when the user continued."""

    def __iter__(self) -> Iterator[ToolCall]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def at(self, index: int) -> ToolCall:
        """Return the call at a position, from 0."""
        return self._calls[index]

    def get(self, tool_call_id: str) -> ToolCall | None:
        """Return the newest call with this id."""
        return self.by_id.get(tool_call_id)

    def add(
        self, update: schema.ToolCall | schema.ToolCallUpdate, *, is_question: bool = False
    ) -> ToolCall:
        """Add a call and return it. Its id no longer refers to an earlier call.

        `is_question` means that a permission request is the first message about the call.
        """
        if isinstance(update, schema.ToolCall):
            call = first_call(update, len(self._calls))
        else:
            call = ToolCall(
                update.tool_call_id, index=len(self._calls), was_asked_first=is_question
            )
            self.merge(call, update)
        return self.append(call)

    def begins_new(
        self, call: ToolCall, update: schema.ToolCall | schema.ToolCallUpdate, turn: int
    ) -> bool:
        """Return whether a message about a finished call begins a new call with its id.

        It does if the call finished in an earlier turn and the message contradicts or reopens it.
        """
        if isinstance(update, schema.ToolCall):
            return True
        if call in self.finished_earlier and isinstance(update.title, str):
            return True
        return _ended_earlier(call, turn) and _contradicts(call, update)

    def current(self, tool_call_id: str, turn: int) -> ToolCall | None:
        """Return the call with this id, unless the agent finished it in an earlier turn, or the
        session was reopened since.
        """
        call = self.by_id.get(tool_call_id)
        if call is None or call.index < self._reopened_at:
            return None
        return None if _ended_earlier(call, turn) and not call.assumed else call

    def free_id_if_over(self, asked: schema.ToolCallUpdate, turn: int) -> None:
        """Let a question begin a new call if the call with its id is over.

        A question with a title never belongs to a call of an earlier turn, even if the end of that
        call was only assumed. When a session is reopened, the agent's replay is dropped, which may
        have changed any call.
        """
        call = self.by_id.get(asked.tool_call_id)
        if call is None:
            return
        is_over = _ended_earlier(call, turn) and (not call.assumed or isinstance(asked.title, str))
        if is_over or call.index < self._reopened_at:
            del self.by_id[asked.tool_call_id]

    def free_id(self, call: ToolCall) -> None:
        """Let the next message with the id of a call begin a new one."""
        del self.by_id[call.id]

    def mark_ids(self) -> None:
        """Mark the current calls as earlier ones when the session is reopened."""
        self._earlier = list(self._calls)
        self._reopened_at = len(self._calls)

    def keep_ids(self) -> None:
        """Keep the ids of all calls valid, because the agent still uses them."""
        self._earlier = []

    def forget_ids(self) -> None:
        """Let an update with a title begin a new call if the earlier one has finished."""
        self.finished_earlier.update(call for call in self._earlier if call.is_finished)
        self._earlier = []

    def append(self, call: ToolCall) -> ToolCall:
        """Append a call and return it. Its index must be the number of calls."""
        self.by_id[call.id] = call
        self._calls.append(call)
        if call.status not in FINISHED:
            self._open[call.index] = call
        return call

    def merge(self, call: ToolCall, update: schema.ToolCall | schema.ToolCallUpdate) -> None:
        """Apply a message. A finished call may become open again."""
        call.merge(update)
        if update.__class__ is CallPatch:
            call.set_cancellable(update.cancellable)
        if call.was_asked_first:
            self._only_asked.pop(call.index, None)
        if call.status in FINISHED:
            self._open.pop(call.index, None)
        else:
            self._open[call.index] = call

    def set_shown_title(self, call: ToolCall, words: str) -> None:
        """Show these words instead of the title of a call, which then names an action."""
        call.set_shown_title(words)
        if self._only_asked.pop(call.index, None) is not None:
            self._open[call.index] = call

    def set_only_asked(self, call: ToolCall) -> None:
        """Record that a new call is only the question of a permission request, without an action.

        A later message about it, or a title of the editor, may add the action.
        """
        if self._open.pop(call.index, None) is not None:
            self._only_asked[call.index] = call

    def open_calls(self) -> list[ToolCall]:
        """Return the calls that are neither completed nor failed."""
        return _in_order({**self._open, **self._only_asked})

    def open_with_action(self) -> list[ToolCall]:
        """Return the open calls that may name an action: all but those `set_only_asked`."""
        return _in_order(self._open)


def _in_order(calls: dict[int, ToolCall]) -> list[ToolCall]:
    return [calls[index] for index in sorted(calls)]


# -- bounds ---------------------------------------------------------------------------------------


def limit_update(update: AnyUpdate, limit: int) -> tuple[AnyUpdate, int]:
    """Limit an update to `limit` bytes of content text and raw output.

    Return it with its original size, or 0 if it was within the limit (option
    `limits.tool_output_bytes`). The beginning is kept, so the shown part of growing output does not
    change. Diffs are never cut, because the user decides on them.
    """
    changes: dict[str, Any] = {}
    content, received_bytes = _limit_content(update.content, limit)
    if received_bytes > limit:
        changes["content"] = content
    raw = 0 if update.raw_output in (UNSET, None) else len(msgspec.json.encode(update.raw_output))
    if raw > limit:
        changes["raw_output"] = f"left out: {raw} bytes"
    if not changes:
        return update, 0
    return msgspec.structs.replace(update, **changes), max(received_bytes, raw)


def limit_item(item: Any, room: int) -> tuple[Any | None, int]:
    """Return an item with its text cut to `room` bytes, and the original size.

    The item is None if there is no room.
    """
    bounded, size = _limit_content([item], max(room, 0))
    if size and room <= 0:
        return None, 0
    return bounded[0], size


def _limit_content(content: Any, limit: int) -> tuple[list[Any], int]:
    """Return the items with at most `limit` bytes of text in all, and their original size."""
    items: list[Any] = []
    received_bytes = 0
    for item in content if isinstance(content, list) else ():
        block = item.content if isinstance(item, schema.Content) else None
        if not isinstance(block, schema.TextContent) or isinstance(item, FileChanges):
            items.append(item)
            continue
        data = block.text.encode("utf-8", "surrogatepass")
        room = max(limit - received_bytes, 0)
        received_bytes += len(data)
        if len(data) > room:
            text = data[:room].decode("utf-8", "ignore")
            block = msgspec.structs.replace(block, text=text)
            item = msgspec.structs.replace(item, content=block)
        items.append(item)
    return items, received_bytes
