"""Agents' calls to the editor's own tools, recognized by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from acp_nvim.protocol import schema
from acp_nvim.protocol.updates import FileChanges
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.calls.tool_use import ToolUse
from acp_nvim.session.questions import requests
from acp_nvim.session.questions.patches import shows_edit
from acp_nvim.session.session import Session

_READING: Final = frozenset({"read", "search", "think", "fetch", "other"})
"""Kinds that agents use for tools that change nothing (v1/tool-calls#kinds)."""
_SERVER_PREFIX: Final = r"(?:tool: ?)?(?:mcp[_./: -]+)?neovim(?:[-_]\d+)?[_./: -]+"
_SERVER_SUFFIX: Final = r" \(neovim(?:-\d+)?(?: mcp server)?\)"
_PREFIX: Final = "nvim_"
"""Prefix of the editor's tools. The user's tools may be named like an agent's own."""
_COMMON_PART: Final = "vim"
"""Part of both the prefix and the server's name."""
_KEYS: Final = ("toolName", "tool_name", "name")
"""Keys of the tool's name in `_meta` or one level below it."""


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for a tool's name, alone or after the server's: `mcp__neovim__nvim_read`."""
    named = "|".join(map(re.escape, names))
    return re.compile(f"(?i:({_SERVER_PREFIX}))?({named})(?i:({_SERVER_SUFFIX}))?")


def own_tool(call: ToolCall, use: ToolUse | None) -> str | None:
    """Return the editor's tool that a call names exactly, or None."""
    texts = [text for text in _texts_of(call) if _COMMON_PART in text.lower()]
    names = tuple(use.offered().names) if texts and use is not None else ()
    if not names:
        return None  # nearly all calls end here
    pattern = _pattern(names)
    for text in texts:
        match = pattern.fullmatch(text.strip())
        if match and (match[1] or match[3] or match[2].startswith(_PREFIX)):
            return match[2]
    return None


def _texts_of(call: ToolCall) -> Iterator[str]:
    yield from (text for text in (call.name, call.title) if text)
    meta = call.meta or {}
    for table in (meta, *(value for value in meta.values() if isinstance(value, Mapping))):
        yield from (text for key in _KEYS if isinstance(text := table.get(key), str))


def on_start(session: Session, name: str, title: str) -> ToolCall | None:
    """Set the editor's title on the tool call that the agent reported for a tool that starts.

    Return that call, or None if the agent has not reported one.
    """
    for call in session.tool_calls.open_calls():
        if not call.own and own_tool(call, session.tools) == name:
            _set_shown_title(session, call, title)
            return call
    return None


def on_call(session: Session, call: ToolCall, own_call: ToolCall) -> None:
    """Show the editor's call, which has more detail, instead of the one the agent reported."""
    entry = session.entries.get(call)
    if entry is not None:
        call.show_instead(own_call)
        session.transcript.touch(entry)


def on_place(session: Session, path: str | None, line: int | None) -> None:
    """Report the place at which a tool works, and record the file as named by the agent."""
    if path is not None:
        session.event("AcpLocation", path=path, line=line)
        session.observer.on_work_at(session, path)


def on_result(session: Session, call: ToolCall, title: str, summary: str) -> None:
    """Show the result of a tool in the call's title: `Diagnostics · 3 errors in app.py`."""
    if summary:
        shortened = summary.replace(f"{session.cwd.rstrip('/')}/", "")
        _set_shown_title(session, call, f"{title} · {shortened}")


def _set_shown_title(session: Session, call: ToolCall, words: str) -> None:
    entry = session.entries.get(call)
    if entry is not None:
        session.tool_calls.set_shown_title(call, words)
        session.transcript.touch(entry)
        session.observer.on_change(session)


def needs_no_question(call: ToolCall, use: ToolUse | None) -> bool:
    """Return whether a permission is only for a call to an editor's tool, which needs no question.

    The editor checks that call itself, and asks if the tool writes. A call with an edit or a
    command is for something else.
    """
    name = own_tool(call, use)
    if name is None or use is None or _has_diff_or_terminal(call.content):
        return False
    is_writing = name in use.offered().writing
    if name.startswith(_PREFIX) and (
        requests.commands(call) or (not is_writing and shows_edit(call))
    ):
        return False
    return call.kind in (_READING | {"edit"} if is_writing else _READING)


def _has_diff_or_terminal(content: Any) -> bool:
    return any(isinstance(item, schema.Diff | schema.Terminal | FileChanges) for item in content)
