"""Frame operation with several events about tool calls and permissions.

An agent may ask for hundreds of permissions at once, most with the same options. A table for each
event would take Neovim longer than drawing them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acp_nvim.nvim.plain import legible, legible_all, plain
from acp_nvim.render.batch import Op
from acp_nvim.session import snapshot
from acp_nvim.session.changes import Event
from acp_nvim.session.questions.decisions import Option


class EventBatch:
    """Operation `events`: consecutive events of a session, in their order."""

    def __init__(self, n: int) -> None:
        self._values: list[Any] = []
        self._options: list[Any] = []
        self._known: dict[tuple[Option, ...], int] = {}
        """Number of each combination of options, as in `_options`."""
        self.op: Op = ["events", n, self._values, self._options]

    def add(self, event: Event) -> None:
        """Add an event of tool calls, of a permission, or of the answer to one."""
        data = event.data
        if event.name == "AcpToolCall":
            self._values += ("calls", legible_all(data["calls"]))
        elif event.name == "AcpPermission":
            self._values += (
                "asked",
                data["id"],
                _text(data.get("tool_call")),
                legible(data["title"]),
                self._number(data["options"]),
            )
        else:
            self._values += ("done", data["id"], data["outcome"], _text(data.get("option")))

    def _number(self, options: Sequence[Option]) -> int:
        """Return the 1-based index of these options in the operation. Add them if they are new."""
        key = tuple(options)
        number = self._known.get(key)
        if number is None:
            self._options.append(plain(snapshot.options(options)))
            number = self._known[key] = len(self._options)
        return number


def _text(value: str | None) -> str | bool:
    """Return a text, or False for None."""
    return False if value is None else legible(value)
