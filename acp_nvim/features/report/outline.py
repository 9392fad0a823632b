"""Outline of a traffic log: methods, ids, times, sizes and errors, without contents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import groupby
from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from acp_nvim.agent.wire.traffic_view import ARROWS, Line
from acp_nvim.render.text import format_size, one_line

MAX_LINES: Final = 300
"""Maximum number of lines. The newest ones are kept."""
MAX_REASON: Final = 200
"""Maximum number of characters kept of an error's message."""
MAX_WORD: Final = 80
"""Maximum number of characters kept of a method, an id, a kind or a code."""


class _Update(Struct):
    session_update: str | None = msgspec.field(default=None, name="sessionUpdate")


class _Params(Struct):
    update: _Update | None = None


class _Error(Struct):
    code: Raw | UnsetType = UNSET
    message: str = ""


class _Message(Struct):
    id: Raw | UnsetType = UNSET
    method: str | None = None
    params: Raw | UnsetType = UNSET
    error: _Error | None = None


_message = msgspec.json.Decoder(_Message)
_params = msgspec.json.Decoder(_Params)


def outline(lines: Iterable[Line], redact: Callable[[str], str]) -> list[str]:
    """Return the messages since the last prompt. Consecutive equal ones share a line.

    `redact` is called before a text is cut: it would not recognize a part of a secret.
    """
    heads: list[tuple[float, str]] = []
    for line in lines:
        head = _summary(line, redact)
        if head.startswith("-> session/prompt"):
            heads.clear()
        heads.append((line.time, head))
    groups = groupby(heads, key=lambda timed: timed[1])
    grouped = [(next(group)[0], head, 1 + sum(1 for _ in group)) for head, group in groups]
    dropped = len(grouped) - MAX_LINES
    rows = [f"({dropped} earlier lines are left out)"] if dropped > 0 else []
    for time, head, count in grouped[-MAX_LINES:]:
        clock = datetime.fromtimestamp(time).astimezone().strftime("%H:%M:%S.%f")[:-3]
        rows.append(f"{clock} {head}" + (f" x {count}" if count > 1 else ""))
    return rows


def _summary(line: Line, redact: Callable[[str], str]) -> str:
    """Return a message without its content."""
    arrow = ARROWS[line.direction]
    if line.direction == "err":
        return f"{arrow} (output on stderr)"
    try:
        message = _message.decode(line.data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return f"{arrow} (unreadable message) {format_size(len(line.data))}"

    def word(text: str) -> str:
        return one_line(redact(text), MAX_WORD)

    label = "" if message.id is UNSET else f" #{word(bytes(message.id).decode())}"
    if message.method is not None:
        kind = word(_kind(message))
        # Without their sizes, consecutive updates of one kind share a line.
        detail = kind or format_size(len(line.data))
        return f"{arrow} {word(message.method)}{label} {detail}"
    if message.error is not None:
        code = "" if message.error.code is UNSET else f" {word(bytes(message.error.code).decode())}"
        reason = one_line(redact(message.error.message), MAX_REASON)
        return f"{arrow} (answer){label} error{code} {reason}"
    return f"{arrow} (answer){label} {format_size(len(line.data))}"


def _kind(message: _Message) -> str:
    """Return the kind of an update of a session."""
    if message.params is UNSET:
        return ""
    try:
        update = _params.decode(message.params).update
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return (update and update.session_update) or ""
