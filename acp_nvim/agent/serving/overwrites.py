"""Old texts for diffs that lack one.

An agent that writes a whole file may leave out the old text. Changed lines are then counted against
the current text of the file.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator

from acp_nvim.edits.text import Text
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.session.calls import call_updates
from acp_nvim.session.calls.named_files import resolve
from acp_nvim.session.calls.tool_calls import ToolCall, diffs_without_old_text
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks


class Overwrites:
    """Reader of the files that calls would overwrite.

    `live` returns the text of the buffer or file.
    """

    def __init__(self, live: Callable[[str], Awaitable[Text | None]], tasks: Tasks) -> None:
        self._live = live
        self._tasks = tasks

    def tool_call(self, session: Session, call: ToolCall) -> None:
        """Read the files of an unfinished call. A finished call has changed them already."""
        if not call.is_finished and any(self._unknown(call)):
            self._tasks.start_soon(self._record_old_texts, session, call)

    def _unknown(self, call: ToolCall) -> Iterator[str]:
        known = call.old_texts or {}
        paths = (diff.path for diff in diffs_without_old_text(call))
        return (path for path in paths if path not in known and "\0" not in path)

    async def _record_old_texts(self, session: Session, call: ToolCall) -> None:
        for path in dict.fromkeys(self._unknown(call)):
            try:
                text = await self._live(_real(session.cwd, path))
            except Refusal:
                continue  # not text
            if text is not None and not call.is_finished and not _is_written(call, path, str(text)):
                call.set_old_text(path, str(text))
        call_updates.show(session, call)


def _is_written(call: ToolCall, path: str, text: str) -> bool:
    """Return whether the file already has the text of the call."""
    return any(diff.path == path and diff.new_text == text for diff in diffs_without_old_text(call))


def _real(cwd: str, path: str) -> str:
    return resolve(os.path.join(cwd, path))  # noqa: PTH118
