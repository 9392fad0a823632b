"""Open tool calls that a permission may allow.

Some agents ask about a call of its own that says nothing but "Confirm Agent Actions"; what they are
about to do is in the other open calls of the turn.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

import msgspec

from acp_nvim.protocol import schema
from acp_nvim.protocol.updates import FileChanges
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.requests import says_nothing
from acp_nvim.session.session import Session

NEWEST: Final = 200
"""How many of the newest calls of a session are looked at."""


def calls(session: Session, asked: ToolCall) -> list[ToolCall]:
    """Return copies of the open calls that a permission for `asked` may allow, oldest first: none
    if it says itself what it allows.
    """
    if not says_nothing(asked):
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
    if call.finished or call.shown_by is not None:
        return False
    return not (call.asked_first and says_nothing(call))


def _without_output(call: ToolCall) -> ToolCall:
    """Return a copy of a call without the texts of its content, which may be output, unless they
    are all that it tells.
    """
    if not call.raw_input and not call.locations:
        return call.copied()
    kept = [item for item in call.content if isinstance(item, schema.Diff | FileChanges)]
    return msgspec.structs.replace(call, content=kept)
