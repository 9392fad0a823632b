"""Compares tool calls and terminals that an agent tells again with those that a chat shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import UNSET

from acp_nvim.protocol import schema, updates
from acp_nvim.session.retold_messages import Comparison
from acp_nvim.session.terminal import Launch, Terminal
from acp_nvim.session.tool_calls import FINISHED, ToolCall

_FIELDS: Final = (
    *("title", "name", "kind", "status", "locations", "raw_input", "raw_output", "cancellable"),
)
KEPT: Final = 1 << 20
"""Bytes kept of an output that is told again."""


class ToldCall:
    """A tool call as it is told again: its past is put together beside the chat."""

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}
        self._content: list[Any] = []
        self._whole = False
        """Whether its content was told as a whole, and not by items alone."""
        self._over = False
        """Whether more was told than is known: items that come are news."""

    def patch(self, update: schema.ToolCallUpdate) -> bool:
        """Take fields. Returns whether the call has ended, so that nothing of it is to wait for."""
        for name in (*_FIELDS, "meta"):
            if (value := getattr(update, name, UNSET)) is not UNSET and value is not None:
                self._fields[name] = value
        if isinstance(update.content, Sequence):
            self._content, self._whole, self._over = list(update.content), True, False
        return self._fields.get("status") in FINISHED

    def item(self, item: Any) -> None:
        """Take one more item of its content."""
        self._content.append(item)

    def news(self, known: ToolCall) -> list[Any]:
        """Return what changes the call. Its past does not take back its end."""
        changed = {name: it for name, it in self._fields.items() if not _has(known, name, it)}
        if known.finished and changed.get("status") not in FINISHED:
            changed.pop("status", None)
        items, replaces = self._new_content(known.content)
        if items or replaces:
            self._content, self._whole, self._over = [], False, True
        if replaces:
            changed["content"] = items
        found: list[Any] = [updates.CallPatch(known.id, **changed)] if changed else []
        return found + [updates.CallContent(known.id, it) for it in items if not replaces]

    def _new_content(self, known: Sequence[Any]) -> tuple[Sequence[Any], bool]:
        """Return items of content that are new, and whether they stand for all that is known."""
        if self._over:
            return self._content, False
        comparison = Comparison([_part(item) for item in known])
        more: list[Any] = []
        for item in self._content:
            rest = comparison.take(_part(item))
            if rest is None:
                return self._content, self._whole or comparison.sure
            if rest != "":
                more.append(_text(rest) if isinstance(rest, str) else rest)
        return more, False


def _has(call: ToolCall, name: str, told: Any) -> bool:
    if name == "meta":
        return {**(call.meta or {}), **told} == (call.meta or {})
    return bool(getattr(call, name) == told) and not (name == "status" and call.assumed)


def _part(item: Any) -> Any:
    """Return an item of content to compare: of one that is text alone, the text."""
    content = item.content if item.__class__ is schema.Content else None
    return content.text if content.__class__ is schema.TextContent else item


def _text(text: str) -> schema.Content:
    return schema.Content(schema.TextContent(text))


class ToldTerminal:
    """A terminal of the agent as it is told again, chunk by chunk."""

    def __init__(self, known: Terminal) -> None:
        self._known = known
        self._shadow = Terminal(known.id, Launch(""), 0, ours=False)
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        """Take more of its output."""
        self._shadow.feed_lines(data)
        self._data += data
        if len(self._data) > 2 * KEPT:
            del self._data[:-KEPT]

    def news(self) -> Iterator[Any]:
        """Yield the output, where there is more than is known."""
        if self._shadow.written > self._known.written:
            yield updates.TerminalState(self._known.id, output=bytes(self._data[-KEPT:]))
