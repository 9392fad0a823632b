"""Diffs that do not say what they replace: an agent that writes a whole file may leave that out.
Its call counts from the text that is there, not from nothing.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator

from acp_nvim.edits.text import Text
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.session.calls import call_updates
from acp_nvim.session.calls.tool_calls import ToolCall, without_old
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks


class Overwrites:
    """Looks at the files that calls would overwrite; `live` gives a file as buffer or disk have
    it.
    """

    def __init__(self, live: Callable[[str], Awaitable[Text | None]], tasks: Tasks) -> None:
        self._live = live
        self._tasks = tasks

    def tool_call(self, session: Session, call: ToolCall) -> None:
        """A call was announced or changed. One that is over has made the text another one."""
        if not call.finished and any(self._unknown(call)):
            self._tasks.start_soon(self._look, session, call)

    def _unknown(self, call: ToolCall) -> Iterator[str]:
        known = call.before or {}
        return (diff.path for diff in without_old(call) if diff.path not in known)

    async def _look(self, session: Session, call: ToolCall) -> None:
        for path in dict.fromkeys(self._unknown(call)):
            try:
                text = await self._live(_real(session.cwd, path))
            except Refusal:
                continue  # no text: it has no lines to count
            if text is not None and not call.finished and not _is_written(call, path, str(text)):
                call.was(path, str(text))
        call_updates.show(session, call)


def _is_written(call: ToolCall, path: str, text: str) -> bool:
    """Whether the file holds already what the call would write."""
    return any(diff.path == path and diff.new_text == text for diff in without_old(call))


def _real(cwd: str, path: str) -> str:
    return os.path.realpath(os.path.join(cwd, path))  # noqa: PTH118
