"""Joining of characters, such as emoji, that an agent split between two chunks of text.

A high surrogate at the end of a chunk is held until the next chunk of the same message, thought or
tool output. If there is no such chunk, the surrogate becomes U+FFFD at the end of the turn.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, TypeAlias

_ENDS_IN_HALF: Final = re.compile(rb'\\u[dD][89abAB][0-9a-fA-F]{2}"')
_MAX_HELD: Final = 100
"""Maximum number of held halves."""
Key: TypeAlias = tuple[str, ...]


class Halves:
    """Held halves of one connection."""

    def __init__(self) -> None:
        self._held: dict[Key, tuple[str, bytes]] = {}
        """The held half, and the message that would contain only it, by place of the text."""

    def __bool__(self) -> bool:
        return bool(self._held)

    def lines(self, line: bytes) -> list[bytes]:
        """Return the lines to read instead of this one.

        Prepend a held half to its text, and hold a half at the end of the text.
        """
        if not self._held and _ENDS_IN_HALF.search(line) is None:
            return [line]
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return [line]
        if not isinstance(message, dict):
            return [line]
        update = _update(message)
        if update is None or update.get("sessionUpdate") == "state_update":
            return [*self._release_turn(message), line]
        slot = _slot(update)
        return [line] if slot is None else self._chunk(message, *slot)

    def rest(self) -> list[bytes]:
        """Return a line for each held half at the end of the stream."""
        halves, self._held = self._held, {}
        return [line for _, line in halves.values()]

    def _chunk(
        self, message: dict[str, Any], key: Key, holder: dict[str, Any], name: str
    ) -> list[bytes]:
        key = (str(message["params"].get("sessionId")), *key)
        text = self._held.pop(key, ("", b""))[0] + holder[name]
        lines: list[bytes] = []
        if "\ud800" <= text[-1:] <= "\udbff":
            if len(self._held) == _MAX_HELD:
                lines.append(self._held.pop(next(iter(self._held)))[1])
            holder[name] = "\ufffd"
            self._held[key] = text[-1], _line(message)
            text = text[:-1]
        holder[name] = text
        return [*lines, _line(message)] if text else lines

    def _release_turn(self, message: dict[str, Any]) -> list[bytes]:
        """Remove the held halves of a turn that a message ends. Return their lines."""
        params = message.get("params")
        if "method" not in message:
            ended = list(self._held)
        elif isinstance(params, dict) and message["method"] == "session/update":
            ended = [key for key in self._held if key[0] == str(params.get("sessionId"))]
        else:
            return []
        return [self._held.pop(key)[1] for key in ended]


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def _update(message: dict[str, Any]) -> dict[str, Any] | None:
    params = message.get("params")
    if message.get("method") != "session/update" or not isinstance(params, dict):
        return None
    update = params.get("update")
    return update if isinstance(update, dict) else None


def _member(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _slot(update: dict[str, Any]) -> tuple[Key, dict[str, Any], str] | None:
    """Return the key of the text that an update appends, and the object and member that hold it."""
    kind = str(update.get("sessionUpdate"))
    slot: tuple[Any, Any, str] = None, None, ""
    if kind in {"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"}:
        slot = update.get("messageId"), update.get("content"), "text"
    elif kind == "tool_call_content_chunk":
        slot = update.get("toolCallId"), _member(update, "content", "content"), "text"
    elif kind == "tool_call_update":
        for meta in ("terminal_output", "terminal_output_delta"):
            if isinstance(output := _member(update, "_meta", meta), dict):
                slot = output.get("terminal_id"), output, "data"
    owner, holder, name = slot
    if not isinstance(holder, dict) or not isinstance(holder.get(name), str):
        return None
    return (kind, str(owner)), holder, name
