"""Open tool calls that a permission may allow.

Some agents request a permission for a separate call whose only text is "Confirm Agent Actions". The
actions are in the other open calls of the turn.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

import msgspec

from acp_nvim.protocol import schema
from acp_nvim.protocol.updates import FileChanges
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.requests import is_without_content
from acp_nvim.session.session import Session

NEWEST: Final = 200
"""Number of the newest calls of a session that are examined."""


def calls(session: Session, asked: ToolCall) -> list[ToolCall]:
    """Return copies of the open calls that a permission for `asked` may allow, oldest first.

    There are none if the permission itself shows the allowed action.
    """
    if not is_without_content(asked):
        return []
    known = session.tool_calls
    newest = (known.at(index) for index in range(len(known) - 1, -1, -1))
    found = [
        _without_output(call)
        for call in islice(newest, NEWEST)
        if call is not asked and _may_be_meant(call)
    ]
    return found[::-1]


def _may_be_meant(call: ToolCall) -> bool:
    if call.is_finished or call.shown_by is not None:
        return False
    return not (call.asked_first and is_without_content(call))


def _without_output(call: ToolCall) -> ToolCall:
    """Return a copy of a call without the texts of its content, which may be output.

    They are kept if the call has nothing else.
    """
    if not call.raw_input and not call.locations:
        return call.copy()
    changes = [item for item in call.content if isinstance(item, schema.Diff | FileChanges)]
    return msgspec.structs.replace(call, content=changes)
